"""Which values do JSON texts hold, of the names that filters ask about? Read without an object.

What is read here is read exactly as `Event.from_json` reads it. Whatever isn't plain (an escape in
a name, a number with many digits, a nested array, a name that may have come twice, anything that is
wrong) is left to it: then the event is *unsure*.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.matching.bearing import (
    bear_boolean,
    bear_double,
    bear_integer,
    bear_member,
    bear_opaque,
    bear_set,
    bear_text,
)
from headgate.matching.cells import bear_cell
from headgate.matching.compiled import (
    Ints,
    Octets,
    address_of_bytes,
    compiled,
    ints,
    octets,
    shorts,
)
from headgate.matching.finding import settle
from headgate.matching.layout import (
    CELL_WORDS,
    CODE_COUNT,
    EPOCH,
    KEY_COUNT,
    KNOWN_BLOB,
    KNOWN_CELLS,
    KNOWN_ENDS,
    NAMES,
    PATH,
    PATH_OCTETS,
    TWICE,
    TWICE_SLOTS,
    UNSURE,
    UNSURE_COUNT,
)
from headgate.matching.symbols import HASH_START, find_text, hash_step

_DEPTH_MAX = 8
_NAMES_MAX = 900
_OCTETS_MAX = 200_000
_DIGITS_MAX = 18
_POWER_MAX = 22
_MANTISSA_MAX = 1 << 53
_POWERS = tuple(10.0**power for power in range(_POWER_MAX + 1))

_QUOTE = ord('"')
_BACKSLASH = ord("\\")
_COLON = ord(":")
_COMMA = ord(",")
_DOLLAR = ord("$")
_DOT = ord(".")
_MINUS = ord("-")
_PLUS = ord("+")
_ZERO = ord("0")
_NINE = ord("9")
_OPEN = ord("{")
_CLOSE = ord("}")
_OPEN_ARRAY = ord("[")
_CLOSE_ARRAY = ord("]")
_SPACE = ord(" ")
_TAB = ord("\t")
_LINE = ord("\n")
_RETURN = ord("\r")
_E = ord("e")
_CASE = 0x20
_ASCII_END = 0x80
_TRUE = int.from_bytes(b"true", "big")
_ALSE = int.from_bytes(b"alse", "big")
_NULL = int.from_bytes(b"null", "big")


@compiled
def match_json(
    version: Ints, workspace: Ints, data: bytes, ends: Ints, offsets: Ints, first: int
) -> int:
    """Match the events from the first one on, until there is no room; the next one to match."""
    text = octets(address_of_bytes(data))
    for event in range(first, len(ends)):
        workspace[CODE_COUNT] = 0
        workspace[KEY_COUNT] = 0
        workspace[EPOCH] += 1
        if not _scan(version, workspace, text, ends[event - 1] if event > 0 else 0, ends[event]):
            count = workspace[UNSURE_COUNT]
            shorts(workspace[UNSURE])[count] = event
            workspace[UNSURE_COUNT] = count + 1
            offsets[event + 1] = offsets[event]
            continue
        _bear_known(version, workspace, event)
        if not settle(version, workspace, event, offsets):
            return event
    return len(ends)


@compiled
def _bear_known(version: Ints, workspace: Ints, event: int) -> None:
    """What is known of the event besides its text."""
    if workspace[KNOWN_ENDS] == 0:
        return
    ends = ints(workspace[KNOWN_ENDS])
    cells = ints(workspace[KNOWN_CELLS])
    blob = octets(workspace[KNOWN_BLOB])
    for cell in range(ends[event - 1] if event > 0 else 0, ends[event]):
        start = cell * CELL_WORDS
        bear_cell(version, workspace, cells[start : start + CELL_WORDS], blob)


@compiled
def _digit(octet: Any) -> int:
    return np.int64(octet) - _ZERO  # type: ignore[return-value]


@compiled
def _blank(octet: int) -> bool:
    return octet in (_SPACE, _LINE, _RETURN, _TAB)


@compiled
def _skip(text: Octets, at: int, end: int) -> int:
    while at < end and _blank(text[at]):
        at += 1
    return at


@compiled
def _scan(version: Ints, workspace: Ints, text: Octets, at: int, end: int) -> bool:
    """Read one event; false where it isn't sure."""
    path = octets(workspace[PATH])
    # For each level of nesting: how long the path to it is, and its hash.
    lengths = np.zeros(_DEPTH_MAX + 1, np.int64)
    states = np.empty(_DEPTH_MAX + 1, np.int64)
    states[0] = HASH_START
    depth = 0
    names = 0
    if end - at > _OCTETS_MAX:
        return False
    at = _skip(text, at, end)
    if at >= end or text[at] != _OPEN:
        return False
    at = _skip(text, at + 1, end)
    if at < end and text[at] == _CLOSE:
        return _skip(text, at + 1, end) == end
    while True:
        if at >= end or text[at] != _QUOTE:
            return False
        at += 1
        length = lengths[depth]
        state = states[depth]
        if at < end and text[at] == _DOLLAR and depth == 0:
            return False
        while at < end and text[at] != _QUOTE:
            octet = text[at]
            if octet < _SPACE or octet == _BACKSLASH or octet >= _ASCII_END:
                return False
            if length >= PATH_OCTETS - 2:
                return False
            path[length] = octet
            state = hash_step(state, octet)
            length += 1
            at += 1
        names += 1
        if length == lengths[depth] or names > _NAMES_MAX or _twice(workspace, state):
            return False
        at = _skip(text, at + 1, end)
        if at >= end or text[at] != _COLON:
            return False
        at = _skip(text, at + 1, end)
        if at >= end:
            return False
        if text[at] == _OPEN:
            inner = _skip(text, at + 1, end)
            if inner < end and text[inner] != _CLOSE:
                depth += 1
                if depth >= _DEPTH_MAX:
                    return False
                path[length] = _DOT
                lengths[depth] = length + 1
                states[depth] = hash_step(state, _DOT)
                at = inner
                continue
            at = inner + 1
        else:
            name = find_text(version, NAMES, path, 0, length, state)
            at = _value(version, workspace, name, text, at, end)
            if at < 0:
                return False
        at = _skip(text, at, end)
        while at < end and text[at] == _CLOSE:
            at = _skip(text, at + 1, end)
            depth -= 1
            if depth < 0:
                return at == end
        if at >= end or text[at] != _COMMA:
            return False
        at = _skip(text, at + 1, end)


