"""How is a filter indexed: what is looked up, what is compared in sorted runs, what is verified?

Nothing here is compiled, so that who only asks doesn't wait for a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.filters.filter import Filter
from headgate.filters.line import BOOLEAN, INTEGER, TIMESTAMP, ranked_double, ranked_moment
from headgate.filters.printing import print_name, print_text, print_value
from headgate.matching.entries import Entry, NamedMark, entries_of
from headgate.matching.pieces import Role, State


@dataclass(frozen=True, slots=True)
class Indexing:
    """How an index holds a filter."""

    entries: int
    looked_up: tuple[str, ...]
    """What entries are found by: the marks of their addresses, the first few of them."""
    compared: tuple[str, ...]
    """Lines on which sorted bounds are searched."""
    checked: tuple[str, ...]
    """Attributes whose marks are checked on who comes so far: some nanoseconds each."""
    verified: int
    """Of how many entries each candidate is verified with the whole filter."""

    @property
    def cost(self) -> str:
        """What an event that comes to it costs, in words."""
        if not self.entries:
            return "never looked at: no event matches"
        if not self.verified:
            return "exact: found without looking at the filter"
        if self.verified == self.entries and not self.looked_up:
            return "slow: every event is verified with the whole filter"
        return "candidates are verified with the whole filter, some hundred nanoseconds each"


_SHOWN_MAX = 5


def explain_indexing(one: Filter) -> Indexing:
    entries = entries_of(one).entries
    looked_up = dict.fromkeys(" and ".join(map(_mark, entry.address)) for entry in entries)
    shown = [text for text in looked_up if text]
    if len(shown) > _SHOWN_MAX:
        shown[_SHOWN_MAX:] = [f"{len(shown) - _SHOWN_MAX} more"]
    lines = {
        f"{print_name(name)} as {view.name.lower()}"
        for entry in entries
        for name, (view, _, _) in entry.tests
    }
    return Indexing(
        len(entries),
        tuple(shown),
        tuple(sorted(lines)),
        tuple(sorted({print_name(name) for entry in entries for name in _checked(entry)})),
        sum(entry.verified for entry in entries),
    )


def _checked(entry: Entry) -> list[str]:
    marks = (*entry.has, *entry.lacks, *(mark for some in entry.any_of for mark in some))
    return [name for name, _ in marks]


def _mark(named: NamedMark) -> str:
    name, (role, value) = print_name(named[0]), named[1]
    match role:
        case Role.STATE:
            return f"{name} {State(value).name.lower()}"
        case Role.BEGINS:
            return f"{name} beginning with {print_text(value)}"
        case Role.HAS_MEMBER:
            return f"{print_text(value)} in {name}"
        case _:
            return f"{name} = {_equal(value)}"


def _equal(value: str | tuple[int, int]) -> str:
    if isinstance(value, str):
        return print_text(value)
    place, rank = value
    if place == BOOLEAN:
        return print_value(rank == 1)
    if place == INTEGER:
        return print_value(rank)
    return print_value(ranked_moment(rank) if place == TIMESTAMP else ranked_double(rank))
