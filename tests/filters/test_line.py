"""Do the stretches of the line hold exactly the points they should?"""

import math
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.filters import line
from headgate.filters.line import Bounds, Point
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import OPAQUE, Value

# A short piece of the line: the points around where booleans end and integers begin.
POINTS: list[Point] = [
    (line.ABSENT, 0),
    (line.OPAQUE, 0),
    (line.BOOLEAN, 0),
    (line.BOOLEAN, 1),
    (line.INTEGER, INTEGER_MIN),
    (line.INTEGER, 0),
    (line.INTEGER, 1),
    (line.STRING, ""),
    (line.STRING, "a"),
]
bounds = st.sets(st.sampled_from(POINTS)).map(lambda points: tuple(sorted(points)))


def held(one: Bounds) -> set[Point]:
    """Point by point: inside after an odd number of turns."""
    return {point for point in POINTS if sum(turn <= point for turn in one) % 2}


@given(bounds, bounds)
def test_sets_of_points_are_joined_cut_and_turned_over(one: Bounds, other: Bounds) -> None:
    assert held(line.common(one, other)) == held(one) & held(other)
    assert held(line.joined(one, other)) == held(one) | held(other)
    assert held(line.outside(one)) == set(POINTS) - held(one)
    assert line.outside(line.outside(one)) == one
    assert line.is_within(one, other) == (held(one) <= held(other))
    assert {point for point in POINTS if line.is_inside(one, point)} == held(one)


@given(st.lists(bounds))
def test_many_are_united_as_one_after_the_other(several: list[Bounds]) -> None:
    one_by_one: Bounds = ()
    for each in several:
        one_by_one = line.joined(one_by_one, each)
    assert line.united(several) == one_by_one


@given(bounds)
def test_a_set_is_cut_into_stretches_of_one_kind_each(one: Bounds) -> None:
    found: set[Point] = set()
    for low, high in line.stretches(one):
        here = {point for point in POINTS if low <= point and (high is None or point < high)}
        assert len({place for place, _ in here}) <= 1
        assert not here & found
        found |= here
    assert found == held(one)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False))
def test_doubles_are_ranked_in_their_order(one: float, other: float) -> None:
    assert line.ranked_double(line.double_rank(one)) == one
    if math.isfinite(other):
        assert (line.double_rank(one) < line.double_rank(other)) == (one < other)


def test_neighbours_among_doubles_and_moments_have_ranks_one_apart() -> None:
    for double in (0.0, -0.0, 1.0, -5e-324, 2.0**53, math.nextafter(sys.float_info.max, 0)):
        above = math.nextafter(double, math.inf)
        assert line.double_rank(above) - line.double_rank(double) == 1
    moment = datetime(2026, 1, 31, tzinfo=UTC)
    later = moment + timedelta(microseconds=1)
    assert line.moment_rank(later) - line.moment_rank(moment) == 1
    assert line.ranked_moment(line.moment_rank(moment)) == moment


@pytest.mark.parametrize(
    ("lesser", "greater"),
    [
        (None, OPAQUE),
        (OPAQUE, frozenset({"z"})),
        (frozenset[str](), False),
        (False, True),
        (True, INTEGER_MIN),
        (INTEGER_MAX, -sys.float_info.max),
        (sys.float_info.max, datetime.min.replace(tzinfo=UTC)),
        (datetime.max.replace(tzinfo=UTC), ""),
        ("a", "a\0"),
    ],
)
def test_kinds_follow_one_another_on_the_line(lesser: Value | None, greater: Value) -> None:
    assert line.point_of(lesser) < line.point_of(greater)
    assert line.FIRST[line.point_of(greater)[0]] <= line.point_of(greater)
