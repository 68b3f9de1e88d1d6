"""Is a condition true for an event, fast? Compiles the tree to one Python function.

`NOT` is pushed down to the tests first: then only "is it true?" is left to ask, and no third
truth value is needed. The tree goes in as Python's own syntax tree, with every value of the filter
as a constant in it, so no text of a filter is ever run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import groupby, product
from math import fmod, isfinite
from typing import cast

from headgate.filters.arithmetic import NUMBERS, of_integers
from headgate.filters.likeness import Part, Pattern
from headgate.filters.syntax import (
    OPPOSITE,
    And,
    Arithmetic,
    ArithmeticSign,
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
    Not,
    Or,
    Present,
    disjunction,
)
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import Kind, Scalar, Value

Test = Callable[[Mapping[str, Value]], bool]

_SIGNS: dict[ComparisonSign, ast.cmpop] = {
    "=": ast.Eq(),
    "<>": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_CLASSES: dict[Kind, type] = {
    Kind.STRING: str,
    Kind.INTEGER: int,
    Kind.DOUBLE: float,
    Kind.BOOLEAN: bool,
    Kind.TIMESTAMP: datetime,
    Kind.SET: frozenset,
}
_NUMBERS = (Kind.DOUBLE, Kind.INTEGER)
_ORDERED_PAIRS = frozenset({(str, str), (datetime, datetime), *product((int, float), repeat=2)})
_EQUAL_PAIRS = _ORDERED_PAIRS | {(bool, bool)}
"""The classes of values that compare with one another."""

_OPERATORS: dict[ArithmeticSign, ast.operator] = {"+": ast.Add(), "-": ast.Sub(), "*": ast.Mult()}


def compile_condition(node: Condition) -> Test:
    """A function from an event's attributes to whether the condition is true."""
    compiler = _Compiler()
    function = ast.parse("def test(event): return False")
    cast("ast.FunctionDef", function.body[0]).body = [ast.Return(compiler.truth(node, True))]
    code = compile(ast.fix_missing_locations(function), "<filter>", "exec")
    scope = compiler.scope
    exec(code, scope)  # noqa: S102 - made of the nodes below only
    return cast("Test", scope["test"])


