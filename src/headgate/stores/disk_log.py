"""How does a broker's log stay on its disk? A `LogStore` in a directory of its own.

What is appended waits in memory until `sync` writes it to the journal in one piece, and is shown
when the disk has it. One thread writes; any thread reads.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal, final

from headgate.log.entries import Kept, Write, entry
from headgate.log.records import LogError, Record
from headgate.log.store import Publication, StoreFullError, check_next
from headgate.model.errors import named
from headgate.stores.damage import LogBrokenError
from headgate.stores.files import Files, FilesWithoutSync, RealFiles, ensure_directory
from headgate.stores.holdings import Holdings, read_journal
from headgate.stores.recovery import Recovery, Replay, apply_kept, as_log_error, replay

_RECENT_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is kept."""

    durability: Literal["fsync", "unsafe_no_fsync"] = "fsync"
    segment_bytes: int = 2**26
    """From this size on a segment of the journal is full."""
    bytes_max: int | None = None
    """How large the log may grow before it refuses to store more."""


@final
class DiskLog:
    """The streams and the kept values of one broker, in a directory that no other process uses."""

    def __init__(
        self, directory: Path, options: LogOptions | None = None, files: Files | None = None
    ) -> None:
        started = time.monotonic()
        self.options = options = options or LogOptions()
        self.directory = directory.absolute()
        if files is None:
            unsafe = options.durability == "unsafe_no_fsync"
            files = FilesWithoutSync() if unsafe else RealFiles()
        self._files = files
        self._lock = Lock()
        """Held for moments, by whoever looks at what is there or changes it."""
        self._broken: LogError | None = None
        """Why nothing may be written any more."""
        self._waiting: list[Write] = []
        self._tail: list[bytes] = []
        """What waits, as it will be written."""
        self._ends: dict[str, Record] = {}
        """The last records of the streams with one that waits."""
        self._process_lock = -1
        try:
            self._open(started)
        except OSError as problem:
            self._let_go()
            raise as_log_error(problem, self.directory) from problem
        except BaseException:
            self._let_go()
            raise

    def _open(self, started: float) -> None:
        files = self._files
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        ensure_directory(files, self.directory)
        self._process_lock = _locked(self.directory)
        self._journals = self.directory / "journal"
        ensure_directory(files, self._journals)
        found = Replay({}, {})
        self._journal = replay(self._journals, files, 1, found)
        self._held = found.holdings
        self._kept = found.kept
        self._full_bytes = sum(found.sizes.values()) - found.sizes.get(self._journal.number, 0)
        self.recovery = Recovery(
            records=found.records,
            torn_bytes=found.torn_bytes,
            damaged=(),
            seconds=time.monotonic() - started,
        )

    # One thread writes.

    def append(self, records: Sequence[Record]) -> None:
        self._check_unbroken()
        ends = dict[str, Record]()
        written: list[bytes] = []
        for record in records:
            stream = record.stream
            check_next(ends.get(stream) or self._ends.get(stream) or self.last(stream), record)
            written.append(entry(record))
            ends[stream] = record
        self._ends.update(ends)
        self._waiting += records
        self._tail += written

    def keep(self, key: str, value: bytes | None) -> None:
        self._check_unbroken()
        kept = Kept(key, value)
        self._tail.append(entry(kept))
        self._waiting.append(kept)

    def sync(self) -> None:
        self._check_unbroken()
        if not self._waiting:
            return
        try:
            self._check_room()
            if self._journal.size >= self.options.segment_bytes:
                full_bytes = self._journal.size
                self._journal = self._journal.next_segment()
                self._full_bytes += full_bytes
            first = self._journal.store(self._tail)
        except StoreFullError:
            self._forget_waiting()
            raise
        except LogBrokenError as broken:
            self._broken = broken
            raise
        self._show(first)
        self._forget_waiting()

    def _show(self, start: int) -> None:
        """Let everybody see what waited, which stands in the journal from a place on."""
        number = self._journal.number
        with self._lock:
            for write, data in zip(self._waiting, self._tail, strict=True):
                if isinstance(write, Kept):
                    apply_kept(self._kept, write)
                else:
                    held = self._held.get(write.stream)
                    if held is None:
                        held = self._held[write.stream] = Holdings(write.incarnation, write)
                    part = held.part(number, write.offset)
                    part.starts.append(start)
                    part.sizes.append(len(data))
                    held.last = write
                start += len(data)

    def _forget_waiting(self) -> None:
        self._waiting, self._tail, self._ends = [], [], {}

    def _check_unbroken(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _check_room(self) -> None:
        limit = self.options.bytes_max
        if limit is not None:
            held = self.size_bytes
            if held + sum(map(len, self._tail)) > limit:
                raise StoreFullError(
                    f"the log is full: it holds {held:,} bytes and may hold {limit:,}"
                )

    # Any thread reads.

    def read(self, stream: str, after: int, count_max: int) -> tuple[Record, ...]:
        if after < 0 or count_max < 0:
            raise LogError(
                f"expected an offset and a number from 0 on, got {after} and {count_max}"
            )
        with self._lock:
            held = self._held.get(stream)
            pieces = held.pieces(after + 1, after + count_max) if held is not None else []
        records: list[Record] = []
        for piece in pieces:
            records += read_journal(self._journals, stream, piece)
        return tuple(records)

    def last(self, stream: str) -> Record | None:
        held = self._held.get(stream)
        return held.last if held is not None else None

    def first(self, stream: str) -> int:
        """The lowest offset of a stream that is still kept."""
        return 1

    def streams(self) -> Mapping[str, str]:
        with self._lock:
            return {stream: held.incarnation for stream, held in self._held.items()}

    def recent(self, stream: str, count_max: int) -> tuple[Publication, ...]:
        last = self.last(stream)
        before = last.offset + 1 if last is not None else 1
        found: list[Publication] = []
        while len(found) < count_max and before > self.first(stream):
            after = max(0, before - 1 - _RECENT_AT_ONCE)
            for record in reversed(self.read(stream, after, before - 1 - after)):
                if len(found) < count_max and not record.is_marker:
                    found.append((record.publisher, record.event_id, record.offset, record.version))
            before = after + 1
        return tuple(reversed(found))

    def kept(self) -> Mapping[str, bytes]:
        with self._lock:
            return dict(self._kept)

    @property
    def size_bytes(self) -> int:
        """How much of the disk it takes."""
        return self._full_bytes + self._journal.size

    def close(self) -> None:
        """Let go of the directory; what was not synced is gone."""
        if self._process_lock < 0:
            return
        try:
            if self._broken is None:
                # Whatever is found damaged later was on the disk by now, and is no torn tail.
                self._journal.store(())
        except LogError:
            pass  # nobody was told of anything that could be lost here
        finally:
            self._journal.close()
            self._let_go()
            self._broken = LogError("the log was closed")

    def _let_go(self) -> None:
        if self._process_lock >= 0:
            os.close(self._process_lock)
            self._process_lock = -1


def _locked(directory: Path) -> int:
    """Keep other processes out, for as long as the file stays open."""
    file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise LogError(
            f"the log in {named(str(directory), 200)} is used by another process: end that first"
        ) from None
    return file
