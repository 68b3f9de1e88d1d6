"""What does this text say? Both notations, read into one tree, or refused at a position.

The grammar is LALR(1): `lark` reads it without recursion and without backtracking, so the time
is linear in the text and no nesting is too deep for the reader (how deep a filter may be is
checked afterwards).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import lark

from headgate.filters.arithmetic import NUMBERS, calculate, compare, negate
from headgate.filters.likeness import Pattern
from headgate.filters.size import check_size
from headgate.filters.syntax import (
    And,
    Arithmetic,
    Between,
    Comparison,
    ComparisonSign,
    Condition,
    Constant,
    Contains,
    Expression,
    In,
    IsType,
    Like,
    Literal,
    Name,
    Negated,
    Node,
    Not,
    Present,
    TypeName,
    comparison,
    conjunction,
    disjunction,
    literal,
)
from headgate.filters.words import WORDS, unexpected_character, unexpected_token
from headgate.model.errors import FilterSyntaxError, FilterTooComplexError, HeadgateError, named
from headgate.model.limits import FILTER_LIMITS, INTEGER_MAX, FilterLimits
from headgate.model.values import Kind, parse_timestamp

_GRAMMAR = r"""
?start: or_
?or_: and_ (_OR and_)*
?and_: not_ (_AND not_)*
?not_: NOT not_ -> negation
    | test
?test: sum
    | sum COMPARISON sum -> compared
    | sum [NOT] _BETWEEN sum _AND sum -> between
    | sum [NOT] _IN "(" item ("," item)* ")" -> among
    | sum [NOT] _IN name -> contained
    | sum [NOT] _LIKE STRING [_ESCAPE STRING] -> like
    | sum _IS [NOT] NULL -> is_null
    | sum _IS [NOT] TYPE -> is_type
?sum: product
    | sum SIGN product -> arithmetic
?product: unary
    | product FACTOR unary -> arithmetic
?unary: SIGN unary -> signed
    | atom
?atom: name
    | literal
    | EXISTS "(" name ")" -> exists
    | "(" or_ ")"
    | "(" constraint ("," constraint)* ")" -> constraints
constraint: TYPE name ANY -> any_value
    | TYPE name [COMPARISON] value -> constraint
?item: literal
    | SIGN literal -> signed
?value: word
    | item
word: NAME | TYPE | EXISTS
name: NAME | TYPE | ANY | EXISTS
literal: STRING -> string
    | NUMBER -> number
    | TRUE -> truth
    | FALSE -> truth
    | TYPE STRING -> typed_string

