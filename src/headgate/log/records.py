"""What stands at one offset of a stream? An event as it was published, or a version marker.

A stream is known by its name and its incarnation: an offset that was ever used is never used again
for other content, so a stream whose log was lost goes on under another incarnation.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from headgate.model.errors import HeadgateError, printable
from headgate.model.events import Event
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import parse_timestamp

POLICY: Final = "$policy"
"""The stream of the policy: its offset is the control version."""
SUBSCRIPTIONS: Final = "$subscriptions/"
"""With the name of a broker behind it: the stream of the subscriptions made there."""
DELIVERIES: Final = "$deliveries/"
"""With the name of a broker behind it: the stream of the checkpoints written there."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

ShortText = Annotated[str, Meta(max_length=256)]
OFFSET_MAX: Final = 2**62
Offset = Annotated[int, Meta(ge=0, le=OFFSET_MAX)]
Microseconds = Annotated[int, Meta(ge=-62_135_596_800_000_000, le=253_402_300_799_999_999)]
"""Since 1970, in the years 1 to 9999, which are all that a `datetime` can say."""
Digest = Annotated[bytes, Meta(max_length=32)]
Vector = Annotated[dict[ShortText, tuple[ShortText, Offset]], Meta(max_length=1_024)]
"""By stream: its incarnation, and an offset."""
KnownValue = (
    str | Annotated[int, Meta(ge=INTEGER_MIN, le=INTEGER_MAX)] | float | bool | None
)  # fmt: skip
Known = Annotated[dict[ShortText, KnownValue], Meta(max_length=1_000)]


class LogError(HeadgateError):
    """What was written down can't be read, or can't go on as it should."""


class Record(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, dict=True):
    """One record of a stream, as it is stored and as it travels."""

    stream: ShortText
    incarnation: ShortText
    offset: Offset
    version: Offset
    """The control version that decides about it; of a marker the version that begins here."""
    time_us: Microseconds
    """When its broker took it, in microseconds since 1970."""
    publisher: ShortText
    event_id: ShortText
    body: bytes | None
    """The event's body as canonical JSON, or as it came; `None` makes it a version marker."""
    is_json: bool
    known: Known
    """What the broker knows of the event besides what stands here: `$topic`, `$user.NAME`."""
    vector: Vector
    """For causal order: what its publisher had seen of each stream. Never shown to clients."""
    chain: Digest = b""
    """The digest of the stream up to and with this record."""
    hidden: Annotated[tuple[ShortText, ...], Meta(max_length=3)] = ()
    """Of `$stream`, `$publisher` and `$time` what a domain that it was sent to may not read."""

    @property
    def is_marker(self) -> bool:
        return self.body is None

    @property
    def time(self) -> datetime:
        return moment_of(self.time_us)

    @cached_property
    def event(self) -> Event:
        """The event with everything that the broker knows of it."""
        if self.body is None:
            raise LogError(f"offset {self.offset} of `{self.stream}` is a version marker, no event")
        plain = Event.from_json(self.body) if self.is_json else Event.from_bytes(self.body)
        own = {"$stream": self.stream, "$publisher": self.publisher, "$time": self.time}
        for name in self.hidden:
            own.pop(name, None)
        return plain.with_known({**self.known, **own})


def moment_of(time_us: int) -> datetime:
    """The moment that a record's time says."""
    return _EPOCH + timedelta(microseconds=time_us)


def microseconds(moment: datetime) -> int:
    """A moment as records keep it."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(text: str) -> int:
    """A moment given as text, as records keep it."""
    return microseconds(parse_timestamp(text))


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode
_CHECKED: Final = "_checked"


def checked_bytes(record: Record) -> int:
    """How many bytes a record takes, where it is stored and on a link.

    A `LogError` says which of the limits it breaks that hold wherever it is read.
    """
    try:
        content = _encode(record)
        _decode(content)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as problem:
        raise not_a_record(record, problem) from None
    record.__dict__[_CHECKED] = content
    return len(content)


def take_checked(record: Record) -> bytes | None:
    """The record as MessagePack, if it was just checked: once, so that it isn't kept twice."""
    content: bytes | None = record.__dict__.pop(_CHECKED, None)
    return content


def not_a_record(record: Record, problem: Exception) -> LogError:
    """What is said of a record that could not be read again."""
    return LogError(
        f"offset {record.offset!r} of `{printable(str(record.stream))}` is no record: {problem}"
    )
