"""Where does each record stand? For each stream: its sealed files, then places in the journal."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from headgate.log.entries import entry_at
from headgate.log.records import LogError, Record
from headgate.stores.damage import Damage, DamagedLogError
from headgate.stores.journal import segment_name
from headgate.stores.manifest import Sealed

_APART_BYTES: Final = 4_096
"""What is nearer to each other than this is read at once, with what lies between."""
_TOGETHER_BYTES: Final = 2**22

READ_ADVICE: Final = "these records can't be served: see `docs/storage.md`"


@dataclass(slots=True)
class Part:
    """The records of one stream in one segment of the journal: they follow one another."""

    number: int
    first: int
    starts: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("Q"))

    @property
    def last(self) -> int:
        return self.first + len(self.starts) - 1

    def cut_out(self, first: int, last: int) -> JournalPiece:
        """The places from one offset to another, as they are now."""
        chosen = slice(first - self.first, last - self.first + 1)
        return JournalPiece(self.number, first, self.starts[chosen], self.sizes[chosen])


@dataclass(frozen=True, slots=True)
class JournalPiece:
    """Records of one stream that are to be read from a segment."""

    number: int
    first: int
    starts: Sequence[int]
    sizes: Sequence[int]

    @property
    def last(self) -> int:
        return self.first + len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class SealedPiece:
    """Records that are to be read from a sealed file."""

    sealed: Sealed
    first: int
    last: int


Piece: TypeAlias = SealedPiece | JournalPiece


@dataclass(slots=True)
class Holdings:
    """What is held of one stream."""

    incarnation: str
    last: Record
    sealed: list[Sealed] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The lowest offset that is still kept."""
        return self.sealed[0].first if self.sealed else self.parts[0].first

    @property
    def sealed_last(self) -> int:
        """The last offset that is in a sealed file."""
        return self.sealed[-1].last if self.sealed else 0

    def part(self, number: int, first: int) -> Part:
        """Where the records of a segment are noted, which begin with this offset."""
        if not self.parts or self.parts[-1].number != number:
            self.parts.append(Part(number, first))
        return self.parts[-1]

    def pieces(self, first: int, last: int) -> list[Piece]:
        """Where the records from one offset to another stand, in order."""
        found: list[Piece] = []
        for at in range(bisect_left(self.sealed, first, key=_last), len(self.sealed)):
            one = self.sealed[at]
            if one.first > last:
                break
            found.append(SealedPiece(one, max(first, one.first), min(last, one.last)))
        found += [
            part.cut_out(max(first, part.first), min(last, part.last))
            for part in self.parts
            if part.first <= last and part.last >= first
        ]
        return found


def _last(sealed: Sealed) -> int:
    return sealed.last


def read_journal(directory: Path, stream: str, piece: JournalPiece) -> list[Record]:
    """The records that stand at these places; damage is named."""
    name = segment_name(piece.number)
    records: list[Record] = []
    opened = os.open(directory / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for begin, end in _runs(piece):
            start = piece.starts[begin]
            size = piece.starts[end - 1] + piece.sizes[end - 1] - start
            data = memoryview(os.pread(opened, size, start))
            for at in range(begin, end):
                records.append(_record(data, piece, at, start, stream, name))
    finally:
        os.close(opened)
    return records


def _record(
    data: memoryview, piece: JournalPiece, at: int, start: int, stream: str, name: str
) -> Record:
    offset = piece.first + at
    try:
        record = entry_at(data, piece.starts[at] - start)
    except LogError as unreadable:
        raise LogError(f"`{name}`, `{stream}` offset {offset}: {unreadable}") from None
    if isinstance(record, Record) and record.stream == stream and record.offset == offset:
        return record
    because = f"its bytes from {piece.starts[at]:,} on are not what was written"
    raise DamagedLogError([Damage(f"journal/{name}", because, stream, offset, offset)], READ_ADVICE)


def _runs(piece: JournalPiece) -> Iterator[tuple[int, int]]:
    """Which of the places, from one up to before another, are read at once."""
    begin = 0
    for at in range(1, len(piece.starts)):
        before = piece.starts[at - 1] + piece.sizes[at - 1]
        far = piece.starts[at] - before > _APART_BYTES
        if far or before - piece.starts[begin] > _TOGETHER_BYTES:
            yield begin, at
            begin = at
    if len(piece.starts):
        yield begin, len(piece.starts)
