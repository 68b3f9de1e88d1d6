"""Which values may one attribute have? Sets of typed values, closed under and, or, not, and exact.

A set is stretches of the line on which all values stand in order. So `price < 100` is the integers
from the least one up to 100 and the doubles from the least one up to 100.

What no order can say (some LIKE patterns, members of sets) is kept beside, in *cells*: a stretch
of the line, and tests with their wanted outcome.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any, TypeAlias, cast

from headgate.filters import line
from headgate.filters.likeness import Effort, Pattern, find_text
from headgate.filters.line import (
    Bounds,
    Point,
    double_rank,
    moment_rank,
    ranked_double,
    ranked_moment,
)
from headgate.filters.syntax import ComparisonSign
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import INTEGER_MIN
from headgate.model.values import OPAQUE, Kind, Scalar, Value, kind_of

Test: TypeAlias = Pattern | str
"""A LIKE pattern, or a text that a set must have as a member."""
Tests: TypeAlias = frozenset[tuple[Test, bool]]

_CELLS_MAX = 256


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
        bounds = line.common(self.bounds, other.bounds)
        if not self.cells and not other.cells:
            return ValueSet(bounds)
        cells = [
            Cell(line.common(cell.bounds, plain.bounds), cell.tests)
            for cells, plain in ((self.cells, other), (other.cells, self))
            for cell in cells
        ]
        cells += [
            Cell(line.common(mine.bounds, theirs.bounds), mine.tests | theirs.tests)
            for mine in self.cells
            for theirs in other.cells
        ]
        return ValueSet(bounds, _worth_keeping(cells))

    def __or__(self, other: ValueSet) -> ValueSet:
        bounds = line.joined(self.bounds, other.bounds)
        if not self.cells and not other.cells:
            return ValueSet(bounds)
        outside = line.outside(bounds)
        cells = [
            Cell(line.common(cell.bounds, outside), cell.tests) for cell in self.cells + other.cells
        ]
        return ValueSet(bounds, _worth_keeping(cells))

    def __invert__(self) -> ValueSet:
        result = ValueSet(line.outside(self.bounds))
        for cell in self.cells:
            result &= _not_cell(cell)
        return result

    def __contains__(self, value: Value | None) -> bool:
        """Whether the set has this value; `None` asks whether an attribute may be missing."""
        point = line.point_of(value)
        return line.is_inside(self.bounds, point) or any(
            line.is_inside(cell.bounds, point)
            and all(_test(test, value) is wanted for test, wanted in cell.tests)
            for cell in self.cells
        )

    def is_empty(self, effort: Effort | None = None) -> bool:
        if self.bounds or not self.cells:
            return not self.bounds
        effort = effort or Effort()
        return not any(_is_possible(cell, effort) for cell in self.cells)

    def issuperset(self, other: ValueSet, effort: Effort | None = None) -> bool:
        if not self.cells and not other.cells:
            return line.is_within(other.bounds, self.bounds)
        return (other & ~self).is_empty(effort)

    def isdisjoint(self, other: ValueSet, effort: Effort | None = None) -> bool:
        if not self.cells and not other.cells:
            return line.is_within(other.bounds, line.outside(self.bounds))
        return (self & other).is_empty(effort)

    def stretches(self, kind: Kind) -> list[tuple[Any, Any]]:
        """The untested stretches of one kind, as ranks (or texts): the first one, and the one after
        the last. `None` stands for no end, on either side.
        """
        place = line.PLACES[kind]
        return [
            (
                None if low == line.FIRST[place] else low[1],
                None if high is None or high[0] != place else high[1],
            )
            for low, high in line.stretches(line.common(self.bounds, _whole(place).bounds))
        ]

    def example(self) -> Value | None:
        """One value of the set, a simple one; `None` stands for missing. The set isn't empty."""
        if ABSENT.bounds[0] in self.bounds:
            return None
        if self.bounds:
            return _example_between(*min(line.stretches(self.bounds), key=_readability))
        effort = Effort()
        return next(_example_in(cell, effort) for cell in self.cells if _is_possible(cell, effort))


def of_kinds(kinds: Iterable[Kind]) -> ValueSet:
    return union(_whole(line.PLACES[kind]) for kind in kinds)


