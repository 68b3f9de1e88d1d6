"""What was removed is told before anything is delivered behind it; what is owed stays."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.broker.effects import Lost, RequestRefused, SubscriptionEnded
from headgate.broker.questions import KeepPositions, question
from headgate.broker.topology import Topology
from headgate.peering.frames import Data, Frame, Request
from tests.broker.pump import Pump, chain, network, nodes, reader, writer
from tests.rights.policies import grant

ALONE = Topology.alone("p")
THREE = chain("p", "m", "s")


def filled(topology: Topology, count: int = 9, **settings: Any) -> Pump:
    """`orders` at `p` with a version marker and some publications."""
    pump = network(topology, *writer(), *reader("ann"), **settings)
    eve = pump.connect("p", "eve")
    for number in range(count):
        pump.publish("p", eve, b'{"n":%d}' % number)
    return pump


def lost(pump: Pump, broker: str, client: int) -> list[tuple[str, int, int]]:
    return [(one.stream, one.after, one.up_to) for one in pump.heard(broker, client, Lost)]


@pytest.mark.parametrize(("topology", "where"), [(ALONE, "p"), (THREE, "s")])
def test_who_asks_for_what_was_removed_is_told_and_gets_the_rest(
    topology: Topology, where: str
) -> None:
    pump = filled(topology)
    pump.remove("p", orders=6)
    pump.wait(1)
    ann = pump.connect(where, "ann")
    number = pump.subscribe(where, ann, after={"orders": 2})
    assert lost(pump, where, ann) == [("orders", 2, 6)]
    assert pump.starts(where, ann)[number, "orders"] == 6
    assert pump.delivered(where, ann, "orders") == [7, 8, 9, 10]


@pytest.mark.parametrize(("topology", "where"), [(ALONE, "p"), (THREE, "s")])
def test_who_asks_for_what_is_still_there_is_told_of_no_loss(
    topology: Topology, where: str
) -> None:
    pump = filled(topology)
    pump.remove("p", orders=6)
    pump.wait(1)
    ann = pump.connect(where, "ann")
    pump.subscribe(where, ann, after={"orders": 6})
    assert lost(pump, where, ann) == []
    assert pump.delivered(where, ann, "orders") == [7, 8, 9, 10]


@pytest.mark.parametrize(("topology", "where"), [(ALONE, "p"), (THREE, "s")])
def test_a_slow_reader_whose_past_is_removed_goes_on_behind_it(
    topology: Topology, where: str
) -> None:
    pump = filled(topology, window=2, cache_records=2, read_records=2)
    ann = pump.connect(where, "ann")
    number = pump.subscribe(where, ann, after={"orders": 0})
    assert pump.delivered(where, ann, "orders") == [2, 3]
    pump.remove("p", orders=7)
    pump.wait(1)
    assert lost(pump, where, ann) == [("orders", 3, 7)]
    # What it holds no longer stands in the way of what follows.
    assert pump.delivered(where, ann, "orders") == [2, 3, 8, 9]
    pump.acknowledge(where, ann, number, 9)
    assert pump.delivered(where, ann, "orders") == [2, 3, 8, 9, 10]


def test_a_broker_that_was_cut_off_hears_of_the_removal_before_what_follows() -> None:
    pump = filled(nodes("p", "m1 m2", "s"))
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, after={"orders": 0})
    before = pump.delivered("s", ann, "orders")
    pump.cut_link("m1", "s")
    pump.cut_link("m2", "s")
    eve = pump.connect("p", "eve")
    for _ in range(5):
        pump.publish("p", eve)
    pump.remove("p", orders=13)
    pump.mend_link("m1", "s")
    pump.mend_link("m2", "s")
    pump.wait(3)
    assert lost(pump, "s", ann) == [("orders", 10, 13)]
    assert pump.delivered("s", ann, "orders") == [*before, 14, 15]


@pytest.mark.parametrize(("topology", "where"), [(ALONE, "p"), (THREE, "s")])
def test_what_a_durable_subscription_is_owed_may_not_be_removed(
    topology: Topology, where: str
) -> None:
    pump = filled(topology)
    assert pump.consider_removal("p")["orders"] == 10
    ann = pump.connect(where, "ann")
    number = pump.subscribe(where, ann, durable="desk", after={"orders": 0})
    pump.acknowledge(where, ann, number, 4)
    pump.disconnect(where, ann)
    pump.wait(1)
    assert pump.consider_removal("p")["orders"] == 4
    again = pump.connect(where, "ann")
    number = pump.subscribe(where, again, durable="desk")
    pump.unsubscribe(where, again, number)
    pump.wait(1)
    assert pump.consider_removal("p")["orders"] == 10


def test_a_durable_subscription_that_is_taken_from_is_told_when_it_comes_back() -> None:
    pump = filled(THREE)
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, durable="desk", after={"orders": 0})
    pump.acknowledge("s", ann, number, 4)
    pump.disconnect("s", ann)
    pump.remove("p", orders=8)
    again = pump.connect("s", "ann")
    pump.subscribe("s", again, durable="desk")
    assert lost(pump, "s", again) == [("orders", 4, 8)]
    assert pump.delivered("s", again, "orders") == [9, 10]


def test_without_an_answer_from_the_policys_host_nothing_may_be_removed() -> None:
    pump = network(THREE, *writer(), policy_host="s", streams={"p": ("orders",)})
    pump.cut_link("p", "m")
    assert pump.consider_removal("p") == {}


def test_the_last_record_stays_and_a_removal_is_not_taken_back() -> None:
    pump = filled(THREE)
    pump.remove("p", orders=99)
    assert [one.offset for one in pump.logs["p"].read("orders", 0, 99)] == [10]
    pump.remove("p", orders=5)
    pump.kill("p")
    pump.start("p")
    pump.wait(2)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, after={"orders": 1})
    assert lost(pump, "s", ann) == [("orders", 1, 9)]
    assert pump.delivered("s", ann, "orders") == [10]


def test_a_removal_that_could_not_be_announced_is_none() -> None:
    pump = filled(ALONE)
    pump.slow_disk("p")
    pump.fill_disk("p")
    pump.remove("p", orders=5)
    pump.sync_disk("p")
    assert pump.logs["p"].first("orders") == 1


def test_a_subscription_to_what_cannot_be_read_ends_with_the_reason() -> None:
    pump = filled(ALONE, cache_records=2)
    pump.damaged.add(("p", "orders"))
    ann = pump.connect("p", "ann")
    pump.subscribe("p", ann, after={"orders": 0})
    assert [one.because for one in pump.ends("p", ann)] == ["`orders` is damaged"]
    assert pump.delivered("p", ann) == []
    # It is over: its number may be used again, and what is live is served.
    pump.subscribe("p", ann)
    assert pump.heard("p", ann, RequestRefused) == []
    eve = pump.connect("p", "eve")
    pump.publish("p", eve)
    assert pump.delivered("p", ann, "orders") == [11]


# What was seen to break in simulated worlds.


def without_records(frame: Frame) -> list[Frame]:
    return [] if isinstance(frame, Data) and frame.record.stream == "orders" else [frame]


def test_a_newcomer_starts_behind_a_gap_that_its_broker_has_not_reached() -> None:
    pump = filled(THREE)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.tampers["p", "m"] = without_records
    eve = pump.connect("p", "eve")
    for _ in range(5):
        pump.publish("p", eve)
    pump.remove("p", orders=13)
    late = pump.connect("s", "ann")
    number = pump.subscribe("s", late)
    assert pump.starts("s", late)[number, "orders"] == 13
    assert lost(pump, "s", late) == []  # none of that was owed to it
    del pump.tampers["p", "m"]
    pump.wait(3)
    assert pump.delivered("s", late, "orders") == [14, 15]


def test_what_waits_for_a_cause_that_is_lost_comes_when_that_is_told() -> None:
    streams = {"p": ("orders",), "q": ("replies",)}
    changes = [*writer(), *reader("ann"), *reader("bob"), grant("bob", "publish")]
    pump = network(nodes("p q", "s"), *changes, streams=streams)
    bob, ann, eve = pump.connect("q", "bob"), pump.connect("s", "ann"), pump.connect("p", "eve")
    pump.subscribe("q", bob)
    pump.subscribe("s", ann, causal=True)
    pump.tampers["p", "s"] = without_records
    pump.publish("p", eve)
    pump.publish("q", bob)
    assert pump.delivered("s", ann) == []
    pump.publish("p", eve)
    pump.remove("p", orders=2)
    assert lost(pump, "s", ann) == [("orders", 1, 2)]
    assert pump.delivered("s", ann) == [2]
    assert pump.delivered("s", ann, "replies") == [2]


def test_a_start_that_is_moved_behind_a_gap_is_kept_before_it_is_told() -> None:
    pump = network(THREE, *writer(), *reader("ann"), policy_host="m", streams={"p": ("orders",)})

    def unkept(frame: Frame) -> list[Frame]:
        asks = isinstance(frame, Request) and isinstance(question(frame.body), KeepPositions)
        return [] if asks else [frame]

    pump.tampers["s", "m"] = unkept
    ann, eve = pump.connect("s", "ann"), pump.connect("p", "eve")
    pump.subscribe("s", ann, durable="desk")
    for _ in range(4):
        pump.publish("p", eve)
    pump.remove("p", orders=3)
    assert lost(pump, "s", ann) == [("orders", 1, 3)]
    assert pump.starts("s", ann) == {}
    del pump.tampers["s", "m"]
    pump.wait(2)
    assert pump.delivered("s", ann, "orders") == [4, 5]
    # Its client has acknowledged nothing, and may never have heard of it: it is told again.
    again = pump.connect("s", "ann")
    pump.subscribe("s", again, durable="desk")
    assert lost(pump, "s", again) == [("orders", 1, 3)]
    assert pump.delivered("s", again, "orders") == [4, 5]


def test_what_could_not_be_announced_goes_when_it_can_be() -> None:
    pump = filled(ALONE)
    pump.slow_disk("p")
    pump.fill_disk("p")
    pump.remove("p", orders=5)
    pump.sync_disk("p")
    pump.free_disk("p")
    pump.wait(2)
    assert pump.logs["p"].first("orders") == 1
    pump.remove("p", orders=5)
    assert pump.logs["p"].first("orders") == 6


def test_a_subscription_that_is_taken_over_at_once_is_told_no_more_after_its_end() -> None:
    streams = {"p": ("alarms", "orders")}
    pump = network(ALONE, *writer(), *reader("ann"), streams=streams)
    eve = pump.connect("p", "eve")
    for _ in range(3):
        pump.publish("p", eve, stream="orders")
    pump.remove("p", orders=3)
    one, other = pump.connect("p", "ann"), pump.connect("p", "ann")
    pump.slow_disk("p")
    after = {"alarms": 0, "orders": 0}
    pump.subscribe("p", one, durable="desk", after=after)
    pump.subscribe("p", other, durable="desk", after=after)
    pump.sync_disk("p")
    pump.wait(2)
    assert isinstance(pump.messages("p", one)[-1], SubscriptionEnded)
    feed = pump.brokers["p"].hosting.feed("orders")
    assert feed is not None
    assert len(feed.consumers) == 1


def test_a_durable_subscription_made_behind_the_end_of_a_stream_is_taken_up_again() -> None:
    pump = filled(THREE)
    for _ in range(2):
        ann = pump.connect("s", "ann")
        number = pump.subscribe("s", ann, durable="desk", after={"orders": 11})
        pump.wait(3)
        assert pump.starts("s", ann)[number, "orders"] == 11
        pump.disconnect("s", ann)
    ann, eve = pump.connect("s", "ann"), pump.connect("p", "eve")
    pump.subscribe("s", ann, durable="desk")
    for _ in range(3):
        pump.publish("p", eve)
    pump.wait(3)
    assert pump.delivered("s", ann, "orders") == [12, 13]
