"""How is one WebSocket served? What it says goes to the core, what the core says is written out.

In each turn of the loop what there is to be told goes out as one message, an array; it is turned
into JSON only when the socket has room, so what waits for a slow reader is bounded by the core's
window; and with too many answers that it hasn't taken, nothing more is read of what it says.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, final

import msgspec

from headgate.broker import effects
from headgate.broker.effects import Message
from headgate.filters.filter import Filter
from headgate.http import socket_messages as said
from headgate.http.cursors import CursorError
from headgate.http.socket_messages import BrokerMessage, ClientMessage
from headgate.live.logs import log
from headgate.live.node import Client, Node
from headgate.live.web.connections import Connection
from headgate.live.web.frames import text_frame
from headgate.live.web.limits import CHUNK_BYTES, WebLimits
from headgate.live.web.starting import offsets_of, positions_of
from headgate.live.web.views import shown
from headgate.model.errors import HeadgateError

_encode = msgspec.json.Encoder().encode


@final
class Socket:
    """One client on a WebSocket."""

    def __init__(
        self, node: Node, principal: str, connection: Connection, limits: WebLimits
    ) -> None:
        self.in_flight = 0
        self.over: tuple[int, str] | None = None
        """The close code and the reason, once it is to end."""
        self.was_silent = False
        """Whether it ended because it took nothing."""
        self._node = node
        self._principal = principal
        self._connection = connection
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Message | BrokerMessage] = deque()
        self._turn: asyncio.Handle | None = None
        self._publishing: set[int] = set()
        self._caught_up = asyncio.Event()
        self._paced: set[int] = set()
        """Subscriptions of which the client itself says what it has taken."""
        self._written: dict[tuple[int, str], int] = {}
        self._stalled: asyncio.TimerHandle | None = None
        self._ending: Callable[[], None] | None = None
        connection.when_writable(self._has_room)
        connection.when_lost(self._is_gone)
        self._client: Client = node.connect(principal, self)

    def when_over(self, heard: Callable[[], None]) -> None:
        self._ending = heard

    def close(self) -> None:
        """The connection is gone, or going."""
        self._client.close()
        for handle in (self._turn, self._stalled):
            if handle is not None:
                handle.cancel()

    def end(self, code: int, because: str) -> None:
        """Say why it ends, after all that waits; then no more."""
        if self.over is not None:
            return
        self.over = code, because
        self._waiting.append(said.Dropped(because))
        self._wake()
        self._caught_up.set()
        if self._ending is not None:
            self._ending()

    # What the client says.

    async def take(self, messages: list[ClientMessage]) -> None:
        """Do what it says, in its order; wait where too much of it has no answer yet."""
        for message in messages:
            while self._is_behind and self.over is None:
                self._caught_up.clear()
                await self._caught_up.wait()
            if self.over is not None:
                return
            _DO[message.__class__](self, message)

    @property
    def _is_behind(self) -> bool:
        """Whether more was asked than is answered, or more answered than was taken."""
        limit = self._limits.in_flight
        return self.in_flight >= limit or len(self._waiting) >= limit

    def _publish(self, message: said.Publish) -> None:
        payload = message.payload_base64
        event = bytes(message.event)
        if (payload is None) is not bool(event):
            self._refuse(message.request, "expected `event`, or else `payload_base64`")
            return
        if message.request in self._publishing:
            self._refuse(message.request, f"request {message.request} has no answer yet")
            return
        self.in_flight += 1
        self._publishing.add(message.request)
        self._client.publish(
            message.request,
            event if payload is None else payload,
            message.id,
            stream=message.stream,
            is_json=payload is None,
            traceparent=message.traceparent,
        )

    def _subscribe(self, message: said.Subscribe) -> None:
        try:
            wanted = Filter.parse(message.filter) if message.filter else Filter.everything()
            after = offsets_of(self._node, positions_of(self._node, message.after))
        except (HeadgateError, CursorError) as problem:
            self._refuse(message.request, str(problem))
            return
        if message.durable is not None or message.paced:
            self._paced.add(message.subscription)
        else:
            self._paced.discard(message.subscription)
        self._client.subscribe(
            message.request, message.subscription, wanted,
            durable=message.durable, causal=message.causal, after=after,
        )  # fmt: skip

    def _acknowledge(self, message: said.Acknowledge) -> None:
        self._client.acknowledge(message.subscription, message.stream, message.offset)

    def _unsubscribe(self, message: said.Unsubscribe) -> None:
        self._client.unsubscribe(message.subscription)

    def _advertise(self, message: said.Advertise) -> None:
        try:
            advertised = Filter.parse(message.filter)
        except HeadgateError as problem:
            self._refuse(message.request, str(problem))
            return
        self._client.advertise(message.request, advertised)

    def _refuse(self, request: int, because: str) -> None:
        self._waiting.append(said.Refused(request, because))
        self._wake()

    # What the core says.

    def hear(self, message: Message) -> None:
        self._waiting.append(message)
        if self._turn is None:
            self._wake()

    def dropped(self, because: str) -> None:
        is_temporary = "try again" in because or "clients already" in because
        is_stopping = because.startswith("the broker is stopping")
        code = said.TRY_AGAIN if is_temporary else said.NOT_ALLOWED
        self.end(said.STOPPING if is_stopping else code, because)

    # What is written.

    def _wake(self) -> None:
        if self._turn is None:
            self._turn = self._loop.call_soon(self._write)

    def _write(self) -> None:
        """Write what waits, as long as there is room."""
        self._turn = None
        connection = self._connection
        while self._waiting and connection.is_writable:
            transport = connection.transport
            assert transport is not None
            transport.write(text_frame(self._text()))
        if self._written and connection.is_writable:
            written, self._written = self._written, {}
            for (subscription, stream), offset in written.items():
                self._client.acknowledge(subscription, stream, offset)
        if not self._is_behind:
            self._caught_up.set()

    def _text(self) -> bytes:
        """The next message: one JSON object, or an array of them."""
        parts: list[bytes] = []
        size = 0
        waiting = self._waiting
        while waiting and size < CHUNK_BYTES:
            message = waiting.popleft()
            write = _SAY.get(message.__class__)
            part = _encode(message if write is None else write(self, message))
            parts.append(part)
            size += len(part)
        return parts[0] if len(parts) == 1 else b"[" + b",".join(parts) + b"]"

    def _has_room(self, is_so: bool) -> None:
        if is_so:
            if self._stalled is not None:
                self._stalled.cancel()
                self._stalled = None
            self._wake()
        elif self._stalled is None:
            self._stalled = self._loop.call_later(self._limits.silent_s, self._is_stalled)

    def _is_gone(self) -> None:
        """Nothing more is taken of what it had said, nor waited for on its behalf."""
        if self.over is None:
            self.over = said.NORMAL, ""
        self._caught_up.set()

    def _is_stalled(self) -> None:
        self._stalled = None
        self.was_silent = True
        because = f"it took nothing for {self._limits.silent_s:g} s"
        log.warning("a subscriber was dropped", principal=self._principal, because=because)
        self._waiting.clear()
        self.end(said.NOT_ALLOWED, because)
        self._connection.cut()

    def _connected(self, told: effects.Connected) -> said.Connected:
        return said.Connected(self._node.settings.broker, self._principal, told.version)

    def _published(self, told: effects.Published) -> said.Published:
        self._is_answered(told.request)
        return said.Published(told.request, told.stream, told.offset, told.version, told.repeated)

    def _refused(self, told: effects.RequestRefused) -> said.Refused:
        self._is_answered(told.request)
        return said.Refused(told.request, told.because, told.temporary)

    def _is_answered(self, request: int) -> None:
        if request in self._publishing:
            self._publishing.discard(request)
            self.in_flight -= 1

    def _delivery(self, told: effects.Delivery) -> said.Delivery:
        if told.subscription not in self._paced:
            self._written[told.subscription, told.stream] = told.offset
        json, payload, known = shown(told.event)
        return said.Delivery(
            told.subscription, told.stream, told.incarnation, told.offset, told.version,
            json, payload, known,
        )  # fmt: skip

    def _ended(self, told: effects.SubscriptionEnded) -> said.Ended:
        return said.Ended(told.subscription, told.because, dict(told.after))


_DO: dict[type, Callable[[Socket, Any], None]] = {
    said.Publish: Socket._publish,
    said.Subscribe: Socket._subscribe,
    said.Acknowledge: Socket._acknowledge,
    said.Unsubscribe: Socket._unsubscribe,
    said.Advertise: Socket._advertise,
}

_SAY: dict[type, Callable[[Socket, Any], BrokerMessage]] = {
    effects.Connected: Socket._connected,
    effects.Published: Socket._published,
    effects.RequestRefused: Socket._refused,
    effects.Delivery: Socket._delivery,
    effects.SubscriptionEnded: Socket._ended,
    effects.Subscribed: lambda _, told: said.Subscribed(
        told.request, told.subscription, told.attachment
    ),
    effects.Started: lambda _, told: said.Started(
        told.subscription, told.stream, told.incarnation, told.after
    ),
    effects.Lost: lambda _, told: said.Lost(
        told.subscription, told.stream, told.incarnation, told.after, told.up_to
    ),
    effects.Acknowledged: lambda _, told: said.Acknowledged(
        told.subscription, told.stream, told.offset
    ),
    effects.Advertised: lambda _, told: said.Advertised(told.request),
}
"""What of the core's messages the client is told; those that it is told as they are, are absent."""
