"""Which marks does a value bear, and where does it stand on the lines? In numbers, compiled.

For the name of an attribute the version of the index says which columns filters ask about. A value
adds its codes to the marks of the event, and its keys to the event's places on the lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.filters import line
from headgate.matching.compiled import Ints, Octets, compiled, ints, shorts
from headgate.matching.layout import (
    CODE_COUNT,
    CODES,
    KEY_COUNT,
    KEYS,
    LENGTHS,
    LENGTHS_COUNT,
    LENGTHS_FROM,
    LINE_COLUMNS,
    NAME_COLUMNS,
    NAME_WORDS,
    NUMBERS,
    TEXTS,
)
from headgate.matching.pieces import Role, State, View
from headgate.matching.symbols import HASH_START, find_number, find_text, hash_step

_EQUALS = int(Role.EQUALS)
_BEGINS = int(Role.BEGINS)
_HAS_MEMBER = int(Role.HAS_MEMBER)
_STATE = int(Role.STATE)
_PRESENT = int(State.PRESENT)
_NUMBER = int(State.NUMBER)
_VIEW_NUMBER = LINE_COLUMNS + int(View.NUMBER)
_VIEW_INTEGER = LINE_COLUMNS + int(View.INTEGER)
_VIEW_DOUBLE = LINE_COLUMNS + int(View.DOUBLE)
_VIEW_TIMESTAMP = LINE_COLUMNS + int(View.TIMESTAMP)
_VIEW_TEXT = LINE_COLUMNS + int(View.TEXT)
_OPAQUE = line.OPAQUE
_SET = line.SET
_BOOLEAN = line.BOOLEAN
_INTEGER = line.INTEGER
_DOUBLE = line.DOUBLE
_TIMESTAMP = line.TIMESTAMP
_STRING = line.STRING
_MAGNITUDE = 2**63 - 1
_EXACT = 2**53
_BEYOND = 9223372036854775808.0
_TEXT_KEY_START = -(2**63) + 1


@compiled
def _add_code(workspace: Ints, column: int, code: int) -> None:
    count = workspace[CODE_COUNT]
    ints(workspace[CODES])[count] = (column << 32) | code
    workspace[CODE_COUNT] = count + 1


@compiled
def _add_keys(workspace: Ints, column: int, down: int, up: int) -> None:
    """The key for lower bounds, and the one for upper bounds."""
    count = workspace[KEY_COUNT]
    keys = ints(workspace[KEYS])
    keys[2 * count] = 2 * column
    keys[2 * count + 1] = down
    keys[2 * count + 2] = 2 * column + 1
    keys[2 * count + 3] = ~up
    workspace[KEY_COUNT] = count + 2


@compiled
def _bear_state(version: Ints, workspace: Ints, name: int, state: int) -> None:
    column = shorts(version[NAME_COLUMNS])[name * NAME_WORDS + _STATE]
    if column >= 0:
        _add_code(workspace, column, _PRESENT)
        _add_code(workspace, column, state)
        if state in (_INTEGER, _DOUBLE):
            _add_code(workspace, column, _NUMBER)


@compiled
def _bear_number(version: Ints, workspace: Ints, name: int, place: int, rank: int) -> None:
    column = shorts(version[NAME_COLUMNS])[name * NAME_WORDS + _EQUALS]
    if column >= 0:
        code = find_number(version, NUMBERS, place, rank)
        if code >= 0:
            _add_code(workspace, column, code)


@compiled
def rank_of_double(number: float) -> int:
    bits: Any = np.float64(number).view(np.int64)
    return bits if bits >= 0 else -(bits & _MAGNITUDE)


@compiled
def bear_integer(version: Ints, workspace: Ints, name: int, number: int) -> None:
    columns = shorts(version[NAME_COLUMNS])
    row = name * NAME_WORDS
    _bear_number(version, workspace, name, _INTEGER, number)
    _bear_state(version, workspace, name, _INTEGER)
    if columns[row + _VIEW_NUMBER] >= 0:
        near = np.float64(number)
        rank = rank_of_double(near)
        down = rank
        up = rank
        if number > _EXACT or number < -_EXACT:
            above = near >= _BEYOND or np.int64(near) > number
            below = not above and np.int64(near) < number
            if above:
                down = rank - 1
            if below:
                up = rank + 1
        _add_keys(workspace, columns[row + _VIEW_NUMBER], down, up)
    if columns[row + _VIEW_INTEGER] >= 0:
        _add_keys(workspace, columns[row + _VIEW_INTEGER], number, number)


@compiled
def bear_double(version: Ints, workspace: Ints, name: int, number: float) -> None:
    columns = shorts(version[NAME_COLUMNS])
    row = name * NAME_WORDS
    rank = rank_of_double(number)
    if columns[row + _EQUALS] >= 0:
        whole = np.floor(number) == number and -_BEYOND <= number < _BEYOND
        if whole:
            integer: Any = np.int64(number)
            _bear_number(version, workspace, name, _INTEGER, integer)
        else:
            _bear_number(version, workspace, name, _DOUBLE, rank)
    _bear_state(version, workspace, name, _DOUBLE)
    if columns[row + _VIEW_NUMBER] >= 0:
        _add_keys(workspace, columns[row + _VIEW_NUMBER], rank, rank)
    if columns[row + _VIEW_DOUBLE] >= 0:
        _add_keys(workspace, columns[row + _VIEW_DOUBLE], rank, rank)


@compiled
def bear_boolean(version: Ints, workspace: Ints, name: int, truth: int) -> None:
    _bear_number(version, workspace, name, _BOOLEAN, truth)
    _bear_state(version, workspace, name, _BOOLEAN)


@compiled
def bear_timestamp(version: Ints, workspace: Ints, name: int, rank: int) -> None:
    _bear_number(version, workspace, name, _TIMESTAMP, rank)
    _bear_state(version, workspace, name, _TIMESTAMP)
    column = shorts(version[NAME_COLUMNS])[name * NAME_WORDS + _VIEW_TIMESTAMP]
    if column >= 0:
        _add_keys(workspace, column, rank, rank)


@compiled
def bear_opaque(version: Ints, workspace: Ints, name: int) -> None:
    _bear_state(version, workspace, name, _OPAQUE)


@compiled
def bear_set(version: Ints, workspace: Ints, name: int) -> None:
    """A set; `bear_member` follows for each of its members."""
    _bear_state(version, workspace, name, _SET)


@compiled
def bear_text(
    version: Ints, workspace: Ints, name: int, data: Octets, start: int, length: int
) -> None:
    columns = shorts(version[NAME_COLUMNS])
    row = name * NAME_WORDS
    equals = columns[row + _EQUALS]
    begins = columns[row + _BEGINS]
    if begins >= 0:
        state = _bear_beginnings(version, workspace, row, data, start, length)
    else:
        state = HASH_START
    if equals >= 0:
        if begins < 0:
            for at in range(start, start + length):
                state = hash_step(state, data[at])
        code = find_text(version, TEXTS, data, start, length, state)
        if code >= 0:
            _add_code(workspace, equals, code)
    _bear_state(version, workspace, name, _STRING)
    column = columns[row + _VIEW_TEXT]
    if column >= 0:
        key = _text_key(data, start, length)
        _add_keys(workspace, column, key, key)


@compiled
def _bear_beginnings(
    version: Ints, workspace: Ints, row: int, data: Octets, start: int, length: int
) -> int:
    """Look the beginnings up that have a length asked for; the hash of the whole text."""
    columns = shorts(version[NAME_COLUMNS])
    lengths = shorts(version[LENGTHS])
    at = columns[row + LENGTHS_FROM]
    end = at + columns[row + LENGTHS_COUNT]
    state = HASH_START
    for taken in range(length + 1):
        if at < end and lengths[at] == taken:
            code = find_text(version, TEXTS, data, start, taken, state)
            if code >= 0:
                _add_code(workspace, columns[row + _BEGINS], code)
            at += 1
        if taken < length:
            state = hash_step(state, data[start + taken])
    return state


@compiled
def bear_member(
    version: Ints, workspace: Ints, name: int, data: Octets, start: int, length: int
) -> None:
    column = shorts(version[NAME_COLUMNS])[name * NAME_WORDS + _HAS_MEMBER]
    if column >= 0:
        state = HASH_START
        for at in range(start, start + length):
            state = hash_step(state, data[at])
        code = find_text(version, TEXTS, data, start, length, state)
        if code >= 0:
            _add_code(workspace, column, code)


@compiled
def _text_key(data: Octets, start: int, length: int) -> int:
    """As `pieces.text_key`."""
    key = 0
    for at in range(7):
        octet: Any = data[start + at] if at < length else 0
        key = (key << 8) | octet
    return (key << 8) + min(length, 8) + _TEXT_KEY_START
