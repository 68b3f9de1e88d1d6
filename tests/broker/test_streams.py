"""Does everybody know of the streams, and does nobody speak for another broker's session?"""

from __future__ import annotations

from headgate.broker.effects import Started
from headgate.log.records import Record
from headgate.peering.frames import Announce, Data
from headgate.peering.wire import encode
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


def test_streams_share_the_redundant_brokers() -> None:
    streams = tuple(f"stream {number}" for number in range(20))
    pump = network(nodes("p", "m1 m2", "s"), *PEOPLE, streams={"p": streams})
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann)
    assert len(pump.heard("s", ann, Started)) == 20
    feeds = pump.brokers["s"].streams._followed.values()
    parents = [one._attachment.parent for one in feeds if one._attachment is not None]
    assert 4 <= parents.count("m1") <= 17
    assert 4 <= parents.count("m2") <= 17


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


def test_a_stream_that_nobody_wants_is_not_followed() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    ann = pump.connect("s", "ann")
    number = pump.subscribe("s", ann)
    assert "orders" in pump.brokers["m"].streams._followed
    pump.unsubscribe("s", ann, number)
    pump.wait(1)
    assert "orders" not in pump.brokers["s"].streams._followed
    assert "orders" not in pump.brokers["m"].streams._followed


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
