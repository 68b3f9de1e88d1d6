"""Which values do JSON texts hold, of the names that filters ask about? Read without an object.

What is read here is read exactly as `Event.from_json` reads it. Whatever isn't plain (an escape in
a name, a number with many digits, a nested array, a name that may have come twice, anything that is
wrong) is left to it: then the event is *unsure*. Places in the text are addresses.
"""

from __future__ import annotations

from headgate.matching.bearing import bear_boolean, bear_member, bear_opaque, bear_set, bear_text
from headgate.matching.cells import bear_cell
from headgate.matching.compiled import (
    address_of_bytes,
    compiled,
    eight_octets,
    long,
    octet,
    put_long,
    put_octet,
    put_short,
)
from headgate.matching.finding import begin, ended, no_room_for, settle
from headgate.matching.layout import (
    CELL_WORDS,
    CODE_COUNT,
    ENDS,
    EPOCH,
    FOUND_COUNT,
    KEY_COUNT,
    KNOWN_BLOB,
    KNOWN_CELLS,
    KNOWN_ENDS,
    LEVELS,
    LISTED_NAMES,
    NAMES,
    OFFSETS,
    PATH,
    PATH_OCTETS,
    TWICE,
    TWICE_SLOTS,
    UNSURE,
    UNSURE_COUNT,
)
from headgate.matching.numbers import number_end
from headgate.matching.octets import blank_end, is_name, is_utf8, plain_end
from headgate.matching.symbols import SEED, find_text, text_hash

_NAMES_MAX = 900
_OCTETS_MAX = 200_000
_NOWHERE = -1

_QUOTE = ord('"')
_BACKSLASH = ord("\\")
_COLON = ord(":")
_COMMA = ord(",")
_DOLLAR = ord("$")
_DOT = ord(".")
_MINUS = ord("-")
_ZERO = ord("0")
_NINE = ord("9")
_OPEN = ord("{")
_CLOSE = ord("}")
_OPEN_ARRAY = ord("[")
_CLOSE_ARRAY = ord("]")
_SPACE = ord(" ")
_ASCII_END = 0x80
_FOUR = 0xFFFFFFFF
_TRUE = int.from_bytes(b"true", "little")
_FALS = int.from_bytes(b"fals", "little")
_LAST_OF_FALSE = ord("e")
_NULL = int.from_bytes(b"null", "little")


@compiled
def match_json(version: int, workspace: int, data: bytes, events: int, first: int) -> int:
    """Match the events from the first one on: see `finding.ended`; or where there is no room."""
    begin(workspace, first)
    text = address_of_bytes(data)
    ends = long(workspace, ENDS)
    start = text + (long(ends, first - 1) if first > 0 else 0)
    for event in range(first, events):
        end = text + long(ends, event)
        put_long(workspace, CODE_COUNT, 0)
        put_long(workspace, KEY_COUNT, 0)
        put_long(workspace, EPOCH, long(workspace, EPOCH) + 1)
        if not _scan(version, workspace, start, end):
            count = long(workspace, UNSURE_COUNT)
            put_short(long(workspace, UNSURE), count, event)
            put_long(workspace, UNSURE_COUNT, count + 1)
            put_long(long(workspace, OFFSETS), event + 1, long(workspace, FOUND_COUNT))
        else:
            _bear_known(version, workspace, event)
            if not settle(version, workspace, event):
                return no_room_for(event)
        start = end
    return ended(workspace)


@compiled
def _bear_known(version: int, workspace: int, event: int) -> None:
    """What is known of the event besides its text."""
    ends = long(workspace, KNOWN_ENDS)
    if ends == 0:
        return
    cells = long(workspace, KNOWN_CELLS)
    blob = long(workspace, KNOWN_BLOB)
    for cell in range(long(ends, event - 1) if event > 0 else 0, long(ends, event)):
        bear_cell(version, workspace, cells + 8 * CELL_WORDS * cell, blob)