@compiled
def _twice(workspace: Ints, state: int) -> bool:
    """Whether a name with this hash has come already in this event."""
    table = ints(workspace[TWICE])
    epoch = workspace[EPOCH]
    slot = (state ^ (state >> 29)) & (TWICE_SLOTS - 1)
    while table[2 * slot + 1] == epoch:
        if table[2 * slot] == state:
            return True
        slot = (slot + 1) & (TWICE_SLOTS - 1)
    table[2 * slot] = state
    table[2 * slot + 1] = epoch
    return False


@compiled
def _value(version: Ints, workspace: Ints, name: int, text: Octets, at: int, end: int) -> int:
    """Read a value that is no object; where it ends, or -1."""
    octet = text[at]
    if octet == _QUOTE:
        stop = _text_end(text, at + 1, end, name >= 0)
        if stop >= 0 and name >= 0:
            bear_text(version, workspace, name, text, at + 1, stop - at - 1)
        return stop + 1 if stop >= 0 else -1
    if octet == _MINUS or _ZERO <= octet <= _NINE:
        return _number(version, workspace, name, text, at, end)
    if octet == _OPEN_ARRAY:
        return _array(version, workspace, name, text, at + 1, end)
    if at + 4 > end:
        return -1
    word = 0
    for step in range(4):
        word = (word << 8) | np.int64(text[at + step])  # type: ignore[assignment]
    if word == _NULL:
        return at + 4
    if word == _TRUE:
        if name >= 0:
            bear_boolean(version, workspace, name, 1)
        return at + 4
    if at + 5 <= end:
        tail = 0
        for step in range(1, 5):
            tail = (tail << 8) | np.int64(text[at + step])  # type: ignore[assignment]
        if octet == ord("f") and tail == _ALSE:
            if name >= 0:
                bear_boolean(version, workspace, name, 0)
            return at + 5
    return -1


@compiled
def _text_end(text: Octets, at: int, end: int, asked: bool) -> int:
    """Where the text ends that begins here, or -1; what is asked about must have no escapes."""
    ascii_only = True
    start = at
    while at < end:
        octet = text[at]
        if octet == _QUOTE:
            if ascii_only or _is_utf8(text, start, at):
                return at
            return -1
        if octet < _SPACE:
            return -1
        if octet == _BACKSLASH:
            if asked or at + 1 >= end:
                return -1
            escaped = text[at + 1]
            # `\u` may be half a character.
            if escaped not in (34, 92, 47, 98, 102, 110, 114, 116):
                return -1
            at += 1
        elif octet >= _ASCII_END:
            ascii_only = False
        at += 1
    return -1


@compiled
def _is_utf8(text: Octets, at: int, end: int) -> bool:
    """Whether these octets are UTF-8: no overlong forms, no halves, nothing beyond U+10FFFF."""
    while at < end:
        lead = text[at]
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
        if not low <= text[at + 1] <= high:
            return False
        for step in range(2, more + 1):
            if not 0x80 <= text[at + step] <= 0xBF:
                return False
        at += more + 1
    return True


