"""Can a person follow what happens?"""

from typing import get_args

from headgate.broker import effects
from headgate.broker.effects import Message
from headgate.model.events import Event
from headgate.simulation.timeline import Timeline
from headgate.simulation.tracing import _MESSAGES, Trace, effect_line, message_line
from tests.simulation.scenes import Scene


def test_a_line_says_when_who_and_what() -> None:
    timeline = Timeline(10)
    timeline.run_until(1_250_000)
    trace = Trace(timeline, is_on=True)
    trace.line("b1", "dies\nor not")
    assert trace.lines == ["   1.250000  b1        dies?or not"]
    off = Trace(timeline, is_on=False)
    off.line("b1", "dies")
    assert off.lines == []


def test_every_message_has_its_words() -> None:
    assert set(_MESSAGES) == set(get_args(Message))


def test_what_brokers_do_and_clients_hear_is_told_in_words() -> None:
    record = Scene().record({"price": 1})
    marker = Scene().record(None, 2)
    assert effect_line(effects.Append(1, (record, marker))) == (
        'stores orders 1, version 1, e1 of pam: {"price":1}; orders 1, version 2: begins'
    )
    assert effect_line(effects.Send(1, b"")) is None
    assert effect_line(effects.Keep(1, "a", None)) == "drops a"
    delivery = effects.Delivery(3, "orders", "first", 7, 2, Event.of({"price": 1}))
    assert message_line(delivery) == 'for 3: orders 7, version 2: {"price":1}'
    ended = effects.SubscriptionEnded(3, "taken over", (("orders", 7),))
    assert message_line(ended) == "subscription 3 ended after orders 7: taken over"
    refused = effects.RequestRefused(4, "no lease", temporary=True)
    assert message_line(refused) == "that 4 is refused for now: no lease"


def test_long_bodies_are_shortened() -> None:
    line = effect_line(effects.Append(1, (Scene().record({"a": "x" * 1_000}),)))
    assert line is not None
    assert len(line) < 200
