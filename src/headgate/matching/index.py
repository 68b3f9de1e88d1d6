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
from headgate.matching.forgetting import forgetful
from headgate.matching.ids import ID_MAX, UNKNOWN, Ids
from headgate.matching.matches import Columns, Matches
from headgate.matching.raws import Raw, joined, some_of
from headgate.matching.refusals import MatchingError
from headgate.matching.segments import Segment, build
from headgate.matching.snapshots import Snapshot
from headgate.matching.unseen import Unseen
from headgate.matching.workspaces import Workspace
from headgate.model.errors import EventError

BYTES_MAX: Final = 4 * 1024**3
_MERGED_RATIO: Final = 4
_SPARE_SLOTS: Final = 1_024


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
        """By slot, also of some filters that are gone: snapshots share it, and slots come once."""
        self._verified_gone: set[int] = set()
        self._segments: tuple[Segment, ...] = ()
        self._unseen = Unseen(self._directory)
        self._removed: list[int] = []
        self._bytes = 0
        self._version = 0
        self._changing = False
        self._snapshot: Snapshot | None = None
        self._workspaces: list[Workspace] = []

    def __len__(self) -> int:
        return len(self._ids) + len(self._unseen)

    def __contains__(self, number: object) -> bool:
        if number.__class__ is not int or not 0 <= number <= ID_MAX:
            return False
        return number in self._unseen or self._ids.slot(number) != UNKNOWN

    @property
    def nbytes(self) -> int:
        """The memory of the index, without the filters that were handed in."""
        return self._bytes + self._unseen.nbytes

    def add(self, number: int, one: Filter) -> None:
        """Add a filter; the next batch is matched with it."""
        self.update(add=[(number, one)])

    def remove(self, number: int) -> None:
        """Remove a filter; the next batch is matched without it."""
        self.update(remove=[number])

    def update(self, add: Iterable[tuple[int, Filter]] = (), remove: Iterable[int] = ()) -> None:
        """Remove filters and add others, all of it or nothing: no batch sees a part of it."""
        removed = self._checked_removals(remove)
        self._refuse_while_changing()
        unseen = self._unseen
        before = unseen.written()
        added: dict[int, int] = {}
        self._changing = True
        try:
            for number, one in add:
                self._check_new(number, added, removed)
                added[number] = unseen.write(number, one)
                if self.nbytes > self._bytes_max:
                    raise MatchingError(
                        f"the index may take {self._bytes_max:,} bytes, and filter {number} would "
                        "take it beyond: allow more, or remove filters"
                    )
        except BaseException:
            unseen.take_back(before)
            raise
        finally:
            self._changing = False
        self._remove([number for number in removed if not unseen.forget(number)])
        unseen.keep(added)
        self._snapshot = None
        if unseen.mostly_forgotten():
            self._publish()

    def _refuse_while_changing(self) -> None:
        """What is added may come from a generator, and that may ask the index for something."""
        if self._changing:
            raise MatchingError("the index is being changed: what is added can't change it as well")

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
            self._refuse_while_changing()
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
        if self._removed:
            self._bury(self._removed)
            self._removed = []
        self._segments = self._merged(self._segments, self._raw_of_unseen())
        # Merging may have made a new directory: what comes from now on is written down for that.
        self._unseen = Unseen(self._directory)
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
        self._snapshot = Snapshot(
            words, (kept, self._slot_ids, self._segments), self._directory, self._used_slots,
            self._verified, self._workspaces,
        )  # fmt: skip

    def _bury(self, dead: list[int]) -> None:
        """Write the version at which they die to all entries of these slots."""
        slots = np.sort(np.array(dead, np.int32))
        for segment in self._segments:
            segment.bury(slots, self._version)
        gone = self._verified_gone
        gone.update(filter(self._verified.__contains__, dead))
        if 2 * len(gone) > len(self._verified):
            there = self._verified.items()
            self._verified = {slot: found for slot, found in there if slot not in gone}
            self._verified_gone = set()

    def _raw_of_unseen(self) -> Raw | None:
        """What was added since the last version, with the slots that it gets."""
        unseen = self._unseen
        count = len(unseen.numbers)
        if not count:
            return None
        first, end = self._used_slots, self._used_slots + count
        if end > len(self._slot_ids):
            larger = np.empty(2 * end, np.int32)
            larger[:first] = self._slot_ids[:first]
            self._slot_ids = larger
        raw, places = unseen.raw(), unseen.places()
        numbers = np.array(unseen.numbers, np.int32)
        self._slot_ids[first:end] = numbers
        self._used_slots = end
        self._ids.put(numbers[places], first + places)
        for place, one in unseen.verified():
            self._verified[first + place] = unseen.numbers[place], one
        raw.slots[:] += first
        return raw if len(raw) else None

    def _merged(self, segments: tuple[Segment, ...], raw: Raw | None) -> tuple[Segment, ...]:
        """What is new becomes a segment, together with those before it that aren't much larger, or
        are mostly dead. Where nothing is new the last segment stands for it.
        """
        start = len(segments) if raw is not None else max(0, len(segments) - 1)
        size = len(raw) if raw is not None else sum(map(_alive, segments[start:]))
        while start and (
            len(segments[start - 1]) <= _MERGED_RATIO * size or _mostly_dead(segments[start - 1])
        ):
            start -= 1
            size += _alive(segments[start])
        last = segments[start:]
        if raw is None and len(last) < 2 and not any(map(_mostly_dead, last)):
            return segments
        raw = joined([*(some_of(one.raw(), one.alive()) for one in last), *([raw] if raw else [])])
        if start == 0 and self._used_slots > 2 * len(self._ids) + _SPARE_SLOTS:
            raw = self._renumbered(raw)
        if start == 0:
            raw, self._directory = forgetful(raw, self._directory)
        if not len(raw):
            return segments[:start]
        self._directory.note(raw.signatures, raw.codes)
        return (*segments[:start], build(raw, self._slot_ids, self._seed))

    def _renumbered(self, raw: Raw) -> Raw:
        """Number the slots anew: most of the old ones are of filters that are gone."""
        live = self._ids.slots()
        new_slots = np.empty(self._used_slots, np.int32)
        new_slots[live] = np.arange(len(live), dtype=np.int32)
        there = self._verified.items()
        verified = {slot: found for slot, found in there if slot not in self._verified_gone}
        self._verified_gone = set()
        self._slot_ids = np.concatenate((self._slot_ids[live], np.empty(_SPARE_SLOTS, np.int32)))
        self._used_slots = len(live)
        self._ids.renumber(new_slots)
        self._verified = {int(new_slots[slot]): found for slot, found in verified.items()}
        return replace(raw, slots=new_slots[raw.slots])


def _alive(segment: Segment) -> int:
    return len(segment) - segment.dead


def _mostly_dead(segment: Segment) -> bool:
    return 2 * segment.dead > len(segment)
