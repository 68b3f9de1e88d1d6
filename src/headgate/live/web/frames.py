"""How is a text put into a frame of a WebSocket? As servers do it (RFC 6455, 5.2): unmasked."""

from __future__ import annotations

from struct import Struct

_SHORT = Struct("!BB").pack
_MIDDLE = Struct("!BBH").pack
_LONG = Struct("!BBQ").pack
_TEXT = 0x81
"""A text, in this one frame."""


def text_frame(text: bytes) -> bytes:
    size = len(text)
    if size < 126:
        return _SHORT(_TEXT, size) + text
    if size < 65_536:
        return _MIDDLE(_TEXT, 126, size) + text
    return _LONG(_TEXT, 127, size) + text
