"""Does everything happen in order, at its time?"""

import pytest

from headgate.simulation.timeline import SECOND, Timeline, TooMuchError


def test_what_is_planned_happens_in_order_of_time_and_then_of_planning() -> None:
    timeline = Timeline(100)
    seen: list[tuple[int, str]] = []
    for moment, name in ((30, "c"), (10, "a"), (10, "b"), (40, "d")):
        timeline.at(moment, lambda name=name: seen.append((timeline.now, name)))
    timeline.run_until(30)
    assert seen == [(10, "a"), (10, "b"), (30, "c")]
    timeline.run_until(SECOND)
    assert seen[-1] == (40, "d")
    assert timeline.now == SECOND


def test_what_is_planned_for_the_past_happens_now() -> None:
    timeline = Timeline(100)
    timeline.run_until(50)
    seen: list[int] = []
    timeline.at(10, lambda: seen.append(timeline.now))
    timeline.after(5, lambda: seen.append(timeline.now))
    timeline.run_until(60)
    assert seen == [50, 55]


def test_what_goes_round_in_circles_is_stopped_and_named() -> None:
    timeline = Timeline(100)

    def circle() -> None:
        timeline.after(0, circle)

    timeline.after(0, circle)
    with pytest.raises(TooMuchError, match="more, at last `circle`"):
        timeline.run_until(1)
