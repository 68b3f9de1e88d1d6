"""Which values does a set hold, in words that a person reads?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

from headgate.filters.likeness import Pattern, after_prefix
from headgate.filters.line import ranked_double, ranked_moment
from headgate.filters.printing import print_text, print_value
from headgate.filters.value_sets import (
    VALUES,
    Cell,
    ValueSet,
    of_kinds,
)
from headgate.model.errors import FilterTooComplexError
from headgate.model.values import Kind, Scalar

Stretch: TypeAlias = tuple[Any, Any]
"""The first rank and the one after the last; `None` where there is no end."""
End: TypeAlias = tuple[str, Scalar] | None
"""A sign and a value, as in `> 100`, or nothing where there is no end."""
Range: TypeAlias = tuple[End, End]

_INTEGERS_LISTED_MAX = 20


def describe(values: ValueSet) -> str:
    """`number > 100 or missing`, `text other than 'a'`, `any value`, `nothing`."""
    with suppress(FilterTooComplexError):  # then it is shown as what it asks for
        if values.is_empty():
            return "nothing"
    if values.issuperset(VALUES):
        parts = ["any value"]
    else:
        plain = ValueSet(values.bounds)
        parts = [*_numbers(plain), *_texts(plain), *_others(plain), *map(_cell, values.cells)]
    if None in values:
        parts.append("missing")
    return " or ".join(parts)


def _numbers(values: ValueSet) -> Iterable[str]:
    """Integers and doubles as numbers where the same bounds hold for both, else each by itself."""
    both = of_kinds([Kind.INTEGER, Kind.DOUBLE])
    found = values & both
    if not found.bounds:
        return []
    if found == both:
        return ["any number"]
    if (excluded := _single_numbers(both & ~found)) is not None:
        return ["number other than " + _listed(excluded)]
    if (single := _single_numbers(found)) is not None:
        return ["number " + _listed(single)]
    integers, doubles = found.stretches(Kind.INTEGER), found.stretches(Kind.DOUBLE)
    ranges = [(_low_double(low), _high_double(high)) for low, high in doubles]
    if [_whole_numbers(one) for one in ranges] == integers:
        return [_in_words("number", one) for one in ranges]
    return [
        *(_in_words("integer", (_low_integer(low), _high_integer(end))) for low, end in integers),
        *(_in_words("double", one) for one in ranges),
    ]


def _single_numbers(values: ValueSet) -> list[str] | None:
    """The numbers of a set in which each is alone, and there as an integer and as a double."""
    integers: list[int] = []
    for low, end in values.stretches(Kind.INTEGER):
        if low is None or end is None or end - low + len(integers) > _INTEGERS_LISTED_MAX:
            return None
        integers.extend(range(low, end))
    doubles: list[float] = []
    for low, end in values.stretches(Kind.DOUBLE):
        if low is None or end != low + 1:
            return None
        doubles.append(ranked_double(low))
    if not doubles or integers != [double for double in doubles if double.is_integer()]:
        return None
    return [_number(double) for double in doubles]


def _low_integer(low: int | None) -> End:
    return None if low is None else (">=", low)


def _high_integer(end: int | None) -> End:
    return None if end is None else ("<=", end - 1)


def _low_double(rank: int | None) -> End:
    if rank is None:
        return None
    return _shorter((">=", ranked_double(rank)), (">", ranked_double(rank - 1)))


def _high_double(rank: int | None) -> End:
    if rank is None:
        return None
    return _shorter(("<=", ranked_double(rank - 1)), ("<", ranked_double(rank)))


def _whole_numbers(ends: Range) -> Stretch:
    """The stretch of integers that has these ends."""
    low, high = ends
    return (
        None
        if low is None
        else _whole_end(low, {">=": math.ceil, ">": lambda x: math.floor(x) + 1}),
        None
        if high is None
        else _whole_end(high, {"<": math.ceil, "<=": lambda x: math.floor(x) + 1}),
    )


def _whole_end(end: tuple[str, Any], rounding: dict[str, Callable[[float], int]]) -> int:
    sign, value = end
    return rounding[sign](value)


def _texts(values: ValueSet) -> Iterable[str]:
    strings = of_kinds([Kind.STRING])
    found = values & strings
    if not found.bounds:
        return []
    if found == strings:
        return ["any text"]
    if (excluded := _single_texts(strings & ~found)) is not None:
        return ["text other than " + _listed(excluded)]
    parts = []
    single: list[str] = []
    for low, end in found.stretches(Kind.STRING):
        low = low or ""
        if end == low + "\0":
            single.append(print_text(low))
        elif low and end == after_prefix(low):
            parts.append(f"text beginning with {print_text(low)}")
        else:
            parts.append(_in_words("text", (_low_text(low), _high_text(end))))
    return [_listed(single), *parts] if single else parts


def _single_texts(values: ValueSet) -> list[str] | None:
    stretches = values.stretches(Kind.STRING)
    if not stretches or any(end != (low or "") + "\0" for low, end in stretches):
        return None
    return [print_text(low or "") for low, _ in stretches]


def _low_text(low: str) -> End:
    if not low:
        return None
    return (">", low[:-1]) if low.endswith("\0") else (">=", low)


def _high_text(end: str | None) -> End:
    if end is None:
        return None
    return ("<=", end[:-1]) if end.endswith("\0") else ("<", end)


def _others(values: ValueSet) -> Iterable[str]:
    parts: list[str] = []
    for low, end in values.stretches(Kind.BOOLEAN):
        parts.append("any boolean" if (low, end) == (None, None) else str(low == 1).upper())
    for low, end in values.stretches(Kind.TIMESTAMP):
        if low is not None and end == low + 1:
            parts.append(print_value(ranked_moment(low)))
        else:
            parts.append(_in_words("timestamp", (_low_moment(low), _high_moment(end))))
    parts += ["any set"] * bool(values.stretches(Kind.SET))
    parts += ["any opaque value"] * bool(values.stretches(Kind.OPAQUE))
    return parts


def _low_moment(rank: int | None) -> End:
    if rank is None:
        return None
    return _shorter((">=", ranked_moment(rank)), (">", ranked_moment(rank - 1)))


def _high_moment(rank: int | None) -> End:
    if rank is None:
        return None
    return _shorter(("<", ranked_moment(rank)), ("<=", ranked_moment(rank - 1)))


def _shorter(one: tuple[str, Scalar], other: tuple[str, Scalar]) -> End:
    """Of two ends that say the same, the one that takes fewer digits."""
    return other if len(_value(other[1])) < len(_value(one[1])) else one


def _cell(cell: Cell) -> str:
    tests = sorted(cell.tests, key=lambda one: (not one[1], str(one[0])))
    if all(isinstance(test, Pattern) for test, _ in tests):
        said = [f"{'' if wanted else 'NOT '}LIKE {print_text(str(test))}" for test, wanted in tests]
        within = " or ".join(_texts(ValueSet(cell.bounds))).removeprefix("any ")
        return f"{within} {' and '.join(said)}"
    said = [f"{'with' if wanted else 'without'} {print_text(str(test))}" for test, wanted in tests]
    return f"set {' and '.join(said)}"


def _in_words(word: str, ends: Range) -> str:
    said = [f"{sign} {_value(value)}" for sign, value in filter(None, ends)]
    return f"{word} {' and '.join(said)}" if said else f"any {word}"


def _value(value: Scalar) -> str:
    return _number(value) if isinstance(value, float) else print_value(value)


def _number(value: float) -> str:
    whole = value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else repr(value)


def _listed(words: list[str]) -> str:
    return ", ".join(words)
