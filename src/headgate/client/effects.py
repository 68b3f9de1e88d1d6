"""What does a conversation ask of the world, and what does it tell the program?

The world carries these out in the order given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headgate.client.advertisements import Advertisement
from headgate.client.publications import Outcome, Publication
from headgate.client.wishes import Wish
from headgate.model.errors import HeadgateError


@dataclass(frozen=True, slots=True)
class Dial:
    """Make a connection; the world answers with `connected`, `lost` or `dropped`."""

    url: str


@dataclass(frozen=True, slots=True)
class HangUp:
    """End the connection that there is, or the attempt to make one; no answer is awaited."""

    because: str


@dataclass(frozen=True, slots=True)
class Ping:
    """Send a ping; whatever comes, its answer too, is `heard`."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A publication has its answer, or will have none."""

    publication: Publication
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class AdvertisementSettled:
    """An advertisement is accepted, or not."""

    advertisement: Advertisement
    error: HeadgateError | None


@dataclass(frozen=True, slots=True)
class Woken:
    """Something has changed about a wish: look at it."""

    wish: Wish


@dataclass(frozen=True, slots=True)
class Greeted:
    """There is a connection: with whom, as whom."""

    url: str
    broker: str
    principal: str
    version: int


@dataclass(frozen=True, slots=True)
class Parted:
    """There is none any more; another one will be tried."""

    because: str


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing will come any more."""

    because: HeadgateError


Effect: TypeAlias = (
    Dial | HangUp | Ping | Settled | AdvertisementSettled | Woken | Greeted | Parted | Over
)
