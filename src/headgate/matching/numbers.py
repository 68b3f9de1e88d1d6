"""Which number stands in a JSON text, where it can be read exactly in a few steps?"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.matching.bearing import bear_double, bear_integer
from headgate.matching.compiled import compiled, octet

_DIGITS_MAX = 18
_POWER_MAX = 22
_MANTISSA_MAX = 1 << 53
_SAFE_POWER = 280
"""Times eighteen digits this is still finite."""
_POWERS = np.array([10.0**power for power in range(_POWER_MAX + 1)])
_NOWHERE = -1
_ZERO = ord("0")
_NINE = ord("9")
_DOT = ord(".")
_MINUS = ord("-")
_PLUS = ord("+")
_E = ord("e")
_CASE = 0x20


@compiled
def number_end(version: int, workspace: int, name: int, at: int, end: int) -> int:
    """Read a number where that is exact in doubles; where it ends, or nowhere."""
    negative = octet(at, 0) == _MINUS
    if negative:
        at += 1
    start = at
    mantissa = 0
    while at < end and _ZERO <= octet(at, 0) <= _NINE:
        mantissa = mantissa * 10 + octet(at, 0) - _ZERO
        at += 1
    digits = at - start
    if digits == 0 or (digits > 1 and octet(start, 0) == _ZERO):
        return _NOWHERE
    power = 0
    fractional = at < end and octet(at, 0) == _DOT
    if fractional:
        at += 1
        begin = at
        while at < end and _ZERO <= octet(at, 0) <= _NINE:
            mantissa = mantissa * 10 + octet(at, 0) - _ZERO
            at += 1
        power = begin - at
        digits -= power
        if power == 0:
            return _NOWHERE
    if digits > _DIGITS_MAX:
        return _NOWHERE
    if at < end and octet(at, 0) | _CASE == _E:
        fractional = True
        at += 1
        down = at < end and octet(at, 0) == _MINUS
        if at < end and (octet(at, 0) == _MINUS or octet(at, 0) == _PLUS):
            at += 1
        begin = at
        shift = 0
        while at < end and _ZERO <= octet(at, 0) <= _NINE and at - begin < 4:
            shift = shift * 10 + octet(at, 0) - _ZERO
            at += 1
        if at == begin or at - begin > 3:
            return _NOWHERE
        power += -shift if down else shift
    if not fractional:
        if negative and mantissa == 0:
            return _NOWHERE
        if name >= 0:
            bear_integer(version, workspace, name, -mantissa if negative else mantissa)
        return at
    if name < 0:
        return at if power < _SAFE_POWER else _NOWHERE
    if mantissa > _MANTISSA_MAX or not -_POWER_MAX <= power <= _POWER_MAX:
        return _NOWHERE
    # Both are exact as doubles, so there is one rounding only (Clinger 1990).
    number: Any = np.float64(mantissa)
    number = number * _POWERS[power] if power >= 0 else number / _POWERS[-power]
    bear_double(version, workspace, name, -number if negative else number)
    return at
