"""What is there when the log is opened? The torn tail is cut off, and damage is named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import final

from headgate.log.entries import Kept, Write
from headgate.log.records import LogError, Record
from headgate.model.errors import printable
from headgate.stores.damage import Damage, DamagedLogError
from headgate.stores.files import Files, ensure_directory
from headgate.stores.holdings import Holdings
from headgate.stores.journal import HEAD_BYTES, Head, Journal, scan, segment_name
from headgate.stores.kept_values import FILE as VALUES_FILE
from headgate.stores.kept_values import KeptValues
from headgate.stores.manifest import ADVICE, FILE, Manifest, Sealed, read_manifest, write_manifest
from headgate.stores.sealed_files import damaged


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
    sealed: dict[str, list[Sealed]] = field(default_factory=dict)
    records: int = 0
    torn_bytes: int = 0
    damages: list[Damage] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    """How long each full segment is."""

    @classmethod
    def after(cls, manifest: Manifest, values: KeptValues) -> Replay:
        """What is known before the journal is read."""
        holdings = {
            stream: Holdings(record.incarnation, record) for stream, record in values.ends.items()
        }
        replay = cls(holdings, dict(values.kept))
        for one in manifest.files:
            replay.sealed.setdefault(one.stream, []).append(one)
        for stream, held in holdings.items():
            held.sealed = replay.sealed.get(stream, [])
        return replay

    def add(self, data: bytes, head: Head, *, is_last: bool) -> int:
        """Read one more segment; up to where it is whole."""
        number = head.number

        def take(start: int, size: int, write: Write) -> None:
            if isinstance(write, Kept):
                apply_kept(self.kept, write)
            else:
                self._add_record(number, start, size, write)

        self.sizes[number] = scan(data, head, take, self.damages, is_last=is_last)
        return self.sizes[number]

    def _add_record(self, number: int, start: int, size: int, record: Record) -> None:
        held = self.holdings.get(record.stream)
        if held is None:
            held = self.holdings[record.stream] = Holdings(
                record.incarnation, record, self.sealed.get(record.stream, [])
            )
            expected = 1
        else:
            expected = held.last.offset + 1
        if record.offset != expected or record.incarnation != held.incarnation:
            self._miss(number, expected, record)
        held.last = record
        if record.offset > held.sealed_last:
            part = held.part(number, record.offset)
            part.starts.append(start)
            part.sizes.append(size)
            self.records += 1

    def _miss(self, number: int, expected: int, record: Record) -> None:
        last = max(expected, record.offset - 1)
        if any(
            one.stream == record.stream and one.first == expected and one.last == last
            for one in self.damages
        ):
            return
        # Where something is damaged, what is missing was there.
        file = self.damages[-1].file if self.damages else f"journal/{segment_name(number)}"
        because = f"offset {record.offset} of `{record.incarnation}` follows"
        self.damages.append(Damage(file, because, record.stream, expected, last))

    def check(self) -> None:
        """See that nothing is missing between what is sealed and what the journal has."""
        for stream, files in self.sealed.items():
            held = self.holdings.get(stream)
            following = pairwise(files)
            if held is None or held.last.offset < files[-1].last:
                because = "the journal and the kept values don't reach what it names"
                self.damages.append(Damage(FILE, because, stream, files[-1].last, files[-1].last))
            elif any(after.first != before.last + 1 for before, after in following):
                self.damages.append(Damage(FILE, f"it leaves out offsets of `{printable(stream)}`"))
        for stream, held in self.holdings.items():
            if not held.sealed and not held.parts:
                because = "it lacks the file with this record"
                offset = held.last.offset
                self.damages.append(Damage(FILE, because, stream, offset, offset))
        refuse(self.damages)


def apply_kept(kept: dict[str, bytes], write: Kept) -> None:
    if write.value is None:
        kept.pop(write.key, None)
    else:
        kept[write.key] = write.value


def replay(directory: Path, files: Files, first: int, into: Replay) -> Journal:
    """Read all segments from a number on, cut the torn tail, and go on with the last one."""
    numbers = sorted(segment_numbers(directory))
    while numbers and numbers[0] < first:  # sealed, and about to be removed
        files.remove(directory / segment_name(numbers.pop(0)))
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
        previous_bytes = into.add(data, head, is_last=is_last)
        if is_last:
            refuse(into.damages)
            into.torn_bytes += len(data) - previous_bytes
            return _continue(directory, files, head, previous_bytes)
    refuse(into.damages)
    return Journal.begin(directory, files, numbers[-1] if numbers else first, previous_bytes)


def prepare(directory: Path, files: Files) -> tuple[Manifest, list[Damage]]:
    """The manifest, and which of the files that it names can't be what was written."""
    manifest = read_manifest(directory)
    journals = directory / "journal"
    if manifest is None:
        if journals.is_dir() and any(journals.iterdir()):
            raise DamagedLogError([Damage(FILE, "it is missing")], ADVICE)
        manifest = Manifest()
        write_manifest(directory, files, manifest)
    else:
        # It may have been renamed and not be there for good.
        files.sync_directory(directory)
    ensure_directory(files, journals)
    return manifest, [found for one in manifest.files if (found := _looked_at(directory, one))]


def check_values(values: KeptValues, manifest: Manifest) -> None:
    """The kept values are as far as the manifest, or were about to follow it."""
    if values.segment not in (manifest.sealed_through, manifest.sealed_through - 1):
        because = (
            f"it is from segment {values.segment} of the journal, the manifest from "
            f"{manifest.sealed_through}"
        )
        raise DamagedLogError([Damage(VALUES_FILE, because)], ADVICE)


def _looked_at(directory: Path, one: Sealed) -> Damage | None:
    try:
        size = (directory / one.path).stat().st_size
    except FileNotFoundError:
        return damaged(one, "it is missing").damages[0]
    if size != one.bytes:
        return damaged(one, f"expected {one.bytes:,} bytes, got {size:,}").damages[0]
    return None


def segment_numbers(directory: Path) -> Iterable[int]:
    return (int(path.stem) for path in directory.glob("*.log") if path.stem.isdecimal())


def _check_numbers(numbers: Sequence[int], first: int) -> None:
    # Behind what is sealed there was always another one.
    expected = range(first, max([*numbers, 0 if first == 1 else first]) + 1)
    if missing := sorted(set(expected) - set(numbers)):
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


def refuse(damages: Sequence[Damage]) -> None:
    if damages:
        raise DamagedLogError(damages, ADVICE)


def as_log_error(problem: OSError, directory: Path) -> LogError:
    return LogError(f"the log in `{directory}` can't be opened: {problem.strerror or problem}")