@compiled
def _number(version: Ints, workspace: Ints, name: int, text: Octets, at: int, end: int) -> int:
    """Read a number where that is exact in doubles; where it ends, or -1."""
    negative = text[at] == _MINUS
    if negative:
        at += 1
    start = at
    mantissa = 0
    while at < end and _ZERO <= text[at] <= _NINE:
        mantissa = mantissa * 10 + _digit(text[at])
        at += 1
    digits = at - start
    if digits == 0 or (digits > 1 and text[start] == _ZERO):
        return -1
    power = 0
    fractional = False
    if at < end and text[at] == _DOT:
        fractional = True
        at += 1
        begin = at
        while at < end and _ZERO <= text[at] <= _NINE:
            mantissa = mantissa * 10 + _digit(text[at])
            at += 1
        power = begin - at
        digits -= power
        if power == 0:
            return -1
    if digits > _DIGITS_MAX:
        return -1
    if at < end and text[at] | _CASE == _E:
        fractional = True
        at += 1
        down = at < end and text[at] == _MINUS
        if at < end and (text[at] == _MINUS or text[at] == _PLUS):
            at += 1
        begin = at
        shift = 0
        while at < end and _ZERO <= text[at] <= _NINE and at - begin < 4:
            shift = shift * 10 + _digit(text[at])
            at += 1
        if at == begin or at - begin > 3:
            return -1
        power += -shift if down else shift
    if not fractional:
        if negative and mantissa == 0:
            return -1
        if name >= 0:
            bear_integer(version, workspace, name, -mantissa if negative else mantissa)
        return at
    if name < 0:
        # Neither infinite nor refused, whatever it is.
        return at if power < 280 else -1
    if mantissa > _MANTISSA_MAX or not -_POWER_MAX <= power <= _POWER_MAX:
        return -1
    # Both are exact as doubles, so there is one rounding only (Clinger 1990).
    number: Any = np.float64(mantissa)
    number = number * _POWERS[power] if power >= 0 else number / _POWERS[-power]
    bear_double(version, workspace, name, -number if negative else number)
    return at


@compiled
def _array(version: Ints, workspace: Ints, name: int, text: Octets, at: int, end: int) -> int:
    """Read an array of texts, or of other plain values; where it ends, or -1."""
    first = _skip(text, at, end)
    if first < end and text[first] == _CLOSE_ARRAY:
        if name >= 0:
            bear_set(version, workspace, name)
        return first + 1
    stop = _array_of_texts(version, workspace, -1, text, first, end)
    if stop >= 0:
        if name >= 0:
            bear_set(version, workspace, name)
            stop = _array_of_texts(version, workspace, name, text, first, end)
        return stop
    at = first
    texts_only = True
    while True:
        if at >= end or text[at] == _OPEN_ARRAY or text[at] == _OPEN:
            return -1
        texts_only = texts_only and text[at] == _QUOTE
        at = _value_in_array(version, workspace, text, at, end)
        if at < 0:
            return -1
        at = _skip(text, at, end)
        if at < end and text[at] == _CLOSE_ARRAY:
            if texts_only:
                return -1
            if name >= 0:
                bear_opaque(version, workspace, name)
            return at + 1
        if at >= end or text[at] != _COMMA:
            return -1
        at = _skip(text, at + 1, end)


@compiled
def _array_of_texts(
    version: Ints, workspace: Ints, name: int, text: Octets, at: int, end: int
) -> int:
    while True:
        if at >= end or text[at] != _QUOTE:
            return -1
        # Even of an array that is in no filter: a set with an escape is left to the careful path.
        stop = _text_end(text, at + 1, end, True)
        if stop < 0:
            return -1
        if name >= 0:
            bear_member(version, workspace, name, text, at + 1, stop - at - 1)
        at = _skip(text, stop + 1, end)
        if at < end and text[at] == _CLOSE_ARRAY:
            return at + 1
        if at >= end or text[at] != _COMMA:
            return -1
        at = _skip(text, at + 1, end)


@compiled
def _value_in_array(version: Ints, workspace: Ints, text: Octets, at: int, end: int) -> int:
    """Read a plain value in an array that can't be filtered on; where it ends, or -1."""
    octet = text[at]
    if octet == _QUOTE:
        stop = _text_end(text, at + 1, end, False)
        return stop + 1 if stop >= 0 else -1
    if octet == _MINUS or _ZERO <= octet <= _NINE:
        return _number(version, workspace, -1, text, at, end)
    for word, size in ((_TRUE, 4), (_NULL, 4), (_ALSE, 5)):
        if at + size <= end:
            read = 0
            for step in range(size - 4, size):
                read = (read << 8) | np.int64(text[at + step])  # type: ignore[assignment]
            if read == word and (size == 4 or octet == ord("f")):
                return at + size
    return -1
