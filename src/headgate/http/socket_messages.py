"""What do a client and a broker say to each other on a WebSocket?

Each text message is one JSON object or an array of them, in both directions; what comes in one
array is taken in its order. A client's messages name what to do in `do`, a broker's say what they
are in `is`. Clients and brokers use this module alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from headgate.log.records import Offset, ShortText
from headgate.model.errors import HeadgateError, printable
from headgate.model.limits import FILTER_LIMITS

PROTOCOL: Final = "headgate.v1"
"""The WebSocket subprotocol of these messages."""
MESSAGES_MAX: Final = 10_000
"""So many messages are in one array, at most."""

Number = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""What a client numbers its requests and subscriptions with: exact in every JSON."""
FilterText = Annotated[str, Meta(max_length=FILTER_LIMITS.text_chars)]
Offsets = Annotated[dict[ShortText, Offset], Meta(max_length=1_024)]
Cursor = Annotated[str, Meta(max_length=65_536)]


NOTHING: Final = Raw()
"""No JSON at all: only this very object is left out of what is written."""


class SocketError(HeadgateError, ValueError):
    """A text is no message of this protocol."""


# What a client says.


class Publish(Struct, frozen=True, tag_field="do", tag="publish", forbid_unknown_fields=True,
              omit_defaults=True):  # fmt: skip
    """Publish an event: JSON in `event`, or other bytes in `payload_base64`."""

    request: Number
    event: Raw = NOTHING
    payload_base64: bytes | None = None
    id: ShortText = ""
    """The event's id: a repeated publication is known by it. None, and nothing is known."""
    stream: ShortText | None = None
    """Default: the first stream of the broker."""
    traceparent: ShortText | None = None
    """The client's own span (W3C Trace Context), for brokers that make traces."""


class Subscribe(Struct, frozen=True, tag_field="do", tag="subscribe", forbid_unknown_fields=True,
                omit_defaults=True):  # fmt: skip
    """Ask for a subscription, under a number of the client's own."""

    request: Number
    subscription: Number
    filter: FilterText = ""
    """Default: everything that the client may read."""
    durable: ShortText | None = None
    """The name under which it is kept when the client is gone."""
    causal: bool = False
    paced: bool = False
    """The client acknowledges what it has taken, as it does of a durable subscription: no more
    than the window is on its way. Else what was written out counts as taken.
    """
    after: Offsets | Cursor | None = None
    """Where to begin: after these offsets, after a cursor, or at the `start` of all streams.

    Streams that aren't named begin with what is published from now on. A cursor names the
    incarnations of its streams too: where a stream's log was lost, it begins with the new one.
    """


class Acknowledge(Struct, frozen=True, tag_field="do", tag="acknowledge",
                  forbid_unknown_fields=True):  # fmt: skip
    """What came up to this offset was taken; of a durable subscription it never comes again."""

    subscription: Number
    stream: ShortText
    offset: Offset


class Unsubscribe(Struct, frozen=True, tag_field="do", tag="unsubscribe",
                  forbid_unknown_fields=True):  # fmt: skip
    """End a subscription; a durable one is forgotten."""

    subscription: Number


class Advertise(Struct, frozen=True, tag_field="do", tag="advertise",
                forbid_unknown_fields=True):  # fmt: skip
    """Say what is going to be published."""

    request: Number
    filter: FilterText


ClientMessage = Publish | Subscribe | Acknowledge | Unsubscribe | Advertise


# What a broker says.


class Connected(Struct, frozen=True, tag_field="is", tag="connected"):
    """The first message: who the client is taken for, and the version known here."""

    broker: str
    principal: str
    version: int


class Published(Struct, frozen=True, tag_field="is", tag="published"):
    """The publication is stored, or was before under the same event id."""

    request: int
    stream: str
    offset: int
    version: int
    repeated: bool = False


class Refused(Struct, frozen=True, tag_field="is", tag="refused"):
    """A request was refused: why, and whether it is worth trying again."""

    request: int
    because: str
    temporary: bool = False


