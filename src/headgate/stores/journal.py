"""What is written first, and how is it found again? A journal of all streams, in segments.

All streams of a broker share one journal, so that one sync serves whatever came together. What is
synced together begins with a mark (`Synced`) that says: all before me is on the disk. Damage before
a mark is thus told from the torn tail of a write that nobody was told of.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct as Layout
from typing import Final, TypeAlias, final
from zlib import crc32

from headgate.log.entries import SYNCED_BEGINS, Entry, Synced, Write, entry, guessed, whole
from headgate.log.records import LogError, Record
from headgate.log.store import StoreFullError
from headgate.stores.damage import Damage, LogBrokenError
from headgate.stores.files import FULL, Files, write_all

_MAGIC: Final = b"headgate journal"
_FORMAT: Final = 1
_HEAD: Final = Layout(">16sIQQ8s")
"""Magic, format, number, bytes of the segment before it, and chance; a checksum follows."""
HEAD_BYTES: Final = _HEAD.size + 4
_SEARCHED_BYTES: Final = 2**20


def segment_name(number: int) -> str:
    return f"{number:08}.log"


@dataclass(frozen=True, slots=True)
class Head:
    """How a segment begins."""

    number: int
    previous_bytes: int
    """How long the segment before it is: one that was shortened later is found."""
    chance: bytes

    def packed(self) -> bytes:
        head = _HEAD.pack(_MAGIC, _FORMAT, self.number, self.previous_bytes, self.chance)
        return head + crc32(head).to_bytes(4, "big")

    @classmethod
    def read(cls, data: bytes | memoryview) -> Head | None:
        """What is said there; `None` where it is damaged."""
        if len(data) < HEAD_BYTES:
            return None
        magic, layout, number, previous_bytes, chance = _HEAD.unpack_from(data)
        checksum = int.from_bytes(data[_HEAD.size : HEAD_BYTES], "big")
        if magic != _MAGIC or checksum != crc32(data[: _HEAD.size]):
            return None
        if layout != _FORMAT:
            raise LogError(f"the journal has format {layout}, this Headgate reads {_FORMAT}")
        return cls(number, previous_bytes, chance)


Take: TypeAlias = Callable[[int, int, Write], None]
"""Is told where a write stands in its segment, how many bytes it has there, and what it is."""


def scan(data: bytes, head: Head, take: Take, damages: list[Damage], *, is_last: bool) -> int:
    """Read a segment up to its torn tail, and say where that begins.

    What is damaged is left out and named, before what comes after it is taken.
    """
    file = f"journal/{segment_name(head.number)}"
    at = HEAD_BYTES
    while True:
        for start, end, one in whole(data, at):
            if not isinstance(one, Synced):
                take(start, end - start, one)
            at = end
        if at == len(data):
            return at
        after = _mark_after(data, head.chance, at)
        if after is None and is_last:
            return at
        end = _whole_after(data, at, after or len(data))
        damages.append(_damage(file, at, end, guessed(data, at, end)))
        at = end


def _damage(file: str, start: int, end: int, seeming: Entry | None) -> Damage:
    because = f"its bytes {start:,} to {end - 1:,} are not what was written"
    if isinstance(seeming, Record):
        return Damage(file, because, seeming.stream, seeming.offset, seeming.offset)
    return Damage(file, because)


def _whole_after(data: bytes, at: int, limit: int) -> int:
    """Where something whole stands again behind a damaged place, or the limit."""
    for start in range(at + 1, min(limit, at + _SEARCHED_BYTES)):
        if next(whole(data, start), None) is not None:
            return start
    return limit


def _mark_after(data: bytes, chance: bytes, at: int) -> int | None:
    """Where the next mark of this segment stands: what is before it was on the disk."""
    found = at
    while (found := data.find(SYNCED_BEGINS, found + 1)) >= 0:
        start = found - 8
        marked = next(whole(data, start), None) if start >= at else None
        if marked is not None and marked[2] == Synced(chance, start):
            return start
    return None


@final
class Journal:
    """The segment that is written to; one thread does."""

    def __init__(self, directory: Path, files: Files, head: Head, file: int, size: int) -> None:
        self.number = head.number
        self.size = size
        """Up to here it is on the disk."""
        self._directory = directory
        self._files = files
        self._head = head
        self._file = file

    @classmethod
    def begin(cls, directory: Path, files: Files, number: int, previous_bytes: int) -> Journal:
        """A new segment, on the disk with its name before anything is written to it."""
        head = Head(number, previous_bytes, os.urandom(8))
        path = directory / segment_name(number)
        file = files.create(path)
        try:
            write_all(files, file, head.packed(), 0)
            files.sync(file)
            files.sync_directory(directory)
        except BaseException:
            files.close(file)
            raise
        return cls(directory, files, head, file, HEAD_BYTES)

    def next_segment(self) -> Journal:
        """The segment that follows this one, which is closed."""
        try:
            following = Journal.begin(self._directory, self._files, self.number + 1, self.size)
        except OSError as problem:
            if problem.errno not in FULL:
                raise _broken(problem) from problem
            try:
                self._files.remove(self._directory / segment_name(self.number + 1))
            except FileNotFoundError:
                pass
            except OSError as worse:
                raise _broken(worse) from worse
            raise _full(problem) from None
        self.close()
        return following

    def store(self, entries: Sequence[bytes]) -> int:
        """Put entries on the disk, all or none, and say where the first of them stands."""
        mark = entry(Synced(self._head.chance, self.size))
        data = b"".join((mark, *entries))
        try:
            write_all(self._files, self._file, data, self.size)
        except OSError as problem:
            if problem.errno not in FULL:
                raise _broken(problem) from problem
            self._take_back()
            raise _full(problem) from None
        self._sync()
        first = self.size + len(mark)
        self.size += len(data)
        return first

    def close(self) -> None:
        self._files.close(self._file)

    def _take_back(self) -> None:
        """Of what didn't fit nothing may come back after a crash."""
        try:
            self._files.cut(self._file, self.size)
        except OSError as problem:
            raise _broken(problem) from problem
        self._sync()

    def _sync(self) -> None:
        try:
            self._files.sync(self._file)
        except OSError as problem:
            raise _broken(problem) from problem


def _full(problem: OSError) -> StoreFullError:
    return StoreFullError(f"the log is full: {problem.strerror}: make room on its disk")


def _broken(problem: OSError) -> LogBrokenError:
    return LogBrokenError(
        f"the disk of the log failed ({problem.strerror}): nobody knows what it has kept: check "
        "the disk, then start again"
    )