def _whole(place: int) -> ValueSet:
    return ValueSet(line.FIRST[place : place + 2])


def union(sets: Iterable[ValueSet]) -> ValueSet:
    """The union of many in one sweep, so that thousands cost no more than sorting them."""
    sets = list(sets)
    if len(sets) < 3:
        return NOTHING if not sets else sets[0] if len(sets) == 1 else sets[0] | sets[1]
    bounds = line.united(one.bounds for one in sets)
    cells = tuple(cell for one in sets for cell in one.cells)
    return ValueSet(bounds) if not cells else ValueSet(bounds) | ValueSet((), cells)


def intersection(sets: Iterable[ValueSet]) -> ValueSet:
    sets = list(sets)
    if len(sets) < 4 or any(one.cells for one in sets):
        result = EVERYTHING if not sets else sets[0]
        for one in sets[1:]:
            result &= one
        return result
    return ~union(~one for one in sets)


def _not_cell(cell: Cell) -> ValueSet:
    """Outside the stretch, or a first test that comes out otherwise."""
    cells: list[Cell] = []
    held: Tests = frozenset()
    for test, wanted in sorted(cell.tests, key=str):
        cells.append(Cell(cell.bounds, held | {(test, not wanted)}))
        held |= {(test, wanted)}
    return ValueSet(line.outside(cell.bounds), tuple(cells))


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


_READABLE_FIRST = (
    line.STRING,
    line.INTEGER,
    line.DOUBLE,
    line.BOOLEAN,
    line.TIMESTAMP,
    line.SET,
    line.OPAQUE,
)


def _readability(ends: tuple[Point, Point | None]) -> int:
    """People read some kinds of example more easily than others."""
    return (
        line.STRING,
        line.INTEGER,
        line.DOUBLE,
        line.BOOLEAN,
        line.TIMESTAMP,
        line.SET,
        line.OPAQUE,
    ).index(ends[0][0])


def _test(test: Test, value: Value | None) -> bool:
    if isinstance(test, Pattern):
        return test.matches(cast("str", value))
    return test in cast("frozenset[str]", value)


_REMEMBERED_MAX = 16_384
_possible: dict[Cell, bool] = {}
_examples: dict[Cell, Value | None] = {}


def forget() -> None:
    """Forget what was found out about cells; answers stay the same, only slower."""
    _possible.clear()
    _examples.clear()


def _is_possible(cell: Cell, effort: Effort) -> bool:
    """Whether the cell has a value; mostly that shows without a search for one."""
    known = _possible.get(cell)
    if known is None:
        known = _shows(cell, effort)
        if known is None:
            known = _example_in(cell, effort) is not None
        if len(_possible) >= _REMEMBERED_MAX:
            forget()
        _possible[cell] = known
    return known


def _shows(cell: Cell, effort: Effort) -> bool | None:
    """Whether the cell has a value, if a few texts tell."""
    if cell.bounds[0][0] != line.STRING:
        return None
    patterns = {cast("Pattern", test): wanted for test, wanted in cell.tests}
    named = {char for pattern in patterns for part in pattern.parts for char in part}
    other = next(char for char in map(chr, count()) if char not in named)
    # Each `_` and `%` of a wanted pattern as a character that no pattern names.
    texts = [
        other.join("".join(char or other for char in part) for part in pattern.parts)
        for pattern, wanted in patterns.items()
        if wanted
    ]
    lows = [low for (_, low), _ in line.stretches(cell.bounds)]
    effort.spend((len(texts) + len(lows)) * len(patterns))
    only_cell = ValueSet((), (cell,))
    if any(text in only_cell for text in (*texts, *lows, lows[0] + other)):
        return True
    if cell.bounds == tuple((line.STRING, end) for low in lows for end in (low, low + "\0")):
        return False
    # Without `_`, only a `%` takes that character, and then it takes any text in its place.
    for pattern, wanted in patterns.items():
        plain = not any(None in part for part in pattern.parts)
        if plain and not wanted and any(map(pattern.matches, texts)):
            return False
    return None


def _example_in(cell: Cell, effort: Effort) -> Value | None:
    """A value of the cell, or nothing where it is empty."""
    with suppress(KeyError):  # in one look: another thread may forget in between
        return _examples[cell]
    if len(_examples) >= _REMEMBERED_MAX:
        forget()
    found = _examples[cell] = _searched(cell, effort)
    return found


