"""How does a conversation reach a broker? Over one WebSocket at a time.

Writing is pulled: what is to be said is asked for when the socket can take it, so that nothing
heaps up in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from socket import gaierror
from typing import Final, TypeAlias, final

import aiohttp
from aiohttp import ClientWebSocketResponse, WSMsgType

from headgate.client.access import Access, about_tls, untrusted
from headgate.client.conversation import Conversation
from headgate.client.errors import (
    ClientError,
    DroppedError,
    NotAuthenticatedError,
    UnreachableError,
)
from headgate.client.settings import SECOND
from headgate.http.socket_messages import PROTOCOL
from headgate.model.errors import HeadgateError, named, printable

Socket: TypeAlias = ClientWebSocketResponse[bool]
PATH: Final = "/v1/socket"
TEXT_BYTES_MAX: Final = 64 * 1024 * 1024
"""What a broker may say at once."""
CLOSE_S: Final = 1.0
"""So long a broker may take to part in good order."""


@final
class Sockets:
    """The WebSocket that there is, and those that are being ended."""

    def __init__(
        self,
        access: Access,
        conversation: Conversation,
        now: Callable[[], int],
        wake: Callable[[], None],
    ) -> None:
        self._access = access
        self._conversation = conversation
        self._now = now
        self._wake = wake
        self._http = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None)
        )
        self._current: asyncio.Task[None] | None = None
        self._socket: Socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._to_write = asyncio.Event()

    def dial(self, url: str, *, is_first: bool) -> None:
        self._current = self._begin(self._converse(url, is_first))

    def hang_up(self) -> None:
        task, self._current, self._socket = self._current, None, None
        if task is not None:
            task.cancel()

    def ping(self) -> None:
        if self._socket is not None:
            self._begin(self._ping(self._socket))

    def write(self) -> None:
        """There may be something to say."""
        self._to_write.set()

    async def flush(self) -> None:
        """Write all that is to be said now."""
        socket = self._socket
        while socket is not None and (data := self._conversation.data_to_send()):
            with contextlib.suppress(aiohttp.ClientError, OSError):
                await socket.send_frame(data, WSMsgType.TEXT)

    async def close(self) -> None:
        self.hang_up()
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._http.close()

    # One connection.

    async def _converse(self, url: str, is_first: bool) -> None:
        """Connect, and hear what comes until there is no connection; a later one may be there."""
        me = asyncio.current_task()
        outcome: Callable[[], None]
        try:
            async with self._connected(url) as socket:
                self._socket = socket
                self._conversation.connected(self._now())
                self._wake()
                writing = self._begin(self._write_to(socket))
                try:
                    outcome = await self._hear(socket, me)
                finally:
                    writing.cancel()
        except (aiohttp.ClientError, OSError, HeadgateError) as problem:
            outcome = self._lost(url, problem, is_first)
        if self._current is me:
            self._current = self._socket = None
            outcome()
            self._wake()

    def _connected(self, url: str) -> aiohttp.client._WSRequestContextManager:
        context = self._access.context_for(url)
        return self._http.ws_connect(
            url + PATH,
            protocols=(PROTOCOL,),
            headers=self._access.headers(),
            autoping=False,
            max_msg_size=TEXT_BYTES_MAX,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
            ssl=True if context is None else context,
        )

    async def _hear(self, socket: Socket, me: asyncio.Task[None] | None) -> Callable[[], None]:
        """What became of the connection, in the end."""
        conversation = self._conversation
        while True:
            said = await socket.receive()
            if self._current is not me:
                return lambda: None
            if said.type is WSMsgType.TEXT:
                conversation.receive(said.data, self._now())
            elif said.type in (WSMsgType.PING, WSMsgType.PONG):
                conversation.heard(self._now())
                if said.type is WSMsgType.PING:
                    await socket.pong(said.data)
            elif said.type is WSMsgType.BINARY:
                return lambda: conversation.dropped(
                    DroppedError("it can't be understood: expected texts, got bytes")
                )
            else:
                # Not the socket's own: that changes when the broker is gone before we answer.
                code = said.data if said.type is WSMsgType.CLOSE else socket.close_code
                because = "" if said.extra is None else str(said.extra)
                return lambda: conversation.closed(code, because, self._now())
            self._wake()

    async def _write_to(self, socket: Socket) -> None:
        # A connection that breaks is noticed by who hears.
        with contextlib.suppress(aiohttp.ClientError, OSError):
            while True:
                await self._to_write.wait()
                self._to_write.clear()
                while self._socket is socket and (data := self._conversation.data_to_send()):
                    await socket.send_frame(data, WSMsgType.TEXT)

    async def _ping(self, socket: Socket) -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await socket.ping()

    def _lost(self, url: str, problem: Exception, is_first: bool) -> Callable[[], None]:
        """Whether it is worth trying again, and when."""
        conversation, wait_us = self._conversation, 0
        if isinstance(problem, aiohttp.WSServerHandshakeError):
            status = problem.status
            if status == 401:
                return lambda: conversation.dropped(_not_authenticated(self._access))
            if status == 403:
                return lambda: conversation.dropped(DroppedError("it doesn't let us connect (403)"))
            if status < 500 and status not in (408, 425, 429):
                found = UnreachableError(f"{url} is no broker of Headgate: it answers {status}")
                return lambda: conversation.dropped(found)
            wait_us = _wait_us(problem)
        elif isinstance(problem, ClientError) or (
            is_first and isinstance(problem, aiohttp.ClientConnectorCertificateError)
        ):
            found = UnreachableError(f"{url}: {in_words(problem)}")
            return lambda: conversation.dropped(found)
        said = in_words(problem)
        if isinstance(problem, aiohttp.ServerDisconnectedError):
            said += about_tls(url)
        return lambda: conversation.lost(said, self._now(), wait_us)

    def _begin(self, work: object) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def in_words(problem: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(problem, HeadgateError):
        return str(problem)
    if isinstance(problem, aiohttp.ClientConnectorCertificateError):
        return untrusted(str(problem.certificate_error))
    if isinstance(problem, aiohttp.ServerDisconnectedError):
        return "it closed the connection without an answer"
    if isinstance(problem, aiohttp.WSServerHandshakeError):
        return f"it answers {problem.status}"
    if isinstance(problem, aiohttp.ClientConnectorError):
        broken = problem.os_error
        # What resolvers say has numbers of its own, which mean nothing else to the system.
        code = None if isinstance(broken, gaierror) else broken.errno
        said = os.strerror(code) if code else broken.strerror or str(broken)
        return printable(f"can't connect: {said.lower()}")
    return printable(str(problem)) or problem.__class__.__name__


def _not_authenticated(access: Access) -> NotAuthenticatedError:
    if access.token is not None:
        return NotAuthenticatedError("the token is not accepted: it is unknown, or has expired")
    if access.password is not None:
        return NotAuthenticatedError(
            f"the name {named(access.principal or '')} and its password are not accepted"
        )
    return NotAuthenticatedError(
        "the broker wants to know who is asking: expected a password, a token or a certificate"
    )


def _wait_us(problem: aiohttp.WSServerHandshakeError) -> int:
    """How long the broker asks us to wait."""
    said = problem.headers.get("Retry-After", "") if problem.headers is not None else ""
    return min(int(said), 60) * SECOND if said.isascii() and said.isdigit() else 0
