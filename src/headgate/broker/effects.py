"""What does a core ask of the world? Effects: the world carries them out in the order given.

What is stored carries a ticket, numbered 1, 2, 3 …; the world answers `stored(ticket)` when this
and every earlier ticket is on disk. Nothing that was caused by a publication leaves the core before
its ticket has come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headgate.log.records import Record
from headgate.model.events import Event
from headgate.rights.changes import Batch


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes for a link, after all that were sent on it before."""

    link: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """End a link; the world answers with `link_down`."""

    link: int
    because: str


@dataclass(frozen=True, slots=True)
class Dial:
    """Try to make a link to a broker; the world answers with `link_up` or `dial_failed`."""

    broker: str


@dataclass(frozen=True, slots=True)
class Append:
    """Store records at the end of their streams."""

    ticket: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Keep:
    """Store a small value by its key; `None` forgets it."""

    ticket: int
    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Read:
    """Read stored records of a stream of this broker; the world answers with `was_read`."""

    number: int
    stream: str
    after: int
    count_max: int


@dataclass(frozen=True, slots=True)
class MayRemove:
    """Of each stream of this broker, up to where nobody who is gone for a while is owed it."""

    up_to: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the records of these streams up to an offset: everybody is told that they are gone."""

    up_to: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ApplyBatch:
    """Store a batch in the ACL database; the world answers with `batch_applied`."""

    number: int
    batch: Batch
    expected: int | None


@dataclass(frozen=True, slots=True)
class KeepStartingPoint:
    """Keep in the ACL database from which offset on a version holds on a stream.

    The world answers with `starting_point_kept` when it is there.
    """

    version: int
    stream: str
    offset: int


@dataclass(frozen=True, slots=True)
class Tell:
    """Something for a client."""

    client: int
    message: Message


@dataclass(frozen=True, slots=True)
class Drop:
    """End a client's connection, with the reason."""

    client: int
    because: str


Effect: TypeAlias = (
    Send | Close | Dial | Append | Keep | Read | MayRemove | Remove | ApplyBatch
    | KeepStartingPoint | Tell | Drop
)  # fmt: skip


# What clients are told.


@dataclass(frozen=True, slots=True)
class Connected:
    """The principal may connect, at this version."""

    version: int


@dataclass(frozen=True, slots=True)
class Published:
    """The publication is stored (or was already, under the same event id)."""

    request: int
    stream: str
    offset: int
    version: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class RequestRefused:
    """A request was refused: why, and (for a publication, …) whether it is worth trying again."""

    request: int
    because: str
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The subscription is accepted; where it starts is told stream by stream."""

    request: int
    subscription: int
    attachment: int = 0
    """Of a durable subscription: how often it was attached, with this time."""


@dataclass(frozen=True, slots=True)
class Started:
    """On this stream the subscription receives what comes after an offset."""

    subscription: int
    stream: str
    incarnation: str
    after: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A view of one record."""

    subscription: int
    stream: str
    incarnation: str
    offset: int
    version: int
    event: Event


@dataclass(frozen=True, slots=True)
class Lost:
    """What it was owed after one offset up to another is gone: it goes on behind it."""

    subscription: int
    stream: str
    incarnation: str
    after: int
    up_to: int


@dataclass(frozen=True, slots=True)
class SubscriptionEnded:
    """No more is delivered to it, and why; `after` says where on each stream it ended."""

    subscription: int
    because: str
    after: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An acknowledgement of a durable subscription is kept: this will not be delivered again."""

    subscription: int
    stream: str
    offset: int


@dataclass(frozen=True, slots=True)
class Advertised:
    """The advertisement is accepted and in force."""

    request: int


@dataclass(frozen=True, slots=True)
class BatchApplied:
    """The batch made this version."""

    request: int
    version: int


@dataclass(frozen=True, slots=True)
class BatchRefused:
    """The batch was refused whole; `current` is the version now."""

    request: int
    because: str
    current: int


Message: TypeAlias = (
    Connected | Published | RequestRefused | Subscribed | Started | Delivery | Lost
    | SubscriptionEnded | Acknowledged | Advertised | BatchApplied | BatchRefused
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recovered:
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
