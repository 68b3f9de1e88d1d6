"""Does a machine give its core its time, and carry out what it wants, until it dies?"""

from typing import Any

from headgate.broker.core import Broker
from headgate.simulation.machines import Machine
from headgate.simulation.schedules import (
    BrokerPlan,
    Disconnect,
    JumpClock,
    Kill,
    KillMidway,
    Remove,
    Subscribe,
    at,
)
from headgate.simulation.timeline import SECOND
from headgate.simulation.world import World
from tests.simulation.small import busy, small


def test_a_core_sees_the_time_of_its_own_clock() -> None:
    seen: list[int] = []

    def make(settings: Any, recovered: Any, boot: str, now: int) -> Broker:
        seen.append(now)
        return Broker(settings, recovered, boot, now)

    plans = {"b1": BrokerPlan(streams=("orders",), clock_us=-7), "b2": BrokerPlan(clock_us=9)}
    World(small(brokers=plans), make).run()
    assert seen[1] - seen[0] == 16


def test_who_starts_again_has_another_boot_and_what_its_disk_kept() -> None:
    boots: list[tuple[str, list[str]]] = []

    def make(settings: Any, recovered: Any, boot: str, now: int) -> Broker:
        boots.append((boot, sorted(recovered.incarnations)))
        return Broker(settings, recovered, boot, now)

    world = World(busy((2.0, Kill("b1", SECOND // 10))), make)
    world.run()
    assert [boot for boot, _ in boots] == ["b1.1", "b2.1", "b1.2"]
    assert boots[0][1] == []
    assert boots[2][1] == ["$deliveries/b1", "$subscriptions/b1", "orders"]
    assert world.counts["fault: kill"] == 1


def test_a_core_may_die_between_any_two_effects() -> None:
    for after in range(12):
        world = World(busy((0.65, KillMidway("b1", SECOND // 10, after))), Broker)
        world.run()
        assert world.counts["killed midway"] == 1
        assert world.counts["deliveries"] >= 4


def test_what_may_go_goes_but_for_what_is_kept_or_owed() -> None:
    durable = at(0.2, Subscribe("reader", "kept", durable="kept"))
    gone = at(1.05, Disconnect("reader"))
    for forced, first in ((False, 7), (True, 10)):
        removal = Remove("b1", 2, forced=forced)
        world = World(busy(durable, gone, (1.6, removal)), Broker)
        world.run()
        assert world.machines["b1"].disk.log.first("orders") == first
    assert world.counts["records removed"] == 1


def test_who_dies_before_it_is_answered_removes_nothing() -> None:
    world = World(busy((1.6, Remove("b1")), (1.6, Kill("b1", SECOND))), Broker)
    world.run()
    assert world.machines["b1"].disk.log.first("orders") == 1


def test_a_clock_that_jumps_wakes_its_core_when_it_shows_the_time() -> None:
    for by_us in (3_600 * SECOND, -5 * SECOND):
        world = World(busy((0.65, JumpClock("b2", by_us))), Broker)
        world.run()
        assert world.counts["deliveries"] == 5
        assert isinstance(world.machines["b2"], Machine)
