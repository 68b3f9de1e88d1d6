"""What lies between a client and its broker? A connection in order, with a delay, until it is lost.

What was asked on it is kept here for whoever has to judge the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, final

from headgate.broker.effects import Message
from headgate.rights.changes import Batch
from headgate.simulation.cores import Core


@dataclass(frozen=True, slots=True)
class PublicationAsked:
    """Somebody wants to publish this."""

    stream: str | None
    event_id: str
    body: bytes
    is_json: bool
    known: dict[str, str]


@dataclass(frozen=True, slots=True)
class SubscriptionAsked:
    """Somebody wants to receive this."""

    subscription: int
    key: str
    filter: str
    durable: str | None
    causal: bool
    after: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class AdvertisementAsked:
    """Somebody says what it is going to publish."""

    filter: str


@dataclass(frozen=True, slots=True)
class BatchAsked:
    """An administrator wants this batch to be the next version."""

    batch: Batch
    expected: int | None


Asked: TypeAlias = PublicationAsked | SubscriptionAsked | AdvertisementAsked | BatchAsked


class Listener(Protocol):
    """The client at its end."""

    name: str

    def hear(self, session: Session, message: Message) -> None: ...
    def lost(self, session: Session, because: str) -> None: ...


class Host(Protocol):
    """The broker's machine at its end."""

    name: str

    def hear(self, session: Session, act: Callable[[Core, int], None]) -> None: ...
    def client_gone(self, session: Session) -> None: ...


@final
class Session:
    """One connection of one client with one broker, from its beginning to its end."""

    __slots__ = (
        "arrival_down", "arrival_up", "asked", "attachments", "boot", "client", "domain", "host",
        "id", "is_accepted", "is_greeted", "is_held_by_broker", "is_held_by_client", "principal",
    )  # fmt: skip

    def __init__(
        self, number: int, client: Listener, host: Host, principal: str, domain: str | None
    ) -> None:
        self.id = number
        self.client = client
        self.host = host
        self.principal = principal
        self.domain = domain
        self.boot = 0
        """The start of the broker's process that took it."""
        self.is_held_by_client = True
        self.is_held_by_broker = False
        self.is_accepted = False
        """Whether the broker said `Connected`."""
        self.is_greeted = False
        """Whether the client heard it."""
        self.asked: dict[int, Asked] = {}
        """By number of the request."""
        self.attachments: dict[int, Any] = {}
        """What the ledger knows of its subscriptions, by their numbers."""
        self.arrival_up = 0
        self.arrival_down = 0

    def __str__(self) -> str:
        return f"{self.client.name} at {self.host.name}"
