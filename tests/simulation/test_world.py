"""Does a world run a schedule to its end, and say what broke on the way?"""

import re
from typing import Any

import pytest

from headgate.broker.core import Broker
from headgate.broker.effects import Delivery, Effect, Tell
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.schedules import (
    Administer,
    AdministerElsewhere,
    BrokerPlan,
    Disconnect,
    Unsubscribe,
)
from headgate.simulation.world import World
from tests.simulation.small import NO_LONGER, busy, small


def run(schedule: Any, make_core: Any = Broker) -> World:
    world = World(schedule, make_core, trace=True)
    world.run()
    return world


def test_a_run_delivers_what_is_owed_and_ends_soon_after() -> None:
    world = run(busy())
    assert world.counts["deliveries"] == 5
    assert world.timeline.now < 7_000_000
    heard = [line for line in world.trace.lines if "hears for" in line]
    assert len(heard) == 5


def test_a_revocation_takes_hold_at_its_starting_point() -> None:
    world = run(busy((0.75, Administer("admin", (NO_LONGER,)))))
    assert world.counts["versions"] == 2
    assert 1 <= world.counts["deliveries"] <= 4


def test_what_is_written_into_the_database_by_others_takes_hold_too() -> None:
    world = run(busy((0.75, AdministerElsewhere((NO_LONGER,)))))
    assert world.counts["versions"] == 2
    assert world.counts["deliveries"] < 5


def test_who_goes_or_unsubscribes_gets_no_more() -> None:
    for action in (Disconnect("reader"), Unsubscribe("reader", "all")):
        assert 0 < run(busy((0.75, action))).counts["deliveries"] < 5


def test_a_broken_promise_says_when_and_is_the_last_line_of_the_trace() -> None:
    class Forgets(Broker):  # type: ignore[misc]
        """Its third delivery never leaves it."""

        delivered = 0

        def effects(self) -> list[Effect]:
            return [one for one in super().effects() if not self._is_third(one)]

        def _is_third(self, effect: Effect) -> bool:
            if not isinstance(effect, Tell) or not isinstance(effect.message, Delivery):
                return False
            self.delivered += 1
            return self.delivered == 3

    world = World(busy(), Forgets, trace=True)
    with pytest.raises(PromiseBroken, match=r"in_order_without_gaps at 2\.8") as broken:
        world.run()
    assert broken.value.at_us == world.timeline.now
    assert "in_order_without_gaps" in world.trace.lines[-1]


def test_a_core_that_fails_breaks_a_promise_and_says_where() -> None:
    class Fails(Broker):  # type: ignore[misc]
        def publish(self, *arguments: Any, **more: Any) -> None:
            raise ValueError("no")

    with pytest.raises(
        PromiseBroken, match=r"no_core_fails .* ValueError: no \(in publish, .*:\d+"
    ):
        run(busy(), Fails)


def test_a_core_that_goes_round_in_circles_is_stopped() -> None:
    class Circles(Broker):  # type: ignore[misc]
        def next_timer(self) -> int:
            return 0

    with pytest.raises(PromiseBroken, match=re.escape("time_goes_on")):
        run(small(), Circles)


def test_the_domains_between_two_brokers_are_those_of_the_links_on_the_way() -> None:
    brokers = {
        "b1": BrokerPlan(streams=("orders",), foreign={"b2": "near"}),
        "b2": BrokerPlan(foreign={"b3": "far"}),
    }
    world = World(small(length=3, brokers=brokers), Broker)
    assert world._domains_between("b1", "b3") == (("into", "near"), ("into", "far"))
    assert world._domains_between("b3", "b1") == (("out of", "far"), ("out of", "near"))
