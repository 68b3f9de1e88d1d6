"""What does a filter say? The tree of a condition, as people wrote it.

Trees are frozen and compare by structure. `1`, `1.0` and `TRUE` are different literals, although
Python calls them equal, so a literal carries its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Literal as Choice
from typing import TypeAlias

from headgate.model.values import Kind, Scalar, kind_of

ComparisonSign: TypeAlias = Choice["=", "<>", "<", "<=", ">", ">="]
ArithmeticSign: TypeAlias = Choice["+", "-", "*", "/", "%"]

FLIPPED: dict[ComparisonSign, ComparisonSign] = {
    "=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip
"""`5 < x` says `x > 5`."""

OPPOSITE: dict[ComparisonSign, ComparisonSign] = {
    "=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
}  # fmt: skip
"""`NOT x < 5` says `x >= 5`, in three-valued logic too: both are unknown together."""


class TypeName(Enum):
    """The types that can be asked for; a number is an integer or a double."""

    STRING = "STRING"
    INTEGER = "INTEGER"
    DOUBLE = "DOUBLE"
    NUMBER = "NUMBER"
    BOOLEAN = "BOOLEAN"
    TIMESTAMP = "TIMESTAMP"

    @property
    def kinds(self) -> frozenset[Kind]:
        return _KINDS[self]


_KINDS = {
    TypeName.STRING: frozenset({Kind.STRING}),
    TypeName.INTEGER: frozenset({Kind.INTEGER}),
    TypeName.DOUBLE: frozenset({Kind.DOUBLE}),
    TypeName.NUMBER: frozenset({Kind.INTEGER, Kind.DOUBLE}),
    TypeName.BOOLEAN: frozenset({Kind.BOOLEAN}),
    TypeName.TIMESTAMP: frozenset({Kind.TIMESTAMP}),
}


@dataclass(frozen=True, slots=True)
class Name:
    """The value of an attribute."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written in the filter; make one with `literal`."""

    kind: Kind
    value: Scalar


def literal(value: Scalar) -> Literal:
    # 0.0 and -0.0 compare as equal everywhere, so one of them is enough.
    return Literal(kind_of(value), value + 0.0 if isinstance(value, float) else value)


@dataclass(frozen=True, slots=True)
class Negated:
    """`-x`"""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left + right`, and so on."""

    sign: ArithmeticSign
    left: Expression
    right: Expression


Expression: TypeAlias = Name | Literal | Negated | Arithmetic


@dataclass(frozen=True, slots=True)
class Constant:
    """`TRUE` or `FALSE`"""

    truth: bool


@dataclass(frozen=True, slots=True)
class And:
    """At least two conditions, none of them an `And`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least two conditions, none of them an `Or`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Kleene's NOT: unknown where its part is unknown."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left = right`, and so on; a literal stands on the right where the other side is a name."""

    sign: ComparisonSign
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Between:
    """`operand BETWEEN low AND high`, both ends included."""

    operand: Expression
    low: Expression
    high: Expression

    def spelled_out(self) -> And:
        return And(
            (comparison(">=", self.operand, self.low), comparison("<=", self.operand, self.high))
        )


@dataclass(frozen=True, slots=True)
class In:
    """`operand IN (…)`"""

    operand: Expression
    values: tuple[Literal, ...]

    def spelled_out(self) -> tuple[Comparison, ...]:
        return tuple(comparison("=", self.operand, value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Like:
    """`name LIKE 'pattern' ESCAPE 'escape'`"""

    name: Name
    pattern: str
    escape: str | None = None


@dataclass(frozen=True, slots=True)
class Contains:
    """`'text' IN name`: the attribute is a set of strings that has this one."""

    text: str
    name: Name


@dataclass(frozen=True, slots=True)
class Present:
    """`name IS NOT NULL`, `EXISTS(name)`: true or false, never unknown."""

    name: Name


@dataclass(frozen=True, slots=True)
class IsType:
    """`name IS STRING`, and so on: true or false, never unknown; false where it is missing."""

    name: Name
    type: TypeName


Condition: TypeAlias = (
    Constant | And | Or | Not | Comparison | Between | In | Like | Contains | Present | IsType
)
Node: TypeAlias = Condition | Expression


def conjunction(parts: Iterable[Condition]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, And) else (part,))
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(parts: Iterable[Condition]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Or) else (part,))
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def comparison(sign: ComparisonSign, left: Expression, right: Expression) -> Comparison:
    """A comparison whose name stands on the left where the other side is a literal."""
    if isinstance(left, Literal) and isinstance(right, Name):
        return Comparison(FLIPPED[sign], right, left)
    return Comparison(sign, left, right)


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case And(parts) | Or(parts):
            return parts
        case Not(part):
            return (part,)
        case Negated(operand):
            return (operand,)
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            return (left, right)
        case Between(operand, low, high):
            return (operand, low, high)
        case In(operand, values):
            return (operand, *values)
        case Like(name) | Present(name) | IsType(name) | Contains(_, name):
            return (name,)
        case Constant() | Name() | Literal():
            return ()


def walk(node: Node) -> Iterator[tuple[Node, int]]:
    """Every node with its depth, without recursion: a tree may come deeper than Python allows."""
    waiting: list[tuple[Node, int]] = [(node, 1)]
    while waiting:
        current, depth = waiting.pop()
        yield current, depth
        waiting.extend((child, depth + 1) for child in children(current))


def names_in(node: Node) -> frozenset[str]:
    return frozenset(part.name for part, _ in walk(node) if isinstance(part, Name))
