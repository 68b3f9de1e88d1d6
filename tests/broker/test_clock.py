"""Does time within a core go on, whatever the clock does?"""

from hypothesis import given
from hypothesis import strategies as st

from headgate.broker.clock import Clock


def test_a_clock_that_goes_on_is_believed() -> None:
    clock = Clock(100)
    assert [clock.enter(now) for now in (100, 150, 1_000)] == [100, 150, 1_000]


def test_a_clock_that_is_put_back_has_stood_still() -> None:
    clock = Clock(1_000)
    assert clock.enter(400) == 1_000
    assert clock.enter(450) == 1_050, "and goes on from there"


@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_time_within_never_goes_back(moments: list[int]) -> None:
    clock = Clock(moments[0])
    inside = [clock.enter(now) for now in moments]
    assert inside == sorted(inside)


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(0, 10**6))
def test_a_moment_outside_is_told_from_one_within_and_back(moments: list[int], one: int) -> None:
    clock = Clock(moments[0])
    for now in moments:
        assert clock.wall(clock.enter(now)) == now, "what a record bears is what the clock shows"
    assert clock.wall(clock.inside(one)) == one
