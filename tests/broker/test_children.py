"""Is a neighbour served the sessions that it asks for, and told when it can't be?"""

from __future__ import annotations

from headgate.broker.effects import Started
from headgate.peering.frames import Attach, Data, Detach, Ended, Subscribe, Vouched
from headgate.peering.wire import encode
from tests.broker.pump import Pump, chain, network, reader, writer

PEOPLE = (*reader("ann"), *writer())
EVERYTHING = (((0, "TRUE"),),)


class Child:
    """A session of its own that `s` has with `p`."""

    def __init__(self) -> None:
        self.pump: Pump = network(chain("p", "s"), *PEOPLE)
        self.eve = self.pump.connect("p", "eve")
        feed = self.pump.brokers["p"].streams.feed("orders")
        assert feed is not None
        self.incarnation = feed.incarnation

    def attach(self, session: int = 7, after: int = 0, stream: str = "orders") -> None:
        said = Attach(session, stream, self.incarnation, after, 0, 1, 9, EVERYTHING)
        self.pump.say_raw("s", "p", encode(said))

    def ended(self) -> list[str]:
        return [one.because for one in self.pump.said("p", "s", Ended)]

    def sent(self) -> list[int]:
        return [one.record.offset for one in self.pump.said("p", "s", Data) if one.session == 7]


def test_a_session_is_vouched_for_and_served() -> None:
    child = Child()
    child.pump.publish("p", child.eve)
    child.attach(after=1)
    child.pump.publish("p", child.eve)
    vouched = [one for one in child.pump.said("p", "s", Vouched) if one.session == 7]
    assert [(one.epoch, one.after) for one in vouched] == [(1, 1)]
    assert child.sent() == [2, 3]


def test_an_attach_that_comes_twice_is_one() -> None:
    child = Child()
    for _ in range(2):
        child.attach(after=1)
    child.pump.publish("p", child.eve)
    assert child.sent() == [2]


def test_what_is_detached_gets_nothing_more() -> None:
    child = Child()
    child.attach(after=1)
    child.pump.say_raw("s", "p", encode(Detach(7)))
    child.pump.publish("p", child.eve)
    assert child.sent() == []


def test_a_session_for_what_is_not_here_says_why() -> None:
    child = Child()
    child.attach(stream="news")
    child.attach(session=8, after=1_000)
    child.incarnation = "another"
    child.attach(session=9)
    assert [one for one in child.ended() if "`news` is not known" in one]
    assert [one for one in child.ended() if "ends at 1" in one]
    assert [one for one in child.ended() if "another incarnation" in one]
    assert child.pump.closed == []


def test_a_change_of_a_session_that_is_over_is_none() -> None:
    child = Child()
    child.pump.say_raw("s", "p", encode(Subscribe(7, 2, 9, EVERYTHING, ())))
    assert child.pump.closed == []
    assert child.sent() == []


def test_who_can_not_be_served_any_more_looks_elsewhere() -> None:
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


def test_with_a_link_its_sessions_end() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann)
    assert pump.brokers["p"].children._children
    pump.cut_link("p", "s")
    assert not pump.brokers["p"].children._children


def test_who_leaves_while_it_catches_up_apart_leaves_no_session_behind() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE, window=1, cache_records=4, read_records=2)
    eve, bob = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", bob, "a < 0")
    for body in range(30):
        pump.publish("p", eve, b'{"a":%d}' % body)
    pump.wait(1)
    before = {name: len(one.children._children) for name, one in pump.brokers.items()}
    for _ in range(5):
        ann = pump.connect("s", "ann")
        pump.subscribe("s", ann, after={"orders": 0})
        assert pump.brokers["m"].counts["catching up apart"] > 0
        pump.disconnect("s", ann)
        pump.wait(1)
    assert {name: len(one.children._children) for name, one in pump.brokers.items()} == before
    assert not any(len(one.streams._sessions) > 8 for one in pump.brokers.values())
