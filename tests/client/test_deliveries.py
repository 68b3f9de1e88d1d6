"""Does a delivery show what came, as a program wants to have it?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from msgspec import Raw

from headgate.client.deliveries import Delivery
from headgate.http import socket_messages


async def nothing(said: socket_messages.Delivery) -> None:
    acknowledged.append(said.offset)


acknowledged: list[int] = []


def delivery(body: bytes | None, payload: bytes | None = None, known: bytes = b"") -> Delivery:
    said = socket_messages.Delivery(
        1, "s", "i", 7, 3, Raw(body or b""), payload_base64=payload, known=Raw(known)
    )
    return Delivery(said, nothing)


def test_it_says_where_it_stands_and_by_which_version_it_came() -> None:
    one = delivery(b'{"a":{"b":1}}')
    assert (one.stream, one.incarnation, one.offset, one.version) == ("s", "i", 7, 3)
    assert repr(one) == "Delivery('s', offset=7, version=3, body={'a': {'b': 1}})"


def test_json_is_read_when_it_is_asked_for() -> None:
    one = delivery(b'{"a":{"b":1}}')
    assert one.body == {"a": {"b": 1}}
    assert one.body is one.body
    assert dict(one.event.attributes) == {"a.b": 1}
    assert one.known == {}


def test_bytes_stay_bytes() -> None:
    one = delivery(None, b"\xff")
    assert one.body == b"\xff"
    assert one.event.to_bytes() == b"\xff"


def test_what_the_broker_knows_is_among_the_attributes_with_its_types() -> None:
    one = delivery(b'{"a":1}', known=b'{"$time":"2026-01-31T12:00:00Z","$publisher":"jane"}')
    assert one.known["$publisher"] == "jane"
    assert one.event.attributes["$time"] == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert one.event.to_json() == b'{"a":1}'


def test_it_is_acknowledged_by_who_made_it() -> None:
    acknowledged.clear()
    asyncio.run(delivery(b"{}").acknowledge())
    assert acknowledged == [7]
