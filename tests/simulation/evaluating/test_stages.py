"""Is a stage the network that it says, and does everything in it take the time that is stated?"""

from __future__ import annotations

import pytest

from headgate.broker.effects import Delivery
from headgate.simulation.clients import Client
from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.stages import PUBLISHER, STREAM, Change, Stage
from headgate.simulation.evaluating.traffic import Traffic
from headgate.simulation.evaluating.trees import chain
from headgate.simulation.timeline import MILLISECOND, SECOND

EXACT = Conditions(link_us=3 * MILLISECOND, jitter_us=0, sync_us=0, client_us=0, records_per_s=100)
READER: list[Change] = [
    {"grant": {"principal": "ann", "action": "connect", "allow": True}},
    {"grant": {"principal": "ann", "action": "subscribe", "filter": "number < 1000"}},
]


def received(stage: Stage) -> list[tuple[str, int, int]]:
    """Who receives which event when; filled as time passes."""
    seen: list[tuple[str, int, int]] = []

    def see(client: Client, message: Delivery) -> None:
        number = message.event.attributes["number"]
        assert isinstance(number, int)
        seen.append((client.name, number, stage.now))

    stage.on_delivery(see)
    return seen


@pytest.mark.parametrize("hops", [1, 3])
def test_a_delivery_takes_its_links_and_next_to_nothing_else(hops: int) -> None:
    stage = Stage(chain(hops), EXACT, READER)
    publisher = stage.publisher(lambda number: {})
    stage.subscribe({"ann": "number > 2"}, lambda name: "s")
    seen = received(stage)
    stage.publish(publisher, 5)
    assert [number for _, number, _ in seen] == [3, 4, 5]
    for _, number, at in seen:
        extra_us = at - publisher.sent_at[number] - hops * EXACT.link_us
        assert 0 <= extra_us <= 5, "a microsecond each for the disk and the clients"


def test_events_are_published_at_a_steady_rate_and_none_waits() -> None:
    stage = Stage(chain(1), EXACT, READER)
    publisher = stage.publisher(lambda number: {})
    publisher.go_on(50)
    begun = stage.now
    stage.run_until(lambda: publisher.is_done)
    assert list(publisher.sent_at.values()) == [begun + 10_000 * turn for turn in range(50)]
    last = stage.machines["p"].disk.log.last(STREAM)
    assert last is not None
    assert last.event_id == "event-50"


def test_who_subscribes_has_begun_when_the_stage_goes_on() -> None:
    slow = Conditions(link_us=80 * MILLISECOND, sync_us=80 * MILLISECOND, records_per_s=100)
    stage = Stage(chain(2), slow, READER)
    publisher = stage.publisher(lambda number: {})
    seen = received(stage)
    stage.subscribe({"ann": "TRUE"}, lambda name: "s")
    stage.publish(publisher, 1)
    assert [(name, number) for name, number, _ in seen] == [("ann", 1)]


def test_only_the_brokers_between_follow_no_policy() -> None:
    stage = Stage(chain(3), EXACT, READER, filters_at_edge_only=True)
    settings = {name: machine.settings for name, machine in stage.machines.items()}
    assert {name for name, one in settings.items() if one.routes_only} == {"r1", "r2"}
    assert {one.policy_host for one in settings.values()} == {"p"}
    assert all(one.filters_at_edge_only for one in settings.values())
    assert [name for name, one in settings.items() if one.streams] == ["p"]


def test_a_change_of_the_policy_is_told_over_the_links() -> None:
    stage = Stage(chain(1), EXACT, READER)
    stage.subscribe({"ann": "TRUE"}, lambda name: "s")
    stage.tap.forget()
    assert stage.tap.on("p", "s") == Traffic()
    stage.change({"revoke": READER[1]["grant"]})
    stage.run_for(SECOND)
    assert stage.tap.on("p", "s").all_frames > 0
    publisher = stage.publisher(lambda number: {})
    seen = received(stage)
    stage.publish(publisher, 3)
    assert seen == []


def test_what_never_comes_to_pass_is_no_measurement() -> None:
    stage = Stage(chain(1), EXACT, READER)
    with pytest.raises(AssertionError, match="expected it within 2 s"):
        stage.run_until(lambda: False, 2 * SECOND)
    with pytest.raises(AssertionError, match="was refused"):
        Stage(chain(1), EXACT, [{"leave": {"group": "no-group", "member": PUBLISHER}}])
