"""Which filters match? An index that changes while snapshots of it are being matched against.

Filters are added to segments that are never rewritten. A removed filter stays in its segment with
the version at which it died, and small segments are merged into larger ones. A snapshot is one
version of all this: what is added and removed later doesn't touch it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np

from headgate.filters.filter import AnyEvent, Filter
from headgate.matching import layout
from headgate.matching.compiled import Ints, Shorts, address_of
from headgate.matching.directory import Directory
from headgate.matching.entries import Entries, Entry, entries_of
from headgate.matching.forgetting import forgetful
from headgate.matching.ids import ID_MAX, UNKNOWN, Ids
from headgate.matching.matches import Columns, Matches
from headgate.matching.raws import Raw, joined, some_of
from headgate.matching.refusals import MatchingError
from headgate.matching.segments import Segment, build
from headgate.matching.snapshots import Snapshot
from headgate.matching.workspaces import Workspace
from headgate.matching.writing import RawWriter
from headgate.model.errors import EventError

BYTES_MAX: Final = 4 * 1024**3
_MERGED_RATIO: Final = 4
_SPARE_SLOTS: Final = 1_024
_ENTRY_BYTES: Final = 320
_TEST_BYTES: Final = 24
_MARK_BYTES: Final = 64
_NAME_BYTES: Final = 256
_CHAR_BYTES: Final = 8
"""What an entry may take at most, each of its tests, each of its marks, each name in what has to be
verified, and each character of a text."""


class FilterIndex:
    """Filters by id (from 0 to 2^31 - 1), and which of them match.

    One thread changes an index; others match against snapshots of it.
    """

    def __init__(self, bytes_max: int = BYTES_MAX, seed: int = 0) -> None:
        """`seed` goes into all hashes: a server takes one that nobody can guess, so that nobody can
        make texts that all have one hash.
        """
        self._bytes_max = bytes_max
        self._seed = seed
        self._directory = Directory(seed)
        self._ids = Ids()
        self._slot_ids: Shorts = np.empty(64, np.int32)
        self._used_slots = 0
        self._verified: dict[int, tuple[int, Filter]] = {}
        self._segments: tuple[Segment, ...] = ()
        self._added: dict[int, tuple[Entries, Filter]] = {}
        self._removed: list[int] = []
        self._added_bytes = 0
        self._bytes = 0
        self._version = 0
        self._snapshot: Snapshot | None = None
        self._workspaces: list[Workspace] = []

    def __len__(self) -> int:
        return len(self._ids) + len(self._added)

    def __contains__(self, number: object) -> bool:
        if number.__class__ is not int or not 0 <= number <= ID_MAX:
            return False
        return number in self._added or self._ids.slot(number) != UNKNOWN

    @property
    def nbytes(self) -> int:
        """The memory of the index, without the filters that were handed in."""
        return self._bytes + self._added_bytes

    def add(self, number: int, one: Filter) -> None:
        """Add a filter; the next batch is matched with it."""
        self.update(add=[(number, one)])

    def remove(self, number: int) -> None:
        """Remove a filter; the next batch is matched without it."""
        self.update(remove=[number])

    def update(self, add: Iterable[tuple[int, Filter]] = (), remove: Iterable[int] = ()) -> None:
        """Remove filters and add others, all of it or nothing: no batch sees a part of it."""
        removed = self._checked_removals(remove)
        added: dict[int, tuple[Entries, Filter]] = {}
        size = 0
        for number, one in add:
            self._check_new(number, added, removed)
            entries = entries_of(one)
            size += _bytes_of(entries, one)
            if self.nbytes + size > self._bytes_max:
                raise MatchingError(
                    f"the index may take {self._bytes_max:,} bytes, and filter {number} would "
                    "take it beyond: allow more, or remove filters"
                )
            added[number] = entries, one
        self._remove([number for number in removed if not self._forget(number)])
        self._added.update(added)
        self._added_bytes += size
        self._snapshot = None

    def _forget(self, number: int) -> bool:
        """Whether the filter was one that no snapshot has seen yet; then it is gone."""
        unseen = self._added.pop(number, None)
        if unseen is not None:
            self._added_bytes -= _bytes_of(*unseen)
        return unseen is not None

    def _remove(self, numbers: list[int]) -> None:
        if numbers:
            self._removed += self._ids.take(np.array(numbers, np.int32)).tolist()

    def _checked_removals(self, numbers: Iterable[int]) -> dict[int, None]:
        removed: dict[int, None] = {}
        for number in numbers:
            if number not in self or number in removed:
                raise MatchingError(f"the index has no filter {number} to remove")
            removed[number] = None
        return removed

    def _check_new(
        self, number: int, added: Mapping[int, object], removed: Mapping[int, None]
    ) -> None:
        if number.__class__ is not int or not 0 <= number <= ID_MAX:
            raise MatchingError(f"the id of a filter is from 0 to {ID_MAX:,}, not {number!r:.40}")
        if number in added or (number in self and number not in removed):
            raise MatchingError(f"the index has a filter {number} already: remove it first")

    def snapshot(self) -> Snapshot:
        """The index as it is now: matched against from any thread, whatever is changed later."""
        if self._snapshot is None:
            self._publish()
        assert self._snapshot is not None
        return self._snapshot

    def match_events(self, events: Sequence[AnyEvent]) -> Matches:
        """The filters that match each event."""
        return self.snapshot().match_events(events)

    def match_json(
        self,
        texts: Sequence[bytes | str],
        known: Sequence[Mapping[str, object]] | None = None,
        refused: dict[int, EventError] | None = None,
    ) -> Matches:
        """The filters that match each event, from JSON text: see `Snapshot.match_json`."""
        return self.snapshot().match_json(texts, known, refused)

    def match_columns(self, columns: Columns) -> Matches:
        """The filters that match each row: see `Snapshot.match_columns`."""
        return self.snapshot().match_columns(columns)

    def _publish(self) -> None:
        self._version += 1
        verified = dict(self._verified) if self._added or self._removed else self._verified
        if self._removed:
            self._bury(self._removed)
            for slot in self._removed:
                verified.pop(slot, None)
            self._removed = []
        self._verified = verified
        segments = list(self._segments)
        if self._added:
            raw = self._raw_of_added()
            if len(raw):
                segments.append(build(raw, self._slot_ids, self._seed))
        self._segments = self._merged(segments)
        words: Ints = np.zeros(
            layout.FIRST_SEGMENT + layout.SEGMENT_WORDS * len(self._segments), np.int64
        )
        words[layout.SEGMENTS] = len(self._segments)
        words[layout.VERSION] = self._version
        words[layout.SLOT_IDS] = address_of(self._slot_ids)
        kept = self._directory.write(words)
        for at, segment in enumerate(self._segments):
            segment.write(words, at)
        sizes = [segment.nbytes for segment in self._segments]
        tables = self._directory.nbytes + self._ids.nbytes + self._slot_ids.nbytes
        self._bytes = sum(sizes) + tables
        self._added_bytes = 0
        self._snapshot = Snapshot(
            words, (kept, self._slot_ids, self._segments), self._directory, self._used_slots,
            self._verified, self._workspaces,
        )  # fmt: skip

    def _bury(self, dead: list[int]) -> None:
        """Write the version at which they die to all entries of these slots."""
        slots = np.sort(np.array(dead, np.int32))
        for segment in self._segments:
            segment.bury(slots, self._version)

    def _raw_of_added(self) -> Raw:
        writer = RawWriter(self._directory)
        count = len(self._added)
        if self._used_slots + count > len(self._slot_ids):
            larger = np.empty(2 * (self._used_slots + count), np.int32)
            larger[: self._used_slots] = self._slot_ids[: self._used_slots]
            self._slot_ids = larger
        for number, (entries, one) in self._added.items():
            slot = self._used_slots
            self._used_slots += 1
            self._slot_ids[slot] = number
            writer.add(slot, entries)
            if any(entry.verified for entry in entries.entries):
                self._verified[slot] = number, one
                # Columns are only read by numbered names, and who verifies needs all of them.
                for name in sorted(one.names):
                    self._directory.name(name)
        self._added = {}
        slots = np.arange(self._used_slots - count, self._used_slots, dtype=np.int32)
        self._ids.put(self._slot_ids[slots], slots)
        return writer.raw()

    def _merged(self, segments: list[Segment]) -> tuple[Segment, ...]:
        """Merge the last segments while the one before isn't much larger, or is mostly dead."""
        start = len(segments)
        size = 0
        for at in reversed(range(len(segments))):
            segment = segments[at]
            last_or_small = at == len(segments) - 1 or len(segment) <= _MERGED_RATIO * size
            if not last_or_small and 2 * segment.dead <= len(segment):
                break
            start = at
            size += len(segment) - segment.dead
        last = segments[start:]
        if len(last) < 2 and not any(2 * segment.dead > len(segment) for segment in last):
            return tuple(segments)
        raw = joined([some_of(one.raw(), one.alive()) for one in last])
        if start == 0 and self._used_slots > 2 * len(self._ids) + _SPARE_SLOTS:
            raw = self._renumbered(raw)
        if start == 0:
            raw, self._directory = forgetful(raw, self._directory)
        if not len(raw):
            return tuple(segments[:start])
        return (*segments[:start], build(raw, self._slot_ids, self._seed))

    def _renumbered(self, raw: Raw) -> Raw:
        """Number the slots anew: most of the old ones are of filters that are gone."""
        live = self._ids.slots()
        new_slots = np.empty(self._used_slots, np.int32)
        new_slots[live] = np.arange(len(live), dtype=np.int32)
        verified = self._verified
        self._slot_ids = np.concatenate((self._slot_ids[live], np.empty(_SPARE_SLOTS, np.int32)))
        self._used_slots = len(live)
        self._ids.renumber(new_slots)
        self._verified = {int(new_slots[slot]): found for slot, found in verified.items()}
        return replace(raw, slots=new_slots[raw.slots])


def _bytes_of(some: Entries, one: Filter) -> int:
    names = 0
    if any(entry.verified for entry in some.entries):
        names = sum(_NAME_BYTES + _CHAR_BYTES * len(name) for name in one.names)
    return sum(map(_bytes_of_entry, some.entries)) + names + _ENTRY_BYTES


def _bytes_of_entry(entry: Entry) -> int:
    marks = entry.address
    if entry.has or entry.lacks or entry.any_of:
        marks = (*marks, *entry.has, *entry.lacks, *chain.from_iterable(entry.any_of))
    texts = 0
    for _, (_, value) in marks:
        if value.__class__ is str:
            texts += len(value)
    return (
        _ENTRY_BYTES
        + _TEST_BYTES * len(entry.tests)
        + _MARK_BYTES * len(marks)
        + _CHAR_BYTES * texts
    )
