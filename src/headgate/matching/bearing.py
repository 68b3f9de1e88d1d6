"""Which marks does a value bear, and where does it stand on the lines? In numbers, compiled.

For the name of an attribute the version of the index says which columns filters ask about. A value
adds its codes to the marks of the event, and its keys to the event's places on the lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.filters import line
from headgate.matching.compiled import compiled, eight_octets, long, put_long, short
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
    STATES_ASKED,
    TEXTS,
)
from headgate.matching.pieces import Role, State, View
from headgate.matching.symbols import (
    SEED,
    find_number,
    find_text,
    hash_end,
    hash_word,
    text_hash,
)

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
def _column(version: int, name: int, which: int) -> int:
    return short(long(version, NAME_COLUMNS), name * NAME_WORDS + which)


@compiled
def _add_code(workspace: int, column: int, code: int) -> None:
    count = long(workspace, CODE_COUNT)
    put_long(long(workspace, CODES), count, (column << 32) | code)
    put_long(workspace, CODE_COUNT, count + 1)


@compiled
def _add_keys(workspace: int, column: int, down: int, up: int) -> None:
    """The key for lower bounds, and the one for upper bounds."""
    count = long(workspace, KEY_COUNT)
    keys = long(workspace, KEYS) + 16 * count
    put_long(keys, 0, 2 * column)
    put_long(keys, 1, down)
    put_long(keys, 2, 2 * column + 1)
    put_long(keys, 3, ~up)
    put_long(workspace, KEY_COUNT, count + 2)


@compiled
def _bear_state(version: int, workspace: int, name: int, state: int) -> None:
    """Those of its states that filters ask for; that it is there is always said first."""
    column = _column(version, name, _STATE)
    if column >= 0:
        asked = _column(version, name, STATES_ASKED)
        _add_code(workspace, column, _PRESENT)
        if asked & (1 << state):
            _add_code(workspace, column, state)
        if asked & (1 << _NUMBER) and (state == _INTEGER or state == _DOUBLE):  # noqa: SIM109
            _add_code(workspace, column, _NUMBER)


@compiled
def _bear_number(version: int, workspace: int, column: int, place: int, rank: int) -> None:
    if column >= 0:
        code = find_number(version + 8 * NUMBERS, place, rank)
        if code >= 0:
            _add_code(workspace, column, code)


@compiled
def rank_of_double(number: float) -> int:
    bits: Any = np.float64(number).view(np.int64)
    return bits if bits >= 0 else -(bits & _MAGNITUDE)


@compiled
def bear_integer(version: int, workspace: int, name: int, number: int) -> None:
    _bear_number(version, workspace, _column(version, name, _EQUALS), _INTEGER, number)
    _bear_state(version, workspace, name, _INTEGER)
    column = _column(version, name, _VIEW_NUMBER)
    if column >= 0:
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
        _add_keys(workspace, column, down, up)
    column = _column(version, name, _VIEW_INTEGER)
    if column >= 0:
        _add_keys(workspace, column, number, number)


@compiled
def bear_double(version: int, workspace: int, name: int, number: float) -> None:
    rank = rank_of_double(number)
    column = _column(version, name, _EQUALS)
    if column >= 0:
        if np.floor(number) == number and -_BEYOND <= number < _BEYOND:
            integer: Any = np.int64(number)
            _bear_number(version, workspace, column, _INTEGER, integer)
        else:
            _bear_number(version, workspace, column, _DOUBLE, rank)
    _bear_state(version, workspace, name, _DOUBLE)
    column = _column(version, name, _VIEW_NUMBER)
    if column >= 0:
        _add_keys(workspace, column, rank, rank)
    column = _column(version, name, _VIEW_DOUBLE)
    if column >= 0:
        _add_keys(workspace, column, rank, rank)


@compiled
def bear_boolean(version: int, workspace: int, name: int, truth: int) -> None:
    _bear_number(version, workspace, _column(version, name, _EQUALS), _BOOLEAN, truth)
    _bear_state(version, workspace, name, _BOOLEAN)


@compiled
def bear_timestamp(version: int, workspace: int, name: int, rank: int) -> None:
    _bear_number(version, workspace, _column(version, name, _EQUALS), _TIMESTAMP, rank)
    _bear_state(version, workspace, name, _TIMESTAMP)
    column = _column(version, name, _VIEW_TIMESTAMP)
    if column >= 0:
        _add_keys(workspace, column, rank, rank)


@compiled
def bear_opaque(version: int, workspace: int, name: int) -> None:
    _bear_state(version, workspace, name, _OPAQUE)


@compiled
def bear_set(version: int, workspace: int, name: int) -> None:
    """A set; `bear_member` follows for each of its members."""
    _bear_state(version, workspace, name, _SET)


@compiled
def _bear_text_in(version: int, workspace: int, column: int, start: int, length: int) -> None:
    state = text_hash(long(version, TEXTS + SEED), start, length)
    code = find_text(version + 8 * TEXTS, start, length, state)
    if code >= 0:
        _add_code(workspace, column, code)


@compiled
def bear_text(version: int, workspace: int, name: int, start: int, length: int) -> None:
    """A text, by the address at which it starts."""
    column = _column(version, name, _EQUALS)
    if column >= 0:
        _bear_text_in(version, workspace, column, start, length)
    column = _column(version, name, _BEGINS)
    if column >= 0:
        _bear_beginnings(version, workspace, name, column, start, length)
    _bear_state(version, workspace, name, _STRING)
    column = _column(version, name, _VIEW_TEXT)
    if column >= 0:
        key = _text_key(start, length)
        _add_keys(workspace, column, key, key)


@compiled
def _bear_beginnings(
    version: int, workspace: int, name: int, column: int, start: int, length: int
) -> None:
    """Look the beginnings up that have a length asked for, in one walk along the text."""
    lengths = long(version, LENGTHS)
    at = _column(version, name, LENGTHS_FROM)
    end = at + _column(version, name, LENGTHS_COUNT)
    state = long(version, TEXTS + SEED)
    hashed = 0
    while at < end and short(lengths, at) <= length:
        taken = short(lengths, at)
        while hashed + 8 <= taken:
            state = hash_word(state, eight_octets(start + hashed))
            hashed += 8
        ended = hash_end(state, start + hashed, taken - hashed, taken)
        code = find_text(version + 8 * TEXTS, start, taken, ended)
        if code >= 0:
            _add_code(workspace, column, code)
        at += 1


@compiled
def bear_member(version: int, workspace: int, name: int, start: int, length: int) -> None:
    column = _column(version, name, _HAS_MEMBER)
    if column >= 0:
        _bear_text_in(version, workspace, column, start, length)


@compiled
def _text_key(start: int, length: int) -> int:
    """As `pieces.text_key`."""
    key = 0
    octets = eight_octets(start)
    for at in range(7):
        key = (key << 8) | ((octets & 0xFF) if at < length else 0)
        octets >>= 8
    return (key << 8) + min(length, 8) + _TEXT_KEY_START
