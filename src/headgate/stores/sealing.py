"""How does a full segment of the journal become Parquet? In steps that may be broken off anywhere.

The files of its streams are written first, then the manifest names them, then SQLite takes what was
kept, and only then the segment is removed. Until the manifest is replaced the journal counts;
afterwards the files do; what was broken off is done again or taken away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from headgate.log.digests import START, check_chain
from headgate.log.entries import Kept, Write
from headgate.log.records import LogError, Record
from headgate.log.store import FIRST_OFFSET
from headgate.stores.damage import Damage, DamagedLogError
from headgate.stores.files import Files, ensure_directory, write_new
from headgate.stores.journal import Head, scan, segment_name
from headgate.stores.manifest import Sealed
from headgate.stores.parquet import parquet_bytes

DIRECTORY: Final = "sealed"
_NAME_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Segment:
    """What a full segment of the journal holds."""

    number: int
    streams: dict[str, list[Record]]
    kept: dict[str, bytes | None]

    @property
    def ends(self) -> dict[str, Record]:
        """The last record of each stream."""
        return {stream: records[-1] for stream, records in self.streams.items()}


def read_segment(journals: Path, number: int) -> Segment:
    """Read a full segment; a `DamagedLogError` names what isn't as it was written."""
    path = journals / segment_name(number)
    data = path.read_bytes()
    head = Head.read(data)
    file = f"journal/{path.name}"
    advice = "it stays in the journal"
    if head is None:
        raise DamagedLogError([Damage(file, "its first bytes are damaged")], advice)
    segment = Segment(number, {}, {})
    damages: list[Damage] = []

    def take(start: int, size: int, write: Write) -> None:
        if isinstance(write, Kept):
            segment.kept[write.key] = write.value
        else:
            segment.streams.setdefault(write.stream, []).append(write)

    scan(data, head, take, damages, is_last=False)
    if damages:
        raise DamagedLogError(damages, advice)
    return segment


def seal_stream(
    directory: Path, files: Files, records: Sequence[Record], before: bytes, row_group_rows: int
) -> Sealed:
    """Write the records of one stream to a file of its own, which nobody is told of yet."""
    first, last = records[0], records[-1]
    check_chain(before, records)
    named = {
        "stream": first.stream,
        "incarnation": first.incarnation,
        "first": str(first.offset),
        "last": str(last.offset),
        "before": before.hex(),
    }
    data = parquet_bytes(records, row_group_rows, named)
    folder = directory / DIRECTORY / folder_name(first.stream)
    ensure_directory(files, folder)
    path = folder / f"{first.offset:019}-{last.offset:019}.parquet"
    if path.exists():  # from an attempt that was broken off
        files.remove(path)
    try:
        write_new(files, path, data)
    except OSError:
        with contextlib.suppress(OSError):
            files.remove(path)
        raise
    files.sync_directory(folder)
    return Sealed(
        stream=first.stream,
        incarnation=first.incarnation,
        first=first.offset,
        last=last.offset,
        path=str(path.relative_to(directory)),
        sha256=sha256(data).hexdigest(),
        bytes=len(data),
        newest_us=max(one.time_us for one in records),
        before=before.hex(),
    )


def chain_before(first: Record, end: Record | None) -> bytes:
    """The digest before a record that follows the end of what is sealed of its stream."""
    if end is None and first.offset == FIRST_OFFSET:
        return START
    if end is None or end.offset != first.offset - 1:
        raise LogError(f"what stands before offset {first.offset} of `{first.stream}` isn't known")
    return end.chain


def folder_name(stream: str) -> str:
    """A name for the files of a stream that any file system takes, and Spark doesn't pass over."""
    quoted = quote(stream, safe="").replace(".", "%2E")
    if quoted.startswith("_"):
        quoted = f"%5F{quoted[1:]}"
    if len(quoted) > _NAME_MAX or not quoted:
        # No quoted name has a plus in it.
        return f"{quoted[:100]}+{sha256(stream.encode()).hexdigest()[:32]}"
    return quoted


def orphans(directory: Path, named: Sequence[Sealed]) -> list[Path]:
    """The files that no manifest names: they were being written, or removed."""
    wanted = {directory / one.path for one in named}
    return sorted(
        path
        for path in (directory / DIRECTORY).glob("*/*")
        if path not in wanted and path.is_file()
    )
