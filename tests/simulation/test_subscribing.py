"""Does a client get its subscriptions back, and acknowledge what it has processed?"""

import pytest

from headgate.broker.core import Broker
from headgate.simulation.schedules import (
    ClientPlan,
    Connect,
    Disconnect,
    StallClient,
    Subscribe,
    at,
)
from headgate.simulation.timeline import SECOND
from headgate.simulation.world import World
from tests.simulation.small import CLIENTS, Said, busy, publishing, small

AWAY: list[Said] = [(0.75, Disconnect("reader")), (1.2, Connect("reader"))]


def run_with(wanted: Subscribe, ack_us: int = 0) -> World:
    """Away while 3 and 4 are published."""
    published = [publishing(0.5 + 0.1 * number, number, f"e{number}") for number in range(6)]
    clients = {**CLIENTS, "reader": ClientPlan("ann", ("b2",), ack_us=ack_us)}
    world = World(small(at(0.2, wanted), *published, *AWAY, clients=clients), Broker, trace=True)
    world.run()
    return world


def test_a_live_one_misses_what_came_while_it_was_away() -> None:
    assert run_with(Subscribe("reader", "all")).counts["deliveries"] == 3


def test_a_durable_one_misses_nothing() -> None:
    assert run_with(Subscribe("reader", "all", durable="mine")).counts["deliveries"] == 5


def test_a_durable_one_that_acknowledged_nothing_gets_all_of_it_again() -> None:
    slow = run_with(Subscribe("reader", "all", durable="mine"), ack_us=SECOND)
    assert slow.counts["deliveries"] == 8


def test_one_that_its_client_resumes_goes_on_where_that_had_come() -> None:
    world = run_with(Subscribe("reader", "all", resumed=True))
    assert world.counts["deliveries"] == 5
    assert world.counts["subscription resumed by its client"] == 1


def test_a_client_that_stalls_acknowledges_late() -> None:
    world = World(busy((0.6, StallClient("reader", 3 * SECOND)), settings={"window": 1}), Broker)
    world.run()
    assert world.timeline.now > 3 * SECOND
    assert world.counts["deliveries"] == 5


def test_what_is_refused_is_given_up_after_a_while_and_tried_again_in_the_end() -> None:
    clients = {**CLIENTS, "reader": ClientPlan("ada", ("b2",))}
    world = World(small(at(0.2, Subscribe("reader", "all")), clients=clients), Broker)
    world.run()
    assert world.clients["reader"].wishes.given_up == ["all"]
    assert world.counts["subscription refused"] >= 1


@pytest.mark.parametrize("durable", [None, "mine"])
def test_one_may_be_made_from_the_beginning(durable: str | None) -> None:
    published = [publishing(0.5 + 0.1 * number, number, f"e{number}") for number in range(5)]
    wanted = Subscribe("reader", "all", durable=durable, after={"orders": 0})
    world = World(small(at(1.5, wanted), (2.0, Connect("reader")), *published), Broker)
    world.run()
    assert world.counts["deliveries"] == (10 if durable is None else 5)
    assert world.counts["subscription from an offset"] == 2
