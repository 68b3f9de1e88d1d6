"""Which filters match? An index that changes while snapshots of it are being matched against.

Filters are added to segments that are never rewritten. A removed filter stays in its segment with
the version at which it died, and small segments are merged into larger ones. A snapshot is one
version of all this: what is added and removed later doesn't touch it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from headgate.filters.filter import AnyEvent, Filter
from headgate.matching import layout
from headgate.matching.compiled import Ints, Shorts, address_of
from headgate.matching.directory import Directory
from headgate.matching.entries import Entries, entries_of
from headgate.matching.matches import Columns, Matches
from headgate.matching.raws import Raw, joined, some_of
from headgate.matching.refusals import MatchingError
from headgate.matching.segments import Segment, build
from headgate.matching.snapshots import Snapshot
from headgate.matching.workspaces import Workspace
from headgate.matching.writing import RawWriter
from headgate.model.errors import EventError

ID_MAX: Final = 2**31 - 1
BYTES_MAX: Final = 4 * 1024**3
_MERGED_RATIO: Final = 4
_SPARE_SLOTS: Final = 1_024
_ENTRY_BYTES: Final = 320
"""What an entry may take at most, but for its texts and its checks."""


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
        self._slots: dict[int, int] = {}
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
        return len(self._slots) + len(self._added)

    def __contains__(self, number: object) -> bool:
        return number in self._added or number in self._slots

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
            size += _bytes_of(entries)
            if self.nbytes + size > self._bytes_max:
                raise MatchingError(
                    f"the index may take {self._bytes_max:,} bytes, and filter {number} would "
                    "take it beyond: allow more, or remove filters"
                )
            added[number] = entries, one
        for number in removed:
            if self._added.pop(number, None) is None:
                self._removed.append(self._slots.pop(number))
        self._added.update(added)
        self._added_bytes += size
        self._snapshot = None

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
        self._bytes = sum(sizes) + self._directory.nbytes + 100 * len(self._slots)
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
            self._slots[number] = slot
            writer.add(slot, entries)
            if any(entry.verified for entry in entries.entries):
                self._verified[slot] = number, one
        self._added = {}
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
        if start == 0 and self._used_slots > 2 * len(self._slots) + _SPARE_SLOTS:
            raw = self._renumbered(raw)
        if not len(raw):
            return tuple(segments[:start])
        return (*segments[:start], build(raw, self._slot_ids, self._seed))

    def _renumbered(self, raw: Raw) -> Raw:
        """Number the slots anew: most of the old ones are of filters that are gone."""
        kept, slots = np.unique(raw.slots, return_inverse=True)
        ids = self._slot_ids[kept]
        verified = self._verified
        self._slot_ids = np.concatenate((ids, np.empty(_SPARE_SLOTS, np.int32)))
        self._used_slots = len(ids)
        self._slots.update(zip(ids.tolist(), range(len(ids)), strict=True))
        self._verified = {
            new: verified[old] for new, old in enumerate(kept.tolist()) if old in verified
        }
        return replace(raw, slots=slots.astype(np.int32))


def _bytes_of(entries: Entries) -> int:
    marks = sum(
        len(entry.address) + len(entry.has) + len(entry.lacks) + sum(map(len, entry.any_of))
        for entry in entries.entries
    )
    return len(entries.entries) * _ENTRY_BYTES + 64 * marks
