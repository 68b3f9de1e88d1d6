"""Is this what was stored, and what was sent? Digests that run along streams and deliveries.

What is digested is MessagePack in its shortest forms with sorted keys: its values end where they
say, so two different ones never come to the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from struct import Struct as Layout
from typing import Final

import msgspec

from headgate.log.records import Digest, LogError, Offset, Record
from headgate.model.errors import EventError
from headgate.model.events import Event
from headgate.model.values import OPAQUE

START: Final = b""
"""What stands before the first record of a stream, and before the first delivery."""


_FOLLOWS: Final = "_follows"
"""With a record that was made here: the digest that its own was made to follow."""


def _opaque(value: object) -> None:
    if value is not OPAQUE:
        raise TypeError(f"expected a value of an attribute, got a {value.__class__.__name__}")


_canonical = msgspec.msgpack.Encoder(order="deterministic", enc_hook=_opaque).encode
_sent = Layout(">32sQQ").pack


def chained(previous: bytes, record: Record) -> bytes:
    """The digest of a stream up to and with a record; `previous` is that of the record before."""
    return sha256(
        _canonical(
            (
                previous,
                record.stream,
                record.incarnation,
                record.offset,
                record.version,
                record.time_us,
                record.publisher,
                record.event_id,
                record.body,
                record.is_json,
                record.known,
                record.vector,
                record.hidden,
            )
        )
    ).digest()


def with_chain(previous: bytes, record: Record) -> Record:
    """The record as the next one of its stream, its digest filled in."""
    made = msgspec.structs.replace(record, chain=chained(previous, record))
    made.__dict__[_FOLLOWS] = previous  # a record never changes: it needn't be digested again
    return made


def check_chain(previous: bytes, records: Iterable[Record]) -> bytes:
    """Refuse the first record that doesn't continue the chain; the last one's digest if all do."""
    for record in records:
        if record.__dict__.get(_FOLLOWS) != previous and record.chain != chained(previous, record):
            raise LogError(
                f"offset {record.offset} of `{record.stream}` doesn't continue the chain of "
                "digests: it, or what came before it, was changed"
            )
        previous = record.chain
    return previous


def view_bytes(event: Event) -> bytes:
    """A view as bytes: equal views give equal bytes, different ones different bytes.

    The body says all but what the broker knows (`$` names) and which texts are timestamps.
    """
    try:
        body, is_json = event.to_json(), True
    except EventError:
        body, is_json = event.to_bytes(), False
    beside = {
        name: value
        for name, value in event.attributes.items()
        if name[:1] == "$" or value.__class__ is datetime
    }
    return _canonical((is_json, body, beside))


class RunningDigest(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What one subscription was sent of one stream so far: how many views, and their digest."""

    count: Offset = 0
    digest: Digest = START

    def add(self, offset: int, version: int, view: bytes) -> RunningDigest:
        """With one more view (`view_bytes`) that was sent."""
        running = sha256(_sent(self.digest, offset, version))
        running.update(view)
        return RunningDigest(self.count + 1, running.digest())
