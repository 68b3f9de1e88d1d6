"""Is the least left that still breaks the promise?"""

from typing import Any

import pytest

from headgate.broker.core import Broker
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.running import run, run_schedule
from headgate.simulation.schedules import Kill, Publish, SlowDisk
from headgate.simulation.shrinking import kind_of, shrunk, without_broker
from headgate.simulation.timeline import SECOND
from tests.simulation.small import busy, small


class Rude(Broker):  # type: ignore[misc]
    """Fails at publications about secrets of 3."""

    def publish(self, client: int, request: int, body: bytes, *rest: Any, **more: Any) -> None:
        if b'"secret":3' in body:
            raise ValueError("how dare you")
        super().publish(client, request, body, *rest, **more)


def test_of_a_generated_run_only_what_matters_is_left() -> None:
    failing = next(
        outcome
        for outcome in (run(seed, make_core=Rude) for seed in range(100))
        if not outcome.is_good and len(outcome.schedule.steps) > 40
    )
    least = shrunk(failing, make_core=Rude, runs_max=400)
    assert least.broken is not None
    assert failing.broken is not None
    assert kind_of(least.broken) == kind_of(failing.broken)
    kinds = [type(step.action) for step in least.schedule.steps]
    assert kinds.count(Publish) == 1
    assert len(kinds) <= 3
    assert len(least.schedule.clients) == 1
    assert "no_core_fails" in least.trace[-1]


def test_faults_that_matter_stay() -> None:
    class Once(Broker):  # type: ignore[misc]
        def __init__(self, settings: Any, recovered: Any, boot: str, now: int) -> None:
            if boot == "b2.2":
                raise ValueError("once is enough")
            super().__init__(settings, recovered, boot, now)

    schedule = busy((0.6, SlowDisk("b1", SECOND, 10)), (0.7, Kill("b2", SECOND // 10)))
    least = shrunk(run_schedule(schedule, make_core=Once), make_core=Once)
    assert [type(step.action) for step in least.schedule.steps] == [Kill]
    assert least.schedule.clients == {}


def test_a_run_is_bounded_and_its_progress_told() -> None:
    told: list[int] = []
    failing = run(5, make_core=Rude)
    failing = next(
        one for one in (run(seed, make_core=Rude) for seed in range(100)) if not one.is_good
    )
    least = shrunk(failing, make_core=Rude, runs_max=7, progress=told.append)
    assert sum(told) == 7
    assert least.broken is not None


@pytest.mark.parametrize(("broker", "is_needed"), [("b1", True), ("b2", True), ("b3", False)])
def test_a_broker_is_left_out_where_nobody_needs_it(broker: str, is_needed: bool) -> None:
    schedule = small(length=3)
    assert (without_broker(schedule, broker) is None) == is_needed


def test_failures_are_the_same_when_their_promise_and_place_are() -> None:
    def crash(place: str) -> PromiseBroken:
        return PromiseBroken("no_core_fails", "b1", "none", f"ValueError: 17 (in {place})")

    assert kind_of(crash("take, core.py:3")) == kind_of(crash("take, core.py:3"))
    assert kind_of(crash("take, core.py:3")) != kind_of(crash("take, core.py:4"))
    late = PromiseBroken("everybody_is_served_in_the_end", "ann", "a connection", "none")
    assert kind_of(late) == "everybody_is_served_in_the_end a"
