"""How is a subscription served as Server-Sent Events? One request, one subscription.

What the core has for it waits here as it came, is written out as fast as the reader takes it, and
only then acknowledged: the core's window bounds how much waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import final

from aiohttp import web

from headgate.broker.effects import (
    Acknowledged,
    Connected,
    Delivery,
    Lost,
    Message,
    RequestRefused,
    Started,
    Subscribed,
    SubscriptionEnded,
)
from headgate.filters.filter import Filter
from headgate.http import event_streams as events
from headgate.http.cursors import Position, print_cursor
from headgate.http.problems import RefusedError, temporary
from headgate.live.logs import log
from headgate.live.node import Client, Node
from headgate.live.web.calling import dropped
from headgate.live.web.connections import Connection
from headgate.live.web.limits import CHUNK_BYTES, WebLimits
from headgate.live.web.starting import offsets_of
from headgate.live.web.views import shown

RETRY_MS = 1_000
_NUMBER = 1


@final
class EventStream:
    """One subscription, and the reader that it is written to."""

    def __init__(
        self,
        node: Node,
        principal: str,
        connection: Connection,
        limits: WebLimits,
        *,
        seen: Mapping[str, Position],
        durable: str | None,
    ) -> None:
        self.durable = durable
        self.kept: dict[str, Position] = {}
        """Of a durable subscription: up to where its acknowledgement is kept."""
        self.ended: str | None = None
        self.was_silent = False
        """Whether it ended because its reader took nothing."""
        self._node = node
        self._seen = seen
        self._connection = connection
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Message] = deque()
        self._unacknowledged: dict[str, deque[int]] = {}
        self._cursor: dict[str, Position] = dict(seen)
        self._accepted: asyncio.Future[None] = self._loop.create_future()
        self._woken = asyncio.Event()
        self._kept_more = asyncio.Event()
        connection.when_writable(lambda _: self._woken.set())
        connection.when_lost(self._woken.set)
        self._client: Client = node.connect(principal, self)

    async def subscribe(self, wanted: Filter, *, causal: bool) -> None:
        """Wait until the core has taken the subscription, or say why it hasn't."""
        await self._accepted
        self._accepted = self._loop.create_future()
        after = offsets_of(self._node, self._seen)
        self._client.subscribe(0, _NUMBER, wanted, durable=self.durable, causal=causal, after=after)
        await self._accepted

    def close(self) -> None:
        self._client.close()
        self.end("the reader is gone")

    def end(self, because: str) -> None:
        """Write what waits, then the reason, and no more."""
        if self.ended is None:
            self.ended = because
        self._woken.set()
        self._kept_more.set()

    # What the core says.

    def hear(self, message: Message) -> None:
        match message:
            case Delivery():
                self._take(message)
            case Started() | Lost():
                self._waiting.append(message)
                self._woken.set()
                at = message.after if isinstance(message, Started) else message.up_to
                self.kept[message.stream] = Position(message.incarnation, at)
            case Connected() | Subscribed():
                if not self._accepted.done():
                    self._accepted.set_result(None)
            case RequestRefused(_, because, is_temporary):
                refusal = temporary(because) if is_temporary else RefusedError(403, because)
                self._refuse(refusal)
            case Acknowledged(_, stream, offset):
                self.kept[stream] = Position(self.kept[stream].incarnation, offset)
                self._kept_more.set()
            case SubscriptionEnded(_, because):
                self.end(because)
            case _:
                pass

    def dropped(self, because: str) -> None:
        self._refuse(dropped(because))
        self.end(because)

    def _refuse(self, refusal: RefusedError) -> None:
        if not self._accepted.done():
            self._accepted.set_exception(refusal)
            self._accepted.exception()  # it may be that nobody is waiting any more

    def _take(self, delivery: Delivery) -> None:
        seen = self._seen.get(delivery.stream)
        is_seen = (
            seen is not None
            and seen.incarnation == delivery.incarnation
            and seen.offset >= delivery.offset
        )
        self._unacknowledged.setdefault(delivery.stream, deque()).append(delivery.offset)
        if is_seen:  # of a durable subscription: it was read, and not acknowledged
            self._acknowledge(delivery.stream, delivery.offset)
            return
        self._waiting.append(delivery)
        self._woken.set()

    # Acknowledging.

    def _acknowledge(self, stream: str, offset: int) -> int | None:
        """Tell the core; the offset up to which that is something new, if it is."""
        waiting = self._unacknowledged.get(stream)
        newest = None
        while waiting and waiting[0] <= offset:
            newest = waiting.popleft()
        if newest is not None:
            self._client.acknowledge(_NUMBER, stream, newest)
        return newest

    async def acknowledge(self, positions: Mapping[str, Position]) -> dict[str, Position]:
        """Of a durable subscription: have it kept that all this was read."""
        newest: dict[str, int] = {}
        for stream, position in positions.items():
            kept = self.kept.get(stream)
            if kept is None or position.incarnation not in ("", kept.incarnation):
                continue
            offset = self._acknowledge(stream, position.offset)
            if offset is not None:
                newest[stream] = offset
        while any(self.kept[stream].offset < offset for stream, offset in newest.items()):
            if self.ended is not None:
                raise RefusedError(409, f"the subscription has ended: {self.ended}")
            self._kept_more.clear()
            await self._kept_more.wait()
        return dict(self.kept)

    # Writing.

    async def write_to(self, response: web.StreamResponse) -> None:
        """Write what comes, until there is nothing more to come."""
        await response.write(events.retry(RETRY_MS))
        while not self._connection.is_lost:
            if not self._waiting and self.ended is None:
                await self._wait(response)
                continue
            chunk, taken = self._chunk()
            if not await self._is_taken(response, chunk):
                return
            if self.durable is None:
                for stream, offset in taken.items():
                    self._acknowledge(stream, offset)
            if self.ended is not None and not self._waiting:
                await self._is_taken(response, events.ended(events.Ended(self.ended)))
                return

    async def _wait(self, response: web.StreamResponse) -> None:
        self._woken.clear()
        try:
            async with asyncio.timeout(self._limits.heartbeat_s):
                await self._woken.wait()
        except TimeoutError:
            await response.write(events.HEARTBEAT)

    async def _is_taken(self, response: web.StreamResponse, chunk: bytes) -> bool:
        """Write this, and wait for room; a reader that takes nothing for too long is let go."""
        try:
            async with asyncio.timeout(self._limits.silent_s):
                if chunk:
                    await response.write(chunk)
                while not self._connection.is_writable and not self._connection.is_lost:
                    self._woken.clear()
                    await self._woken.wait()
        except TimeoutError:
            self.was_silent = True
            self.ended = f"it took nothing for {self._limits.silent_s:g} s"
            log.warning("a subscriber was dropped", because=self.ended)
            self._connection.cut()
        return not self._connection.is_lost

    def _chunk(self) -> tuple[bytes, dict[str, int]]:
        """What is to be written next, and up to which offset of each stream it goes."""
        parts: list[bytes] = []
        taken: dict[str, int] = {}
        size = 0
        while self._waiting and size < CHUNK_BYTES:
            message = self._waiting.popleft()
            part = self._encoded(message)
            if isinstance(message, Delivery):
                taken[message.stream] = message.offset
            parts.append(part)
            size += len(part)
        return b"".join(parts), taken

    def _encoded(self, message: Message) -> bytes:
        match message:
            case Delivery(_, stream, incarnation, offset, version, event):
                json, payload, known = shown(event)
                said = events.Delivery(stream, incarnation, offset, version, json, payload, known)
                return events.delivery(said, self._at(stream, incarnation, offset))
            case Started(_, stream, incarnation, after):
                seen = self._cursor.get(stream)
                if seen is not None and seen.incarnation == incarnation:
                    after = max(after, seen.offset)
                begun = events.Started(stream, incarnation, after)
                return events.started(begun, self._at(stream, incarnation, after))
            case Lost(_, stream, incarnation, after, up_to):
                gone = events.Lost(stream, incarnation, after, up_to)
                return events.lost(gone, self._at(stream, incarnation, up_to))
            case _:
                raise AssertionError(message)

    def _at(self, stream: str, incarnation: str, offset: int) -> str:
        self._cursor[stream] = Position(incarnation, offset)
        return print_cursor(self._cursor)
