"""How far has a reader come? The positions on all of its streams, in one line of text.

It is what an event of Server-Sent Events has for its id, and what `Last-Event-ID` gives back:
`orders@INC.12,quotes@INC.7` says that of stream `orders`, in its incarnation `INC`, everything up
to offset 12 has been read. Names are percent-encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from headgate.log.records import OFFSET_MAX
from headgate.model.errors import HeadgateError, named

CURSOR_CHARS_MAX = 64 * 1024
STREAMS_MAX = 1_024
NAME_CHARS_MAX = 256


class CursorError(HeadgateError, ValueError):
    """A text is no cursor."""


@dataclass(frozen=True, slots=True)
class Position:
    """Up to which offset a stream was read, and in which of its lives."""

    incarnation: str
    offset: int


def print_cursor(positions: Mapping[str, Position]) -> str:
    """The text of these positions: the same positions give the same text."""
    return ",".join(
        f"{quote(stream, safe='')}@{quote(one.incarnation, safe='')}.{one.offset}"
        for stream, one in sorted(positions.items())
    )


def read_cursor(text: str) -> dict[str, Position]:
    """The positions that a text says; no text at all says none."""
    if len(text) > CURSOR_CHARS_MAX:
        raise CursorError(f"expected a cursor of at most {CURSOR_CHARS_MAX:,} characters")
    parts = text.split(",", STREAMS_MAX) if text else []
    if len(parts) > STREAMS_MAX:
        raise CursorError(f"expected a cursor of at most {STREAMS_MAX:,} streams")
    positions: dict[str, Position] = {}
    for part in parts:
        stream, position = _read_part(part)
        if stream in positions:
            raise CursorError(f"the cursor names stream {named(stream)} twice")
        positions[stream] = position
    return positions


def _read_part(part: str) -> tuple[str, Position]:
    name, at, rest = part.partition("@")
    incarnation, dot, digits = rest.rpartition(".")
    if not (at and dot and digits.isascii() and digits.isdigit() and len(digits) <= 19):
        raise CursorError(f"expected `stream@incarnation.offset` in a cursor, found {named(part)}")
    offset = int(digits)
    if offset > OFFSET_MAX:
        raise CursorError(f"expected an offset of at most 2^62 in a cursor, found {offset}")
    return _read_name(name), Position(_read_name(incarnation), offset)


def _read_name(said: str) -> str:
    try:
        name = unquote_to_bytes(said).decode()
    except UnicodeError:
        raise CursorError(f"expected UTF-8 in a cursor, found {named(said)}") from None
    if not 0 < len(name) <= NAME_CHARS_MAX:
        raise CursorError(
            f"expected names of 1 to {NAME_CHARS_MAX} characters in a cursor, found {len(name):,}"
        )
    return name
