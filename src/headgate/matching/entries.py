"""Where in an index does a filter stand? A filter is one entry or several, each with its demands.

An entry is looked up by its *address*: the marks that an event must bear, at most four that a value
bears alone (it equals this) and one of those that it bears several of (it begins with this, it has
this member). What else is demanded is tested in sorted runs, or checked on who comes that far. What
no entry can say is verified by the filter itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple, TypeAlias

from headgate.filters.boxes import Box
from headgate.filters.filter import Filter
from headgate.matching.pieces import Mark, Piece, Role, State, Test, pieces_of

NamedMark: TypeAlias = tuple[str, Mark]
NamedTest: TypeAlias = tuple[str, Test]

SINGLE_MARKS_MAX = 4
ENTRIES_MAX = 256
"""More alternatives than these are not multiplied out: they are checked one beside the other."""


class Entry(NamedTuple):
    """Demands on an event that hold together."""

    address: tuple[NamedMark, ...] = ()
    tests: tuple[NamedTest, ...] = ()
    has: tuple[NamedMark, ...] = ()
    lacks: tuple[NamedMark, ...] = ()
    any_of: tuple[tuple[NamedMark, ...], ...] = ()
    """Of each of these lists one mark is enough."""
    verified: bool = False


class Entries(NamedTuple):
    """All entries of a filter."""

    entries: tuple[Entry, ...]
    overlapping: bool
    """Whether an event may fit several of them."""


def entries_of(one: Filter) -> Entries:
    boxes = one.boxes
    if len(boxes) == 1:
        return Entries(tuple(_of_box(boxes[0])), _overlapping(boxes[0]))
    entries = tuple(entry for box in boxes for entry in _of_box(box))
    return Entries(entries, len(entries) > 1)


def _overlapping(box: Box) -> bool:
    """A set's stretches have nothing in common, its cells may have."""
    return any([allowed.cells for allowed in box.sets.values()])  # noqa: C419 -- half the time


def _of_box(box: Box) -> list[Entry]:
    alone: list[tuple[str, Piece]] = []
    for name, allowed in box.sets.items():
        pieces = pieces_of(allowed)
        if len(pieces) != 1:
            return _multiplied(box)
        alone.append((name, pieces[0]))
    return [_entry(alone, (), bool(box.residues))]


def _multiplied(box: Box) -> list[Entry]:
    verified = bool(box.residues)
    split = [(name, pieces_of(allowed)) for name, allowed in box.sets.items()]
    names: list[str] = []
    choices: list[list[Piece]] = []
    any_of: list[tuple[NamedMark, ...]] = []
    entries = 1
    split.sort(key=_number_of_pieces)
    for name, pieces in split:
        if not pieces:
            return []
        if entries * len(pieces) <= ENTRIES_MAX:
            entries *= len(pieces)
            names.append(name)
            choices.append(pieces)
        elif all(_is_mark(piece) for piece in pieces):
            any_of.append(tuple((name, piece.marks[0]) for piece in pieces))
        else:
            verified = True
    lists = tuple(any_of)
    return [
        _entry(zip(names, chosen, strict=True), lists, verified) for chosen in product(*choices)
    ]


def _number_of_pieces(split: tuple[str, list[Piece]]) -> int:
    return len(split[1])


def _is_mark(piece: Piece) -> bool:
    return len(piece.marks) == 1 and not (piece.tests or piece.lacks or piece.verified)


def _entry(
    chosen: Iterable[tuple[str, Piece]], any_of: tuple[tuple[NamedMark, ...], ...], verified: bool
) -> Entry:
    marks: list[NamedMark] = []
    tests: list[NamedTest] = []
    lacks: list[NamedMark] = []
    for name, (own_marks, own_tests, own_lacks, own_verified) in chosen:
        for mark in own_marks:
            marks.append((name, mark))
        for test in own_tests:
            tests.append((name, test))
        for mark in own_lacks:
            lacks.append((name, mark))
        verified = verified or own_verified
    address, has = _addressed(marks, tests)
    return Entry(address, tuple(tests), has, tuple(lacks), any_of, verified)


def _addressed(
    marks: list[NamedMark], tests: list[NamedTest]
) -> tuple[tuple[NamedMark, ...], tuple[NamedMark, ...]]:
    """The marks to look an entry up by, and those that are left to be checked."""
    if len(marks) == 1:
        return (marks[0],), ()
    single: list[NamedMark] = []
    several: list[NamedMark] = []
    for one in marks:
        role = one[1][0]
        if role is _EQUALS:
            single.append(one)
        elif role is not _STATE:
            several.append(one)
    if len(single) > 1:
        single = sorted(single[:SINGLE_MARKS_MAX])
    address = single + several[:1]
    if len(address) == len(marks) and address:
        return tuple(address), ()
    if not address:
        states = [one for one in marks if one[1][0] is _STATE]
        # Better by something that is there: most events lack most names.
        states.sort(key=lambda one: one[1][1] is State.ABSENT)
        address = states[:1]
    if not address and tests:
        # So that events without the attribute don't come to these tests at all.
        return ((tests[0][0], _PRESENT),), ()
    left = [one for one in marks if one not in address]
    return tuple(address), tuple(left)


_EQUALS, _STATE = Role.EQUALS, Role.STATE
_PRESENT: Mark = (Role.STATE, State.PRESENT)
