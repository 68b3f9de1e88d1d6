"""Is everything that a core may ask for or tell listed, frozen and explained?"""

import inspect
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from headgate.broker import effects
from headgate.broker.effects import Append, Delivery, Effect, Message, Recovered, Send, Tell
from headgate.model.events import Event
from tests.log.streams import stream_of

KINDS = [
    kind
    for _, kind in inspect.getmembers(effects, inspect.isclass)
    if kind.__module__ == effects.__name__
]


def test_everything_that_stands_here_is_an_effect_or_a_message_or_what_was_found_on_disk() -> None:
    assert {*get_args(Effect), *get_args(Message), Recovered} == set(KINDS)
    assert not set(get_args(Effect)) & set(get_args(Message))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_effect_is_frozen_and_says_what_it_is(kind: type) -> None:
    assert issubclass(kind, msgspec.Struct)
    assert kind.__struct_config__.frozen
    doc = inspect.getdoc(kind) or ""
    assert not doc.startswith(f"{kind.__name__}("), "expected a sentence, got the generated text"


def test_two_effects_with_the_same_content_are_one() -> None:
    assert Send(1, b"x") == Send(1, b"x")
    assert Send(1, b"x") != Send(2, b"x")
    assert Append(1, stream_of(2)) == Append(1, stream_of(2))
    one = Delivery(1, "orders", "boot-1", 1, 0, Event.of({"a": 1}))
    assert Tell(1, one) == Tell(1, replace(one, event=Event.from_json(b'{"a":1}')))
    assert Tell(1, one) != Tell(1, replace(one, event=Event.from_json(b'{"a":1.0}')))
