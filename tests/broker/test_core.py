"""Does a broker whole do nothing by itself, and the same for the same inputs?"""

from __future__ import annotations

import pytest

from headgate.broker.core import Broker
from headgate.broker.effects import Append, Keep, Started
from headgate.peering.frames import Announce, Ended
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
    feeds = pump.brokers["s"]._followed.values()
    parents = [one._attachment.parent for one in feeds if one._attachment is not None]
    assert 4 <= parents.count("m1") <= 17
    assert 4 <= parents.count("m2") <= 17


def test_a_session_for_a_stream_that_nobody_knows_is_refused() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    ann = pump.connect("s", "ann")
    pump.cut_link("p", "m")
    pump.kill("m")
    pump.start("m")
    pump.wait(3)
    pump.subscribe("s", ann)
    assert len(pump.said("m", "s", Ended)) > 0
    pump.mend_link("p", "m")
    pump.wait(10)
    assert len(pump.heard("s", ann, Started)) == 1


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