class Subscribed(Struct, frozen=True, tag_field="is", tag="subscribed"):
    """The subscription is accepted; where it starts is told stream by stream."""

    request: int
    subscription: int
    attachment: int = 0
    """Of a durable subscription: how often it was attached, with this time."""


class Started(Struct, frozen=True, tag_field="is", tag="started"):
    """On this stream the subscription receives what comes after an offset."""

    subscription: int
    stream: str
    incarnation: str
    after: int


class Delivery(Struct, frozen=True, tag_field="is", tag="delivery", omit_defaults=True):
    """A view of one record: of JSON in `event`, of other bytes in `payload_base64`."""

    subscription: int
    stream: str
    incarnation: str
    offset: int
    version: int
    event: Raw = NOTHING
    payload_base64: bytes | None = None
    known: Raw = NOTHING
    """A JSON object: what the broker knows of the event, as far as the reader may see it."""


class Lost(Struct, frozen=True, tag_field="is", tag="lost"):
    """What was owed after one offset, up to another, isn't kept any more: it will not come."""

    subscription: int
    stream: str
    incarnation: str
    after: int
    up_to: int


class Ended(Struct, frozen=True, tag_field="is", tag="ended"):
    """No more is delivered to the subscription, why, and where on each stream it ended."""

    subscription: int
    because: str
    after: dict[str, int] = {}


class Acknowledged(Struct, frozen=True, tag_field="is", tag="acknowledged"):
    """An acknowledgement is kept: what came up to here will not be delivered again."""

    subscription: int
    stream: str
    offset: int


class Advertised(Struct, frozen=True, tag_field="is", tag="advertised"):
    """The advertisement is in force."""

    request: int


class Dropped(Struct, frozen=True, tag_field="is", tag="dropped"):
    """The last message: why the broker ends the connection."""

    because: str


BrokerMessage = (
    Connected | Published | Refused | Subscribed | Started | Delivery | Lost | Ended
    | Acknowledged    | Advertised | Dropped
)  # fmt: skip

NORMAL: Final = 1000
STOPPING: Final = 1001
"""Close codes (RFC 6455, 7.4.1): the broker stops, or the client went away."""
UNSUPPORTED: Final = 1003
"""What came is no text."""
UNREADABLE: Final = 1007
"""What came is no message of this protocol."""
NOT_ALLOWED: Final = 1008
"""The policy, or a limit, ends the connection."""
TOO_LARGE: Final = 1009
TRY_AGAIN: Final = 1013

_encode = msgspec.json.Encoder().encode
_decode_client = msgspec.json.Decoder(
    Annotated[list[ClientMessage], Meta(max_length=MESSAGES_MAX)] | ClientMessage
).decode
_decode_broker = msgspec.json.Decoder(list[BrokerMessage] | BrokerMessage).decode
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


def encode(messages: Sequence[ClientMessage] | Sequence[BrokerMessage]) -> bytes:
    """Messages as the text that carries them: one as an object, others as an array."""
    return _encode(messages[0] if len(messages) == 1 else messages)


def read_from_client(text: bytes | str) -> list[ClientMessage]:
    """What a client said, in its order; a `SocketError` if the text is anything else."""
    try:
        said = _decode_client(text)
    except _UNREADABLE as problem:
        raise _unreadable("a client", problem) from None
    return said if said.__class__ is list else [said]


def read_from_broker(text: bytes | str) -> list[BrokerMessage]:
    """What a broker said, in its order; a `SocketError` if the text is anything else."""
    try:
        said = _decode_broker(text)
    except _UNREADABLE as problem:
        raise _unreadable("a broker", problem) from None
    return said if said.__class__ is list else [said]


def _unreadable(whose: str, problem: Exception) -> SocketError:
    # It may quote what came: that could be long, or several lines.
    line = printable(str(problem)[:200])
    return SocketError(f"expected messages of {whose} as JSON: {line}")
