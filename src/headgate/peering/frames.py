"""What do two brokers say to each other? All frames, typed and bounded.

A session carries one stream from a parent to a child: the child attaches with the set of what it
is owed, the parent answers `Vouched` and then sends in order. Requests travel hop by hop to a
broker that is named, and their replies travel back.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from headgate.log.records import Offset, Record, ShortText

PROTOCOL: Final = 1
LATEST: Final = -1
"""To attach after this: from where the parent stands."""

Epoch = Annotated[int, Meta(ge=0, le=2**62)]
SessionId = Annotated[int, Meta(ge=0, le=2**62)]
Reason = Annotated[str, Meta(max_length=1_000)]
FilterText = Annotated[str, Meta(max_length=65_536)]
Steps = Annotated[tuple[tuple[Offset, FilterText], ...], Meta(max_length=64)]
"""A restricted subscription: from which version on which filter holds. Before: everything."""
Entries = Annotated[tuple[Steps, ...], Meta(max_length=100_000)]


class Hello(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="hello"):
    """The first frame on a link, from both ends."""

    protocol: int
    broker: ShortText
    boot: ShortText
    """Another one after each start of the process."""
    frame_bytes_max: Annotated[int, Meta(ge=1_024, le=2**30)]


class Alive(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="alive"):
    """Nothing to say, and still here."""


class Announce(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="announce"):
    """A broker hosts this stream; passed on once to all neighbours."""

    host: ShortText
    stream: ShortText
    incarnation: ShortText
    serial: Offset
    """Grows with every change of what is announced of a stream."""
    advertised: Annotated[tuple[tuple[FilterText, Offset], ...], Meta(max_length=300)] | None
    """What may be published on it, each after an offset; `None`: anything, at any time."""
    removed: Offset = 0
    """Up to here its records are gone."""


class Attach(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="attach"):
    """Serve me this set of a stream, from the offset after `after` on."""

    session: SessionId
    stream: ShortText
    incarnation: ShortText
    after: Annotated[int, Meta(ge=-1, le=2**62)]
    version: Offset
    """The version that the stream had reached there, as far as the child knows."""
    epoch: Epoch
    known: Offset
    """Up to this version the entries say what is owed; beyond it everything is."""
    entries: Entries
    apart: bool = False
    """Serve it apart from others: its offset is one that somebody named, not one that was seen."""


class Subscribe(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="subscribe"):
    """From now on this set, changed in one step."""

    session: SessionId
    epoch: Epoch
    known: Offset
    add: Entries
    remove: Entries


class Detach(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="detach"):
    """The child wants no more of this session."""

    session: SessionId


class Data(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="data"):
    """A record; nothing between `previous` and its offset was owed."""

    session: SessionId
    previous: Offset
    record: Record


class Silence(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="silence"):
    """Nothing was owed from `previous` up to here, and the stream has reached this version."""

    session: SessionId
    previous: Offset
    up_to: Offset
    version: Offset


class Vouched(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="vouched"):
    """Complete up to `after` under the epochs before; what follows reflects this epoch."""

    session: SessionId
    epoch: Epoch
    previous: Offset
    """What the parent had brought the child to before, as `previous` of `Data`."""
    after: Offset
    version: Offset


class Ended(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="ended"):
    """The parent can't serve this session; the child looks for another path."""

    session: SessionId
    because: Reason


class Request(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="request"):
    """A question to a broker that is named, wherever it is."""

    origin: ShortText
    boot: ShortText
    """Of the origin: a reply to a question from before its restart is none."""
    number: Offset
    target: ShortText
    body: Annotated[bytes, Meta(max_length=16 * 1024 * 1024)]


class Reply(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="reply"):
    """Its answer, on the way back to who asked."""

    origin: ShortText
    boot: ShortText
    number: Offset
    body: Annotated[bytes, Meta(max_length=16 * 1024 * 1024)]


Frame = (
    Hello | Alive | Announce | Attach | Subscribe | Detach | Data | Silence | Vouched | Ended
    | Request | Reply
)  # fmt: skip
