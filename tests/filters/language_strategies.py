"""What does hypothesis try on the language? Trees as the reader makes them, and events for them."""

import random
from datetime import UTC, datetime

from hypothesis import strategies as st

from headgate.filters.arithmetic import NUMBERS
from headgate.filters.likeness import Pattern
from headgate.filters.syntax import (
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
    Present,
    TypeName,
    comparison,
    conjunction,
    disjunction,
    literal,
)
from headgate.model.errors import HeadgateError
from headgate.model.values import OPAQUE, Kind, Scalar, Value

SIGNS: list[ComparisonSign] = ["=", "<>", "<", "<=", ">", ">="]
ARITHMETIC_SIGNS: list[ArithmeticSign] = ["+", "-", "*", "/", "%"]

INTEGERS_AT_EDGES = [
    0, 1, -1, 2, 5, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), -(2**63) + 1,
]  # fmt: skip
DOUBLES_AT_EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.5, 5.0, 5e-324, 1e308, -1e308, 1.7976931348623157e308, 1e16, 1e-7,
    2.0**53, 2.0**63, -(2.0**63), 1e22, 123456789012345680.0,
]  # fmt: skip
TEXTS_AT_EDGES = [
    "", "a", "b", "ab", "A", "'", "''", '"', "\n", "\\", "%", "_", "5", "TRUE", "NULL", "é", "😀",
    "\uffff", "\U00010000", "\x00", " a ", "--", "a'b", "IN",
]  # fmt: skip
MOMENTS = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 31, 12, tzinfo=UTC),
    datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]
NASTY_NAMES = [
    "a", "A", "a.b", "a.5", "_", "$time", "$", "$user.NAME", "é", "with space", '"', '""', 'a"b',
    '"a"', "'", "a'b", "\n", " ", ".", "a.", ".a", "a..b", "5", "5a", "-a", "a-b", "😀", "\x00",
    "in", "IN", "And", "or", "not", "null", "TRUE", "false", "like", "escape", "between", "is",
    "exists", "EXISTS", "any", "string", "integer", "double", "number", "boolean", "timestamp",
    "TIMESTAMP", "in.not", "a.null", "ſ", "ıs", "²", "a²", "a b.c", "(", ")", ",", "1e5",
]  # fmt: skip
FEW_NAMES = ["a", "b", "c"]

_ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
TEXTS = st.sampled_from(TEXTS_AT_EDGES) | _ANY_TEXT
NUMBERS_ = (
    st.sampled_from(INTEGERS_AT_EDGES)
    | st.integers(-9, 9)
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from(DOUBLES_AT_EDGES)
    | st.floats(allow_nan=False, allow_infinity=False)
)
TIMESTAMPS = st.sampled_from(MOMENTS) | st.datetimes(timezones=st.just(UTC))
SCALARS: st.SearchStrategy[Scalar] = st.one_of(TEXTS, NUMBERS_, st.booleans(), TIMESTAMPS)
VALUES: st.SearchStrategy[Value] = st.one_of(
    SCALARS, st.frozensets(st.sampled_from(TEXTS_AT_EDGES), max_size=3), st.just(OPAQUE)
)
NASTY = st.sampled_from(NASTY_NAMES) | _ANY_TEXT.filter(bool)
FEW = st.sampled_from(FEW_NAMES)


def events(names: st.SearchStrategy[str] = FEW) -> st.SearchStrategy[dict[str, Value]]:
    return st.dictionaries(names, VALUES, max_size=4)


def _readable_pattern(pattern: tuple[str, str | None]) -> bool:
    try:
        Pattern.read(*pattern)
    except HeadgateError:
        return False
    return True


PATTERNS = st.tuples(
    st.text(st.sampled_from("ab%_!'\\\né"), max_size=8),
    st.none() | st.sampled_from(["!", "%", "_", "'", "\\", "a", "é"]),
).filter(_readable_pattern)


def number_kind(node: Expression) -> Kind | None:
    """The kind that the text alone tells of an expression: arithmetic makes numbers."""
    if isinstance(node, Literal):
        return node.kind
    return None if isinstance(node, Name) else Kind.DOUBLE


def comparable(one: Expression, other: Expression) -> bool:
    kinds = number_kind(one), number_kind(other)
    return None in kinds or kinds[0] is kinds[1] or NUMBERS.issuperset(kinds)


