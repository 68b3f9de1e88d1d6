"""Does a broker whole do nothing by itself, and the same for the same inputs?"""

from __future__ import annotations

import pytest

from headgate.broker.core import Broker
from headgate.broker.effects import Append, Keep
from headgate.rights.changes import Grant
from tests.broker.parts import NOTHING_FOUND, NOW, settings
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, nodes, reader, writer
from tests.rights.policies import batch, connecting

PEOPLE = (*reader("ann"), *writer())


def test_effects_are_given_once() -> None:
    broker = Broker(settings(), NOTHING_FOUND, "boot", NOW)
    assert broker.effects() != []
    assert broker.effects() == []


def test_at_rest_a_broker_alone_wakes_for_its_questions_only() -> None:
    pump = network(chain("p"))
    before = pump.brokers["p"].next_timer()
    assert before is None or before > pump.now
    pump.brokers["p"].on_timer(pump.now)
    assert all(isinstance(one, Keep | Append) for one in pump.brokers["p"].effects())


def test_after_a_timer_the_next_one_is_later() -> None:
    pump = network(nodes("p", "m1 m2", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    for _ in range(200):
        pump.publish("p", eve)
        due = {name: broker.next_timer() for name, broker in pump.brokers.items()}
        pump.now = min(at for at in due.values() if at is not None)
        for name, at in due.items():
            if at == pump.now:
                pump.brokers[name].on_timer(pump.now)
                then = pump.brokers[name].next_timer()
                assert then is None or then > pump.now, name
        pump.run()


def run(pump: Pump) -> list[object]:
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, "a > 1")
    for body in range(5):
        pump.publish("p", eve, b'{"a":%d}' % body)
        pump.wait(1)
    return [pump.told, [(way, frames) for way, frames in pump.frames.items()]]


def test_the_same_inputs_give_the_same_frames() -> None:
    first, second = (run(network(nodes("p", "m1 m2", "s"), *PEOPLE)) for _ in range(2))
    assert first == second


def test_batches_are_taken_where_the_policy_is_hosted_only() -> None:
    pump = network(chain("p", "s"))
    with pytest.raises(ValueError, match="`p`"):
        pump.brokers["s"].administer(1, 1, batch(Grant(connecting("ann"))), None, pump.now)


@pytest.mark.parametrize("names", [["p"], ["p", "s"], ["p", "m", "s"], ["s", "m", "p"]])
def test_whoever_restarts_in_whatever_order_it_goes_on(names: list[str]) -> None:
    pump = network(chain("p", "m", "s", "a"), *PEOPLE, policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    number = pump.subscribe("s", ann, durable="mine")
    for _ in range(3):
        pump.publish("p", eve)
    pump.acknowledge("s", ann, number, 3)
    for name in names:
        pump.kill(name)
    for name in names:
        pump.start(name)
    pump.wait(10)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    pump.publish("p", eve)
    pump.wait(2)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann")[-2:] == [4, 5]


def test_the_records_of_the_fullest_stream_are_counted() -> None:
    pump = network(chain("p", "s"), *reader("ann"), *writer(), cache_records=3)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    assert pump.brokers["s"].records_held() < 3
    for _ in range(5):
        pump.publish("p", eve)
    assert pump.brokers["s"].records_held() == pump.brokers["p"].records_held() == 3
