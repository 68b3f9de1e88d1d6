"""Who may connect? The sockets that listen, and how many connections there may be.

They are counted before TLS begins: a handshake that is never finished has its place, too.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections import Counter
from contextlib import suppress
from typing import Any, final

from headgate.live.logs import log
from headgate.live.web.connections import Connection, Server
from headgate.live.web.limits import WebLimits

_BACKLOG = 1_024
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_AT_ONCE = 64
_PAUSE_S = 0.5
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Length: 0\r\n\r\n"
)


@final
class Accepting:
    """Sockets that listen at one host and port."""

    def __init__(self, server: Server, tls: ssl.SSLContext | None, limits: WebLimits) -> None:
        self._server = server
        self._tls = tls
        self._limits = limits
        self._by_address: Counter[str] = Counter()
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        """Where 0 was asked for, it is the one that was free."""
        self.open = 0
        self.refused = 0

    async def start(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, kind, protocol, _, address in dict.fromkeys(found):
            listening = socket.socket(family, kind, protocol)
            self._sockets.append(listening)
            listening.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # Of several addresses all get the port that was free at the first.
            listening.bind((address[0], port or self.port, *address[2:]))
            listening.listen(_BACKLOG)
            self.port = listening.getsockname()[1]
        for listening in self._sockets:
            loop.add_reader(listening, self._accept, listening)

    async def stop(self) -> None:
        """Accept nothing more; connections that are there stay."""
        loop = asyncio.get_running_loop()
        sockets, self._sockets = self._sockets, []
        for listening in sockets:
            loop.remove_reader(listening)
            listening.close()
        await asyncio.sleep(0)  # who was taken in a moment ago has begun, and can be let go
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, listening: socket.socket) -> None:
        """Take in who is waiting at the door, but not for so long that others wait inside."""
        for _ in range(_AT_ONCE):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                if problem.errno not in _SCARCE:
                    raise
                self._rest(listening, str(problem))
                return
            accepted.setblocking(False)
            host = str(address[0])
            if self._is_full(host):
                self._refuse(accepted)
                continue
            self.open += 1
            self._by_address[host] += 1
            self._begin(self._shake_hands(accepted, host))

    def _rest(self, listening: socket.socket, because: str) -> None:
        """There are no more files to be had: wait until some are closed."""
        log.warning("can't accept", because=because)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)

        def go_on() -> None:
            if listening in self._sockets:
                loop.add_reader(listening, self._accept, listening)

        loop.call_later(_PAUSE_S, go_on)

    def _is_full(self, host: str) -> bool:
        limits = self._limits
        return (
            self.open >= limits.connections
            or self._by_address[host] >= limits.connections_per_address
        )

    def _refuse(self, accepted: socket.socket) -> None:
        self.refused += 1
        if self._tls is None:
            with suppress(OSError):
                accepted.send(_FULL)
        accepted.close()

    async def _shake_hands(self, accepted: socket.socket, host: str) -> None:
        loop = asyncio.get_running_loop()
        timing: dict[str, Any] = {}
        if self._tls is not None:
            timing["ssl_handshake_timeout"] = self._limits.request_s
        # With TLS, uvloop gives back another protocol than the one that was made for it.
        made = self._server()
        connection: Connection | None = None
        try:
            await loop.connect_accepted_socket(lambda: made, accepted, ssl=self._tls, **timing)
            connection = made
        except OSError as problem:  # TLS that failed is one, too
            log.debug("no connection", address=host, because=str(problem))
        finally:
            if connection is None:
                accepted.close()
            if connection is None or connection.is_lost:
                self._leave(host)
            else:
                connection.when_lost(lambda: self._leave(host))

    def _leave(self, host: str) -> None:
        self.open -= 1
        self._by_address[host] -= 1
        if not self._by_address[host]:
            del self._by_address[host]

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
