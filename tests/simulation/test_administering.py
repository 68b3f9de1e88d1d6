"""Do administrators bring their batches through, one against the other?"""

from typing import Any

from headgate.broker.core import Broker
from headgate.simulation.administering import batch_of
from headgate.simulation.schedules import Administer, ClientPlan, Connect, Kill, LoseDatabase
from headgate.simulation.timeline import SECOND
from headgate.simulation.world import World
from tests.simulation.small import CLIENTS, small

TWO = {**CLIENTS, "other": ClientPlan("ada", ("b1",))}


def group(name: str) -> tuple[dict[str, Any], ...]:
    return ({"create_group": name},)


def test_a_batch_says_who_when_and_what() -> None:
    batch = batch_of(group("staff"), "ada", 1_500_000)
    assert (batch.author, batch.time.isoformat()) == ("ada", "2026-01-31T12:00:01.500000+00:00")


def test_two_at_once_against_the_version_they_know_both_get_through() -> None:
    steps = [
        (0.5 + 0.0001 * number, Administer(who, group(f"{who}{number}"), serially=True))
        for number in range(4)
        for who in ("admin", "other")
    ]
    world = World(small((0.1, Connect("other")), *steps, clients=TWO), Broker)
    world.run()
    assert len(world.ledger.history) == 9
    assert world.counts["batch against an old version"] > 0
    assert world.clients["admin"].office.is_empty


def test_what_can_not_be_is_refused_and_given_up() -> None:
    world = World(small((0.5, Administer("admin", group("everyone")))), Broker)
    world.run()
    assert len(world.ledger.history) == 1
    assert world.counts["batch refused"] == 1


def test_batches_get_through_in_spite_of_crashes() -> None:
    for fault in (LoseDatabase(SECOND), Kill("b1", SECOND // 2)):
        world = World(small((0.5, Administer("admin", group("staff"))), (0.5005, fault)), Broker)
        world.run()
        assert len(world.ledger.history) == 2
        assert world.clients["admin"].office.is_empty
