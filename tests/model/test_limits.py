"""Are the bounds those that the documentation states, and can they be set?"""

import dataclasses

import pytest

from headgate.model.errors import EventError
from headgate.model.events import Event
from headgate.model.limits import (
    EVENT_LIMITS,
    FILTER_LIMITS,
    INTEGER_MAX,
    INTEGER_MIN,
    EventLimits,
)


def test_an_event_may_measure_what_is_stated() -> None:
    assert EVENT_LIMITS.event_bytes == 1_048_576
    assert EVENT_LIMITS.attributes == 1_000
    assert EVENT_LIMITS.depth == 32


def test_integers_have_64_bits() -> None:
    assert INTEGER_MAX == 0x7FFF_FFFF_FFFF_FFFF
    assert INTEGER_MIN == -0x8000_0000_0000_0000


@pytest.mark.parametrize("limits", [EVENT_LIMITS, FILTER_LIMITS])
def test_bounds_are_frozen_and_positive(limits: object) -> None:
    assert dataclasses.is_dataclass(limits)
    for field in dataclasses.fields(limits):
        assert getattr(limits, field.name) > 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(limits, field.name, 1)


@pytest.mark.parametrize(
    ("limits", "accepted", "refused"),
    [
        (EventLimits(attributes=1), b'{"a":1}', b'{"a":1,"b":2}'),
        (EventLimits(depth=1), b'{"a":1}', b'{"a":{"b":2}}'),
        (EventLimits(event_bytes=7), b'{"a":1}', b'{"a":12}'),
        (EventLimits(event_bytes=18), b"1e15", b"[1e15]"),
        (EventLimits(event_bytes=17), b"1e16", b"1e15"),
    ],
)
def test_other_bounds_can_be_handed_in(
    limits: EventLimits, accepted: bytes, refused: bytes
) -> None:
    Event.from_json(accepted, limits)
    with pytest.raises(EventError, match=r"at most|nested deeper"):
        Event.from_json(refused, limits)
