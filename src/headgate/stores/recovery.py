"""What is there when the log is opened? The torn tail is cut off, and damage is named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from headgate.log.entries import Kept
from headgate.log.records import LogError, Record
from headgate.stores.damage import Damage, DamagedLogError
from headgate.stores.files import Files
from headgate.stores.holdings import Holdings
from headgate.stores.journal import HEAD_BYTES, Head, Journal, Scan, scan, segment_name

ADVICE = (
    "restore its directory from a backup, or move it away to begin new streams: see "
    "`docs/storage.md`"
)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was found when the log was opened."""

    records: int
    """How many records the journal still held."""
    torn_bytes: int
    """How much of an unfinished write was cut off."""
    damaged: tuple[Damage, ...]
    """Sealed files that aren't what was written; everything else is served."""
    seconds: float


@final
@dataclass(slots=True)
class Replay:
    """The journal, read again from its first segment to its last."""

    holdings: dict[str, Holdings]
    kept: dict[str, bytes]
    records: int = 0
    torn_bytes: int = 0
    damages: list[Damage] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    """How long each full segment is."""

    def add(self, number: int, found: Scan) -> None:
        for placed in found.placed:
            if isinstance(placed.write, Kept):
                apply_kept(self.kept, placed.write)
            else:
                self._add_record(number, placed.start, placed.bytes, placed.write)
        named = {(one.stream, one.first) for one in self.damages}
        self.damages += [one for one in found.damages if (one.stream, one.first) not in named]

    def _add_record(self, number: int, start: int, size: int, record: Record) -> None:
        held = self.holdings.get(record.stream)
        if held is None:
            held = self.holdings[record.stream] = Holdings(record.incarnation, record)
            expected = 1
        else:
            expected = held.last.offset + 1
        if record.offset != expected or record.incarnation != held.incarnation:
            self._miss(number, expected, record)
        part = held.part(number, record.offset)
        part.starts.append(start)
        part.sizes.append(size)
        held.last = record
        self.records += 1

    def _miss(self, number: int, expected: int, record: Record) -> None:
        file = f"journal/{segment_name(number)}"
        because = f"offset {record.offset} of `{record.incarnation}` follows"
        last = max(expected, record.offset - 1)
        self.damages.append(Damage(file, because, record.stream, expected, last))


def apply_kept(kept: dict[str, bytes], write: Kept) -> None:
    if write.value is None:
        kept.pop(write.key, None)
    else:
        kept[write.key] = write.value


def replay(directory: Path, files: Files, first: int, into: Replay) -> Journal:
    """Read all segments from a number on, cut the torn tail, and go on with the last one."""
    numbers = sorted(segment_numbers(directory))
    _check_numbers(numbers, first)
    previous_bytes = 0
    head: Head | None = None
    for number in numbers:
        is_last = number == numbers[-1]
        data = (directory / segment_name(number)).read_bytes()
        head = Head.read(data)
        if head is None and is_last and len(data) <= HEAD_BYTES:
            # It was being made: what is written to a segment comes after its head is synced.
            into.torn_bytes += len(data)
            files.remove(directory / segment_name(number))
            break
        _check_head(head, number, previous_bytes if number > first else None)
        assert head is not None
        found = scan(data, head, is_last=is_last)
        into.add(number, found)
        previous_bytes = into.sizes[number] = found.good_bytes
        if is_last:
            _refuse(into.damages)
            into.torn_bytes += len(data) - found.good_bytes
            return _continue(directory, files, head, found.good_bytes)
    _refuse(into.damages)
    return Journal.begin(directory, files, numbers[-1] if numbers else first, previous_bytes)


def segment_numbers(directory: Path) -> Iterable[int]:
    return (int(path.stem) for path in directory.glob("*.log") if path.stem.isdecimal())


def _check_numbers(numbers: Sequence[int], first: int) -> None:
    expected = list(range(first, first + len(numbers)))
    if numbers != expected:
        missing = sorted(set(range(first, max(numbers) + 1)) - set(numbers))
        names = ", ".join(segment_name(number) for number in missing[:5])
        raise DamagedLogError([Damage("journal", f"it lacks {names}")], ADVICE)


def _check_head(head: Head | None, number: int, previous_bytes: int | None) -> None:
    file = f"journal/{segment_name(number)}"
    if head is None or head.number != number:
        raise DamagedLogError([Damage(file, "its first bytes are not what was written")], ADVICE)
    if previous_bytes is not None and head.previous_bytes != previous_bytes:
        shortened = Damage(
            f"journal/{segment_name(number - 1)}",
            f"expected {head.previous_bytes:,} bytes, got {previous_bytes:,}",
        )
        raise DamagedLogError([shortened], ADVICE)


def _continue(directory: Path, files: Files, head: Head, size: int) -> Journal:
    """The last segment, without its torn tail; what is left is on the disk before it is shown."""
    file = files.open(directory / segment_name(head.number))
    try:
        if os.fstat(file).st_size != size:
            files.cut(file, size)
        files.sync(file)
        files.sync_directory(directory)
    except BaseException:
        files.close(file)
        raise
    return Journal(directory, files, head, file, size)


def _refuse(damages: Sequence[Damage]) -> None:
    if damages:
        raise DamagedLogError(damages, ADVICE)


def as_log_error(problem: OSError, directory: Path) -> LogError:
    return LogError(f"the log in `{directory}` can't be opened: {problem.strerror or problem}")