SIGN: "+" | "-"
FACTOR: "*" | "/" | "%"
COMPARISON: "<>" | "!=" | "<=" | ">=" | "=" | "<" | ">"
STRING: /'(?:[^']|'')*'/
NUMBER: /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/
NAME: /(?:[^\W\d][\w$]*|\$[\w$]*|"(?:[^"]|"")+")(?:\.(?:[\w$]+|"(?:[^"]|"")+"))*/
%declare _OR _AND NOT _BETWEEN _IN _LIKE _ESCAPE _IS NULL TRUE FALSE EXISTS ANY TYPE
%ignore /\s+/
"""


def _as_word(token: lark.Token) -> lark.Token:
    """A word of the language, however it is capitalised; any other name stays a name."""
    kind = WORDS.get(token.upper()) if token.isascii() else None
    return token if kind is None else lark.Token.new_borrow_pos(kind, token.value, token)


_NAME_PART = re.compile(r""""((?:[^"]|"")+)"|([^."]+)""")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_TOO_LARGE = "an integer beyond 64 bits: write it as a double, or as text"


class Piece(NamedTuple):
    """A part of the tree and where in the text it stands."""

    node: Node
    at: int
    text: str


class _RefusalError(Exception):
    def __init__(self, problem: str, at: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at


def _refuse(problem: str, at: int) -> NoReturn:
    raise _RefusalError(problem, at)


N = TypeVar("N")


class _Builder(lark.Transformer[lark.Token, Piece]):
    """Makes the tree bottom-up while the text is read; knows what fits together."""

    def or_(self, pieces: list[Piece]) -> Piece:
        return Piece(disjunction(map(_condition, pieces)), pieces[0].at, "")

    def and_(self, pieces: list[Piece]) -> Piece:
        return Piece(conjunction(map(_condition, pieces)), pieces[0].at, "")

    def negation(self, parts: list[Any]) -> Piece:
        word, piece = parts
        return Piece(Not(_condition(piece)), _at(word), "")

    def compared(self, parts: list[Any]) -> Piece:
        left, sign, right = parts
        return Piece(_comparison(_sign(sign), left, right), left.at, "")

    def between(self, parts: list[Any]) -> Piece:
        operand, negated, low, high = parts
        lower = _comparison(">=", operand, low)
        upper = _comparison("<=", operand, high)
        if isinstance(lower, Constant) and isinstance(upper, Constant):
            return _negatable(Constant(lower.truth and upper.truth), operand, negated)
        node = Between(_expression(operand), _expression(low), _expression(high))
        return _negatable(node, operand, negated)

    def among(self, parts: list[Any]) -> Piece:
        operand, negated, *values = parts
        node = _expression(operand)
        if isinstance(node, Literal):
            _refuse("expected an attribute before `IN (…)`, found a value", operand.at)
        for value in values:
            _comparison("=", operand, value)
        return _negatable(In(node, tuple(_literal(value) for value in values)), operand, negated)

    def contained(self, parts: list[Any]) -> Piece:
        value, negated, name = parts
        if not isinstance(value.node, Literal) or not isinstance(value.node.value, str):
            _refuse(
                "expected a text in quotes before `IN name`, "
                "or a list in parentheses after `IN`: `x IN ('a', 'b')`",
                value.at,
            )
        return _negatable(Contains(value.node.value, name.node), value, negated)

    def like(self, parts: list[Any]) -> Piece:
        operand, negated, pattern, escape = parts
        name = _name(operand, "LIKE")
        escaping = None if escape is None else _unquote(escape)
        try:
            node = Like(name, _unquote(pattern), escaping)
            Pattern.read(node.pattern, escaping)
        except HeadgateError as problem:
            at_fault = pattern if escaping is None or len(escaping) == 1 else escape
            _refuse(str(problem), _at(at_fault))
        return _negatable(node, operand, negated)

    def is_null(self, parts: list[Any]) -> Piece:
        operand, negated, _ = parts
        present = Present(_name(operand, "IS NULL"))
        return Piece(present if negated else Not(present), operand.at, "")

    def is_type(self, parts: list[Any]) -> Piece:
        operand, negated, type_ = parts
        node = IsType(_name(operand, "IS"), TypeName[type_.upper()])
        return _negatable(node, operand, negated)

    def exists(self, parts: list[Any]) -> Piece:
        word, name = parts
        return Piece(Present(name.node), _at(word), "")

    def arithmetic(self, parts: list[Any]) -> Piece:
        left, sign, right = parts
        operands = _number(left), _number(right)
        if isinstance(operands[0], Literal) and isinstance(operands[1], Literal):
            result = calculate(sign.value, operands[0].value, operands[1].value)
            if result is None:
                _refuse(f"`{sign}` leaves the numbers: 64 bits, finite, not by zero", _at(sign))
            return Piece(literal(result), left.at, "")
        return Piece(Arithmetic(sign.value, *operands), left.at, "")

    def signed(self, parts: list[Any]) -> Piece:
        sign, operand = parts
        node = operand.node
        text = f"{sign}{operand.text}"
        if isinstance(node, Literal) and node.kind in NUMBERS:
            value = cast("int | float", node.value)
            if sign == "-":
                # The smallest integer is written as the negation of one that is too large.
                negated = negate(value)
                if negated is None:
                    _refuse(_TOO_LARGE, _at(sign))
                value = negated
            return Piece(literal(value), _at(sign), text)
        inner = _number(operand)
        return Piece(Negated(inner) if sign == "-" else inner, _at(sign), text)

    def constraints(self, pieces: list[Piece]) -> Piece:
        return Piece(conjunction(_condition(piece) for piece in pieces), pieces[0].at, "")

    def any_value(self, parts: list[Any]) -> Piece:
        type_, name, _ = parts
        return Piece(IsType(name.node, TypeName[type_.upper()]), _at(type_), "")

    def constraint(self, parts: list[Any]) -> Piece:
        type_, name, sign, value = parts
        asked = TypeName[type_.upper()]
        typed = Piece(_typed_value(asked, value), value.at, value.text)
        test = _comparison("=" if sign is None else _sign(sign), name, typed)
        if asked in (TypeName.INTEGER, TypeName.DOUBLE):
            return Piece(And((IsType(name.node, asked), test)), _at(type_), "")
        return Piece(test, _at(type_), "")

    def word(self, parts: list[lark.Token]) -> Piece:
        (token,) = parts
        text = _attribute(token)
        return Piece(literal(text), _at(token), text)

    def name(self, parts: list[lark.Token]) -> Piece:
        (token,) = parts
        return Piece(Name(_attribute(token)), _at(token), token.value)

    def string(self, parts: list[lark.Token]) -> Piece:
        (token,) = parts
        text = _unquote(token)
        return Piece(literal(text), _at(token), text)

    def number(self, parts: list[lark.Token]) -> Piece:
        (token,) = parts
        if token.isdigit():
            # Python reads no integer of thousands of digits; none of them has 64 bits anyway.
            value = int(token) if len(token) < 4_000 else INTEGER_MAX + 2
            if value > INTEGER_MAX + 1:
                _refuse(_TOO_LARGE, _at(token))
            return Piece(literal(value), _at(token), token.value)
        double = float(token)
        if double == float("inf"):
            _refuse("a number beyond the range of a double", _at(token))
        return Piece(literal(double), _at(token), token.value)

    def truth(self, parts: list[lark.Token]) -> Piece:
        (token,) = parts
        return Piece(literal(token.type == "TRUE"), _at(token), token.value)

    def typed_string(self, parts: list[lark.Token]) -> Piece:
        type_, token = parts
        if type_.upper() != "TIMESTAMP":
            _refuse("only `TIMESTAMP '…'` is written with its type", _at(type_))
        return Piece(_timestamp(_unquote(token), _at(token)), _at(type_), _unquote(token))


def _at(token: lark.Token) -> int:
    return 0 if token.start_pos is None else token.start_pos


def _sign(token: lark.Token) -> ComparisonSign:
    return "<>" if token.value == "!=" else cast("ComparisonSign", token.value)


def _unquote(token: lark.Token) -> str:
    return str(token)[1:-1].replace("''", "'")


def _attribute(token: lark.Token) -> str:
    if '"' not in token:
        return str(token)
    parts = _NAME_PART.findall(token)
    return ".".join(plain or quoted.replace('""', '"') for quoted, plain in parts)


def _in_words(node: Node) -> str:
    match node:
        case Name(name):
            return f"the attribute `{name}`"
        case Literal(Kind.INTEGER | Kind.DOUBLE):
            return "a number"
        case Literal(kind):
            return f"a {kind.value}"
        case Negated() | Arithmetic():
            return "arithmetic"
        case _:
            return "a condition"


def _condition(piece: Piece) -> Condition:
    node = piece.node
    if isinstance(node, Name):
        return Comparison("=", node, literal(True))
    if isinstance(node, Literal) and isinstance(node.value, bool):
        return Constant(node.value)
    if isinstance(node, Literal | Negated | Arithmetic):
        _refuse(f"expected a condition, found {_in_words(node)}", piece.at)
    return node


def _expression(piece: Piece) -> Expression:
    node = piece.node
    if not isinstance(node, Name | Literal | Negated | Arithmetic):
        _refuse("expected a value, found a condition", piece.at)
    if (
        isinstance(node, Literal)
        and node.kind is Kind.INTEGER
        and cast("int", node.value) > INTEGER_MAX
    ):
        _refuse(_TOO_LARGE, piece.at)
    return node


def _number(piece: Piece) -> Expression:
    node = _expression(piece)
    if isinstance(node, Literal) and node.kind not in NUMBERS:
        _refuse(f"expected a number in arithmetic, found {_in_words(node)}", piece.at)
    return node


def _literal(piece: Piece) -> Literal:
    node = _expression(piece)
    assert isinstance(node, Literal)
    return node


def _name(piece: Piece, before: str) -> Name:
    if not isinstance(piece.node, Name):
        _refuse(f"expected an attribute before `{before}`, found {_in_words(piece.node)}", piece.at)
    return piece.node


def _negatable(node: Condition, start: Piece, negated: lark.Token | None) -> Piece:
    return Piece(node if negated is None else Not(node), start.at, "")


def _comparison(sign: ComparisonSign, left: Piece, right: Piece) -> Condition:
    sides = _expression(left), _expression(right)
    kinds = [_kind(side) for side in sides]
    for piece, kind in zip((left, right), kinds, strict=True):
        if kind is Kind.BOOLEAN and sign not in ("=", "<>"):
            _refuse(f"a boolean compares with `=` and `<>` only, not `{sign}`", piece.at)
    if kinds[0] and kinds[1] and kinds[0] is not kinds[1] and not NUMBERS.issuperset(kinds):
        found = " and ".join(_in_words(side) for side in sides)
        _refuse(f"{found} never compare", right.at)
    if isinstance(sides[0], Literal) and isinstance(sides[1], Literal):
        return Constant(compare(sign, sides[0].value, sides[1].value) is True)
    return comparison(sign, *sides)


def _kind(node: Expression) -> Kind | None:
    """What kind of value this must be, where the text alone says so."""
    match node:
        case Literal(kind):
            return kind
        case Negated() | Arithmetic():
            return Kind.DOUBLE
        case Name():
            return None


def _typed_value(asked: TypeName, value: Piece) -> Literal:
    """The value of a constraint that names its type, as in `(string message new_product)`."""
    node = cast("Literal", value.node)
    if asked is TypeName.STRING:
        return literal(value.text)
    if asked is TypeName.TIMESTAMP and node.kind is Kind.STRING:
        return _timestamp(cast("str", node.value), value.at)
    wanted = {TypeName.DOUBLE: NUMBERS}.get(asked, asked.kinds)
    if node.kind not in wanted:
        _refuse(
            f"expected a value of type {asked.value.lower()}, found {named(value.text, 40)}",
            value.at,
        )
    return node


def _timestamp(text: str, at: int) -> Literal:
    try:
        return literal(parse_timestamp(text))
    except HeadgateError as problem:
        _refuse(str(problem), at)


_PARSER = lark.Lark(
    _GRAMMAR,
    parser="lalr",
    lexer="basic",
    lexer_callbacks={"NAME": _as_word},
    transformer=_Builder(),
    propagate_positions=False,
    maybe_placeholders=True,
)


def parse(text: str, limits: FilterLimits = FILTER_LIMITS) -> Condition:
    """Read a filter, within bounds on its length, its nodes and its depth."""
    if len(text) > limits.text_chars:
        raise FilterTooComplexError(f"a filter has at most {limits.text_chars:,} characters")
    half = None if text.isascii() else _HALF_CHARACTER.search(text)
    if half is not None:
        raise FilterSyntaxError(f"half a character, U+{ord(half[0]):04X}", text, half.start())
    try:
        piece = cast("Piece", _PARSER.parse(text))
        condition = _condition(piece)
    except lark.UnexpectedToken as problem:
        raise unexpected_token(problem, text) from None
    except lark.UnexpectedCharacters as problem:
        raise unexpected_character(problem, text) from None
    except lark.exceptions.VisitError as problem:
        refusal = problem.orig_exc
        if not isinstance(refusal, _RefusalError):
            raise
        raise FilterSyntaxError(refusal.problem, text, refusal.at) from None
    except _RefusalError as refusal:
        raise FilterSyntaxError(refusal.problem, text, refusal.at) from None
    check_size(condition, limits)
    return condition
