"""Which records is somebody owed? Restricted filters by the version at which they hold, in sets.

An interest is a step function from versions to filters. Below its first step, and beyond the
version up to which its owner knows the policy, it is everything: routing errs on the wide side.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from headgate.filters.filter import Filter
from headgate.log.records import Record
from headgate.model.errors import FilterError, FilterTooComplexError
from headgate.rights.rules import parse_filter

ALWAYS: Final = 2**62
"""Known up to this version: for those who are owed the same whatever the policy says."""
STEPS_MAX: Final = 16
_COMPARED_MAX: Final = 64
_ANYTHING: Final = Filter.everything()
ENTRIES_MAX: Final = 50_000


@dataclass(frozen=True, slots=True)
class Interest:
    """From which version on which filter is owed; before the first one, everything."""

    steps: tuple[tuple[int, Filter], ...]
    _hash: int = field(init=False, repr=False, compare=False)
    _wire: tuple[tuple[int, str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.steps))
        object.__setattr__(self, "_wire", ())

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def of(cls, steps: Iterable[tuple[int, Filter]]) -> Interest:
        """Without steps that change nothing, and without those too old to matter."""
        kept: list[tuple[int, Filter]] = []
        for version, one in steps:
            if not kept or kept[-1][1] != one:
                kept.append((version, one))
        return cls(tuple(kept[-STEPS_MAX:]))

    @classmethod
    def always(cls, one: Filter) -> Interest:
        return cls(((0, one),))

    def at(self, version: int) -> Filter | None:
        """The filter that holds at a version; `None` for everything."""
        steps = self.steps
        if len(steps) == 1:
            return steps[0][1] if version >= steps[0][0] else None
        index = bisect_right(steps, version, key=_version_of)
        return steps[index - 1][1] if index else None

    def to_wire(self) -> tuple[tuple[int, str], ...]:
        if not self._wire:
            wire = tuple((version, str(one)) for version, one in self.steps)
            object.__setattr__(self, "_wire", wire)
        return self._wire

    @property
    def wire_bytes(self) -> int:
        """About what it takes on a link, and never less."""
        return sum(16 + 4 * len(text) for _, text in self.to_wire())

    @classmethod
    def from_wire(cls, steps: Sequence[tuple[int, str]]) -> Interest:
        """Read what another broker sent; refused unless versions ascend and filters can be read."""
        if not steps or any(low[0] >= high[0] for low, high in pairwise(steps)):
            raise FilterError("expected an interest with steps of ascending versions")
        return cls(tuple((version, parse_filter(text)) for version, text in steps))


def _version_of(step: tuple[int, Filter]) -> int:
    return step[0]


@dataclass(frozen=True, slots=True)
class InterestSet:
    """What one side of a session is owed: any of the interests, and all beyond `known`."""

    known: int = ALWAYS
    entries: frozenset[Interest] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def wants(self, record: Record) -> bool:
        """Whether the record is owed. A version marker is owed to nobody: silence tells of it."""
        if record.body is None or not self.entries:
            return False
        version = record.version
        if version > self.known:
            return True
        filters = [entry.at(version) for entry in self.entries]
        return None in filters or self._matches(filters, record)

    @staticmethod
    def _matches(filters: Sequence[Filter | None], record: Record) -> bool:
        values = record.event._values
        return any(one.compiled()(values) for one in filters if one is not None)

    def covers(self, other: InterestSet, since: int) -> bool:
        """Whether all that the other is owed of records of version `since` or later is here, too.

        A no may be one of a comparison that would take too long: it costs a round trip.
        """
        if not other.entries or ALL in self.entries:
            return True
        if not self.entries or self.known > max(other.known, since - 1):
            return False
        missing = other.entries - self.entries
        if missing and len(self.entries) > _COMPARED_MAX:
            return False
        return all(self._covers_one(entry, since) for entry in missing)

    def _covers_one(self, wanted: Interest, since: int) -> bool:
        versions = {since, *(version for version, _ in wanted.steps)}
        for entry in self.entries:
            versions.update(version for version, _ in entry.steps)
        return all(
            self._covers_at(wanted.at(version), version)
            for version in sorted(versions)
            if since <= version <= self.known
        )

    def _covers_at(self, wanted: Filter | None, version: int) -> bool:
        filters = {entry.at(version) for entry in self.entries}
        if None in filters or wanted in filters:
            return True
        if wanted is None:
            return False
        return any(covers(one, wanted) for one in filters if one is not None)


NOTHING: Final = InterestSet()
ALL: Final = Interest.always(Filter.everything())
EVERYTHING: Final = InterestSet(ALWAYS, frozenset({ALL}))
"""Owed whatever the policy says, and so never changed by it."""


def consolidated(wishes: InterestSet) -> InterestSet:
    """A set that is owed the same, without interests that others stand for."""
    if not 1 < len(wishes.entries) <= _COMPARED_MAX:
        return wishes
    kept = ordered = sorted(wishes.entries, key=Interest.to_wire)
    for entry in ordered:
        others = [other for other in kept if other is not entry]
        if any(_stands_for(other, entry, wishes.known) for other in others):
            kept = others
    return InterestSet(wishes.known, frozenset(kept))


def _stands_for(wide: Interest, narrow: Interest, known: int) -> bool:
    """Whether one interest covers another at every version at which either says something."""
    versions = {0, *(version for version, _ in (*wide.steps, *narrow.steps))}
    return all(
        _covers_or_all(wide.at(version), narrow.at(version))
        for version in versions
        if version <= known
    )


def _covers_or_all(wide: Filter | None, narrow: Filter | None) -> bool:
    return wide is None or (narrow is not None and covers(wide, narrow))


@lru_cache(maxsize=65_536)
def covers(wide: Filter, narrow: Filter) -> bool:
    """Whether a filter stands for another; what would take too long to decide counts as no."""
    try:
        return wide in (narrow, _ANYTHING) or wide.covers(narrow)
    except FilterTooComplexError:
        return False