@compiled
def _scan(version: int, workspace: int, at: int, end: int) -> bool:
    """Read one event; false where it isn't sure."""
    path = long(workspace, PATH)
    # For each level of nesting, how long the path to it is.
    levels = path + PATH_OCTETS
    seed = long(version, NAMES + SEED)
    depth = 0
    names = 0
    before = 0
    if end - at > _OCTETS_MAX:
        return False
    at = blank_end(at, end)
    if at >= end or octet(at, 0) != _OPEN:
        return False
    at = blank_end(at + 1, end)
    if at < end and octet(at, 0) == _CLOSE:
        return blank_end(at + 1, end) == end
    while True:
        if at >= end or octet(at, 0) != _QUOTE:
            return False
        at += 1
        stop = plain_end(at, end)
        length = stop - at
        if stop >= end or octet(stop, 0) != _QUOTE or length == 0:
            return False
        if depth == 0:
            if octet(at, 0) == _DOLLAR:
                return False
            name_at = at
        else:
            if before + length > PATH_OCTETS - 16:
                return False
            for step in range(length):
                put_octet(path, before + step, octet(at, step))
            name_at = path
            length += before
        state = text_hash(seed, name_at, length)
        names += 1
        if names > _NAMES_MAX or _twice(workspace, names, state):
            return False
        at = blank_end(stop + 1, end)
        if at >= end or octet(at, 0) != _COLON:
            return False
        at = blank_end(at + 1, end)
        if at >= end:
            return False
        if octet(at, 0) == _OPEN:
            inner = blank_end(at + 1, end)
            if inner < end and octet(inner, 0) != _CLOSE:
                put_long(levels, depth, before)
                depth += 1
                if depth >= LEVELS or length > PATH_OCTETS - 16:
                    return False
                if name_at != path:
                    for step in range(length):
                        put_octet(path, step, octet(name_at, step))
                put_octet(path, length, _DOT)
                before = length + 1
                at = inner
                continue
            at = inner + 1
        else:
            name = find_text(version + 8 * NAMES, name_at, length, state)
            at = _value(version, workspace, name, at, end)
            if at < 0:
                return False
        at = blank_end(at, end)
        while at < end and octet(at, 0) == _CLOSE:
            at = blank_end(at + 1, end)
            depth -= 1
            if depth < 0:
                return at == end
            before = long(levels, depth)
        if at >= end or octet(at, 0) != _COMMA:
            return False
        at = blank_end(at + 1, end)


@compiled
def _twice(workspace: int, names: int, state: int) -> bool:
    """Whether a name with this hash has come already in this event."""
    listed = long(workspace, TWICE)
    if names <= LISTED_NAMES:
        twice = False
        for at in range(names - 1):
            twice |= long(listed, at) == state
        put_long(listed, names - 1, state)
        return twice
    table = listed + 8 * LISTED_NAMES
    epoch = long(workspace, EPOCH)
    if names == LISTED_NAMES + 1:
        for at in range(LISTED_NAMES):
            _put_name(table, epoch, long(listed, at))
    return _put_name(table, epoch, state)


@compiled
def _put_name(table: int, epoch: int, state: int) -> bool:
    slot = state & (TWICE_SLOTS - 1)
    while long(table, 2 * slot + 1) == epoch:
        if long(table, 2 * slot) == state:
            return True
        slot = (slot + 1) & (TWICE_SLOTS - 1)
    put_long(table, 2 * slot, state)
    put_long(table, 2 * slot + 1, epoch)
    return False


@compiled
def _value(version: int, workspace: int, name: int, at: int, end: int) -> int:
    """Read a value that is no object; where it ends, or nowhere."""
    first = octet(at, 0)
    if first == _QUOTE:
        stop = _text_end(at + 1, end, name >= 0)
        if stop < 0:
            return _NOWHERE
        if name >= 0:
            bear_text(version, workspace, name, at + 1, stop - at - 1)
        return stop + 1
    if first == _MINUS or _ZERO <= first <= _NINE:
        return number_end(version, workspace, name, at, end)
    if first == _OPEN_ARRAY:
        return _array(version, workspace, name, at + 1, end)
    stop = _word_end(at, end)
    if name >= 0 and stop >= 0 and eight_octets(at) & _FOUR != _NULL:
        bear_boolean(version, workspace, name, stop - at == 4)
    return stop


