"""Which simple demands does a set of values come to? What an index can look up, sort or check.

A set is cut into *pieces* that have no value in common (but for members of sets): a piece is a
handful of demands that hold together. A demand is either a *mark* that a value bears (it equals
this, begins with that, is of this kind) or a *test* of a number on a line against a bound.

The keys of the lines are integers of 64 bits, and every test says `bound <= key`: an upper bound is
the complement of one. The key of what is missing is the least integer, which no bound reaches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Any, Final, NamedTuple, cast

from headgate.filters import line
from headgate.filters.likeness import Pattern, after_prefix
from headgate.filters.line import double_rank, ranked_double
from headgate.filters.value_sets import Cell, ValueSet
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN

MISSING_KEY: Final = INTEGER_MIN


class Role(IntEnum):
    """What a mark says of a value."""

    EQUALS = 0
    BEGINS = 1
    HAS_MEMBER = 2
    STATE = 3


class State(IntEnum):
    """What a value is, or that there is none; the kinds have the numbers of their places."""

    ABSENT = line.ABSENT
    OPAQUE = line.OPAQUE
    SET = line.SET
    BOOLEAN = line.BOOLEAN
    INTEGER = line.INTEGER
    DOUBLE = line.DOUBLE
    TIMESTAMP = line.TIMESTAMP
    STRING = line.STRING
    NUMBER = 8
    PRESENT = 9


class View(IntEnum):
    """The lines on which values are compared; an integer stands on two of them."""

    NUMBER = 0
    INTEGER = 1
    DOUBLE = 2
    TIMESTAMP = 3
    TEXT = 4


Mark = tuple[Role, Any]
"""A role, and the value: a text, a `(place, rank)` for other values, a `State`."""
Test = tuple[View, bool, int]
"""A view, whether it is an upper bound (and the complement is taken), and the bound."""


class Piece(NamedTuple):
    """Demands on one attribute that hold together."""

    marks: tuple[Mark, ...] = ()
    tests: tuple[Test, ...] = ()
    lacks: tuple[Mark, ...] = ()
    verified: bool = False
    """More is demanded than is said here: whoever fits has to be looked at in full."""


def pieces_of(allowed: ValueSet) -> list[Piece]:
    """The set as pieces; none for the empty set, and one without demands for everything."""
    bounds = allowed.bounds
    if len(bounds) == 2 and bounds[0][0] == line.STRING and not allowed.cells:
        return [_text_stretch(bounds[0][1], bounds[1][1])]
    if bounds == (line.FIRST[0],):
        return [Piece()]
    if len(bounds) == 4 and not allowed.cells:
        plain = _plain_numbers(*bounds)
        if plain is not None:
            return [plain]
    return [*_stretches(allowed), *map(_cell, allowed.cells)]


def _plain_numbers(
    low: line.Point, integers_end: line.Point, first: line.Point, doubles_end: line.Point
) -> Piece | None:
    """The piece of a stretch of doubles with all integers between its ends: most ranges are one."""
    if low[0] != line.INTEGER or first[0] != line.DOUBLE:
        return None
    if integers_end[0] != line.INTEGER and integers_end != line.FIRST[line.DOUBLE]:
        return None
    if doubles_end[0] != line.DOUBLE and doubles_end != line.FIRST[line.TIMESTAMP]:
        return None  # it goes on among the timestamps
    last = _last(line.DOUBLE, doubles_end[1] if doubles_end[0] == line.DOUBLE else None)
    most = _last(line.INTEGER, integers_end[1] if integers_end[0] == line.INTEGER else None)
    if (low[1], most) != _integers_between(first[1], last):
        return None
    return _number_stretch(first[1], last)


def _stretches(allowed: ValueSet) -> Iterator[Piece]:
    if allowed.bounds == (line.FIRST[1],):
        yield Piece(((Role.STATE, State.PRESENT),))
        return
    by_place: dict[int, list[tuple[Any, Any]]] = {}
    for low, high in line.stretches(allowed.bounds):
        end = high[1] if high is not None and high[0] == low[0] else None
        by_place.setdefault(low[0], []).append((low[1], end))
    numbers = by_place.pop(line.INTEGER, []), by_place.pop(line.DOUBLE, [])
    yield from _numbers(*numbers)
    for place, found in by_place.items():
        if place == line.STRING:
            yield from _texts(found)
        elif place == line.TIMESTAMP:
            yield from (
                _stretch(View.TIMESTAMP, place, low, _last(place, end)) for low, end in found
            )
        elif place == line.BOOLEAN and found != [(0, None)]:
            yield from (Piece(((Role.EQUALS, (place, low)),)) for low, _ in found)
        else:
            yield Piece(((Role.STATE, State(place)),))


def _last(place: int, end: int | None) -> int:
    return line.LAST_RANKS[place] if end is None else end - 1


def _stretch(view: View, place: int, low: int, last: int) -> Piece:
    """All from `low` to `last` of one kind."""
    state: Mark = (Role.STATE, State(place))
    if low == last:
        # An integer and a double that are equal have one mark; a timestamp has its own.
        lone = place == line.TIMESTAMP or _other_kind(place, low) is None
        return Piece((_equals(place, low),) if lone else (_equals(place, low), state))
    tests = []
    if low > line.FIRST[place][1]:
        tests.append((view, False, low))
    if last < line.LAST_RANKS[place]:
        tests.append((view, True, ~last))
    return Piece((), tuple(tests)) if tests else Piece((state,))


def _other_kind(place: int, rank: int) -> int | None:
    """The rank that the same number has as the other kind of number."""
    if place == line.INTEGER:
        nearest = double_rank(float(rank))
        return nearest if ranked_double(nearest) == rank else None
    number = ranked_double(rank)
    whole = number.is_integer() and INTEGER_MIN <= number <= INTEGER_MAX
    return int(number) if whole else None


def _equals(place: int, rank: int) -> Mark:
    """One mark for equal numbers: that of the integer, where there is one."""
    if place == line.DOUBLE:
        whole = _other_kind(place, rank)
        if whole is not None:
            return Role.EQUALS, (line.INTEGER, whole)
    return Role.EQUALS, (place, rank)


def _numbers(
    integers: list[tuple[int, int | None]], doubles: list[tuple[int, int | None]]
) -> Iterator[Piece]:
    """A stretch of doubles with the integers between its ends is one stretch of numbers."""
    waiting = [(low, _last(line.INTEGER, end)) for low, end in reversed(integers)]
    for first, end in doubles:
        last = _last(line.DOUBLE, end)
        low, high = _integers_between(first, last)
        while waiting and waiting[-1][1] < low:
            yield _stretch(View.INTEGER, line.INTEGER, *waiting.pop())
        if low > high:
            yield _number_stretch(first, last)
        elif waiting and waiting[-1][0] <= low and high <= waiting[-1][1]:
            start, stop = waiting.pop()
            if start < low:
                yield _stretch(View.INTEGER, line.INTEGER, start, low - 1)
            if high < stop:
                waiting.append((high + 1, stop))
            yield _number_stretch(first, last)
        else:
            yield _stretch(View.DOUBLE, line.DOUBLE, first, last)
    for start, stop in reversed(waiting):
        yield _stretch(View.INTEGER, line.INTEGER, start, stop)


_TWO_RANKS, _TWO_DOUBLES = Struct("<qq"), Struct("<dd")


def _integers_between(first: int, last: int) -> tuple[int, int]:
    low, high = _TWO_DOUBLES.unpack(_TWO_RANKS.pack(abs(first), abs(last)))
    least = math.ceil(low if first >= 0 else -low)
    most = math.floor(high if last >= 0 else -high)
    return (
        least if least > INTEGER_MIN else INTEGER_MIN,
        most if most < INTEGER_MAX else INTEGER_MAX,
    )


def _number_stretch(first: int, last: int) -> Piece:
    if first == last:
        return Piece((_equals(line.DOUBLE, first),))
    tests = []
    if first > -line.DOUBLE_RANK_MAX:
        tests.append((View.NUMBER, False, first))
    if last < line.DOUBLE_RANK_MAX:
        tests.append((View.NUMBER, True, ~last))
    return Piece((), tuple(tests)) if tests else Piece(((Role.STATE, State.NUMBER),))


def number_keys(number: int) -> tuple[int, int]:
    """The ranks of the doubles next to an integer: the last one not above, the first not below.

    Between bounds that are doubles the two say the same of the integer as comparing it exactly.
    """
    rank = double_rank(float(number))
    near = ranked_double(rank)
    return (rank - (near > number), rank + (near < number))


_TEXT_BYTES: Final = 7


def text_key(text: bytes) -> int:
    """The first seven bytes and how many there are: in the order of texts, as an integer."""
    unsigned = int.from_bytes(text[:_TEXT_BYTES].ljust(_TEXT_BYTES, b"\0"), "big") << 8
    # Half of a byte is left over for the sign: the key of a text is never that of what is missing.
    return unsigned + min(len(text), 8) + INTEGER_MIN + 1


def _texts(found: list[tuple[str, str | None]]) -> Iterator[Piece]:
    gaps = _gaps(found)
    if gaps is None:
        yield from (_text_stretch(low, end) for low, end in found)
    else:
        yield Piece(((Role.STATE, State.STRING),), lacks=gaps)


def _gaps(found: list[tuple[str, str | None]]) -> tuple[Mark, ...] | None:
    """What the texts lack, where that is single texts and beginnings."""
    ends = [""] + [text for low, end in found for text in (low, end) if text is not None]
    if ends[1] == "":
        del ends[:2]
    gaps = []
    for low, high in zip(ends[::2], [*ends[1::2], None], strict=False):
        mark = _mark(low, high)
        if mark is None:
            return None
        gaps.append(mark)
    return tuple(gaps)


def _mark(low: str, end: str | None) -> Mark | None:
    if end == low + "\0":
        return Role.EQUALS, low
    if low and end == after_prefix(low):
        return Role.BEGINS, low
    return None


def _text_stretch(low: str, end: str | None) -> Piece:
    mark = _mark(low, end)
    if mark is not None:
        return Piece((mark,))
    tests: list[Test] = []
    verified = False
    if low:
        key = text_key(low.encode())
        tests.append((View.TEXT, False, key))
        verified = len(low.encode()) > _TEXT_BYTES
    if end is not None:
        long = len(end.encode()) > _TEXT_BYTES
        tests.append((View.TEXT, True, ~(text_key(end.encode()) - (not long))))
        verified = verified or long
    return Piece((), tuple(tests), verified=verified) if tests else _ANY_TEXT


_ANY_TEXT = Piece(((Role.STATE, State.STRING),))


def _cell(cell: Cell) -> Piece:
    if cell.bounds[0][0] == line.SET:
        members = sorted((cast("str", member), wanted) for member, wanted in cell.tests)
        marks = tuple((Role.HAS_MEMBER, member) for member, wanted in members if wanted)
        lacks = tuple((Role.HAS_MEMBER, member) for member, wanted in members if not wanted)
        return Piece(marks or ((Role.STATE, State.SET),), lacks=lacks)
    marks = ()
    for test, wanted in sorted(cell.tests, key=str):
        beginning = _beginning(cast("Pattern", test)) if wanted else ""
        if beginning:
            marks = ((Role.BEGINS, beginning),)
    return Piece(marks or ((Role.STATE, State.STRING),), verified=True)


def _beginning(pattern: Pattern) -> str:
    """The characters that every fitting text begins with."""
    chars = []
    for char in pattern.parts[0]:
        if char is None:
            break
        chars.append(char)
    return "".join(chars)
