"""How does a door speak for one client? It asks here, and hears the answers on its `Listener`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, final

from headgate.broker.core import Broker
from headgate.broker.effects import Message, RequestRefused
from headgate.filters.filter import Filter
from headgate.log.records import KnownValue

STOPPING = "the broker is stopping: try again, or at another broker"


class Listener(Protocol):
    """A client's connection, as the core's messages for it find it.

    Both are called in the loop and must not block; one that raises loses its connection.
    """

    def hear(self, message: Message) -> None: ...
    def dropped(self, because: str) -> None:
        """The broker has ended it: nothing comes after this, and `close` needn't be called."""


class Host(Protocol):
    """The broker that a client is connected to."""

    @property
    def is_stopping(self) -> bool: ...
    def ask(self, verb: Any, *said: Any, **more: Any) -> None: ...
    def answer(self, client: Client, message: Message) -> None: ...
    def trace(self, client: Client, request: int, traceparent: str | None) -> None: ...
    def forget(self, client: Client) -> None: ...


@final
class Client:
    """One client's connection to the core; a `NodeError` says that the broker isn't there."""

    __slots__ = ("_host", "domain", "listener", "number", "principal")

    def __init__(
        self, host: Host, number: int, principal: str, domain: str | None, listener: Listener
    ) -> None:
        self.number = number
        self.principal = principal
        self.domain = domain
        self.listener = listener
        self._host = host

    def publish(
        self,
        request: int,
        body: bytes,
        event_id: str,
        *,
        stream: str | None = None,
        is_json: bool = True,
        known: Mapping[str, KnownValue] | None = None,
        traceparent: str | None = None,
    ) -> None:
        """`traceparent` names the client's own span, where the broker makes traces."""
        if self._is_served(request):
            self._host.trace(self, request, traceparent)
            self._host.ask(
                Broker.publish, self.number, request, body, event_id,
                stream=stream, is_json=is_json, known=known,
            )  # fmt: skip

    def advertise(self, request: int, advertised: Filter) -> None:
        if self._is_served(request):
            self._host.ask(Broker.advertise, self.number, request, advertised)

    def subscribe(
        self,
        request: int,
        subscription: int,
        wanted: Filter,
        *,
        durable: str | None = None,
        causal: bool = False,
        after: Mapping[str, int] | None = None,
    ) -> None:
        if self._is_served(request):
            self._host.ask(
                Broker.subscribe, self.number, request, subscription, wanted,
                durable=durable, causal=causal, after=after,
            )  # fmt: skip

    def acknowledge(self, subscription: int, stream: str, offset: int) -> None:
        self._host.ask(Broker.acknowledge, self.number, subscription, stream, offset)

    def unsubscribe(self, subscription: int) -> None:
        self._host.ask(Broker.unsubscribe, self.number, subscription)

    def close(self) -> None:
        """The client is gone; once is enough, and more does no harm."""
        self._host.forget(self)

    def _is_served(self, request: int) -> bool:
        """Whether a request may go on; a broker that stops refuses it for now."""
        if self._host.is_stopping:
            self._host.answer(self, RequestRefused(request, STOPPING, temporary=True))
            return False
        return True
