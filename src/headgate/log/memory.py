"""What would a disk have kept? A log store in memory that can crash, tear its tail and be full.

What was not synced is held as the bytes of a file's tail. A crash cuts these at any byte, or
damages one; what is found afterwards is found as on a disk, by the checksums of the entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, final

from headgate.log.entries import Kept, Write, entry, intact
from headgate.log.records import LogError, Record
from headgate.log.store import FIRST_OFFSET, Publication, StoreFullError, check_next


class Chance(Protocol):
    """Randomness, as `random.Random` gives it."""

    def randrange(self, stop: int, /) -> int: ...


@final
class MemoryLog:
    """A `LogStore` without a disk; `full` and `bytes_max` make it refuse to store more."""

    def __init__(self, bytes_max: int | None = None) -> None:
        self.full = False
        self.bytes_max = bytes_max
        self.stored_bytes = 0
        self.torn_bytes = 0
        """How much the last crash left that had to be cut off."""
        self._streams: dict[str, list[Record]] = {}
        self._kept: dict[str, bytes] = {}
        self._waiting: list[Write] = []
        self._tail = bytearray()
        self._ends: dict[str, Record] = {}
        """The last records of the streams with an unsynced one."""

    def append(self, records: Sequence[Record]) -> None:
        ends = dict[str, Record]()
        written = bytearray()
        for record in records:
            stream = record.stream
            check_next(ends.get(stream) or self._ends.get(stream) or self.last(stream), record)
            written += entry(record)
            ends[stream] = record
        self._ends.update(ends)
        self._waiting.extend(records)
        self._tail += written

    def keep(self, key: str, value: bytes | None) -> None:
        kept = Kept(key, value)
        self._tail += entry(kept)
        self._waiting.append(kept)

    def sync(self) -> None:
        too_much = self.bytes_max is not None and (
            self.stored_bytes + len(self._tail) > self.bytes_max
        )
        if self._waiting and (self.full or too_much):
            self._forget_tail()
            raise StoreFullError(
                f"the log is full: it holds {self.stored_bytes:,} bytes and takes no more"
            )
        self._store(self._waiting, len(self._tail))

    def read(self, stream: str, after: int, count_max: int) -> tuple[Record, ...]:
        if after < 0 or count_max < 0:
            raise LogError(
                f"expected an offset and a number from 0 on, got {after} and {count_max}"
            )
        # They leave none out from the first one on.
        start = max(0, after + 1 - self.first(stream))
        return tuple(self._streams.get(stream, [])[start : start + count_max])

    def first(self, stream: str) -> int:
        records = self._streams.get(stream)
        return records[0].offset if records else FIRST_OFFSET

    def remove(self, stream: str, up_to: int) -> None:
        records = self._streams.get(stream, [])
        del records[: max(0, min(up_to + 1 - self.first(stream), len(records) - 1))]

    def last(self, stream: str) -> Record | None:
        records = self._streams.get(stream)
        return records[-1] if records else None

    def streams(self) -> Mapping[str, str]:
        return {stream: records[0].incarnation for stream, records in self._streams.items()}

    def recent(self, stream: str, count_max: int) -> tuple[Publication, ...]:
        found: list[Publication] = []
        for record in reversed(self._streams.get(stream, ())):
            if len(found) >= count_max:
                break
            if not record.is_marker:
                found.append((record.publisher, record.event_id, record.offset, record.version))
        return tuple(reversed(found))

    def kept(self) -> Mapping[str, bytes]:
        return dict(self._kept)

    def crash(self, chance: Chance) -> None:
        """The power goes, and is back: of what was not synced nothing is left, or what was first.

        Once in four times each the tail is there, gone, cut, or cut with a byte in it damaged.
        """
        tail = bytearray(self._tail)
        how = chance.randrange(4)
        if how:
            del tail[0 if how == 1 else chance.randrange(len(tail) + 1) :]
        if how == 3 and tail:
            tail[chance.randrange(len(tail))] ^= 1 << chance.randrange(8)
        writes, good_bytes = intact(bytes(tail))
        self.torn_bytes = len(tail) - good_bytes
        self._store(writes, good_bytes)

    def _store(self, writes: Sequence[Write], size: int) -> None:
        for write in writes:
            if isinstance(write, Record):
                self._streams.setdefault(write.stream, []).append(write)
            elif write.value is None:
                self._kept.pop(write.key, None)
            else:
                self._kept[write.key] = write.value
        self.stored_bytes += size
        self._forget_tail()

    def _forget_tail(self) -> None:
        self._waiting, self._tail, self._ends = [], bytearray(), {}
