"""Which values may one attribute have? Sets of typed values, closed under and, or, not, and exact.

All that an attribute can be stands on one line: missing, opaque, a set of strings, booleans,
integers, doubles, timestamps, strings, each kind in its order. A set is written as the points at
which one enters and leaves it along this line. So `price < 100` is the integers from the least
one up to 100 and the doubles from the least one up to 100. Doubles are counted by rank, so that
between two neighbours there is nothing, and a text's successor is the text with a NUL behind it.

What no order can say (some LIKE patterns, members of sets) is kept beside, in *cells*: a stretch
of the line, and tests with their wanted outcome.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias, cast

from headgate.filters.likeness import Pattern, find_text
from headgate.filters.syntax import ComparisonSign
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import OPAQUE, Kind, Scalar, Value, kind_of

Point: TypeAlias = tuple[int, Any]
"""A place on the line: the kind's number, and the rank or text within the kind."""
Bounds: TypeAlias = tuple[Point, ...]
"""Where one enters, leaves, enters … going up; an odd number of points stays inside to the end."""
Test: TypeAlias = Pattern | str
"""A LIKE pattern, or a text that a set must have as a member."""
Tests: TypeAlias = frozenset[tuple[Test, bool]]

_ABSENT, _OPAQUE, _SET, _BOOLEAN, _INTEGER, _DOUBLE, _TIMESTAMP, _STRING = range(8)

_PLACES = {
    Kind.OPAQUE: _OPAQUE,
    Kind.SET: _SET,
    Kind.BOOLEAN: _BOOLEAN,
    Kind.INTEGER: _INTEGER,
    Kind.DOUBLE: _DOUBLE,
    Kind.TIMESTAMP: _TIMESTAMP,
    Kind.STRING: _STRING,
}
_KINDS = {place: kind for kind, place in _PLACES.items()}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CELLS_MAX = 256


def double_rank(number: float) -> int:
    """Doubles counted from zero up and down, in their order."""
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else -(bits & INTEGER_MAX)


