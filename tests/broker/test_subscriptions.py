"""Where does a subscription begin, what is written down of it, and when does it end?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headgate.broker.effects import Delivery, Started, Subscribed, SubscriptionEnded
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import grant

PEOPLE = (*reader("ann"), *writer())


def alone(**settings: Any) -> tuple[Pump, int, int]:
    pump = network(chain("p"), *PEOPLE, **settings)
    return pump, pump.connect("p", "eve"), pump.connect("p", "ann")


def notes(pump: Pump) -> list[dict[str, Any]]:
    return [
        msgspec.json.decode(one.body)
        for one in pump.logs["p"].read("$subscriptions/p", 0, 1_000)
        if one.body is not None
    ]


def test_it_is_accepted_then_started_and_then_delivered() -> None:
    pump, eve, ann = alone()
    pump.subscribe("p", ann)
    pump.publish("p", eve)
    kinds = [type(one) for one in pump.messages("p", ann)[1:]]
    assert kinds == [Subscribed, Started, Delivery]


def test_start_and_end_are_written_down() -> None:
    pump, eve, ann = alone()
    number = pump.subscribe("p", ann, "a = 1")
    pump.publish("p", eve, b'{"a":1}')
    pump.unsubscribe("p", ann, number)
    assert [(one["change"], one["stream"], one["after"]) for one in notes(pump)] == [
        ("started", "orders", 1), ("ended", "orders", 2)
    ]  # fmt: skip
    assert {(one["principal"], one["filter"], one["subscription"]) for one in notes(pump)} == {
        ("ann", "a = 1", number)
    }
    (ended,) = pump.heard("p", ann, SubscriptionEnded)
    assert ended.after == (("orders", 2),)


def test_an_end_before_the_start_was_written_down_has_no_start() -> None:
    pump, _, ann = alone()
    pump.slow_disk("p")
    number = pump.subscribe("p", ann)
    pump.unsubscribe("p", ann, number)
    pump.sync_disk("p")
    assert pump.heard("p", ann, Started) == []
    assert pump.heard("p", ann, SubscriptionEnded)[0].after == ()


def test_a_window_counts_what_a_subscription_has_not_acknowledged_on_all_streams() -> None:
    pump = network(chain("p"), *PEOPLE, window=3, streams={"p": ("orders", "news")})
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    number = pump.subscribe("p", ann)
    other = pump.subscribe("p", ann)
    for _ in range(4):
        for stream in ("orders", "news"):
            pump.publish("p", eve, stream=stream)
    of_each = [one.subscription for one in pump.heard("p", ann, Delivery)]
    assert of_each.count(number) == of_each.count(other) == 3
    for offset in (3, 3, 5):
        for stream in ("orders", "news"):
            pump.acknowledge("p", ann, number, offset, stream)
    for stream in ("orders", "news"):
        exactly_what_the_gate_gives(pump, "p", ann, "ann", stream=stream, number=number)


@pytest.mark.parametrize("offset", [0, 1, 99])
def test_an_acknowledgement_of_what_was_not_sent_breaks_nothing(offset: int) -> None:
    pump, eve, ann = alone(window=1)
    number = pump.subscribe("p", ann)
    pump.acknowledge("p", ann, number, offset)
    pump.acknowledge("p", ann, number, offset, "no such stream")
    pump.acknowledge("p", ann, 12_345, offset)
    pump.publish("p", eve)
    pump.publish("p", eve)
    assert pump.delivered("p", ann) == [2]
    pump.acknowledge("p", ann, number, 2)
    assert pump.delivered("p", ann) == [2, 3]


def test_a_stream_of_the_broker_itself_is_opened_by_a_right_that_comes_later() -> None:
    pump, _, ann = alone()
    pump.subscribe("p", ann)
    assert {one.stream for one in pump.heard("p", ann, Started)} == {"orders"}
    pump.administer(grant("ann", filter_="\"$stream\" = '$policy'"))
    assert {one.stream for one in pump.heard("p", ann, Started)} == {"orders", "$policy"}
    pump.administer(grant("bob", filter_="a = 1"))
    assert pump.delivered("p", ann, "$policy")[-1:] == [3]


def test_like_subscriptions_are_restricted_alike() -> None:
    pump, _, ann = alone()
    for _ in range(3):
        pump.subscribe("p", ann, "a = 1")
    feed = pump.brokers["p"].streams.feed("orders")
    assert feed is not None
    assert len(feed.wishes.entries) == 1