@compiled
def _word_end(at: int, end: int) -> int:
    """Where `true`, `false` or `null` ends, or nowhere."""
    word = eight_octets(at) & _FOUR
    if at + 4 <= end and word in (_TRUE, _NULL):
        return at + 4
    if at + 5 <= end and word == _FALS and octet(at, 4) == _LAST_OF_FALSE:
        return at + 5
    return _NOWHERE


@compiled
def _text_end(at: int, end: int, asked: bool) -> int:
    """Where the text ends that begins here, or nowhere; what is asked about has no escapes."""
    start = at
    ascii_only = True
    while True:
        at = plain_end(at, end)
        if at >= end:
            return _NOWHERE
        found = octet(at, 0)
        if found == _QUOTE:
            return at if ascii_only or is_utf8(start, at) else _NOWHERE
        if found == _BACKSLASH:
            # `\u` may be half a character.
            if asked or at + 1 >= end or not is_name(octet(at, 1)):
                return _NOWHERE
            at += 2
        elif found >= _ASCII_END:
            ascii_only = False
            at += 1
        else:
            return _NOWHERE


@compiled
def _array(version: int, workspace: int, name: int, at: int, end: int) -> int:
    """Read an array of texts, or of other plain values; where it ends, or nowhere."""
    first = blank_end(at, end)
    if first < end and octet(first, 0) == _CLOSE_ARRAY:
        if name >= 0:
            bear_set(version, workspace, name)
        return first + 1
    stop = _array_of_texts(version, workspace, -1, first, end)
    if stop >= 0:
        if name >= 0:
            bear_set(version, workspace, name)
            _array_of_texts(version, workspace, name, first, end)
        return stop
    at = first
    texts_only = True
    while True:
        if at >= end:
            return _NOWHERE
        texts_only = texts_only and octet(at, 0) == _QUOTE
        at = _value_in_array(version, workspace, at, end)
        if at < 0:
            return _NOWHERE
        at = blank_end(at, end)
        if at < end and octet(at, 0) == _CLOSE_ARRAY:
            if texts_only:
                return _NOWHERE
            if name >= 0:
                bear_opaque(version, workspace, name)
            return at + 1
        if at >= end or octet(at, 0) != _COMMA:
            return _NOWHERE
        at = blank_end(at + 1, end)


@compiled
def _array_of_texts(version: int, workspace: int, name: int, at: int, end: int) -> int:
    while True:
        if at >= end or octet(at, 0) != _QUOTE:
            return _NOWHERE
        # Even of an array that is in no filter: a set with an escape is left to the careful path.
        stop = _text_end(at + 1, end, True)
        if stop < 0:
            return _NOWHERE
        if name >= 0:
            bear_member(version, workspace, name, at + 1, stop - at - 1)
        at = blank_end(stop + 1, end)
        if at < end and octet(at, 0) == _CLOSE_ARRAY:
            return at + 1
        if at >= end or octet(at, 0) != _COMMA:
            return _NOWHERE
        at = blank_end(at + 1, end)


@compiled
def _value_in_array(version: int, workspace: int, at: int, end: int) -> int:
    """Read a plain value in an array that can't be filtered on; where it ends, or nowhere."""
    first = octet(at, 0)
    if first == _QUOTE:
        stop = _text_end(at + 1, end, False)
        return stop + 1 if stop >= 0 else _NOWHERE
    if first == _MINUS or _ZERO <= first <= _NINE:
        return number_end(version, workspace, -1, at, end)
    return _word_end(at, end)
