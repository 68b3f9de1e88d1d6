"""Is there one link to each broker around, and does a bad one end?"""

from __future__ import annotations

import pytest

from headgate.broker.effects import Close, Published, Started
from headgate.broker.settings import SECOND
from headgate.peering.frames import PROTOCOL, Attach, Data, Hello
from headgate.peering.wire import encode
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, nodes, reader, writer

PEOPLE = (*reader("ann"), *writer())


def joined(pump: Pump) -> set[str]:
    return {f"{one[0]}-{far[0]}" for one, far in pump.links.items() if one[0] < far[0]}


def test_each_broker_has_a_link_to_each_around_it() -> None:
    pump = network(nodes("p", "m1 m2", "s"))
    assert joined(pump) == {"m1-p", "m2-p", "m1-m2", "m1-s", "m2-s"}
    assert len(pump.links) == 10


def test_a_link_that_broke_is_dialled_until_it_is_there() -> None:
    pump = network(chain("p", "s"))
    pump.cut_link("p", "s")
    pump.wait(10)
    assert joined(pump) == set()
    pump.mend_link("p", "s")
    pump.wait(2)
    assert joined(pump) == {"p-s"}


def test_a_newer_link_takes_the_place_of_the_older_one() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump._dial("p", "s")
    pump.run()
    assert len(pump.links) == 2
    assert any("another link" in because for because in pump.closed)
    pump.publish("p", eve)
    pump.wait(3)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2]


def test_who_dialled_must_be_the_broker_that_its_certificate_names() -> None:
    pump = network(chain("p", "s"))
    hello = encode(Hello(PROTOCOL, "p", "boot", 1024))
    core = pump.brokers["s"]
    now = pump._now("s")
    core.link_up(70, now, None, "x")
    assert not core.neighbours.has_met(70)
    core.receive(70, hello, now)
    (close,) = [effect for effect in core.effects() if isinstance(effect, Close)]
    assert close.because.endswith("expected the broker `x`, got `p`")
    core.link_up(71, now, None, "p")
    core.receive(71, hello, now)
    assert core.neighbours.has_met(71)
    assert core.neighbours.all() == ["p"]
    assert not core.neighbours.has_met(70)


def test_a_neighbour_that_says_nothing_any_more_is_given_up() -> None:
    pump = network(nodes("p", "m1 m2", "s"), *PEOPLE, heartbeat_us=SECOND)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    for name in ("p", "s"):
        pump.hold("m1", name)
    pump.publish("p", eve)
    pump.wait(5)
    pump.publish("p", eve)
    pump.wait(1)
    assert any("`m1`" in because for because in pump.closed)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2, 3]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x01\xc1",
        encode(Hello(PROTOCOL, "s", "boot", 4096)),
        encode(Attach(1, "orders", "boot", 0, 0, 1, 0, (((1, "a ~ 1"),),))),
        encode(Attach(1, "orders", "boot", 0, 0, 1, 0, (((2, "TRUE"), (1, "TRUE")),))),
    ],
)
def test_nonsense_ends_the_link_and_nothing_else(data: bytes) -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    if data.find(b"orders") > 0:
        incarnation = pump.heard("s", ann, Started)[0].incarnation
        data = data.replace(b"\xa4boot", bytes([0xA0 + len(incarnation)]) + incarnation.encode())
        data = (len(data) - 4).to_bytes(4, "big") + data[4:]
    pump.say_raw("s", "p", data)
    assert len(pump.closed) == 1
    request = pump.publish("p", eve)
    assert isinstance(pump.answer("p", eve, request), Published)
    pump.wait(3)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2]


def test_a_broker_that_is_no_neighbour_is_not_spoken_to() -> None:
    pump = network(chain("p", "m", "s"))
    pump._dial("p", "s")
    pump.run()
    assert joined(pump) == {"m-p", "m-s"}
    assert any("expected a neighbour" in because for because in pump.closed)


def test_what_comes_up_at_once_goes_out_in_one_write() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.slow_disk("p")
    for _ in range(20):
        pump.publish("p", eve)
    pump.hold("p", "s")
    pump.sync_disk("p")
    assert len(pump._held["p", "s"]) == 1
    assert len(pump.said("p", "s", Data)) >= 20
