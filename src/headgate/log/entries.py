"""How is what is written kept as bytes, so that a torn write is found and cut off?

An entry is the length of its content, a checksum of the length and the content, and the content in
MessagePack. A write that was under way when the power went leaves an entry that is too short or
whose checksum is another; nothing from there on was ever reported as stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Layout
from typing import Annotated, Final, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Meta, Struct

from headgate.log.records import LogError, Record, not_a_record, take_checked

ENTRY_BYTES_MAX: Final = 2**26

_HEAD = Layout(">II")
_LENGTH_BYTES = 4

Key = Annotated[str, Meta(max_length=1_024)]


class Kept(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A small value by its key; `None` forgets it."""

    key: Key
    value: bytes | None


Write: TypeAlias = Record | Kept


class Synced(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="synced"):
    """All that stands before this in its file was on disk when it was written.

    So whatever is damaged before it is not the tail of a write that was torn.
    """

    file: Annotated[bytes, Meta(max_length=16)]
    """Chance that the file was given, so that nothing published can pass for this."""
    position: int


Entry: TypeAlias = Write | Synced


class _Appended(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="record"):
    record: Record


class _Kept(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="kept"):
    kept: Kept


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Appended | _Kept | Synced).decode
_UNWRITABLE = (msgspec.MsgspecError, ValueError, TypeError, OverflowError)

RECORD_BEGINS: Final = b"\x92" + _encode("record")
"""What stands before a record in the content of its entry: two things, of which this is one."""
SYNCED_BEGINS: Final = _encode(Synced(b"", 0))[:8]
"""The first bytes of the content of each `Synced`, by which one is found behind damage."""


def entry(write: Entry) -> bytes:
    """What is written, as bytes; a `LogError` for what could not be read again."""
    checked = take_checked(write) if isinstance(write, Record) else None
    try:
        if checked is not None:
            content = RECORD_BEGINS + checked
        else:
            content = _encode(_wrapped(write))
            # What breaks a limit is found as it would be found by whoever reads it.
            _decode(content)
    except _UNWRITABLE as problem:
        if isinstance(write, Record):
            raise not_a_record(write, problem) from None
        raise LogError(f"this can't be kept under a key: {problem}") from None
    if len(content) > ENTRY_BYTES_MAX:
        raise LogError(f"an entry has at most {ENTRY_BYTES_MAX:,} bytes, this one {len(content):,}")
    length = len(content).to_bytes(_LENGTH_BYTES, "big")
    return length + crc32(content, crc32(length)).to_bytes(4, "big") + content


def intact(data: bytes) -> tuple[list[Write], int]:
    """The writes up to the first entry that is torn, and the number of bytes that they take."""
    writes: list[Write] = []
    good_bytes = 0
    for _, end, one in whole(data):
        if not isinstance(one, Synced):
            writes.append(one)
        good_bytes = end
    return writes, good_bytes


def whole(data: bytes | memoryview, at: int = 0) -> Iterator[tuple[int, int, Entry]]:
    """Each entry and the places where it begins and ends, up to the first that is torn."""
    view = memoryview(data)
    while (content := _content(view, at)) is not None:
        end = at + _HEAD.size + len(content)
        yield at, end, _read(content, at)
        at = end


def entry_at(view: memoryview, at: int) -> Entry | None:
    """The entry that begins at a place; `None` where it isn't whole."""
    content = _content(view, at)
    return _read(content, at) if content is not None else None


def guessed(data: bytes | memoryview, at: int, end: int) -> Entry | None:
    """What a damaged entry seems to be: to name it, not to use it."""
    try:
        return _read(memoryview(data)[at + _HEAD.size : end], at)
    except LogError:
        return None


def _content(view: memoryview, at: int) -> memoryview | None:
    start = at + _HEAD.size
    if start > len(view):
        return None
    length, checksum = _HEAD.unpack_from(view, at)
    end = start + length
    if length > ENTRY_BYTES_MAX or end > len(view):
        return None
    content = view[start:end]
    good = crc32(content, crc32(view[at : at + _LENGTH_BYTES])) == checksum
    return content if good else None


def _wrapped(write: Entry) -> _Appended | _Kept | Synced:
    if isinstance(write, Record):
        return _Appended(write)
    return _Kept(write) if isinstance(write, Kept) else write


def _read(content: memoryview, at: int) -> Entry:
    try:
        found = _decode(content)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise LogError(
            f"the entry at byte {at} is whole, but can't be read ({problem}): was it written by a "
            "newer Headgate?"
        ) from None
    if isinstance(found, _Appended):
        return found.record
    return found.kept if isinstance(found, _Kept) else found