def numeric(names: st.SearchStrategy[str]) -> st.SearchStrategy[Expression]:
    """Names, numbers and arithmetic, as the reader makes it: constants are folded."""

    def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            inner.filter(lambda node: not isinstance(node, Literal)).map(Negated),
            st.builds(Arithmetic, st.sampled_from(ARITHMETIC_SIGNS), inner, inner).filter(
                lambda node: (
                    not (isinstance(node.left, Literal) and isinstance(node.right, Literal))
                )
            ),
        )

    leaves: st.SearchStrategy[Expression] = names.map(Name) | NUMBERS_.map(literal)
    return st.recursive(leaves, grown, max_leaves=5)


def _compared(sign: ComparisonSign, left: Expression, right: Expression) -> Comparison | None:
    """The comparison that the reader makes, or nothing where it folds or refuses."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return None
    flags = Kind.BOOLEAN in (number_kind(left), number_kind(right))
    if not comparable(left, right) or (flags and sign not in ("=", "<>")):
        return None
    return comparison(sign, left, right)


def _between(operand: Expression, low: Expression, high: Expression) -> Between | None:
    ends = (low, high)
    if any(Kind.BOOLEAN is number_kind(node) for node in (operand, *ends)):
        return None
    if all(isinstance(node, Literal) for node in (operand, *ends)):
        return None
    return Between(operand, *ends) if all(comparable(operand, end) for end in ends) else None


def _among(operand: Expression, values: list[Scalar]) -> In | None:
    literals = tuple(map(literal, values))
    readable = all(comparable(operand, value) for value in literals)
    return None if isinstance(operand, Literal) or not readable else In(operand, literals)


def single_tests(names: st.SearchStrategy[str] = FEW) -> st.SearchStrategy[Condition]:
    """Every condition that is no AND, OR or NOT."""
    name = names.map(Name)
    value: st.SearchStrategy[Expression] = st.one_of(name, SCALARS.map(literal), numeric(names))
    sign = st.sampled_from(SIGNS)
    made: st.SearchStrategy[Condition | None] = st.one_of(
        st.builds(Comparison, st.sampled_from(SIGNS[:2]), name, SCALARS.map(literal)),
        st.builds(_compared, sign, name, SCALARS.map(literal)),
        st.builds(_compared, sign, value, value),
        st.builds(_between, name, SCALARS.map(literal), SCALARS.map(literal)),
        st.builds(_between, value, value, value),
        st.builds(_among, name, st.lists(SCALARS, min_size=1, max_size=4)),
        st.builds(_among, value, st.lists(SCALARS, min_size=1, max_size=3)),
        st.builds(lambda name, pattern: Like(name, *pattern), name, PATTERNS),
        st.builds(Contains, TEXTS, name),
        st.builds(Present, name),
        st.builds(IsType, name, st.sampled_from(TypeName)),
        st.booleans().map(Constant),
    )
    return made.filter(lambda node: node is not None)  # type: ignore[return-value]


def conditions(
    names: st.SearchStrategy[str] = FEW, max_leaves: int = 6
) -> st.SearchStrategy[Condition]:
    """Trees of every kind of node, such as the reader makes."""

    def grown(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        parts = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(parts.map(conjunction), parts.map(disjunction), inner.map(Not))

    return st.recursive(single_tests(names), grown, max_leaves=max_leaves)


WORDS = [
    "AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE", "EXISTS",
    "ANY", "STRING", "INTEGER", "DOUBLE", "NUMBER", "BOOLEAN", "TIMESTAMP", "and", "like", "string",
    "a", "b", "a.b", "$x", '"a b"', '""', '"', "'", "''", "'x'", "'x%'", "'!'", "'2026-01-31'",
    "0", "1", "-1", "1.5", "1e5", "1e999", "9223372036854775808", ".5", "5.", "é", "\n", "\t", " ",
    "(", ")", "(", ")", ",", "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", ".",
    "!", ";", "\x00", "\ud800", "\u202e", "😀", "--", "/*",
]  # fmt: skip


def soup(chance: random.Random) -> str:
    """Words of the language in any order."""
    joint = chance.choice(["", " ", " ", " "])
    return joint.join(chance.choice(WORDS) for _ in range(chance.randrange(1, 14)))


def mutated(text: str, chance: random.Random) -> str:
    """The text with a few words put in, taken out or doubled."""
    for _ in range(chance.randrange(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 2, 5]))
        piece = chance.choice([chance.choice(WORDS), "", text[start:end] * 2])
        text = text[:start] + piece + text[end:]
    return text
