"""Is each record held, gated and delivered as its version says, and is that written down?"""

from __future__ import annotations

from typing import Any

import msgspec

from headgate.broker.effects import Delivery, Started
from headgate.broker.settings import SECOND
from headgate.log.digests import RunningDigest, view_bytes
from headgate.rights.changes import Revoke
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import grant, rule

PEOPLE = (*reader("ann"), *writer())


def of(body: int) -> bytes:
    return b'{"a":%d,"b":%d}' % (body, body)


def alone(*changes: Any, **settings: Any) -> tuple[Pump, int, int]:
    pump = network(chain("p"), *(changes or PEOPLE), **settings)
    return pump, pump.connect("p", "eve"), pump.connect("p", "ann")


def checkpoints(pump: Pump) -> list[dict[str, Any]]:
    return [
        msgspec.json.decode(one.body)
        for one in pump.logs["p"].read("$deliveries/p", 0, 1_000)
        if one.body is not None
    ]


def digest(deliveries: list[Delivery]) -> str:
    running = RunningDigest()
    for one in deliveries:
        running = running.add(one.offset, one.version, view_bytes(one.event))
    return running.digest.hex()


def test_a_delivery_is_what_the_gate_lets_its_reader_see() -> None:
    pump, eve, ann = alone(*reader("ann", attributes=["a"]), *writer())
    pump.subscribe("p", ann)
    pump.publish("p", eve, of(1))
    assert pump.bodies("p", ann) == ['{"a":1}']


def test_a_subscription_is_matched_on_what_its_reader_may_see() -> None:
    pump, eve, ann = alone(*reader("ann", attributes=["a"]), *writer())
    pump.subscribe("p", ann, "b IS NULL")
    pump.subscribe("p", ann, "b = 1")
    pump.publish("p", eve, of(1))
    assert len(pump.delivered("p", ann)) == 1


def test_both_a_principal_and_its_domain_must_be_let() -> None:
    pump, eve, ann = alone(*PEOPLE, grant("abroad", filter_="a = 1"))
    there = pump.connect("p", "ann", domain="abroad")
    pump.subscribe("p", there)
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    assert exactly_what_the_gate_gives(pump, "p", there, "ann", domain="abroad", host="p") == [2]
    assert pump.heard("p", ann, Started) == []


def test_what_was_delivered_is_written_down_as_a_digest_and_not_one_by_one() -> None:
    pump, eve, ann = alone(checkpoint_records=4)
    number = pump.subscribe("p", ann)
    for body in range(10):
        pump.publish("p", eve, of(body))
    pump.unsubscribe("p", ann, number)
    sent = pump.heard("p", ann, Delivery)
    written = checkpoints(pump)
    assert [(one["from"], one["to"], one["count"]) for one in written] == [
        (2, 5, 4), (6, 9, 4), (10, 11, 2)
    ]  # fmt: skip
    assert [one["digest"] for one in written] == [
        digest(sent[:4]), digest(sent[4:8]), digest(sent[8:])
    ]  # fmt: skip
    assert {(one["client"], one["subscription"], one["principal"]) for one in written} == {
        (ann, number, "ann")
    }


def test_a_checkpoint_ends_with_its_version() -> None:
    pump, eve, ann = alone()
    number = pump.subscribe("p", ann)
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    pump.administer(grant("ann", filter_="a = 1"))
    pump.publish("p", eve, of(3))
    pump.unsubscribe("p", ann, number)
    assert [(one["version"], one["count"]) for one in checkpoints(pump)] == [(1, 2), (2, 1)]


def test_a_checkpoint_is_written_when_it_is_time_and_when_the_client_is_gone() -> None:
    pump, eve, ann = alone(checkpoint_us=10 * SECOND)
    pump.subscribe("p", ann)
    pump.publish("p", eve, of(1))
    assert checkpoints(pump) == []
    pump.wait(25)
    assert len(checkpoints(pump)) == 1
    pump.publish("p", eve, of(2))
    pump.disconnect("p", ann)
    assert len(checkpoints(pump)) == 2
    pump.wait(100)
    assert len(checkpoints(pump)) == 2


def test_a_checkpoint_names_its_attachment() -> None:
    pump, eve, ann = alone()
    numbers = []
    for _ in range(2):
        pump.subscribe("p", ann, durable="mine")
        pump.publish("p", eve, of(1))
        pump.disconnect("p", ann)
        numbers.append(checkpoints(pump)[-1]["attachment"])
        ann = pump.connect("p", "ann")
    assert len(set(numbers)) == 2
    assert [one["from"] for one in checkpoints(pump)] == [2, 2], "what wasn't acknowledged, again"


def test_a_right_that_is_gone_withholds_what_comes_after_it_and_nothing_before() -> None:
    pump, eve, ann = alone()
    number = pump.subscribe("p", ann)
    pump.publish("p", eve, of(1))
    pump.administer(Revoke(rule("ann")))
    pump.publish("p", eve, of(2))
    assert pump.delivered("p", ann) == [2]
    assert pump.ends("p", ann) == []
    pump.administer(grant("ann"))
    pump.publish("p", eve, of(3))
    assert exactly_what_the_gate_gives(pump, "p", ann, "ann", number=number) == [2, 6]
