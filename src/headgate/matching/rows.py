"""Which values do the rows of columns hold? Read where Arrow keeps them.

The words of a column: the number of its name, what its values are, the address of the values and
of the offsets (of texts and lists), of the bitmap that says which are there (or none), the number
of its first row in the bitmaps, how many octets of texts there are, and for lists the address of
the offsets of their members and how many members there are. Whoever made the words keeps it all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.filters import line
from headgate.matching.bearing import (
    bear_boolean,
    bear_double,
    bear_integer,
    bear_member,
    bear_opaque,
    bear_set,
    bear_text,
    bear_timestamp,
)
from headgate.matching.compiled import Ints, address_in, compiled, long, octet, put_long
from headgate.matching.finding import begin, ended, no_room_for, settle
from headgate.matching.layout import CODE_COUNT, COLUMN_WORDS, KEY_COUNT

REFUSED = -(2**62)
"""Said, with twice the number of a column, when its offsets don't lead to texts; an odd number more
says that it holds an infinity."""
REFUSED_MAX = -(2**61)
_NAME = 0
_PLACE = 1
_VALUES = 2
_OFFSETS = 3
_VALID = 4
_FIRST = 5
_SIZE = 6
_MEMBERS = 7
_MEMBER_COUNT = 8
_BOOLEAN = line.BOOLEAN
_INTEGER = line.INTEGER
_DOUBLE = line.DOUBLE
_TIMESTAMP = line.TIMESTAMP
_STRING = line.STRING
_SET = line.SET
_LARGEST = 1.7976931348623157e308


@compiled
def match_rows(version: int, workspace: int, columns: Ints, rows: int, first: int) -> int:
    """Match the rows from the first one on: see `finding.ended`; or where there is no room."""
    begin(workspace, first)
    table = address_in(columns)
    for row in range(first, rows):
        put_long(workspace, CODE_COUNT, 0)
        put_long(workspace, KEY_COUNT, 0)
        column = table
        for _ in range(len(columns)):
            if not _bear_row(version, workspace, column, row):
                number = (column - table) // (8 * COLUMN_WORDS)
                return REFUSED + 2 * number + (long(column, _PLACE) == _DOUBLE)
            column += 8 * COLUMN_WORDS
        if not settle(version, workspace, row):
            return no_room_for(row)
    return ended(workspace)


@compiled
def _bit(bitmap: int, at: int) -> int:
    return (octet(bitmap, at >> 3) >> (at & 7)) & 1


@compiled
def _bear_row(version: int, workspace: int, column: int, row: int) -> bool:
    """Read the value that a row has in a column; false where it is refused."""
    valid = long(column, _VALID)
    if valid != 0 and _bit(valid, long(column, _FIRST) + row) == 0:
        return True
    name = long(column, _NAME)
    place = long(column, _PLACE)
    values = long(column, _VALUES)
    if place == _STRING:
        offsets = long(column, _OFFSETS)
        start = long(offsets, row)
        end = long(offsets, row + 1)
        if not 0 <= start <= end <= long(column, _SIZE):
            return False
        bear_text(version, workspace, name, values + start, end - start)
    elif place == _DOUBLE:
        bits: Any = np.int64(long(values, row))
        number = bits.view(np.float64)
        if abs(number) > _LARGEST:
            return False
        if number == number:
            bear_double(version, workspace, name, number)
    elif place == _INTEGER:
        bear_integer(version, workspace, name, long(values, row))
    elif place == _BOOLEAN:
        bear_boolean(version, workspace, name, _bit(values, long(column, _FIRST) + row))
    elif place == _TIMESTAMP:
        bear_timestamp(version, workspace, name, long(values, row))
    elif place == _SET:
        return _bear_members(version, workspace, column, row)
    else:
        bear_opaque(version, workspace, name)
    return True


@compiled
def _bear_members(version: int, workspace: int, column: int, row: int) -> bool:
    """Read the members of a set; false where they can't be there."""
    name = long(column, _NAME)
    values = long(column, _VALUES)
    members = long(column, _MEMBERS)
    first = long(long(column, _OFFSETS), row)
    last = long(long(column, _OFFSETS), row + 1)
    if not 0 <= first <= last <= long(column, _MEMBER_COUNT):
        return False
    bear_set(version, workspace, name)
    for member in range(first, last):
        start = long(members, member)
        end = long(members, member + 1)
        if not 0 <= start <= end <= long(column, _SIZE):
            return False
        bear_member(version, workspace, name, values + start, end - start)
    return True