def _searched(cell: Cell, effort: Effort) -> Value | None:
    wanted = frozenset(test for test, outcome in cell.tests if outcome)
    unwanted = frozenset(test for test, outcome in cell.tests if not outcome)
    for low, high in line.stretches(cell.bounds):
        if low[0] == line.SET:
            return cast("frozenset[str]", wanted)
        text = find_text(
            low[1],
            None if high is None else high[1],
            cast("frozenset[Pattern]", wanted),
            cast("frozenset[Pattern]", unwanted),
            effort,
        )
        if text is not None:
            return text
    return None


def _example_between(low: Point, high: Point | None) -> Value:
    place, first = low
    if place == line.STRING:
        end = None if high is None else high[1]
        return next(
            (x for x in ("x", "a", "A", "0") if first <= x and (end is None or x < end)), first
        )
    last = high[1] - 1 if high is not None and high[0] == place else line.LAST_RANKS[place]
    match line.KINDS[place]:
        case Kind.OPAQUE:
            return OPAQUE
        case Kind.SET:
            return frozenset()
        case Kind.BOOLEAN:
            return bool(first)
        case Kind.INTEGER:
            return first if first > INTEGER_MIN else min(last, 0)
        case Kind.TIMESTAMP:
            rank = first if (place, first) != line.FIRST[place] else min(last, 0)
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
EVERYTHING = ValueSet((line.FIRST[0],))
ABSENT = ValueSet(line.FIRST[:2])
VALUES = ValueSet(line.FIRST[1:2])
"""Everything but missing."""
STRINGS = _whole(line.STRING)
SETS = _whole(line.SET)
BOOLEANS = _whole(line.BOOLEAN)
TIMESTAMPS = _whole(line.TIMESTAMP)
NUMBERS = ValueSet((line.FIRST[line.INTEGER], line.FIRST[line.DOUBLE + 1]))


def comparable_with(value: Scalar) -> ValueSet:
    """The values that compare with this one: where an attribute has none of them, it is unknown."""
    kind = kind_of(value)
    return NUMBERS if kind in (Kind.INTEGER, Kind.DOUBLE) else _whole(line.PLACES[kind])


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
        return _up_to(line.TIMESTAMP, moment_rank(value))
    if isinstance(value, bool):
        return _up_to(line.BOOLEAN, int(value))
    return _up_to(line.INTEGER, math.ceil(value)) | _up_to(line.DOUBLE, _first_rank_from(value))


def _at_most(value: Scalar) -> ValueSet:
    if isinstance(value, str):
        return _text_between("", value + "\0")
    if isinstance(value, datetime):
        return _up_to(line.TIMESTAMP, moment_rank(value) + 1)
    if isinstance(value, bool):
        return _up_to(line.BOOLEAN, int(value) + 1)
    rank = _first_rank_from(value)
    exact = rank <= line.DOUBLE_RANK_MAX and ranked_double(rank) == value
    return _up_to(line.INTEGER, math.floor(value) + 1) | _up_to(line.DOUBLE, rank + exact)


def _first_rank_from(value: float) -> int:
    """The rank of the least double that is not below the number; integers may lie between two."""
    rank = double_rank(float(value))
    return rank if ranked_double(rank) >= value else rank + 1


def _up_to(place: int, end: int) -> ValueSet:
    """The values of one kind with a rank below `end`."""
    low = line.FIRST[place]
    if end <= low[1]:
        return NOTHING
    return ValueSet((low, (place, end) if end <= line.LAST_RANKS[place] else line.FIRST[place + 1]))


def _text_between(low: str, high: str | None) -> ValueSet:
    if low == high:
        return NOTHING
    return ValueSet(
        ((line.STRING, low),) if high is None else ((line.STRING, low), (line.STRING, high))
    )


def like(pattern: Pattern) -> ValueSet:
    interval = pattern.interval()
    if interval is not None:
        return _text_between(*interval)
    return ValueSet((), (Cell(STRINGS.bounds, frozenset({(pattern, True)})),))


def containing(text: str) -> ValueSet:
    return ValueSet((), (Cell(SETS.bounds, frozenset({(text, True)})),))
