"""What does a subscription look like as Server-Sent Events (HTML standard, 9.2)?

Each delivery is an event without a name, so that a browser's `onmessage` gets it; `started`, `lost`
and `ended` have names of their own. The id of each is a cursor (`cursors.py`): a browser that lost
its connection sends the last one in `Last-Event-ID`, and goes on there.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from headgate.http.socket_messages import NOTHING

CONTENT_TYPE: Final = "text/event-stream"
LAST_EVENT_ID: Final = "Last-Event-ID"
HEARTBEAT: Final = b":\n\n"
"""A comment: nobody sees it, but it shows both ends, and all between, that there is somebody."""


class Started(Struct, frozen=True):
    """On this stream the subscription receives what comes after an offset."""

    stream: str
    incarnation: str
    after: int


class Delivery(Struct, frozen=True, omit_defaults=True):
    """A view of one record: of JSON in `event`, of other bytes in `payload_base64`."""

    stream: str
    incarnation: str
    offset: int
    version: int
    event: Raw = NOTHING
    payload_base64: bytes | None = None
    known: Raw = NOTHING
    """A JSON object: what the broker knows of the event, as far as the reader may see it."""


class Lost(Struct, frozen=True):
    """What was owed after one offset, up to another, isn't kept any more: it will not come."""

    stream: str
    incarnation: str
    after: int
    up_to: int


class Ended(Struct, frozen=True):
    """No more is delivered, and why."""

    because: str


_encode = msgspec.json.Encoder().encode


def retry(after_ms: int) -> bytes:
    """How long a browser is to wait before it connects again."""
    return b"retry: %d\n\n" % after_ms


def started(event: Started, cursor: str) -> bytes:
    return b"event: started\nid: %s\ndata: %s\n\n" % (cursor.encode(), _encode(event))


def delivery(event: Delivery, cursor: str) -> bytes:
    # JSON as msgspec writes it has no line breaks, and neither has a cursor.
    return b"id: %s\ndata: %s\n\n" % (cursor.encode(), _encode(event))


def lost(event: Lost, cursor: str) -> bytes:
    return b"event: lost\nid: %s\ndata: %s\n\n" % (cursor.encode(), _encode(event))


def ended(event: Ended) -> bytes:
    return b"event: ended\ndata: %s\n\n" % _encode(event)
