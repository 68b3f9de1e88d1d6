"""Across modules: where subscriptions start, how they move, and what is kept for them meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.broker.effects import (
    Acknowledged,
    Delivery,
    RequestRefused,
    Started,
    Subscribed,
)
from headgate.broker.topology import Topology
from headgate.peering.frames import Reply, Request
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, reader, writer

PEOPLE = (*reader("ann"), *reader("bob"), *writer())
FORK = Topology(
    {name: (name,) for name in "apmst"},
    frozenset({frozenset("pm"), frozenset("ms"), frozenset("mt"), frozenset("ma")}),
)
"""`p` hosts the stream, `a` the policy; `s` and `t` host subscribers behind `m`."""


def of(body: int) -> bytes:
    return b'{"a":%d}' % body


def forked(**settings: Any) -> tuple[Pump, int]:
    """The fork at rest, with a publisher at `p`."""
    pump = network(FORK, *PEOPLE, policy_host="a", **settings)
    return pump, pump.connect("p", "eve")


def publish(pump: Pump, eve: int, *bodies: int) -> None:
    for body in bodies:
        pump.publish("p", eve, of(body))


# Start positions.


@pytest.mark.parametrize("after", [0, 1, 3, 6])
@pytest.mark.parametrize("broker", ["p", "m", "s"])
def test_a_subscription_starts_after_the_offset_that_it_names(broker: str, after: int) -> None:
    pump, eve = forked()
    publish(pump, eve, 1, 2, 3, 4, 5)
    ann = pump.connect(broker, "ann")
    pump.subscribe(broker, ann, after={"orders": after})
    publish(pump, eve, 6)
    assert [one.after for one in pump.heard(broker, ann, Started)] == [after]
    assert exactly_what_the_gate_gives(pump, broker, ann, "ann") == list(
        range(max(after + 1, 2), 8)
    )


@pytest.mark.parametrize("broker", ["p", "s"])
def test_a_subscription_may_start_after_an_offset_that_is_still_to_come(broker: str) -> None:
    pump, eve = forked()
    ann = pump.connect(broker, "ann")
    pump.subscribe(broker, ann, after={"orders": 4})
    publish(pump, eve, 1, 2, 3, 4, 5)
    pump.wait(20)
    assert pump.delivered(broker, ann) == [5, 6]


def test_nobody_waits_for_the_offset_that_another_named() -> None:
    pump, eve = forked()
    ann, bob = pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann, after={"orders": 1_000})
    pump.subscribe("s", bob)
    pump.wait(20)
    publish(pump, eve, 1)
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [2]


def test_who_goes_on_naming_no_offset_is_not_bound_by_who_left() -> None:
    pump, eve = forked()
    ann, bob = pump.connect("s", "ann"), pump.connect("s", "bob")
    number = pump.subscribe("s", ann, after={"orders": 1_000})
    pump.unsubscribe("s", ann, number)
    pump.subscribe("s", bob)
    pump.wait(20)
    publish(pump, eve, 1)
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [2]


@pytest.mark.parametrize("after", [-1, -5, 2**63])
def test_an_offset_that_no_stream_has_is_refused(after: int) -> None:
    pump, eve = forked()
    ann, bob = pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann, after={"orders": after})
    assert len(pump.heard("s", ann, RequestRefused)) == 1
    pump.subscribe("s", bob)
    publish(pump, eve, 1)
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [2]


def test_a_subscription_that_names_one_stream_starts_live_on_the_others() -> None:
    pump = network(
        chain("p", "s"), *PEOPLE, streams={"p": ("orders", "news")}
    )  # fmt: skip
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    for stream in ("orders", "news"):
        pump.publish("p", eve, of(1), stream=stream)
    pump.subscribe("s", ann, after={"news": 0})
    assert pump.delivered("s", ann, "news") == [2]
    assert pump.delivered("s", ann, "orders") == []


def test_a_stream_that_is_found_later_starts_then() -> None:
    pump, _ = forked()
    pump.kill("p")
    pump.kill("s")
    pump.cut_link("p", "m")
    pump.kill("m")
    pump.start("m")
    pump.start("s")
    pump.start("p")
    pump.wait(5)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann)
    assert pump.heard("s", ann, Started) == []
    pump.mend_link("p", "m")
    pump.wait(5)
    eve = pump.connect("p", "eve")
    publish(pump, eve, 1)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2]


def test_a_subscription_that_ends_says_where() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann)
    publish(pump, eve, 1, 2)
    pump.unsubscribe("s", ann, number)
    publish(pump, eve, 3)
    (ended,) = pump.ends("s", ann)
    assert ended.after == (("orders", 3),)
    assert pump.delivered("s", ann) == [2, 3]


# Durable subscriptions.


def test_a_durable_subscription_goes_on_after_what_was_acknowledged() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, durable="mine")
    publish(pump, eve, 1, 2, 3)
    pump.acknowledge("s", ann, number, 3)
    assert pump.heard("s", ann, Acknowledged) == [Acknowledged(number, "orders", 3)]
    first = pump.heard("s", ann, Delivery)
    pump.disconnect("s", ann)
    publish(pump, eve, 4)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    publish(pump, eve, 5)
    assert [one.after for one in pump.heard("s", ann, Started)] == [3]
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [4, 5, 6]
    assert pump.heard("s", ann, Delivery)[0].event == first[-1].event


def test_a_durable_subscription_that_acknowledged_nothing_goes_on_from_its_start() -> None:
    pump, eve = forked()
    publish(pump, eve, 1)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    pump.disconnect("s", ann)
    publish(pump, eve, 2)
    ann = pump.connect("t", "ann")
    pump.subscribe("t", ann, durable="mine")
    assert exactly_what_the_gate_gives(pump, "t", ann, "ann") == [3]


def test_a_durable_subscription_moves_and_gets_exactly_the_rest() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, "a <> 3", durable="mine")
    publish(pump, eve, 1, 2, 3, 4)
    pump.acknowledge("s", ann, number, 3)
    there = pump.connect("t", "ann")
    pump.subscribe("t", there, "a <> 3", durable="mine")
    publish(pump, eve, 3, 5)
    assert [one.subscription for one in pump.ends("s", ann)] == [number]
    assert pump.delivered("s", ann) == [2, 3, 5]
    assert exactly_what_the_gate_gives(pump, "t", there, "ann", "a <> 3") == [5, 7]


def test_late_acknowledgements_of_an_earlier_attachment_are_fenced_off() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, durable="mine")
    publish(pump, eve, 1, 2, 3)
    pump.hold("s", "m")
    pump.hold("m", "s")
    pump.acknowledge("s", ann, number, 4)
    there = pump.connect("t", "ann")
    pump.subscribe("t", there, durable="mine")
    assert [one.after for one in pump.heard("t", there, Started)] == [1]
    pump.release("s", "m")
    pump.release("m", "s")
    assert pump.heard("s", ann, Acknowledged) == []
    assert len(pump.ends("s", ann)) == 1
    pump.disconnect("t", there)
    again = pump.connect("t", "ann")
    pump.subscribe("t", again, durable="mine")
    assert exactly_what_the_gate_gives(pump, "t", again, "ann") == [2, 3, 4]


def test_a_late_acknowledgement_takes_nothing_from_a_name_that_was_made_anew() -> None:
    # `s` hears of nothing: neither that its attachment was taken over, nor that its name was ended.
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, durable="mine")
    pump.tampers["m", "s"] = lambda frame: () if isinstance(frame, Request) else (frame,)
    there = pump.connect("t", "ann")
    pump.unsubscribe("t", there, pump.subscribe("t", there, durable="mine"))
    pump.subscribe("t", there, durable="mine")
    publish(pump, eve, 1, 2, 3)
    pump.acknowledge("s", ann, number, 4)
    pump.disconnect("t", there)
    again = pump.connect("t", "ann")
    pump.subscribe("t", again, durable="mine")
    assert exactly_what_the_gate_gives(pump, "t", again, "ann") == [2, 3, 4]


def test_a_durable_subscription_survives_the_policys_host_and_its_own_broker() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, durable="mine")
    publish(pump, eve, 1, 2, 3)
    pump.acknowledge("s", ann, number, 2)
    pump.kill("a")
    pump.kill("s")
    publish(pump, eve, 4)
    pump.start("a")
    pump.start("s")
    pump.wait(5)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    pump.wait(2)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [3, 4, 5]


def test_an_acknowledgement_is_confirmed_only_when_it_is_kept() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, durable="mine")
    publish(pump, eve, 1, 2)
    pump.slow_disk("a")
    pump.acknowledge("s", ann, number, 3)
    pump.wait(3)
    assert pump.heard("s", ann, Acknowledged) == []
    pump.sync_disk("a")
    assert pump.heard("s", ann, Acknowledged) == [Acknowledged(number, "orders", 3)]


def test_a_question_that_is_lost_is_asked_again() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    for way in (("s", "m"), ("m", "s")):
        pump.tampers[way] = lambda frame: () if isinstance(frame, Request | Reply) else (frame,)
    pump.subscribe("s", ann, durable="mine")
    assert pump.heard("s", ann, Subscribed) == []
    pump.tampers.clear()
    pump.wait(2)
    publish(pump, eve, 1)
    assert [one.attachment for one in pump.heard("s", ann, Subscribed)] == [1]
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2]


def test_a_question_that_comes_twice_attaches_once() -> None:
    pump, _ = forked()
    pump.tampers["s", "m"] = pump.tampers["m", "a"] = lambda frame: (frame, frame)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    assert [one.attachment for one in pump.heard("s", ann, Subscribed)] == [1]
    assert pump.ends("s", ann) == []


def test_a_durable_name_is_bound_to_its_filter() -> None:
    pump, _ = forked()
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, "a = 1", durable="mine")
    pump.subscribe("s", ann, "a = 2", durable="mine")
    (refused,) = pump.heard("s", ann, RequestRefused)
    assert "`a = 1`" in refused.because
    bob = pump.connect("s", "bob")
    pump.subscribe("s", bob, "a = 2", durable="mine")
    assert pump.heard("s", bob, RequestRefused) == [], "each principal has names of its own"


def test_a_durable_subscription_that_is_ended_is_forgotten_for_good() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, "a = 1", durable="mine")
    publish(pump, eve, 1)
    pump.unsubscribe("s", ann, number)
    publish(pump, eve, 1)
    pump.subscribe("s", ann, durable="mine")
    publish(pump, eve, 2)
    assert pump.delivered("s", ann) == [2, 4]
    assert pump.heard("s", ann, RequestRefused) == []


def test_an_end_that_could_not_be_stored_at_once_is_stored_later() -> None:
    pump, _ = forked()
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann, "a = 1", durable="mine")
    pump.fill_disk("a")
    pump.unsubscribe("s", ann, number)
    pump.wait(2)
    pump.free_disk("a")
    pump.wait(2)
    pump.kill("a")
    pump.start("a")
    pump.wait(3)
    pump.subscribe("s", ann, "a = 2", durable="mine")
    pump.wait(2)
    assert pump.heard("s", ann, RequestRefused) == []


def test_a_durable_subscription_keeps_its_place_in_a_stream_that_began_anew() -> None:
    pump, eve = forked()
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    publish(pump, eve, 1, 2, 3)
    pump.disconnect("s", ann)
    for name in "pmst":
        pump.kill(name)
    pump.lose_disk("p")
    for name in "pmst":
        pump.start(name)
    pump.wait(5)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    pump.wait(1)
    (start,) = pump.heard("s", ann, Started)
    pump.disconnect("s", ann)
    eve = pump.connect("p", "eve")
    publish(pump, eve, 7, 8)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    pump.wait(1)
    (again,) = pump.heard("s", ann, Started)
    assert (again.incarnation, again.after) == (start.incarnation, start.after)
    assert pump.bodies("s", ann) == ['{"a":7}', '{"a":8}']


# Slow consumers.


def test_a_slow_consumer_is_sent_no_more_than_its_window_and_then_the_rest() -> None:
    pump, eve = forked(window=3, cache_records=2, read_records=2)
    ann, bob = pump.connect("s", "ann"), pump.connect("s", "bob")
    number = pump.subscribe("s", ann)
    other = pump.subscribe("s", bob)
    for body in range(20):
        publish(pump, eve, body)
        pump.acknowledge("s", bob, other, body + 2)
    assert pump.delivered("s", bob) == list(range(2, 22)), "who is quick waits for nobody"
    assert pump.delivered("s", ann) == [2, 3, 4]
    for last in (3, 4, 7, 10, 13, 16, 19, 21):
        pump.acknowledge("s", ann, number, last)
        pump.wait(0.5)
        assert len(pump.delivered("s", ann)) <= last - 1 + 3
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == list(range(2, 22))


@pytest.mark.parametrize("broker", ["p", "s"])
def test_behind_a_slow_consumer_memory_stays_bounded(broker: str) -> None:
    pump, eve = forked(window=1, cache_records=4, read_records=2)
    ann = pump.connect(broker, "ann")
    number = pump.subscribe(broker, ann)
    publish(pump, eve, *range(50))
    feed = pump.brokers[broker].streams.feed("orders")
    assert feed is not None
    assert len(feed._cache) <= 4
    for last in range(2, 52):
        pump.acknowledge(broker, ann, number, last)
    pump.wait(2)
    assert exactly_what_the_gate_gives(pump, broker, ann, "ann") == list(range(2, 52))


def test_a_full_link_is_written_to_again_from_where_it_was() -> None:
    pump, eve = forked(cache_records=2, read_records=3)
    ann, bob = pump.connect("s", "ann"), pump.connect("t", "bob")
    pump.subscribe("s", ann)
    pump.subscribe("t", bob)
    pump.block("m", "s")
    publish(pump, eve, *range(10))
    assert pump.delivered("s", ann) == []
    assert pump.delivered("t", bob) == list(range(2, 12))
    pump.unblock("m", "s")
    pump.wait(2)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == list(range(2, 12))


def test_a_durable_subscription_that_is_overtaken_as_it_starts_begins_no_further() -> None:
    pump = network(
        chain("p", "q"), *writer(), *reader("ann"), streams={"p": ("orders",), "q": ("alarms",)}
    )
    # It has begun on `orders`, and not yet on `alarms`.
    pump.cut_link("p", "q")
    ann = pump.connect("p", "ann")
    pump.subscribe("p", ann, durable="desk")
    pump.disconnect("p", ann)
    pump.mend_link("p", "q")
    pump.wait(2)
    pump.subscribe("p", pump.connect("p", "ann"))  # so that it can begin on `alarms` at once
    first, second = pump.connect("p", "ann"), pump.connect("p", "ann")
    pump.slow_disk("p")
    for client in (first, second):
        pump.subscribe("p", client, durable="desk")
    pump.sync_disk("p")
    (ended,) = pump.ends("p", first)
    said = pump.messages("p", first)
    assert said[said.index(ended) + 1 :] == []
    assert pump.starts("p", first) == {}
    assert len(pump.starts("p", second)) == 2


def test_a_slow_consumer_of_large_events_is_sent_no_more_than_its_bytes() -> None:
    pump, eve = forked(window_bytes=1_500, cache_records=2, read_records=2)
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann)
    for body in range(9):
        pump.publish("p", eve, b'{"a":%d,"b":"%s"}' % (body, b"x" * 1_000))
    # The one that reaches the bound is the last.
    assert pump.delivered("s", ann) == [2, 3]
    pump.acknowledge("s", ann, number, 2)
    assert pump.delivered("s", ann) == [2, 3, 4]
    for last in range(3, 11):
        pump.acknowledge("s", ann, number, last)
    assert pump.delivered("s", ann) == list(range(2, 11))
