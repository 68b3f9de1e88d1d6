"""Are sessions served, refused with a reason, and let go with their links?"""

from __future__ import annotations

from headgate.broker.effects import Started
from headgate.peering.frames import Attach, Ended
from headgate.peering.wire import encode
from tests.broker.pump import chain, network, reader, writer

PEOPLE = (*reader("ann"), *writer())


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


def test_a_session_for_another_incarnation_is_refused() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    pump.say_raw("s", "p", encode(Attach(77, "orders", "long ago", 0, 0, 1, 0, ())))
    (ended,) = [one for one in pump.said("p", "s", Ended) if one.session == 77]
    assert ended.because == "`orders` has another incarnation here"


def test_a_session_beyond_the_end_of_a_stream_is_refused() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    incarnation = pump.brokers["p"].hosting.feed("orders").incarnation  # type: ignore[union-attr]
    pump.say_raw("s", "p", encode(Attach(77, "orders", incarnation, 500, 0, 1, 0, ())))
    (ended,) = [one for one in pump.said("p", "s", Ended) if one.session == 77]
    assert ended.because == "`orders` ends at 1, before 500"


def test_who_attaches_twice_is_served_once() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    incarnation = pump.brokers["p"].hosting.feed("orders").incarnation  # type: ignore[union-attr]
    frame = encode(Attach(77, "orders", incarnation, 0, 0, 1, 9, (((0, "TRUE"),),)))
    pump.say_raw("s", "p", frame + frame)
    assert len(pump.brokers["p"].children._children) == 2, "this one, and that for the policy"


def test_with_a_link_its_sessions_end() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann)
    assert pump.brokers["p"].children._children
    pump.cut_link("p", "s")
    assert not pump.brokers["p"].children._children
