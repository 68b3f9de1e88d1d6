"""What are frames as bytes, and where in a stream of bytes does one end?

Each frame is its length in four bytes, the highest first, and its content in MessagePack: an array
of its name and its fields. What comes is decoded as a frame of that name with these fields in these
limits, or refused.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Layout
from typing import Final, final

import msgspec
from msgspec import Struct

from headgate.model.errors import printable
from headgate.peering.errors import LocalError, PeerError
from headgate.peering.frames import Data, Frame

HEAD_BYTES: Final = 4
HELLO_BYTES_MAX: Final = 4_096
"""More than any `Hello` has: so much is taken from who has not said who it is."""

_LENGTH_MAX = 2**32 - 1
_length_at = Layout(">I").unpack_from
_UNREADABLE = (msgspec.MsgspecError, ValueError)
_UNWRITABLE = (msgspec.MsgspecError, ValueError, TypeError, OverflowError)


class _AnyHello(Struct, frozen=True, array_like=True, tag="hello"):
    """What a `Hello` of every protocol begins with."""

    protocol: int


_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], Frame] = msgspec.msgpack.Decoder(Frame).decode
_decode_any_hello = msgspec.msgpack.Decoder(_AnyHello).decode


def encode(frame: Frame) -> bytes:
    """A frame as bytes, its length before it; a `LocalError` if the other end would refuse it."""
    try:
        content = _encode(frame)
        # Of `Data` there are many, and a record was checked where it was made.
        if frame.__class__ is not Data:
            _decode(content)
    except _UNWRITABLE as problem:
        raise LocalError(
            f"this `{frame.__class__.__name__}` can't be sent: {_line(problem)}"
        ) from None
    if len(content) > _LENGTH_MAX:
        raise LocalError(f"a frame of {len(content):,} bytes can't be sent")
    return len(content).to_bytes(HEAD_BYTES, "big") + content


def decode(content: bytes) -> Frame:
    """The frame with this content, without its length; a `PeerError` if there is none."""
    try:
        return _decode(content)
    except _UNREADABLE as problem:
        raise PeerError(f"expected a frame, got {len(content):,} bytes: {_line(problem)}") from None


def protocol_of(content: bytes) -> int | None:
    """The protocol that a `Hello` of any protocol names; `None` if it is no `Hello`."""
    try:
        return _decode_any_hello(content).protocol
    except _UNREADABLE:
        return None


def _line(problem: Exception) -> str:
    # It may quote what came: that could be long, or several lines.
    return printable(str(problem)[:200])


@final
class FrameSplitter:
    """Bytes in, as they come; the contents of the frames out that they make whole."""

    def __init__(self, frame_bytes_max: int, first_bytes_max: int | None = None) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._bytes_max = frame_bytes_max if first_bytes_max is None else first_bytes_max
        self._waiting = bytearray()
        self._needed = HEAD_BYTES
        """So many bytes must wait before there is anything to be seen in them."""

    @property
    def waiting_bytes(self) -> int:
        """What is held of a frame that isn't whole: at most its length and as many bytes."""
        return len(self._waiting)

    def feed(self, data: bytes) -> list[bytes]:
        """Take what came; a `PeerError` for a frame of no or too many bytes, once that is known."""
        if self._waiting:
            self._waiting += data
            if len(self._waiting) < self._needed:
                return []
            data = bytes(self._waiting)
            self._waiting.clear()
        contents: list[bytes] = []
        at, size = 0, len(data)
        while True:
            start = end = at + HEAD_BYTES
            if start <= size:
                (length,) = _length_at(data, at)
                if not 1 <= length <= self._bytes_max:
                    raise self._out_of_bounds(length)
                end = start + length
            if end > size:
                break
            contents.append(data[start:end])
            self._bytes_max = self._frame_bytes_max
            at = end
        self._waiting += data[at:]
        self._needed = end - at
        return contents

    def _out_of_bounds(self, length: int) -> PeerError:
        return PeerError(f"expected a frame of 1 to {self._bytes_max:,} bytes, got {length:,}")