def ranked_double(rank: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return number if rank >= 0 else -number


def moment_rank(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def ranked_moment(rank: int) -> datetime:
    return _EPOCH + rank * _MICROSECOND


_DOUBLE_RANK_MAX = double_rank(1.7976931348623157e308)
_FIRST: tuple[Point, ...] = (
    (_ABSENT, 0),
    (_OPAQUE, 0),
    (_SET, 0),
    (_BOOLEAN, 0),
    (_INTEGER, INTEGER_MIN),
    (_DOUBLE, -_DOUBLE_RANK_MAX),
    (_TIMESTAMP, moment_rank(datetime.min.replace(tzinfo=UTC))),
    (_STRING, ""),
)
_LAST_RANKS = {
    _ABSENT: 0,
    _OPAQUE: 0,
    _SET: 0,
    _BOOLEAN: 1,
    _INTEGER: INTEGER_MAX,
    _DOUBLE: _DOUBLE_RANK_MAX,
    _TIMESTAMP: moment_rank(datetime.max.replace(tzinfo=UTC)),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """The values of a stretch of the line for which every test comes out as wanted."""

    bounds: Bounds
    tests: Tests


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of typed values; missing counts as one of them."""

    bounds: Bounds
    cells: tuple[Cell, ...] = ()

    def __and__(self, other: ValueSet) -> ValueSet:
        bounds = _both(self.bounds, other.bounds)
        if not self.cells and not other.cells:
            return ValueSet(bounds)
        cells = [
            Cell(_both(cell.bounds, plain.bounds), cell.tests)
            for cells, plain in ((self.cells, other), (other.cells, self))
            for cell in cells
        ]
        cells += [
            Cell(_both(mine.bounds, theirs.bounds), mine.tests | theirs.tests)
            for mine in self.cells
            for theirs in other.cells
        ]
        return ValueSet(bounds, _worth_keeping(cells))

    def __or__(self, other: ValueSet) -> ValueSet:
        bounds = _either(self.bounds, other.bounds)
        if not self.cells and not other.cells:
            return ValueSet(bounds)
        outside = _not(bounds)
        cells = [Cell(_both(cell.bounds, outside), cell.tests) for cell in self.cells + other.cells]
        return ValueSet(bounds, _worth_keeping(cells))

    def __invert__(self) -> ValueSet:
        result = ValueSet(_not(self.bounds))
        for cell in self.cells:
            result &= _not_cell(cell)
        return result

    def __contains__(self, value: Value | None) -> bool:
        """Whether the set has this value; `None` asks whether an attribute may be missing."""
        point = _point(value)
        return _inside(self.bounds, point) or any(
            _inside(cell.bounds, point)
            and all(_test(test, value) is wanted for test, wanted in cell.tests)
            for cell in self.cells
        )

    def is_empty(self) -> bool:
        return not self.bounds and not any(map(_is_possible, self.cells))

    def issuperset(self, other: ValueSet) -> bool:
        if not self.cells and not other.cells:
            return _within(other.bounds, self.bounds)
        return (other & ~self).is_empty()

    def isdisjoint(self, other: ValueSet) -> bool:
        if not self.cells and not other.cells:
            return _within(other.bounds, _not(self.bounds))
        return (self & other).is_empty()

    def stretches(self, kind: Kind) -> list[tuple[Any, Any]]:
        """The untested stretches of one kind, as ranks (or texts): the first one, and the one after
        the last. `None` stands for no end, on either side.
        """
        place = _PLACES[kind]
        return [
            (
                None if low == _FIRST[place] else low[1],
                None if high is None or high[0] != place else high[1],
            )
            for low, high in _stretches(_both(self.bounds, _whole(place).bounds))
        ]

    def example(self) -> Value | None:
        """One value of the set, a simple one; `None` stands for missing. The set isn't empty."""
        if ABSENT.bounds[0] in self.bounds:
            return None
        if self.bounds:
            return _example_between(*min(_stretches(self.bounds), key=_readability))
        return next(_example_in(cell) for cell in self.cells if _is_possible(cell))


def of_kinds(kinds: Iterable[Kind]) -> ValueSet:
    return union(_whole(_PLACES[kind]) for kind in kinds)


def _whole(place: int) -> ValueSet:
    return ValueSet(_FIRST[place : place + 2])


def union(sets: Iterable[ValueSet]) -> ValueSet:
    """The union of many in one sweep, so that thousands cost no more than sorting them."""
    sets = list(sets)
    if len(sets) < 3:
        return NOTHING if not sets else sets[0] if len(sets) == 1 else sets[0] | sets[1]
    enter, leave = 0, 1  # sorted so that of two stretches that touch the second is entered first
    turns = sorted(
        (point, leave if index % 2 else enter)
        for one in sets
        for index, point in enumerate(one.bounds)
    )
    bounds: list[Point] = []
    depth = 0
    for point, turn in turns:
        depth += 1 if turn == enter else -1
        if depth == (turn == enter):
            bounds.append(point)
    cells = tuple(cell for one in sets for cell in one.cells)
    return ValueSet(tuple(bounds)) if not cells else ValueSet(tuple(bounds)) | ValueSet((), cells)


def intersection(sets: Iterable[ValueSet]) -> ValueSet:
    sets = list(sets)
    if len(sets) < 4 or any(one.cells for one in sets):
        result = EVERYTHING if not sets else sets[0]
        for one in sets[1:]:
            result &= one
        return result
    return ~union(~one for one in sets)


def _not(bounds: Bounds) -> Bounds:
    first = _FIRST[0]
    return bounds[1:] if bounds and bounds[0] == first else (first, *bounds)


def _both(left: Bounds, right: Bounds) -> Bounds:
    if left is right or not left:
        return left
    if not right:
        return right
    return _swept(left, right, both=True)


def _either(left: Bounds, right: Bounds) -> Bounds:
    if left is right or not right:
        return left
    if not left:
        return right
    return _swept(left, right, both=False)


def _swept(left: Bounds, right: Bounds, *, both: bool) -> Bounds:
    """Walk up both at once; a point where the outcome changes is a point of the result."""
    result: list[Point] = []
    at_left = at_right = 0
    in_left = in_right = inside = False
    while at_left < len(left) and at_right < len(right):
        left_point, right_point = left[at_left], right[at_right]
        point = left_point if left_point <= right_point else right_point
        if left_point == point:
            in_left = not in_left
            at_left += 1
        if right_point == point:
            in_right = not in_right
            at_right += 1
        now = (in_left and in_right) if both else (in_left or in_right)
        if now is not inside:
            result.append(point)
            inside = now
    # One of them stays as it is from here on: either it decides, or the other's points do.
    if at_left < len(left) and in_right is both:
        result.extend(left[at_left:])
    elif at_right < len(right) and in_left is both:
        result.extend(right[at_right:])
    return tuple(result)


def _inside(bounds: Bounds, point: Point) -> bool:
    return bisect_right(bounds, point) % 2 == 1


def _within(inner: Bounds, outer: Bounds) -> bool:
    if inner is outer:
        return True
    for at in range(0, len(inner), 2):
        found = bisect_right(outer, inner[at])
        if not found % 2:
            return False
        if found < len(outer) and (at + 1 == len(inner) or outer[found] < inner[at + 1]):
            return False
    return True


def _stretches(bounds: Bounds) -> Iterator[tuple[Point, Point | None]]:
    """The stretches of a set as `low <= … < high`, none of them across two kinds."""
    for at in range(0, len(bounds), 2):
        low = bounds[at]
        high = bounds[at + 1] if at + 1 < len(bounds) else None
        while low[0] < _STRING and (high is None or high > _FIRST[low[0] + 1]):
            yield low, _FIRST[low[0] + 1]
            low = _FIRST[low[0] + 1]
        yield low, high


def _not_cell(cell: Cell) -> ValueSet:
    """Outside the stretch, or a first test that comes out otherwise."""
    cells: list[Cell] = []
    held: Tests = frozenset()
    for test, wanted in sorted(cell.tests, key=str):
        cells.append(Cell(cell.bounds, held | {(test, not wanted)}))
        held |= {(test, wanted)}
    return ValueSet(_not(cell.bounds), tuple(cells))


def _worth_keeping(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    kept = tuple(
        dict.fromkeys(
            cell
            for cell in cells
            if cell.bounds
            and not any((test, not wanted) in cell.tests for test, wanted in cell.tests)
        )
    )
    if len(kept) > _CELLS_MAX:
        raise FilterTooComplexError(
            f"the LIKE patterns on one attribute make more than {_CELLS_MAX} cases: use fewer"
        )
    return kept


def _readability(ends: tuple[Point, Point | None]) -> int:
    """People read some kinds of example more easily than others."""
    return (_STRING, _INTEGER, _DOUBLE, _BOOLEAN, _TIMESTAMP, _SET, _OPAQUE).index(ends[0][0])


def _test(test: Test, value: Value | None) -> bool:
    if isinstance(test, Pattern):
        return test.matches(cast("str", value))
    return test in cast("frozenset[str]", value)


def _point(value: Value | None) -> Point:
    match value:
        case None:
            return (_ABSENT, 0)
        case bool():
            return (_BOOLEAN, int(value))
        case int():
            return (_INTEGER, value)
        case float():
            return (_DOUBLE, double_rank(value))
        case str():
            return (_STRING, value)
        case datetime():
            return (_TIMESTAMP, moment_rank(value))
        case frozenset():
            return (_SET, 0)
        case _:
            return (_OPAQUE, 0)


@lru_cache(maxsize=16_384)
def _is_possible(cell: Cell) -> bool:
    """Whether the cell has a value; mostly that shows without a search for one."""
    if cell.bounds[0][0] == _STRING:
        patterns = {cast("Pattern", test): wanted for test, wanted in cell.tests}
        named = {char for pattern in patterns for part in pattern.parts for char in part}
        other = next(char for char in map(chr, count()) if char not in named)
        # Each `_` and `%` of a wanted pattern as a character that no pattern names.
        texts = [
            other.join("".join(char or other for char in part) for part in pattern.parts)
            for pattern, wanted in patterns.items()
            if wanted
        ]
        lows = [low for (_, low), _ in _stretches(cell.bounds)]
        only_cell = ValueSet((), (cell,))
        if any(text in only_cell for text in (*texts, *lows, lows[0] + other)):
            return True
        if cell.bounds == tuple((_STRING, end) for low in lows for end in (low, low + "\0")):
            return False
        # Without `_`, only a `%` takes that character, and then it takes any text in its place.
        for pattern, wanted in patterns.items():
            plain = not any(None in part for part in pattern.parts)
            if plain and not wanted and any(map(pattern.matches, texts)):
                return False
    return _example_in(cell) is not None


@lru_cache(maxsize=16_384)
def _example_in(cell: Cell) -> Value | None:
    """A value of the cell, or nothing where it is empty."""
    wanted = frozenset(test for test, outcome in cell.tests if outcome)
    unwanted = frozenset(test for test, outcome in cell.tests if not outcome)
    for low, high in _stretches(cell.bounds):
        if low[0] == _SET:
            return cast("frozenset[str]", wanted)
        text = find_text(
            low[1],
            None if high is None else high[1],
            cast("frozenset[Pattern]", wanted),
            cast("frozenset[Pattern]", unwanted),
        )
        if text is not None:
            return text
    return None


def _example_between(low: Point, high: Point | None) -> Value:
    place, first = low
    if place == _STRING:
        end = None if high is None else high[1]
        return next(
            (x for x in ("x", "a", "A", "0") if first <= x and (end is None or x < end)), first
        )
    last = high[1] - 1 if high is not None and high[0] == place else _LAST_RANKS[place]
    match _KINDS[place]:
        case Kind.OPAQUE:
            return OPAQUE
        case Kind.SET:
            return frozenset()
        case Kind.BOOLEAN:
            return bool(first)
        case Kind.INTEGER:
            return first if first > INTEGER_MIN else min(last, 0)
        case Kind.TIMESTAMP:
            rank = first if (place, first) != _FIRST[place] else min(last, 0)
            return ranked_moment(rank)
        case _:
            return _short_double(ranked_double(first), ranked_double(last))


def _short_double(low: float, high: float) -> float:
    """A double between the two, both included, with few digits."""
    if low <= 0 <= high:
        return 0.0
    near = low if low > 0 else high
    for digits in (-3, -2, -1, 0, 1, 2, 3, 6, 9, 12):
        for short in (round(near, digits), round(near + 0.5 * 10.0**-digits, digits)):
            if low <= short <= high:
                return short + 0.0
    return near


NOTHING = ValueSet(())
EVERYTHING = ValueSet((_FIRST[0],))
ABSENT = ValueSet(_FIRST[:2])
VALUES = ValueSet(_FIRST[1:2])
"""Everything but missing."""
STRINGS = _whole(_STRING)
SETS = _whole(_SET)
BOOLEANS = _whole(_BOOLEAN)
TIMESTAMPS = _whole(_TIMESTAMP)
NUMBERS = ValueSet((_FIRST[_INTEGER], _FIRST[_DOUBLE + 1]))


def comparable_with(value: Scalar) -> ValueSet:
    """The values that compare with this one: where an attribute has none of them, it is unknown."""
    kind = kind_of(value)
    return NUMBERS if kind in (Kind.INTEGER, Kind.DOUBLE) else _whole(_PLACES[kind])


def compared(sign: ComparisonSign, value: Scalar) -> ValueSet:
    """The values for which `… sign value` is true."""
    match sign:
        case "=":
            return _at_most(value) & ~_below(value)
        case "<>":
            return comparable_with(value) & ~compared("=", value)
        case "<":
            return _below(value)
        case "<=":
            return _at_most(value)
        case ">":
            return comparable_with(value) & ~_at_most(value)
        case ">=":
            return comparable_with(value) & ~_below(value)


def _below(value: Scalar) -> ValueSet:
    if isinstance(value, str):
        return _text_between("", value)
    if isinstance(value, datetime):
        return _up_to(_TIMESTAMP, moment_rank(value))
    if isinstance(value, bool):
        return _up_to(_BOOLEAN, int(value))
    return _up_to(_INTEGER, math.ceil(value)) | _up_to(_DOUBLE, _first_rank_from(value))


def _at_most(value: Scalar) -> ValueSet:
    if isinstance(value, str):
        return _text_between("", value + "\0")
    if isinstance(value, datetime):
        return _up_to(_TIMESTAMP, moment_rank(value) + 1)
    if isinstance(value, bool):
        return _up_to(_BOOLEAN, int(value) + 1)
    rank = _first_rank_from(value)
    exact = rank <= _DOUBLE_RANK_MAX and ranked_double(rank) == value
    return _up_to(_INTEGER, math.floor(value) + 1) | _up_to(_DOUBLE, rank + exact)


def _first_rank_from(value: float) -> int:
    """The rank of the least double that is not below the number; integers may lie between two."""
    rank = double_rank(float(value))
    return rank if ranked_double(rank) >= value else rank + 1


def _up_to(place: int, end: int) -> ValueSet:
    """The values of one kind with a rank below `end`."""
    low = _FIRST[place]
    if end <= low[1]:
        return NOTHING
    return ValueSet((low, (place, end) if end <= _LAST_RANKS[place] else _FIRST[place + 1]))


def _text_between(low: str, high: str | None) -> ValueSet:
    if low == high:
        return NOTHING
    return ValueSet(((_STRING, low),) if high is None else ((_STRING, low), (_STRING, high)))


def like(pattern: Pattern) -> ValueSet:
    interval = pattern.interval()
    if interval is not None:
        return _text_between(*interval)
    return ValueSet((), (Cell(STRINGS.bounds, frozenset({(pattern, True)})),))


def containing(text: str) -> ValueSet:
    return ValueSet((), (Cell(SETS.bounds, frozenset({(text, True)})),))
