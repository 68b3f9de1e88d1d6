"""Does only that cross a link to another domain which the domain itself has a right to?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from headgate.broker.effects import Delivery, Published, Started
from headgate.gate.delivery import View, gate
from headgate.peering.frames import Data, Reply
from headgate.rights.changes import Change, Revoke
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import grant, rule, subscription


def abroad(*rights: Change, streams: dict[str, tuple[str, ...]] | None = None) -> Pump:
    """`p` and `m` are at home; `s`, behind `m`, belongs to the domain `abroad`."""
    pump = Pump(chain("p", "m", "s"), "p", streams or {"p": ("orders",)})
    pump.settings["m"] = replace(pump.settings["m"], foreign={"s": "abroad"})
    pump.kill("m")
    pump.start("m")
    pump.wait(5)
    policy_reader = grant("abroad", filter_="\"$stream\" = '$policy'")
    changes = (*rights, policy_reader, *reader("ann"), *writer(), grant("ann", "publish"))
    assert pump.administer(*changes) == 1, pump.messages("p", 0)
    pump.wait(5)
    return pump


def crossed(pump: Pump, stream: str = "orders") -> list[Any]:
    return [one.record for one in pump.said("m", "s", Data) if one.record.stream == stream]


def of(body: int) -> bytes:
    return b'{"a":%d,"b":%d}' % (body, body)


def test_what_a_domain_has_no_right_to_never_crosses() -> None:
    pump = abroad(grant("abroad", filter_="a = 1"))
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    for body in (1, 2, 1):
        pump.publish("p", eve, of(body))
    pump.wait(1)
    assert [one.body for one in crossed(pump)] == [of(1), of(1)]
    assert len(pump.delivered("s", ann)) == 2


def test_what_a_domain_may_not_read_of_an_event_never_crosses() -> None:
    pump = abroad(grant("abroad", attributes=["a"]))
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.wait(1)
    (record,) = crossed(pump)
    assert record.body == b'{"a":1}'
    assert (record.publisher, record.event_id, record.time_us, record.chain) == ("", "", 0, b"")
    (view,) = [one.event for one in pump.heard("s", ann, Delivery)]
    full = pump.logs["p"].read("orders", 0, 99)[-1].event
    outcome = gate(full, pump.history.current(), subscription("abroad"))
    assert isinstance(outcome, View)
    assert view == outcome.event


def test_a_domain_learns_nothing_by_asking_for_what_it_may_not_read() -> None:
    pump = abroad(grant("abroad", attributes=["a"]))
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, "b = 1")
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    pump.wait(1)
    assert crossed(pump) == []


def test_a_domain_is_never_sent_anything_to_be_on_the_safe_side() -> None:
    # `m` knows version 2 no earlier than its record: it waits, and doesn't send at once.
    pump = abroad(grant("abroad"))
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.administer(Revoke(rule("abroad")))
    pump.publish("p", eve, of(2))
    pump.wait(1)
    assert [one.body for one in crossed(pump)] == [of(1)]
    pump.administer(grant("abroad", filter_="a = 3"))
    for body in (2, 3):
        pump.publish("p", eve, of(body))
    pump.wait(1)
    assert [one.body for one in crossed(pump)] == [of(1), of(3)]


def test_a_domain_without_a_right_to_the_policy_is_told_nothing_of_it() -> None:
    pump = network(chain("p", "s"), *reader("ann"), *writer())
    pump.settings["p"] = replace(pump.settings["p"], foreign={"s": "abroad"})
    pump.kill("p")
    pump.start("p")
    before = len(pump.said("p", "s", Reply)), len(pump.said("p", "s", Data))
    pump.wait(5)
    ann = pump.connect("s", "ann")
    pump.administer(grant("ann", filter_="a = 1"))
    pump.wait(5)
    assert (len(pump.said("p", "s", Reply)), len(pump.said("p", "s", Data))) == before
    assert pump.heard("s", ann, Started) == []


@pytest.mark.parametrize("allowed", [True, False])
def test_what_comes_from_a_domain_must_be_its_to_publish(allowed: bool) -> None:
    rights = [grant("abroad"), *([grant("abroad", "publish", "a = 1")] if allowed else [])]
    pump = abroad(*rights, streams={"p": ("orders",), "s": ("news",)})
    ann, there = pump.connect("p", "ann"), pump.connect("s", "ann")
    pump.subscribe("p", ann)
    for body in (1, 2):
        request = pump.publish("s", there, of(body), stream="news")
        assert isinstance(pump.answer("s", there, request), Published)
    pump.wait(3)
    assert pump.bodies("p", ann) == (['{"a":1,"b":1}'] if allowed else [])


def test_a_view_that_crosses_says_which_of_the_brokers_own_names_it_lacks() -> None:
    pump = abroad(grant("abroad", attributes=["a", "$publisher"]))
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, '"$publisher" = \'eve\' AND "$time" IS NULL')
    pump.publish("p", eve, of(1))
    pump.wait(1)
    (record,) = crossed(pump)
    assert record.publisher == "eve"
    assert set(record.hidden) == {"$stream", "$time"}
    assert msgspec.json.decode(pump.bodies("s", ann)[0]) == {"a": 1}
