"""Who talks over a WebSocket? Each connection from its opening to its close."""

from __future__ import annotations

import asyncio
from typing import final

from aiohttp import WSMsgType, web

from headgate.http import socket_messages as said
from headgate.http.problems import RefusedError
from headgate.http.socket_messages import PROTOCOL, SocketError, read_from_client
from headgate.live.logs import log
from headgate.live.node import Node
from headgate.live.web.application import Answer
from headgate.live.web.asking import Asked
from headgate.live.web.counting import WebCounts
from headgate.live.web.limits import WebLimits
from headgate.live.web.sockets import Socket
from headgate.live.web.subscribing import EXPIRED, seconds_left

_CLOSE_S = 2.0
_REASON_BYTES_MAX = 123  # RFC 6455, 5.5


@final
class Conversing:
    """The WebSockets that are open."""

    def __init__(self, node: Node, limits: WebLimits, counts: WebCounts) -> None:
        self._node = node
        self._limits = limits
        self._subscribers = counts.subscribers.labels("socket")
        self._silent = counts.silent
        self._messages = counts.messages.labels("in")
        self._open: set[Socket] = set()

    def stop(self, because: str) -> None:
        for one in list(self._open):
            one.end(said.STOPPING, because)

    async def socket(self, asked: Asked) -> Answer:
        request = asked.request
        if request.headers.get("Upgrade", "").strip().lower() != "websocket":
            raise RefusedError(
                426, "expected a WebSocket: send `Upgrade: websocket`", {"Upgrade": "websocket"}
            )
        offered = request.headers.get("Sec-WebSocket-Protocol")
        if offered is not None and PROTOCOL not in {one.strip() for one in offered.split(",")}:
            raise RefusedError(400, f"expected the subprotocol `{PROTOCOL}`")
        response = web.WebSocketResponse(
            protocols=(PROTOCOL,),
            heartbeat=self._limits.silent_s,
            compress=False,  # or a small message could become a large one
            max_msg_size=self._limits.frame_bytes,
            autoclose=False,
            decode_text=False,
            timeout=_CLOSE_S,
        )
        await response.prepare(request)
        await self._converse(asked, response)
        return response

    async def _converse(self, asked: Asked, response: web.WebSocketResponse) -> None:
        loop = asyncio.get_running_loop()
        principal = asked.identity.principal
        socket = Socket(self._node, principal, asked.connection, self._limits)
        closing: list[asyncio.Task[bool]] = []
        # What is to be said goes out with this turn of the loop; then reading ends, too.
        socket.when_over(lambda: closing.append(loop.create_task(_close(socket, response))))
        left = seconds_left(asked.identity)
        timer = None
        if left is not None:
            timer = loop.call_later(left, socket.end, said.NOT_ALLOWED, EXPIRED)
        self._open.add(socket)
        self._subscribers.inc()
        try:
            await self._read(socket, response)
            if isinstance(response.exception(), TimeoutError):
                socket.was_silent = True
                because = "it answered no ping"
                log.warning("a subscriber was dropped", principal=principal, because=because)
            await (closing[0] if closing else _close(socket, response))
        finally:
            if timer is not None:
                timer.cancel()
            self._subscribers.dec()
            self._open.discard(socket)
            if socket.was_silent:
                self._silent.inc()
            socket.close()
            # Who doesn't read doesn't see the end either.
            loop.call_later(_CLOSE_S, asked.connection.cut)

    async def _read(self, socket: Socket, response: web.WebSocketResponse) -> None:
        while True:
            message = await response.receive()
            if message.type is WSMsgType.TEXT:
                try:
                    messages = read_from_client(message.data)
                except SocketError as problem:
                    socket.end(said.UNREADABLE, str(problem))
                    return
                self._messages.inc(len(messages))
                await socket.take(messages)
            elif message.type is WSMsgType.BINARY:
                socket.end(said.UNSUPPORTED, "expected text, found bytes")
                return
            else:  # it is closing, or what came was no message: aiohttp has said so
                return


async def _close(socket: Socket, response: web.WebSocketResponse) -> bool:
    code, because = socket.over or (said.NORMAL, "")
    reason = because.encode()[:_REASON_BYTES_MAX].decode(errors="ignore").encode()
    return await response.close(code=code, message=reason, drain=False)
