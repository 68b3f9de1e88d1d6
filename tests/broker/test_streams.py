"""Is every stream known everywhere as what it is, and does it come the right way?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headgate.broker.effects import Published, Started
from headgate.log.records import Record
from headgate.peering.frames import Announce, Attach, Data, Detach, Frame
from headgate.peering.wire import encode
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import chain, network, nodes, reader, writer

PEOPLE = (*reader("ann"), *writer())


def test_streams_are_announced_once_to_each_and_known_everywhere() -> None:
    pump = network(chain("p", "m", "s", "t"), *PEOPLE)
    pump.wait(30)
    said = [one for one in pump.said("s", "t", Announce) if one.stream == "orders"]
    assert len(said) == 1
    ann = pump.connect("t", "ann")
    pump.subscribe("t", ann)
    assert len(pump.heard("t", ann, Started)) == 1


def test_a_broker_that_comes_back_is_told_of_all_streams() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    pump.kill("s")
    pump.start("s")
    pump.wait(3)
    assert "orders" in set(pump.brokers["s"].streams.names())


def test_an_older_announcement_changes_nothing() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    said = next(one for one in pump.said("p", "m", Announce) if one.stream == "orders")
    stale = msgspec.structs.replace(said, incarnation="older", serial=said.serial - 1)
    before = len(pump.said("m", "s", Announce))
    pump.say_raw("p", "m", encode(stale))
    assert len(pump.said("m", "s", Announce)) == before
    feed = pump.brokers["m"].streams.feed("orders")
    assert feed is not None
    assert feed.incarnation == said.incarnation


@pytest.mark.parametrize("changes", [{"host": "stranger"}, {"stream": "$policy"}])
def test_a_stream_of_nobody_is_refused(changes: dict[str, Any]) -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    said = Announce("p", "news", "boot", 99, None)
    pump.say_raw("p", "m", encode(msgspec.structs.replace(said, **changes)))
    assert len(pump.closed) == 1


def test_streams_share_the_redundant_brokers() -> None:
    streams = tuple(f"stream {number}" for number in range(20))
    pump = network(nodes("p", "m1 m2", "s"), *PEOPLE, streams={"p": streams})
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann)
    assert len(pump.heard("s", ann, Started)) == 20
    of_each = {
        way: {one.stream for one in pump.said("s", way, Attach)} & set(streams)
        for way in ("m1", "m2")
    }
    assert min(len(of_each["m1"]), len(of_each["m2"])) >= 4


def test_a_stream_that_nobody_wants_any_more_is_let_go() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann)
    pump.unsubscribe("s", ann, number)
    assert len(pump.said("s", "p", Detach)) == 1


@pytest.mark.parametrize("changes", [{"stream": "news"}, {"incarnation": "x"}, {"body": b"{"}])
def test_a_record_that_does_not_belong_on_its_session_ends_the_link(
    changes: dict[str, Any],
) -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)

    def tamper(frame: Frame) -> tuple[Frame, ...]:
        if isinstance(frame, Data):
            record = msgspec.structs.replace(frame.record, **changes)
            return (msgspec.structs.replace(frame, record=record),)
        return (frame,)

    pump.tampers["p", "m"] = tamper
    pump.publish("p", eve, b'{"a":1}')
    assert len(pump.closed) == 1
    pump.tampers.clear()
    pump.wait(3)
    request = pump.publish("p", eve)
    assert isinstance(pump.answer("p", eve, request), Published)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2, 3]


def test_nobody_but_the_parent_is_heard_on_a_session() -> None:
    pump = network(nodes("p", "m1 m2", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    feed = pump.brokers["s"].streams.feed("orders")
    assert feed is not None
    ((session, followed),) = [
        (number, one)
        for number, one in pump.brokers["s"].streams._sessions.items()
        if one.stream == "orders"
    ]
    stranger = "m2" if followed.parent == "m1" else "m1"
    forged = Record(
        "orders", feed.incarnation, 2, 1, 0, "eve", "", b'{"forged":1}', True, {}, {}
    )  # fmt: skip
    pump.say_raw(stranger, "s", encode(Data(session, 1, forged)))
    assert pump.bodies("s", ann) == []
    pump.publish("p", eve, b'{"a":1}')
    pump.wait(1)
    assert pump.bodies("s", ann) == ['{"a":1}']


def test_a_stream_that_is_announced_later_is_subscribed_to_as_well() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    pump.kill("p")
    ann_before = pump.connect("s", "ann")
    assert pump.heard("s", ann_before, Started) == []
    pump.start("p")
    pump.wait(20)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, b'{"a":2}')
    pump.wait(1)
    assert pump.bodies("s", ann) == ['{"a":2}']
