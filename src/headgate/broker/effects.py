"""What does a core ask of the world? Effects: the world carries them out in the order given.

What is stored carries a ticket, numbered 1, 2, 3 …; the world answers `stored(ticket)` when this
and every earlier ticket is on disk. Nothing that was caused by a publication leaves the core before
its ticket has come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from headgate.log.records import Record
from headgate.model.events import Event
from headgate.rights.changes import Batch


class Send(Struct, frozen=True):
    """Bytes for a link, after all that were sent on it before."""

    link: int
    data: bytes


class Close(Struct, frozen=True):
    """End a link; the world answers with `link_down`."""

    link: int
    because: str


class Dial(Struct, frozen=True):
    """Try to make a link to a broker; the world answers with `link_up` or `dial_failed`."""

    broker: str


class Append(Struct, frozen=True):
    """Store records at the end of their streams."""

    ticket: int
    records: tuple[Record, ...]


class Keep(Struct, frozen=True):
    """Store a small value by its key; `None` forgets it."""

    ticket: int
    key: str
    value: bytes | None


class Read(Struct, frozen=True):
    """Read stored records of a stream of this broker; the world answers with `was_read`."""

    number: int
    stream: str
    after: int
    count_max: int


class MayRemove(Struct, frozen=True):
    """Of each stream of this broker, up to where nobody who is gone for a while is owed it."""

    up_to: Mapping[str, int]


class Remove(Struct, frozen=True):
    """Remove the records of these streams up to an offset: everybody is told that they are gone."""

    up_to: Mapping[str, int]


class ApplyBatch(Struct, frozen=True):
    """Store a batch in the ACL database; the world answers with `batch_applied`."""

    number: int
    batch: Batch
    expected: int | None


class KeepStartingPoint(Struct, frozen=True):
    """Keep in the ACL database from which offset on a version holds on a stream.

    The world answers with `starting_point_kept` when it is there.
    """

    version: int
    stream: str
    offset: int


class Tell(Struct, frozen=True):
    """Something for a client."""

    client: int
    message: Message


class Drop(Struct, frozen=True):
    """End a client's connection, with the reason."""

    client: int
    because: str


Effect: TypeAlias = (
    Send | Close | Dial | Append | Keep | Read | MayRemove | Remove | ApplyBatch
    | KeepStartingPoint | Tell | Drop
)  # fmt: skip


# What clients are told.


class Connected(Struct, frozen=True):
    """The principal may connect, at this version."""

    version: int


class Published(Struct, frozen=True):
    """The publication is stored (or was already, under the same event id)."""

    request: int
    stream: str
    offset: int
    version: int
    repeated: bool = False


class RequestRefused(Struct, frozen=True):
    """A request was refused: why, and (for a publication, …) whether it is worth trying again."""

    request: int
    because: str
    temporary: bool = False


class Subscribed(Struct, frozen=True):
    """The subscription is accepted; where it starts is told stream by stream."""

    request: int
    subscription: int
    attachment: int = 0
    """Of a durable subscription: how often it was attached, with this time."""


class Started(Struct, frozen=True):
    """On this stream the subscription receives what comes after an offset."""

    subscription: int
    stream: str
    incarnation: str
    after: int


class Delivery(Struct, frozen=True):
    """A view of one record."""

    subscription: int
    stream: str
    incarnation: str
    offset: int
    version: int
    event: Event


class Lost(Struct, frozen=True):
    """What it was owed after one offset up to another is gone: it goes on behind it."""

    subscription: int
    stream: str
    incarnation: str
    after: int
    up_to: int


class SubscriptionEnded(Struct, frozen=True):
    """No more is delivered to it, and why; `after` says where on each stream it ended."""

    subscription: int
    because: str
    after: tuple[tuple[str, int], ...] = ()


class Acknowledged(Struct, frozen=True):
    """An acknowledgement of a durable subscription is kept: this will not be delivered again."""

    subscription: int
    stream: str
    offset: int


class Advertised(Struct, frozen=True):
    """The advertisement is accepted and in force."""

    request: int


class BatchApplied(Struct, frozen=True):
    """The batch made this version."""

    request: int
    version: int


class BatchRefused(Struct, frozen=True):
    """The batch was refused whole; `current` is the version now."""

    request: int
    because: str
    current: int


class DurableEnded(Struct, frozen=True):
    """A durable subscription is forgotten, or there was none of this name; or why it isn't."""

    request: int
    existed: bool
    because: str = ""


Message: TypeAlias = (
    Connected | Published | RequestRefused | Subscribed | Started | Delivery | Lost
    | SubscriptionEnded | Acknowledged | Advertised | BatchApplied | BatchRefused | DurableEnded
)  # fmt: skip


class Recovered(Struct, frozen=True):
    """What a broker finds on its disk at its start."""

    streams: dict[str, Record | None]
    """Its own streams, with the last record of each; `None` where there is none yet."""
    incarnations: dict[str, str]
    recent: dict[str, tuple[tuple[str, str, int, int], ...]]
    """Of each stream the last publications: publisher, event id, offset, version."""
    kept: dict[str, bytes]
    batches: tuple[tuple[int, Batch], ...] = ()
    """At the policy's host: all versions that the ACL database has."""
    starting_points: tuple[tuple[int, str, int], ...] = ()
    removed: Mapping[str, int] = field(default_factory=dict)
    """Of each of its streams, up to where the records were removed."""
    extra: Any = None
