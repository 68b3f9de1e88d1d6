"""How does a broker's log stay on its disk? A `LogStore` in a directory of its own.

What is appended waits in memory until `sync` writes it to the journal in one piece, and is shown
when the disk has it. One thread writes; any thread reads.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import final

from headgate.log.entries import Kept, Write, entry
from headgate.log.records import LogError, Record
from headgate.log.store import FIRST_OFFSET, Publication, StoreFullError, check_next
from headgate.model.errors import named
from headgate.stores.damage import Damage, DamagedLogError, LogBrokenError
from headgate.stores.files import FULL, Files, ensure_directory
from headgate.stores.holdings import Holdings, Piece, SealedPiece, read_journal
from headgate.stores.journal import HEAD_BYTES
from headgate.stores.kept_values import KeptValues
from headgate.stores.log_options import LogOptions
from headgate.stores.maintenance import Maintainer, Maintenance
from headgate.stores.manifest import Sealed
from headgate.stores.recovery import (
    Recovery,
    Replay,
    apply_kept,
    as_log_error,
    check_values,
    prepare,
    replay,
)
from headgate.stores.sealed_files import SealedFiles, damaged
from headgate.stores.verifying import damages_of_journal, damages_of_lists, damages_of_sealed

_RECENT_AT_ONCE = 1_024


@final
class DiskLog:
    """The streams and the kept values of one broker, in a directory that no other process uses."""

    def __init__(
        self, directory: Path, options: LogOptions | None = None, files: Files | None = None
    ) -> None:
        started = time.monotonic()
        self.options = options = options or LogOptions()
        self.directory = directory.absolute()
        self._files = files if files is not None else options.files()
        self._lock = Lock()
        """Held for moments, by whoever looks at what is there or changes it."""
        self._writing = Lock()
        """Held while the journal is written to, or another segment of it begun."""
        self._maintaining = Lock()
        self._seen_open: tuple[int, int] | None = None
        """The segment that is written to, and since when it is known to hold something."""
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
        manifest, damages = prepare(self.directory, files)
        self._journals = self.directory / "journal"
        values = KeptValues(self.directory, synchronous=self.options.syncs)
        check_values(values, manifest)
        found = Replay.after(manifest, values)
        self._journal = replay(self._journals, files, values.segment + 1, found)
        found.check()
        self._held = found.holdings
        self._kept = found.kept
        self._values = values
        self._sizes = found.sizes
        self._sizes.pop(self._journal.number, None)
        self._sealed = SealedFiles(self.directory)
        self._maintainer = Maintainer(
            self.directory, files, manifest, values, self._held, self._lock, self._sizes
        )
        self._maintainer.clear()
        self.recovery = Recovery(
            records=found.records,
            torn_bytes=found.torn_bytes,
            damaged=tuple(damages),
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
        with self._writing:
            try:
                self._check_room()
                if self._journal.size >= self.options.segment_bytes:
                    self._begin_segment()
                first = self._journal.store(self._tail)
            except StoreFullError:
                self._forget_waiting()
                raise
            except LogBrokenError as broken:
                self._broken = broken
                raise
            self._show(first)
            self._forget_waiting()

    def _begin_segment(self) -> None:
        full = self._journal
        self._journal = full.next_segment()
        with self._lock:
            self._sizes[full.number] = full.size

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
        records: list[Record] = []
        gone: Piece | None = None
        while len(records) < count_max:
            at = records[-1].offset + 1 if records else after + 1
            pieces = self._pieces(stream, at, count_max - len(records))
            if records and pieces and pieces[0].first > at:
                break  # what was to follow was removed meanwhile: an answer has no gap in it
            try:
                for piece in pieces:
                    records += self._read_piece(stream, piece)
            except FileNotFoundError:
                # It was sealed or removed meanwhile: look again where they are now.
                if isinstance(piece, SealedPiece) and piece == gone:
                    raise damaged(piece.sealed, "it is missing") from None
                gone = piece
            else:
                break
        return tuple(records)

    def _pieces(self, stream: str, first: int, count_max: int) -> list[Piece]:
        """Where the records from an offset on stand, or from the first one that is kept."""
        with self._lock:
            held = self._held.get(stream)
            if held is None:
                return []
            first = max(first, held.first)
            return held.pieces(first, first + count_max - 1)

    def _read_piece(self, stream: str, piece: Piece) -> list[Record]:
        if isinstance(piece, SealedPiece):
            return self._sealed.read(piece.sealed, piece.first, piece.last)
        return read_journal(self._journals, stream, piece)

    def last(self, stream: str) -> Record | None:
        held = self._held.get(stream)
        return held.last if held is not None else None

    def first(self, stream: str) -> int:
        """The lowest offset of a stream that is still kept; 1 of one that isn't known."""
        with self._lock:
            held = self._held.get(stream)
            return held.first if held is not None else FIRST_OFFSET

    def streams(self) -> Mapping[str, str]:
        with self._lock:
            return {stream: held.incarnation for stream, held in self._held.items()}

    def recent(self, stream: str, count_max: int) -> tuple[Publication, ...]:
        with self._lock:
            held = self._held.get(stream)
            pieces = held.pieces(held.first, held.last.offset) if held is not None else []
        found: list[Publication] = []
        for piece in reversed(pieces):
            before = piece.last + 1
            while len(found) < count_max and before > piece.first:
                after = max(piece.first - 1, before - 1 - _RECENT_AT_ONCE)
                try:
                    records = self.read(stream, after, before - 1 - after)
                except DamagedLogError:
                    # They are for finding repetitions: what is named elsewhere ends them.
                    return tuple(reversed(found))
                found += [_publication(one) for one in reversed(records) if not one.is_marker]
                before = after + 1
        return tuple(reversed(found[:count_max]))

    def kept(self) -> Mapping[str, bytes]:
        with self._lock:
            return dict(self._kept)

    @property
    def size_bytes(self) -> int:
        """How much of the disk it takes."""
        with self._lock:
            full_bytes = sum(self._sizes.values())
        return full_bytes + self._journal.size + self._maintainer.sealed_bytes

    # One thread maintains, while the others write and read.

    def maintain(self, now_us: int, owed: Mapping[str, int]) -> Maintenance:
        """Make Parquet of the full segments, and say what may go: `remove` removes it.

        `owed` says, by stream, up to where all its durable subscribers have got; a stream without
        any isn't in it. What keeps something from being done now is told, and doesn't raise.
        """
        with self._maintaining:
            self._check_unbroken()
            sealed: list[Sealed] = []
            problem: str | None = None
            damages: tuple[Damage, ...] = ()
            try:
                self._end_old_segment(now_us)
                while (number := self._maintainer.next_to_seal()) < self._journal.number:
                    sealed += self._maintainer.seal(number, self.options.row_group_rows)
            except DamagedLogError as damaged_log:
                problem, damages = str(damaged_log), damaged_log.damages
            except StoreFullError as full:
                problem = str(full)
            except OSError as failed:
                problem = self._failed(failed)
            except LogBrokenError as broken:
                self._broken = broken
                raise
            # Above all when there was no room to seal anything.
            chosen = self._maintainer.removable(
                self.size_bytes, now_us, owed, self.options.retention
            )
            return Maintenance(
                tuple(sealed), chosen.files, chosen.owed, chosen.held_back, damages, problem
            )

    def remove(self, stream: str, up_to: int) -> None:
        with self._maintaining:
            self._check_unbroken()
            try:
                self._maintainer.remove(stream, up_to)
            except StoreFullError:
                raise
            except OSError as failed:
                raise StoreFullError(self._failed(failed)) from failed
            except LogBrokenError as broken:
                self._broken = broken
                raise

    def end_segment(self) -> None:
        """Begin a new segment, so that all that is there can be sealed by `maintain`."""
        with self._writing:
            self._check_unbroken()
            try:
                if self._journal.size > HEAD_BYTES:
                    self._begin_segment()
            except LogBrokenError as broken:
                self._broken = broken
                raise

    def _end_old_segment(self, now_us: int) -> None:
        number = self._journal.number
        if self._journal.size == HEAD_BYTES:
            return
        if self._seen_open is None or self._seen_open[0] != number:
            self._seen_open = number, now_us
        elif now_us - self._seen_open[1] >= self.options.segment_s * 1_000_000:
            self.end_segment()

    def _failed(self, problem: OSError) -> str:
        if problem.errno in FULL:
            return f"the log is full: {problem.strerror}: make room on its disk"
        self._broken = LogBrokenError(
            f"the disk of the log failed ({problem.strerror}): check it, then start again"
        )
        raise self._broken from problem

    def verify(self) -> tuple[Damage, ...]:
        """Read everything that is stored, and name what isn't as it was written."""
        with self._maintaining:
            manifest = self._maintainer.manifest
            damages = damages_of_lists(self.directory, manifest, self._values)
            damages += damages_of_sealed(self._sealed, manifest.files)
            with self._lock:
                pieces = [
                    (stream, part.cut_out(part.first, part.last))
                    for stream, held in self._held.items()
                    for part in held.parts
                ]
            for stream, piece in pieces:
                damages += damages_of_journal(self._journals, stream, piece)
        return tuple(damages)

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


def _publication(record: Record) -> Publication:
    return record.publisher, record.event_id, record.offset, record.version
