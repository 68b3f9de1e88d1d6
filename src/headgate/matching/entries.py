"""Where in an index does a filter stand? A filter is one entry or several, each with its demands.

An entry is looked up by its *address*: the marks that an event must bear, at most four that a value
bears alone (it equals this) and one of those that it bears several of (it begins with this, it has
this member). What else is demanded is tested in sorted runs, or checked on who comes that far. What
no entry can say is verified by the filter itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import TypeAlias

from headgate.filters.boxes import Box
from headgate.filters.filter import Filter
from headgate.matching.pieces import Mark, Piece, Role, State, Test, pieces_of

NamedMark: TypeAlias = tuple[str, Mark]
NamedTest: TypeAlias = tuple[str, Test]

SINGLE_MARKS_MAX = 4
ENTRIES_MAX = 256
"""More alternatives than these are not multiplied out: they are checked one beside the other."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Demands on an event that hold together."""

    address: tuple[NamedMark, ...] = ()
    tests: tuple[NamedTest, ...] = ()
    has: tuple[NamedMark, ...] = ()
    lacks: tuple[NamedMark, ...] = ()
    any_of: tuple[tuple[NamedMark, ...], ...] = ()
    """Of each of these lists one mark is enough."""
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries of a filter."""

    entries: tuple[Entry, ...]
    overlapping: bool
    """Whether an event may fit several of them."""


def entries_of(one: Filter) -> Entries:
    boxes = one.boxes
    if len(boxes) == 1:
        return Entries(tuple(_of_box(boxes[0])), _overlapping(boxes[0]))
    entries = tuple(chain.from_iterable(map(_of_box, boxes)))
    return Entries(entries, len(entries) > 1)


def _overlapping(box: Box) -> bool:
    """A set's stretches have nothing in common, its cells may have."""
    return any(allowed.cells for allowed in box.sets.values())


def _of_box(box: Box) -> Iterator[Entry]:
    names: list[str] = []
    choices: list[list[Piece]] = []
    any_of: list[tuple[NamedMark, ...]] = []
    verified = bool(box.residues)
    entries = 1
    split = [(name, pieces_of(allowed)) for name, allowed in box.sets.items()]
    split.sort(key=_number_of_pieces)
    for name, pieces in split:
        if not pieces:
            return
        if entries * len(pieces) <= ENTRIES_MAX:
            entries *= len(pieces)
            names.append(name)
            choices.append(pieces)
        elif all(_is_mark(piece) for piece in pieces):
            any_of.append(tuple((name, piece.marks[0]) for piece in pieces))
        else:
            verified = True
    if entries == 1:
        yield _entry(zip(names, [pieces[0] for pieces in choices], strict=True),
                     tuple(any_of), verified)  # fmt: skip
        return
    for chosen in product(*choices):
        yield _entry(zip(names, chosen, strict=True), tuple(any_of), verified)


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
    for name, piece in chosen:
        for mark in piece.marks:
            marks.append((name, mark))
        for test in piece.tests:
            tests.append((name, test))
        for mark in piece.lacks:
            lacks.append((name, mark))
        verified = verified or piece.verified
    address, has = _addressed(marks, tests)
    return Entry(address, tuple(tests), has, tuple(lacks), any_of, verified)


def _addressed(
    marks: list[NamedMark], tests: list[NamedTest]
) -> tuple[tuple[NamedMark, ...], tuple[NamedMark, ...]]:
    """The marks to look an entry up by, and those that are left to be checked."""
    if len(marks) == 1:
        return (marks[0],), ()
    single = [one for one in marks if one[1][0] is Role.EQUALS]
    several = [one for one in marks if one[1][0] in (Role.BEGINS, Role.HAS_MEMBER)]
    address = sorted(single[:SINGLE_MARKS_MAX]) + several[:1]
    if not address:
        states = [one for one in marks if one[1][0] is Role.STATE]
        # Better by something that is there: most events lack most names.
        states.sort(key=lambda one: one[1][1] is State.ABSENT)
        address = states[:1]
    if not address and tests:
        # So that events without the attribute don't come to these tests at all.
        return ((tests[0][0], (Role.STATE, State.PRESENT)),), ()
    left = [one for one in marks if one not in address]
    return tuple(address), tuple(left)
