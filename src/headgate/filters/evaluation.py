"""Is a condition true, false or unknown for an event? The slow and obvious answer.

It follows the tree and Kleene's three-valued logic to the letter; `compiling` gives the same
answer fast, and is tested against this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headgate.filters.arithmetic import calculate, compare, negate
from headgate.filters.likeness import Pattern
from headgate.filters.syntax import (
    And,
    Arithmetic,
    Between,
    Comparison,
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
)
from headgate.model.values import Value, kind_of


def evaluate(node: Condition, event: Mapping[str, Value]) -> bool | None:
    match node:
        case Constant(truth):
            return truth
        case And(parts):
            return all_of(evaluate(part, event) for part in parts)
        case Or(parts):
            return any_of(evaluate(part, event) for part in parts)
        case Not(part):
            return opposite(evaluate(part, event))
        case Comparison(sign, left, right):
            return compare(sign, value_of(left, event), value_of(right, event))
        case Between():
            return evaluate(node.spelled_out(), event)
        case In():
            return any_of(evaluate(test, event) for test in node.spelled_out())
        case Like(name, pattern, escape):
            text = event.get(name.name)
            return Pattern.read(pattern, escape).matches(text) if isinstance(text, str) else None
        case Contains(text, name):
            members = event.get(name.name)
            return text in members if isinstance(members, frozenset) else None
        case Present(name):
            return name.name in event
        case IsType(name, type_):
            return name.name in event and kind_of(event[name.name]) in type_.kinds


def value_of(node: Expression, event: Mapping[str, Value]) -> Value | None:
    """What an expression comes to, or nothing where that is unknown."""
    match node:
        case Name(name):
            return event.get(name)
        case Literal(_, value):
            return value
        case Negated(operand):
            return negate(value_of(operand, event))
        case Arithmetic(sign, left, right):
            return calculate(sign, value_of(left, event), value_of(right, event))


def all_of(truths: Iterable[bool | None]) -> bool | None:
    known = set(truths)
    return False if False in known else None if None in known else True


def any_of(truths: Iterable[bool | None]) -> bool | None:
    known = set(truths)
    return True if True in known else None if None in known else False


def opposite(truth: bool | None) -> bool | None:
    return None if truth is None else not truth
