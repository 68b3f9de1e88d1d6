"""How is what is written kept as bytes, so that a torn write is found and cut off?

An entry is the length of its content, a checksum of the length and the content, and the content in
MessagePack. A write that was under way when the power went leaves an entry that is too short or
whose checksum is another; nothing from there on was ever reported as stored.
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import Annotated, Final, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Meta, Struct

from headgate.log.records import LogError, Record, checked

ENTRY_BYTES_MAX: Final = 2**26

_HEAD = Layout(">II")
_LENGTH_BYTES = 4

Key = Annotated[str, Meta(max_length=1_024)]


class Kept(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A small value by its key; `None` forgets it."""

    key: Key
    value: bytes | None


Write: TypeAlias = Record | Kept


class _Appended(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="record"):
    record: Record


class _Kept(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="kept"):
    kept: Kept


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Appended | _Kept).decode
_decode_kept = msgspec.msgpack.Decoder(Kept).decode


def entry(write: Write) -> bytes:
    """What is written, as bytes; a `LogError` for what could not be read again."""
    if isinstance(write, Record):
        content = _encode(_Appended(checked(write)))
    else:
        content = _encode(_Kept(_checked_kept(write)))
    if len(content) > ENTRY_BYTES_MAX:
        raise LogError(f"an entry has at most {ENTRY_BYTES_MAX:,} bytes, this one {len(content):,}")
    length = len(content).to_bytes(_LENGTH_BYTES, "big")
    return length + crc32(content, crc32(length)).to_bytes(4, "big") + content


def intact(data: bytes) -> tuple[list[Write], int]:
    """The writes up to the first entry that is torn, and the number of bytes that they take."""
    writes: list[Write] = []
    at, view = 0, memoryview(data)
    while at + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, at)
        start, end = at + _HEAD.size, at + _HEAD.size + length
        if length > ENTRY_BYTES_MAX or end > len(data):
            break
        content = view[start:end]
        if crc32(content, crc32(view[at : at + _LENGTH_BYTES])) != checksum:
            break
        writes.append(_read(content, at))
        at = end
    return writes, at


def _read(content: memoryview, at: int) -> Write:
    try:
        found = _decode(content)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise LogError(
            f"the entry at byte {at} is whole, but can't be read ({problem}): was it written by a "
            "newer Headgate?"
        ) from None
    return found.record if isinstance(found, _Appended) else found.kept


def _checked_kept(kept: Kept) -> Kept:
    try:
        return _decode_kept(_encode(kept))
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as problem:
        raise LogError(f"this can't be kept under a key: {problem}") from None
