"""Does a client publish each event until it has an answer, and under one event id?"""

from typing import Any

from headgate.broker.core import Broker
from headgate.simulation.schedules import Answer, ClientPlan, FillDisk, Kill, Publish, Subscribe
from headgate.simulation.timeline import SECOND
from headgate.simulation.world import World
from tests.simulation.small import CLIENTS, POLICY, busy, publishing, small


def outcome(world: World) -> tuple[int, int]:
    outbox = world.clients["writer"].outbox
    assert outbox.is_empty
    return outbox.published_count, outbox.refused_count


def test_everything_is_published_in_spite_of_crashes_and_full_disks() -> None:
    for fault in (Kill("b1", SECOND // 4), FillDisk("b1", SECOND // 2)):
        world = World(busy((0.7005, fault)), Broker)
        world.run()
        assert outcome(world) == (10, 0)
        assert world.ledger.logs["orders"].last >= 11


def test_what_was_published_already_is_known() -> None:
    world = World(small(publishing(0.3, 1, "e1"), publishing(0.5, 1, "e1")), Broker)
    world.run()
    assert outcome(world) == (2, 0)
    assert world.counts["publication known already"] == 1


def test_what_may_not_be_published_is_given_up() -> None:
    world = World(small((0.3, Publish("reader", "e1", "{}", "orders"))), Broker)
    world.run()
    assert world.counts["publication refused"] == 1


def test_an_answer_is_published_when_something_is_heard() -> None:
    clients = {**CLIENTS, "reader": ClientPlan("pam", ("b1",))}
    may_read = {"grant": {"principal": "pam", "action": "subscribe"}}
    world = World(
        small(
            (0.2, Subscribe("reader", "all")),
            (0.3, Answer("reader", "e2", "{}", "orders")),
            publishing(0.5, 1, "e1"),
            clients=clients,
            policy=(POLICY, (may_read,)),
        ),
        Broker,
    )
    world.run()
    assert [record.event_id for record in world.ledger.logs["orders"].records[-2:]] == ["e1", "e2"]
    assert world.counts["answer published"] == 1


def test_no_answer_makes_it_ask_again() -> None:
    class Deaf(Broker):  # type: ignore[misc]
        """Hears every other publication."""

        asked = 0

        def publish(self, *arguments: Any, **more: Any) -> None:
            self.asked += 1
            if self.asked % 2 == 0:
                super().publish(*arguments, **more)

    for seed in range(6):
        world = World(small(publishing(0.3, 1, "e1"), seed=seed), Deaf)
        world.run()
        assert outcome(world) == (1, 0)
        assert world.counts["publication repeated"] + world.counts["client gave up a connection"]
