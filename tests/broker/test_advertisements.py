"""Is it known what may be published on a stream, and who could want it?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.broker.advertisements import ADVERTISED_MAX, first_wanted, overlaps, with_another
from headgate.broker.effects import Delivery, Started
from headgate.filters.filter import Filter
from headgate.model.events import Event
from tests.broker.parts import stepwise
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import grant

FILTERS = ["a = 1", "a = 2", "a < 3", "a > 5", "b = 1", "a = 1 AND b = 1", "a = 1 OR b = 2", "TRUE"]
EVENTS = [
    Event.of({name: value for name, value in (("a", a), ("b", b)) if value is not None})
    for a in (None, 1, 2, 7)
    for b in (None, 1, 2)
]


@given(st.sampled_from(FILTERS), st.sampled_from(FILTERS))
def test_what_is_advertised_and_wanted_by_one_event_overlaps(said: str, wanted: str) -> None:
    advertised, asked = Filter.parse(said), Filter.parse(wanted)
    if any(advertised.advertises(one) and asked.matches(one) for one in EVENTS):
        assert overlaps(advertised, asked)


def test_what_has_nothing_in_common_does_not_overlap() -> None:
    assert not overlaps(Filter.parse("a = 1"), Filter.parse("a = 2"))
    assert overlaps(Filter.parse("a = 1"), Filter.parse("b = 2")), "it may have a b as well"


def test_it_is_wanted_from_where_the_first_of_it_may_stand() -> None:
    advertised = with_another(with_another((), Filter.parse("a = 1"), 4), Filter.parse("a = 2"), 9)
    assert first_wanted(advertised, stepwise((0, "a < 9"))) == 4
    assert first_wanted(advertised, stepwise((0, "a = 2"))) == 9
    assert first_wanted(advertised, stepwise((0, "FALSE"), (3, "a = 2"))) == 9
    assert first_wanted(advertised, stepwise((0, "a = 7"))) is None


def test_what_is_advertised_already_says_nothing_new() -> None:
    once = with_another((), Filter.parse("a < 9"), 4)
    assert with_another(once, Filter.parse("a = 1"), 7) == once


def test_too_many_are_as_good_as_everything() -> None:
    advertised: tuple[tuple[Filter, int], ...] = ()
    for number in range(ADVERTISED_MAX + 10):
        advertised = with_another(advertised, Filter.parse(f"a = {number}"), number)
    assert len(advertised) == ADVERTISED_MAX + 1
    assert advertised[-1] == (Filter.everything(), ADVERTISED_MAX)
    assert with_another(advertised, Filter.parse("c = 1"), 10_000) == advertised


def advertising() -> tuple[Pump, int, int]:
    pump = network(
        chain("p", "m", "s"), *reader("ann"), *writer(), grant("eve", "advertise"),
        advertised_only=True,
    )  # fmt: skip
    return pump, pump.connect("p", "eve"), pump.connect("s", "ann")


def advertise(pump: Pump, client: int, text: str) -> None:
    pump.brokers["p"].advertise(client, pump.next(), Filter.parse(text), pump.now)
    pump.run()


def test_a_subscription_travels_only_towards_those_who_advertise_what_it_wants() -> None:
    pump, eve, ann = advertising()
    advertise(pump, eve, "a = 1")
    pump.subscribe("s", ann, "a = 2")
    assert pump.heard("s", ann, Started) == []
    pump.publish("p", eve, b'{"a":1}')
    advertise(pump, eve, "a = 2")
    pump.publish("p", eve, b'{"a":2}')
    assert pump.bodies("s", ann) == ['{"a":2}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann", "a = 2")


def test_who_hears_late_of_an_advertisement_still_gets_what_was_published_since() -> None:
    pump, eve, ann = advertising()
    pump.subscribe("s", ann, "a = 2")
    pump.hold("m", "s")
    advertise(pump, eve, "a = 2")
    for _ in range(3):
        pump.publish("p", eve, b'{"a":2}')
    pump.release("m", "s")
    pump.wait(1)
    assert len(exactly_what_the_gate_gives(pump, "s", ann, "ann", "a = 2")) == 3


def test_what_was_advertised_survives_a_restart() -> None:
    pump, eve, ann = advertising()
    advertise(pump, eve, "a = 1")
    pump.kill("p")
    pump.start("p")
    pump.wait(5)
    pump.subscribe("s", ann, "a = 1")
    pump.wait(1)
    assert len(pump.heard("s", ann, Started)) == 1
    eve = pump.connect("p", "eve")
    advertise(pump, eve, "a = 1")
    pump.publish("p", eve, b'{"a":1}')
    assert len(pump.heard("s", ann, Delivery)) == 1
