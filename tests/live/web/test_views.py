"""Does a subscriber see of an event what its view has, and as what it is?"""

import msgspec

from headgate import Event
from headgate.http.socket_messages import NOTHING
from headgate.live.web.views import shown
from headgate.model.values import parse_timestamp


def test_json_is_shown_as_json_and_what_is_known_apart() -> None:
    time = parse_timestamp("2026-01-31T12:00:00.5Z")
    event = Event.of({"b": 1, "a": {"c": [1]}}).with_known({"$stream": "events", "$time": time})
    json, payload, known = shown(event)
    assert bytes(json) == b'{"a":{"c":[1]},"b":1}'
    assert payload is None
    assert msgspec.json.decode(known) == {
        "$stream": "events", "$time": "2026-01-31T12:00:00.500000Z",
    }  # fmt: skip


def test_bytes_are_shown_as_bytes() -> None:
    assert shown(Event.from_bytes(b"\xff")) == (NOTHING, b"\xff", NOTHING)
