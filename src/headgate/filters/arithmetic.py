"""What do two values come to, and how do they compare? Unknown is `None`.

Integers are exact in 64 bits, and what leaves them is unknown, not wrapped; dividing them drops
the fraction, as SQL does. With a double the result is a double; infinities and NaN are unknown.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from headgate.filters.syntax import ArithmeticSign, ComparisonSign
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import Kind, Value, kind_of

Number = int | float

NUMBERS = frozenset({Kind.INTEGER, Kind.DOUBLE})
_ORDERED = frozenset({Kind.STRING, Kind.TIMESTAMP})

_COMPARE: dict[ComparisonSign, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(sign: ComparisonSign, left: Value | None, right: Value | None) -> bool | None:
    """Numbers compare with numbers, exactly; else only values of one kind compare."""
    if left is None or right is None:
        return None
    left_kind, right_kind = kind_of(left), kind_of(right)
    if (
        (left_kind in NUMBERS and right_kind in NUMBERS)
        or (left_kind is right_kind and left_kind in _ORDERED)
        or (left_kind is right_kind is Kind.BOOLEAN and sign in ("=", "<>"))
    ):
        return _COMPARE[sign](left, right)
    return None


def is_number(value: object) -> bool:
    return value.__class__ is int or value.__class__ is float


def negate(value: Any) -> Number | None:
    return _bounded(-value) if is_number(value) else None


def calculate(sign: ArithmeticSign, left: Any, right: Any) -> Number | None:
    if not (is_number(left) and is_number(right)):
        return None
    whole = left.__class__ is int and right.__class__ is int
    try:
        return _bounded(of_integers(sign, left, right) if whole else _double(sign, left, right))
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def of_integers(sign: ArithmeticSign, left: int, right: int) -> int:
    """The exact result, which may be beyond 64 bits."""
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            quotient = abs(left) // abs(right)
            return quotient if (left < 0) == (right < 0) else -quotient
        case "%":
            return left - right * of_integers("/", left, right)


def _double(sign: ArithmeticSign, left: float, right: float) -> float:
    left, right = float(left), float(right)
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "%":
            return math.fmod(left, right)


def _bounded(number: Number) -> Number | None:
    if isinstance(number, float):
        return number if math.isfinite(number) else None
    return number if INTEGER_MIN <= number <= INTEGER_MAX else None
