"""Is an event read as a person states it, and written so that it is read the same?"""

from datetime import UTC, datetime

import pytest

from headgate.model.errors import EventError, HeadgateError
from headgate.model.events import Event
from headgate.rights.stated_events import event_from_json, event_of, fields_of


def test_names_with_a_dollar_are_what_the_broker_knows() -> None:
    event = event_of({"x": 1, "$topic": "a/b", "$time": "2026-01-31T12:00:00Z"})
    assert event.attributes["$time"] == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert event.attributes["$topic"] == "a/b"
    assert event.to_json() == b'{"x":1}'


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"x": 1, "y": {"z": [1, null]}, "$topic": "a", "$user.n": "v"}',
        '{"$time": "2026-01-31T12:00:00Z", "$labels": ["a", "b"]}',
        '{"$user": {"n": 1.5}}',
        '{"text": "\\"$x\\": 1"}',
    ],
)
def test_what_was_written_is_read_the_same(text: str) -> None:
    event = event_from_json(text)
    assert event_of(fields_of(event)) == event


def test_what_is_no_object_is_its_payload() -> None:
    assert fields_of(event_from_json("7")) == {"payload": 7}
    assert fields_of(event_from_json('["$x"]')) == {"payload": ["$x"]}
    assert fields_of(Event.from_bytes(b"\xff")) == {"payload": "\ufffd"}


def test_what_the_broker_knows_may_be_opaque() -> None:
    assert fields_of(event_of({"$x": [1, 2]})) == {"$x": [0]}


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ('{"$a": 1, "$a": 2}', r"the key `\$a` is written twice"),
        ('{"$a": 1, "b": {"c": 1, "c": 2}}', "the key `c` is written twice"),
        ('{"$a": 1', "expected JSON"),
        ('{"$a": NaN}', "NaN|nan|JSON"),
        ('{"b": {"$a": 1, "c": 9223372036854775808}}', "beyond 64 bits"),
        ('{"$time": "now"}', "expected a timestamp"),
        ('{"$a": ' + "[" * 100_000, "JSON|deep"),
    ],
)
def test_what_is_no_event_is_refused(text: str, refusal: str) -> None:
    with pytest.raises(HeadgateError, match=refusal):
        event_from_json(text)


def test_a_refusal_names_the_attribute() -> None:
    with pytest.raises(EventError) as caught:
        event_of({"$a": float("inf")})
    assert caught.value.attribute == "$a"
