"""What does a program get? Where its publication stands, and what a subscription brings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, final

import msgspec

from headgate.http import socket_messages
from headgate.model.events import Event
from headgate.model.values import parse_timestamp
from headgate.rights.stated_events import TIME


@final
@dataclass(frozen=True, slots=True)
class Published:
    """Where an event stands, and the version of the policy that decided about it."""

    stream: str
    offset: int
    version: int
    repeated: bool = False
    """It was there already, under the same event id."""


@final
@dataclass(frozen=True, slots=True)
class Start:
    """From here on a subscription receives what is published on a stream."""

    stream: str
    incarnation: str
    after: int
    """The offset after which it begins."""


@final
@dataclass(frozen=True, slots=True)
class Lost:
    """What was owed of a stream after one offset and up to another isn't kept any more."""

    stream: str
    incarnation: str
    after: int
    up_to: int


@final
class Delivery:
    """One event as the subscriber may see it, and where it stands."""

    def __init__(
        self,
        said: socket_messages.Delivery,
        acknowledge: Callable[[socket_messages.Delivery], Awaitable[None]],
    ) -> None:
        self._said = said
        self._acknowledge = acknowledge

    @property
    def stream(self) -> str:
        return self._said.stream

    @property
    def incarnation(self) -> str:
        """Which life of the stream it is from: an offset belongs to one of them."""
        return self._said.incarnation

    @property
    def offset(self) -> int:
        return self._said.offset

    @property
    def version(self) -> int:
        """The version of the policy by which it is delivered."""
        return self._said.version

    @cached_property
    def body(self) -> Any:
        """What was published, as far as it may be seen: decoded JSON, or bytes."""
        if self._said.payload_base64 is not None:
            return self._said.payload_base64
        return msgspec.json.decode(self._said.event)

    @cached_property
    def known(self) -> Mapping[str, Any]:
        """What the broker knows of it besides, in names that begin with `$`."""
        raw = bytes(self._said.known)
        return msgspec.json.decode(raw, type=dict[str, Any]) if raw else {}

    @cached_property
    def event(self) -> Event:
        """The event, with what the broker knows of it among its attributes."""
        payload = self._said.payload_base64
        event = (
            Event.from_json(bytes(self._said.event))
            if payload is None
            else Event.from_bytes(payload)
        )
        known = dict(self.known)
        if TIME in known:
            known[TIME] = parse_timestamp(known[TIME])
        return event.with_known(known) if known else event

    async def acknowledge(self) -> None:
        """Be done with this, and with all that came before it on its stream.

        Of a durable subscription this returns when the broker has kept it: then it never comes
        again. Else there is nothing to keep.
        """
        await self._acknowledge(self._said)

    def __repr__(self) -> str:
        return (
            f"Delivery({self.stream!r}, offset={self.offset}, version={self.version}, "
            f"body={self.body!r})"
        )


Item: TypeAlias = Start | Delivery | Lost
