"""Who subscribes by a request? Server-Sent Events, and the acknowledgements of durable ones."""

from __future__ import annotations

import asyncio
import time
from typing import final

from aiohttp import web
from msgspec import UNSET

from headgate.filters.filter import Filter
from headgate.http import event_streams as events
from headgate.http import shapes
from headgate.http.cursors import Position, print_cursor, read_cursor
from headgate.http.problems import RefusedError
from headgate.live.identities import Identity
from headgate.live.node import Node
from headgate.live.web.application import Answer
from headgate.live.web.asking import Asked
from headgate.live.web.counting import WebCounts
from headgate.live.web.event_streams import EventStream
from headgate.live.web.limits import WebLimits
from headgate.live.web.starting import positions_of
from headgate.model.errors import named

EXPIRED = "what you came in with has expired: come in again"


def seconds_left(identity: Identity) -> float | None:
    """How long somebody may stay, who came in with something that expires."""
    if identity.expires_us is None:
        return None
    return max(0.0, identity.expires_us / 1_000_000 - time.time())


@final
class Subscribing:
    """The event streams that are open."""

    def __init__(self, node: Node, limits: WebLimits, counts: WebCounts) -> None:
        self._node = node
        self._limits = limits
        self._subscribers = counts.subscribers.labels("events")
        self._silent = counts.silent
        self._durable: dict[tuple[str, str], EventStream] = {}
        self._open: set[EventStream] = set()

    def stop(self, because: str) -> None:
        for one in list(self._open):
            one.end(because)

    async def subscribe(self, asked: Asked) -> Answer:
        said = asked.said
        wanted = Filter.parse(said["filter"]) if said.get("filter") else Filter.everything()
        seen = positions_of(self._node, said.get(events.LAST_EVENT_ID) or said.get("from"))
        stream = EventStream(
            self._node, asked.identity.principal, asked.connection, self._limits,
            seen=seen, durable=said.get("durable"),
        )  # fmt: skip
        self._open.add(stream)
        try:
            await stream.subscribe(wanted, causal=said.get("order") == "causal")
            return await self._serve(asked, stream)
        finally:
            self._open.discard(stream)
            stream.close()

    async def _serve(self, asked: Asked, stream: EventStream) -> web.StreamResponse:
        name = (asked.identity.principal, stream.durable or "")
        if stream.durable is not None:
            self._durable[name] = stream
        response = web.StreamResponse(
            headers={
                "Content-Type": events.CONTENT_TYPE,
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
                "Server": "headgate",
            }
        )
        leave = seconds_left(asked.identity)
        timer = None
        if leave is not None:
            timer = asyncio.get_running_loop().call_later(leave, stream.end, EXPIRED)
        self._subscribers.inc()
        try:
            await response.prepare(asked.request)
            await stream.write_to(response)
            # A connection that has borne a stream bears nothing else.
            response.force_close()
        finally:
            self._subscribers.dec()
            if stream.was_silent:
                self._silent.inc()
            if timer is not None:
                timer.cancel()
            if self._durable.get(name) is stream:
                del self._durable[name]
        return response

    async def acknowledge(self, asked: Asked) -> Answer:
        said = await asked.json(shapes.Acknowledgement)
        if said.cursor is not UNSET and said.stream is UNSET and said.offset is UNSET:
            positions = read_cursor(said.cursor)
        elif said.cursor is UNSET and said.stream is not UNSET and said.offset is not UNSET:
            positions = {said.stream: Position("", said.offset)}
        else:
            raise RefusedError(422, "expected `cursor`, or else `stream` and `offset`")
        name: str = asked.said["name"]
        stream = self._durable.get((asked.identity.principal, name))
        if stream is None:
            raise RefusedError(
                404, f"no durable subscription {named(name)} of yours is being read here"
            )
        return shapes.AcknowledgedUpTo(print_cursor(await stream.acknowledge(positions)))
