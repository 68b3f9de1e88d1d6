"""May this client do what it asks, and is it told so?"""

from __future__ import annotations

from typing import Any

import pytest

from headgate.broker.effects import (
    Advertised,
    Connected,
    Published,
    RequestRefused,
    Subscribed,
)
from headgate.filters.filter import Filter
from headgate.rights.changes import Grant, Revoke
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import connecting, grant, rule

PEOPLE = (*reader("ann"), *writer("eve", "a < 5"))


def alone(*changes: Any, **settings: Any) -> Pump:
    return network(chain("p"), *(changes or PEOPLE), **settings)


def advertise(pump: Pump, client: int, text: str) -> Any:
    request = pump.next()
    pump.brokers["p"].advertise(client, request, Filter.parse(text), pump.now)
    pump.run()
    return pump.answer("p", client, request)


def refusal(pump: Pump, client: int, request: int) -> str:
    answer = pump.answer("p", client, request)
    assert isinstance(answer, RequestRefused)
    return answer.because


def test_who_may_connect_is_told_at_which_version_and_who_may_not_is_dropped() -> None:
    pump = alone()
    assert pump.messages("p", pump.connect("p", "ann")) == [Connected(1)]
    stranger = pump.connect("p", "stranger")
    assert pump.messages("p", stranger) == []
    assert "version 1" in pump.dropped["p", stranger]


def test_nobody_can_connect_under_a_name_that_is_none() -> None:
    pump = alone()
    for name in ("", "x" * 300, "a\nb"):
        assert ("p", pump.connect("p", name)) in pump.dropped


def test_a_broker_that_only_routes_takes_no_clients() -> None:
    pump = alone(routes_only=True)
    client = pump.connect("p", "ann")
    assert "only routes" in pump.dropped["p", client]


def test_a_broker_takes_no_more_clients_than_it_is_told() -> None:
    pump = alone(clients_max=2)
    first, _ = pump.connect("p", "ann"), pump.connect("p", "ann")
    third = pump.connect("p", "ann")
    assert "2 clients" in pump.dropped["p", third]
    pump.disconnect("p", first)
    assert pump.heard("p", pump.connect("p", "ann"), Connected) != []


def test_a_client_has_no_more_subscriptions_than_it_may() -> None:
    pump = alone(subscriptions_max=2)
    ann = pump.connect("p", "ann")
    for _ in range(3):
        pump.subscribe("p", ann)
    assert len(pump.heard("p", ann, Subscribed)) == 2
    assert len(pump.heard("p", ann, RequestRefused)) == 1


def test_no_subscription_has_the_number_of_another() -> None:
    pump = alone()
    ann = pump.connect("p", "ann")
    for request in (101, 102):
        pump.brokers["p"].subscribe(ann, request, 7, Filter.parse("TRUE"), pump.now)
        pump.run()
    assert "subscription 7" in refusal(pump, ann, 102)


def test_what_may_not_be_published_is_refused_with_the_reason() -> None:
    pump = alone()
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    assert refusal(pump, eve, pump.publish("p", eve, b'{"a":7}'))
    assert refusal(pump, ann, pump.publish("p", ann, b'{"a":1}'))
    request = pump.publish("p", eve, b'{"a":1}')
    assert pump.answer("p", eve, request) == Published(request, "orders", 2, 1)


def test_what_is_no_json_is_one_payload() -> None:
    pump = alone(*reader("ann"), *writer())
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    pump.subscribe("p", ann)
    request = pump.publish("p", eve, b"\x00\xff", is_json=False)
    assert isinstance(pump.answer("p", eve, request), Published)
    assert pump.delivered("p", ann) == [2]


def test_what_the_broker_knows_of_an_event_can_be_matched_and_not_forged() -> None:
    pump = alone(*reader("ann"), *writer())
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    pump.subscribe("p", ann, "\"$topic\" = 'blue' AND \"$publisher\" = 'eve'")
    pump.publish("p", eve, b"{}", known={"$topic": "blue"})
    pump.publish("p", eve, b"{}", known={"$topic": "red"})
    assert refusal(pump, eve, pump.publish("p", eve, b"{}", known={"$stream": "news"}))
    assert refusal(pump, eve, pump.publish("p", eve, b'{"$topic":"blue"}'))
    assert pump.delivered("p", ann) == [2]


def test_a_subscription_beyond_ones_right_is_refused_where_the_rule_says_so() -> None:
    pump = alone(*reader("ann", "a = 1", on_excess="refuse"), *writer())
    ann = pump.connect("p", "ann")
    pump.subscribe("p", ann)
    assert len(pump.heard("p", ann, RequestRefused)) == 1
    pump.subscribe("p", ann, "a = 1")
    assert len(pump.heard("p", ann, Subscribed)) == 1


def test_an_advertisement_is_checked_by_the_bounds() -> None:
    pump = alone(*PEOPLE, grant("eve", "advertise", "a < 5"))
    eve = pump.connect("p", "eve")
    assert isinstance(advertise(pump, eve, "a = 1"), Advertised)
    assert isinstance(advertise(pump, eve, "a = 7"), RequestRefused)


def test_where_it_is_demanded_nothing_is_published_that_was_not_advertised() -> None:
    pump = alone(*PEOPLE, grant("eve", "advertise"), advertised_only=True)
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    pump.subscribe("p", ann)
    assert "advertised" in refusal(pump, eve, pump.publish("p", eve, b'{"a":1}'))
    advertise(pump, eve, "a = 1")
    pump.publish("p", eve, b'{"a":1}')
    assert "advertised" in refusal(pump, eve, pump.publish("p", eve, b'{"a":2}'))
    assert pump.bodies("p", ann) == ['{"a":1}']


def test_who_is_gone_is_told_nothing_more() -> None:
    pump = alone()
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    pump.subscribe("p", ann)
    before = len(pump.messages("p", ann))
    pump.disconnect("p", ann)
    pump.disconnect("p", ann)
    pump.publish("p", eve, b'{"a":1}')
    assert len(pump.messages("p", ann)) == before


@pytest.mark.parametrize("again", [True, False])
def test_a_right_to_connect_that_ends_ends_the_connection(again: bool) -> None:
    pump = alone()
    ann = pump.connect("p", "ann")
    pump.administer(Revoke(connecting("ann")), grant("bob"))
    assert ("p", ann) in pump.dropped
    if again:
        pump.administer(Grant(connecting("ann")))
    assert (("p", pump.connect("p", "ann")) in pump.dropped) is not again


def test_a_change_of_other_rights_ends_no_connection() -> None:
    pump = alone()
    ann = pump.connect("p", "ann")
    pump.administer(Revoke(rule("ann")))
    assert ("p", ann) not in pump.dropped
