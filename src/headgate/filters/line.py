"""Where on the line do values stand? All that an attribute can be, in one order.

Missing, opaque, a set of strings, booleans, integers, doubles, timestamps, strings: each kind has
its stretch of the line, and its values an order in it. A set is written as the points at which one
enters and leaves it, going up. Doubles are counted by rank and timestamps by microsecond, so that
between two neighbours there is nothing; a text's successor is the text with a NUL behind it.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import Kind, Value

Point: TypeAlias = tuple[int, Any]
"""A place on the line: the kind's number, and the rank or text within the kind."""
Bounds: TypeAlias = tuple[Point, ...]
"""Where one enters, leaves, enters … going up; an odd number of points stays inside to the end."""
ABSENT, OPAQUE, SET, BOOLEAN, INTEGER, DOUBLE, TIMESTAMP, STRING = range(8)

PLACES = {
    Kind.OPAQUE: OPAQUE,
    Kind.SET: SET,
    Kind.BOOLEAN: BOOLEAN,
    Kind.INTEGER: INTEGER,
    Kind.DOUBLE: DOUBLE,
    Kind.TIMESTAMP: TIMESTAMP,
    Kind.STRING: STRING,
}
KINDS = {place: kind for kind, place in PLACES.items()}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def double_rank(number: float) -> int:
    """Doubles counted from zero up and down, in their order."""
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else -(bits & INTEGER_MAX)


def ranked_double(rank: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return number if rank >= 0 else -number


def moment_rank(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def ranked_moment(rank: int) -> datetime:
    return _EPOCH + rank * _MICROSECOND


DOUBLE_RANK_MAX = double_rank(1.7976931348623157e308)
FIRST: tuple[Point, ...] = (
    (ABSENT, 0),
    (OPAQUE, 0),
    (SET, 0),
    (BOOLEAN, 0),
    (INTEGER, INTEGER_MIN),
    (DOUBLE, -DOUBLE_RANK_MAX),
    (TIMESTAMP, moment_rank(datetime.min.replace(tzinfo=UTC))),
    (STRING, ""),
)
LAST_RANKS = {
    ABSENT: 0,
    OPAQUE: 0,
    SET: 0,
    BOOLEAN: 1,
    INTEGER: INTEGER_MAX,
    DOUBLE: DOUBLE_RANK_MAX,
    TIMESTAMP: moment_rank(datetime.max.replace(tzinfo=UTC)),
}


def point_of(value: Value | None) -> Point:
    match value:
        case None:
            return (ABSENT, 0)
        case bool():
            return (BOOLEAN, int(value))
        case int():
            return (INTEGER, value)
        case float():
            return (DOUBLE, double_rank(value))
        case str():
            return (STRING, value)
        case datetime():
            return (TIMESTAMP, moment_rank(value))
        case frozenset():
            return (SET, 0)
        case _:
            return (OPAQUE, 0)


def outside(bounds: Bounds) -> Bounds:
    first = FIRST[0]
    return bounds[1:] if bounds and bounds[0] == first else (first, *bounds)


def common(left: Bounds, right: Bounds) -> Bounds:
    if left is right or not left:
        return left
    if not right:
        return right
    return _swept(left, right, both=True)


def joined(left: Bounds, right: Bounds) -> Bounds:
    if left is right or not right:
        return left
    if not left:
        return right
    return _swept(left, right, both=False)


def _swept(left: Bounds, right: Bounds, *, both: bool) -> Bounds:
    """Walk up both at once; a point where the outcome changes is a point of the result."""
    result: list[Point] = []
    at_left = at_right = 0
    in_left = in_right = inside = False
    while at_left < len(left) and at_right < len(right):
        left_point, right_point = left[at_left], right[at_right]
        point = left_point if left_point <= right_point else right_point
        if left_point == point:
            in_left = not in_left
            at_left += 1
        if right_point == point:
            in_right = not in_right
            at_right += 1
        now = (in_left and in_right) if both else (in_left or in_right)
        if now is not inside:
            result.append(point)
            inside = now
    # One of them stays as it is from here on: either it decides, or the other's points do.
    if at_left < len(left) and in_right is both:
        result.extend(left[at_left:])
    elif at_right < len(right) and in_left is both:
        result.extend(right[at_right:])
    return tuple(result)


def is_inside(bounds: Bounds, point: Point) -> bool:
    return bisect_right(bounds, point) % 2 == 1


def is_within(inner: Bounds, outer: Bounds) -> bool:
    if inner is outer:
        return True
    for at in range(0, len(inner), 2):
        found = bisect_right(outer, inner[at])
        if not found % 2:
            return False
        if found < len(outer) and (at + 1 == len(inner) or outer[found] < inner[at + 1]):
            return False
    return True


def stretches(bounds: Bounds) -> Iterator[tuple[Point, Point | None]]:
    """The stretches of a set as `low <= … < high`, none of them across two kinds."""
    for at in range(0, len(bounds), 2):
        low = bounds[at]
        high = bounds[at + 1] if at + 1 < len(bounds) else None
        while low[0] < STRING and (high is None or high > FIRST[low[0] + 1]):
            yield low, FIRST[low[0] + 1]
            low = FIRST[low[0] + 1]
        yield low, high


def united(several: Iterable[Bounds]) -> Bounds:
    """The union of many in one sweep, so that thousands cost no more than sorting them."""
    enter, leave = 0, 1  # sorted so that of two stretches that touch the second is entered first
    turns = sorted(
        (point, leave if index % 2 else enter)
        for bounds in several
        for index, point in enumerate(bounds)
    )
    result: list[Point] = []
    depth = 0
    for point, turn in turns:
        depth += 1 if turn == enter else -1
        if depth == (turn == enter):
            result.append(point)
    return tuple(result)
