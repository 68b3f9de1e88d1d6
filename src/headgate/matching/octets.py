"""Where does a stretch of plain octets end, and is what lies in it UTF-8? Eight at a time."""

from __future__ import annotations

from headgate.matching.compiled import compiled, eight_octets, octet, zeros_below

_EACH = 0x0101010101010101
_HIGH = -0x7F7F7F7F7F7F7F80  # 0x80 in each octet
_QUOTES = _EACH * ord('"')
_BACKSLASHES = _EACH * ord("\\")
_SPACES = _EACH * ord(" ")
_SPACE = ord(" ")
_TAB = ord("\t")
_LINE = ord("\n")
_RETURN = ord("\r")
_ESCAPED = sum(1 << (ord(char) - 0x20) for char in '"/')
_ESCAPED_LATER = sum(1 << (ord(char) - 0x5C) for char in "\\bfnrt")


@compiled
def blank_end(at: int, end: int) -> int:
    """Where the blanks end that may begin here."""
    while at < end:
        found = octet(at, 0)
        if found > _SPACE or found not in (_SPACE, _LINE, _RETURN, _TAB):
            return at
        at += 1
    return at


@compiled
def plain_end(at: int, end: int) -> int:
    """The first octet that is a quote, a backslash, a control character or no ASCII; or the end."""
    while at < end:
        word = eight_octets(at)
        quotes = word ^ _QUOTES
        backslashes = word ^ _BACKSLASHES
        # Borrows reach only octets above a true find, so the lowest one is exact.
        odd = (
            ((quotes - _EACH) & ~quotes)
            | ((backslashes - _EACH) & ~backslashes)
            | ((word - _SPACES) & ~word)
            | word
        ) & _HIGH
        if odd != 0:
            return min(at + (zeros_below(odd) >> 3), end)
        at += 8
    return end


@compiled
def is_name(found: int) -> bool:
    """Whether an octet stands for one character behind a backslash."""
    if found < 0x5C:
        return found >= 0x20 and (_ESCAPED >> (found - 0x20)) & 1 == 1
    return found < 0x7F and (_ESCAPED_LATER >> (found - 0x5C)) & 1 == 1


@compiled
def is_utf8(at: int, end: int) -> bool:
    """Whether these octets are UTF-8: no overlong forms, no halves, nothing beyond U+10FFFF."""
    while at < end:
        lead = octet(at, 0)
        if lead < 0x80:
            at += 1
            continue
        low = 0x80
        high = 0xBF
        if 0xC2 <= lead <= 0xDF:
            more = 1
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            low = 0xA0 if lead == 0xE0 else 0x80
            high = 0x9F if lead == 0xED else 0xBF
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            low = 0x90 if lead == 0xF0 else 0x80
            high = 0x8F if lead == 0xF4 else 0xBF
        else:
            return False
        if at + more >= end:
            return False
        if not low <= octet(at, 1) <= high:
            return False
        for step in range(2, more + 1):
            if not 0x80 <= octet(at, step) <= 0xBF:
                return False
        at += more + 1
    return True