class _Compiler:
    """Makes the expression that says whether a condition is true (or, under a NOT, false)."""

    def __init__(self) -> None:
        self.scope: dict[str, object] = {kind.name: made for kind, made in _CLASSES.items()}
        self.numbers = 0

    def truth(self, node: Condition, wanted: bool) -> ast.expr:
        match node:
            case Constant(truth):
                return ast.Constant(truth is wanted)
            case Not(part):
                return self.truth(part, not wanted)
            case And(parts) | Or(parts):
                every = isinstance(node, And) is wanted
                joined = [self.truth(part, wanted) for part in parts]
                return _all(*joined) if every else _any(*joined)
            case Between(Name(name), Literal(low_kind, low), Literal(high_kind, high)) if (
                wanted and _kinds(low_kind) == _kinds(high_kind)
            ):
                ends = [self._constant(low), self._constant(high)]
                inside = ast.Compare(ends[0], [ast.LtE(), ast.LtE()], [_value(), ends[1]])
                return _all(self._is(name, *_kinds(low_kind)), inside)
            case Between():
                return self.truth(node.spelled_out(), wanted)
            case In(Name(name), values) if wanted:
                return self._among(name, [value.value for value in values])
            case In(Name(name), values):
                return self._outside(name, values)
            case In():
                return self.truth(disjunction(node.spelled_out()), wanted)
            case Comparison(sign, Name(name), Literal(kind, value)):
                return self._compared(name, sign if wanted else OPPOSITE[sign], kind, value)
            case Comparison(sign, left, right):
                return self._residue(sign if wanted else OPPOSITE[sign], left, right)
            case Like(name, pattern, escape):
                fits = self._fits(Pattern.read(pattern, escape))
                return _all(self._is(name.name, Kind.STRING), fits if wanted else _no(fits))
            case Contains(text, name):
                having = ast.Compare(
                    ast.Constant(text), [ast.In() if wanted else ast.NotIn()], [_value()]
                )
                return _all(self._is(name.name, Kind.SET), having)
            case Present(name):
                there = ast.In() if wanted else ast.NotIn()
                return ast.Compare(ast.Constant(name.name), [there], [_variable("event")])
            case IsType(name, type_):
                is_type = self._is(name.name, *sorted(type_.kinds, key=lambda kind: kind.name))
                return is_type if wanted else _no(is_type)

    def _compared(self, name: str, sign: ComparisonSign, kind: Kind, value: Scalar) -> ast.expr:
        if sign == "=":
            return self._equal(name, kind, value)
        test = ast.Compare(_value(), [_SIGNS[sign]], [self._constant(value)])
        return _all(self._is(name, *_kinds(kind)), test)

    def _equal(self, name: str, kind: Kind, value: Scalar) -> ast.expr:
        if kind is Kind.BOOLEAN:
            return ast.Compare(_get(name), [ast.Is()], [self._constant(value)])
        equal = ast.Compare(_read(name), [ast.Eq()], [self._constant(value)])
        # In Python `True == 1`; the kinds that are left never equal one another.
        return _all(equal, _no(self._held(Kind.BOOLEAN))) if kind in _NUMBERS else equal

    def _among(self, name: str, values: list[Scalar]) -> ast.expr:
        flags = [value for value in values if isinstance(value, bool)]
        others = frozenset(value for value in values if not isinstance(value, bool))
        tests: list[ast.expr] = [self._equal(name, Kind.BOOLEAN, flag) for flag in flags]
        if others:
            member = ast.Compare(_read(name), [ast.In()], [self._named(others)])
            numbers = any(isinstance(value, int | float) for value in others)
            tests.append(_all(member, _no(self._held(Kind.BOOLEAN))) if numbers else member)
        return _any(*tests)

    def _outside(self, name: str, values: tuple[Literal, ...]) -> ast.expr:
        """Unequal to each of them: no value is, where they are of kinds that don't compare."""
        kinds = {_kinds(value.kind) for value in values}
        if len(kinds) > 1:
            return ast.Constant(False)
        others = self._named(frozenset(value.value for value in values))
        unequal = ast.Compare(_value(), [ast.NotIn()], [others])
        return _all(self._is(name, *kinds.pop()), unequal)

    def _is(self, name: str, *kinds: Kind) -> ast.expr:
        """Read the attribute, keep it as the value at hand, and see whether it is of a kind."""
        first, *rest = kinds
        read = ast.Compare(_class_of(_read(name)), [ast.Is()], [_variable(first.name)])
        return _any(read, *(self._held(kind) for kind in rest))

    def _held(self, kind: Kind) -> ast.expr:
        return ast.Compare(_class_of(_value()), [ast.Is()], [_variable(kind.name)])

    def _fits(self, pattern: Pattern) -> ast.expr:
        """The tests that one would write by hand, where the pattern is simple enough."""
        first, *others = pattern.parts
        if not others:
            return _all(_measures(ast.Eq(), len(first)), *_texts_at(first))
        if any(None in part for part in pattern.parts):
            length, fits = pattern.short_texts
            quick = ast.Compare(
                _call(self._named(fits), _value()), [ast.IsNot()], [ast.Constant(None)]
            )
            slow = _call(self._named(pattern.matches), _value())
            return ast.IfExp(_measures(ast.LtE(), length), quick, slow)
        *between, last = ("".join(char or "" for char in part) for part in others)
        if len(between) == 1 and not first and not last:
            return ast.Compare(ast.Constant(between[0]), [ast.In()], [_value()])
        tests = _texts_at(first)
        if last:
            tests += [
                _measures(ast.GtE(), len(first) + len(last)),
                _asked("endswith", ast.Constant(last)),
            ]
        # Each part is looked for behind the one before.
        at: ast.expr = ast.Constant(len(first))
        end = [ast.Constant(-len(last))] if last else []
        for part in between:
            found = ast.NamedExpr(
                ast.Name("at", ast.Store()), _asked("find", ast.Constant(part), at, *end)
            )
            tests.append(ast.Compare(found, [ast.GtE()], [ast.Constant(0)]))
            at = ast.BinOp(_variable("at"), ast.Add(), ast.Constant(len(part)))
        return _all(*tests) if tests else ast.Constant(True)

    def _residue(self, sign: ComparisonSign, left: Expression, right: Expression) -> ast.expr:
        """A comparison that isn't of a name with a literal."""
        if isinstance(left, Name | Literal) and isinstance(right, Name | Literal):
            return self._paired(sign, left, right)
        # Where there is arithmetic, only numbers compare.
        tests: list[ast.expr] = []
        sides = [self._number(side, tests) for side in (left, right)]
        return _all(*tests, ast.Compare(sides[0], [_SIGNS[sign]], [sides[1]]))

    def _paired(
        self, sign: ComparisonSign, left: Name | Literal, right: Name | Literal
    ) -> ast.expr:
        sides = {"left": self._operand(left), "right": self._operand(right)}
        classes = [
            _class_of(ast.NamedExpr(ast.Name(side, ast.Store()), value))
            for side, value in sides.items()
        ]
        pairs = self._named(_EQUAL_PAIRS if sign in ("=", "<>") else _ORDERED_PAIRS)
        comparable = ast.Compare(ast.Tuple(classes, ast.Load()), [ast.In()], [pairs])
        outcome = ast.Compare(_variable("left"), [_SIGNS[sign]], [_variable("right")])
        return _all(comparable, outcome)

    def _operand(self, node: Name | Literal) -> ast.expr:
        return _get(node.name) if isinstance(node, Name) else self._constant(node.value)

    def _number(self, node: Expression, tests: list[ast.expr]) -> ast.expr:
        """What an expression comes to, once the tests that are added here were true in turn."""
        match node:
            case Literal(kind, value):
                if kind not in NUMBERS:
                    tests.append(ast.Constant(False))
                return self._constant(value)
            case Name(name):
                number, keep = self._kept(_get(name))
                kinds = [
                    ast.Compare(_class_of(side), [ast.Is()], [_variable(kind.name)])
                    for side, kind in zip((keep, number), _NUMBERS, strict=True)
                ]
                tests.append(_any(*kinds))
                return number
            case Negated(operand):
                return self._bounded(ast.UnaryOp(ast.USub(), self._number(operand, tests)), tests)
            case Arithmetic(sign, left, right):
                sides = [self._number(side, tests) for side in (left, right)]
                if sign in _OPERATORS:
                    return self._bounded(ast.BinOp(sides[0], _OPERATORS[sign], sides[1]), tests)
                tests.append(ast.Compare(sides[1], [ast.NotEq()], [ast.Constant(0)]))
                return self._bounded(self._divided(sign, *sides), tests)

    def _divided(self, sign: ArithmeticSign, left: ast.expr, right: ast.expr) -> ast.expr:
        """Python divides doubles as SQL does, integers not."""
        integer = _variable(Kind.INTEGER.name)
        whole = _all(
            *(ast.Compare(_class_of(side), [ast.Is()], [integer]) for side in (left, right))
        )
        of_doubles = (
            ast.BinOp(left, ast.Div(), right)
            if sign == "/"
            else _call(self._named(fmod), left, right)
        )
        of_both = _call(self._named(of_integers), ast.Constant(sign), left, right)
        return ast.IfExp(whole, of_both, of_doubles)

    def _bounded(self, value: ast.expr, tests: list[ast.expr]) -> ast.expr:
        """A result that stays within 64 bits, or else is a finite double."""
        result, keep = self._kept(value)
        within = ast.Compare(
            ast.Constant(INTEGER_MIN), [ast.LtE(), ast.LtE()], [keep, ast.Constant(INTEGER_MAX)]
        )
        double = ast.Compare(_class_of(result), [ast.Is()], [_variable(Kind.DOUBLE.name)])
        tests.append(_any(within, _all(double, _call(self._named(isfinite), result))))
        return result

    def _kept(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """A variable of its own, and the expression that gives it this value."""
        self.numbers += 1
        name = f"number_{self.numbers}"
        return _variable(name), ast.NamedExpr(ast.Name(name, ast.Store()), value)

    def _constant(self, value: Scalar) -> ast.expr:
        return self._named(value) if isinstance(value, datetime) else ast.Constant(value)

    def _named(self, value: object) -> ast.expr:
        name = f"constant_{len(self.scope)}"
        self.scope[name] = value
        return _variable(name)


def _kinds(kind: Kind) -> tuple[Kind, ...]:
    """The kinds that compare with this one, the likelier first."""
    return _NUMBERS if kind in _NUMBERS else (kind,)


def _all(*tests: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.And(), list(tests)) if len(tests) > 1 else tests[0]


def _any(*tests: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.Or(), list(tests)) if len(tests) > 1 else tests[0]


def _no(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _variable(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _value() -> ast.expr:
    return _variable("value")


def _get(name: str) -> ast.expr:
    return _call(ast.Attribute(_variable("event"), "get", ast.Load()), ast.Constant(name))


def _read(name: str) -> ast.expr:
    return ast.NamedExpr(ast.Name("value", ast.Store()), _get(name))


def _class_of(value: ast.expr) -> ast.expr:
    return ast.Attribute(value, "__class__", ast.Load())


def _call(function: ast.expr, *arguments: ast.expr) -> ast.expr:
    return ast.Call(function, list(arguments), [])


def _asked(method: str, *arguments: ast.expr) -> ast.expr:
    return _call(ast.Attribute(_value(), method, ast.Load()), *arguments)


def _measures(sign: ast.cmpop, length: int) -> ast.expr:
    return ast.Compare(_call(_variable("len"), _value()), [sign], [ast.Constant(length)])


def _texts_at(part: Part) -> list[ast.expr]:
    """That the value begins like this part of a pattern; it is known to be long enough."""
    tests: list[ast.expr] = []
    at = 0
    for plain, run in groupby(part, key=lambda char: char is not None):
        chars = list(run)
        if plain:
            text = ast.Constant("".join(char or "" for char in chars))
            tests.append(_asked("startswith", text, *([ast.Constant(at)] if at else [])))
        at += len(chars)
    return tests
