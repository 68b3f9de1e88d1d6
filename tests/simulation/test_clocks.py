"""Does a clock that is wrong still say when it will show what?"""

from hypothesis import given
from hypothesis import strategies as st

from headgate.simulation.clocks import EPOCH_US, Clock


@given(st.integers(-(10**7), 10**7), st.integers(-100_000, 100_000), st.integers(0, 10**9))
def test_the_first_moment_at_which_it_shows_a_time_is_found(
    offset_us: int, drift_ppm: int, after_us: int
) -> None:
    clock = Clock(offset_us, drift_ppm)
    shown = clock.shows(0) + after_us
    true_us = clock.true_when(shown)
    assert clock.shows(true_us) >= shown
    assert clock.shows(true_us - 1) < shown


def test_a_right_clock_shows_true_time_and_a_jump_moves_it() -> None:
    clock = Clock()
    assert clock.shows(5) == EPOCH_US + 5
    clock.jump(-10)
    clock.jump(3)
    assert clock.shows(5) == EPOCH_US - 2
    assert clock.jumped_back_us == 10
