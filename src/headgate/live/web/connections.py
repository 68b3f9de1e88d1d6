"""What is one connection to the web server? aiohttp's, with an eye on how slow the other end is.

Who sends the head of a request byte by byte is cut off; who doesn't read what is written is told
of to whoever writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from headgate.http import problems
from headgate.live.logs import log
from headgate.live.web.limits import CHUNK_BYTES, WebLimits


class Connection(RequestHandler):
    """One connection, from its first byte to its last."""

    def __init__(
        self, server: Server, limits: WebLimits, loop: asyncio.AbstractEventLoop, **more: Any
    ) -> None:
        super().__init__(server, loop=loop, **more)
        self.is_lost = False
        self._limits = limits
        self._head: asyncio.TimerHandle | None = None
        self._busy = False
        self._on_writable: Callable[[bool], None] | None = None
        self._on_lost: list[Callable[[], None]] = []

    @property
    def is_writable(self) -> bool:
        """Whether the other end keeps up with what is written."""
        return not self.writing_paused and not self.is_lost

    def when_writable(self, heard: Callable[[bool], None]) -> None:
        """Have it told, from now on, whether there is room to write."""
        self._on_writable = heard

    def when_lost(self, heard: Callable[[], None]) -> None:
        self._on_lost.append(heard)

    def begin(self) -> None:
        """The head of a request is whole: it took no longer than it may."""
        self._busy = True
        self._stop_waiting()

    def finish(self) -> None:
        """The request is answered: what comes now is the head of the next."""
        self._busy = False
        self._on_writable = None

    def cut(self) -> None:
        """End it at once, whatever there is to be sent."""
        if self.transport is not None:
            self.transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        cast(asyncio.WriteTransport, transport).set_write_buffer_limits(high=CHUNK_BYTES)
        self._wait_for_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.is_lost = True
        self._stop_waiting()
        super().connection_lost(exc)
        heard, self._on_lost = self._on_lost, []
        for one in heard:
            one()

    def data_received(self, data: bytes) -> None:
        if not self._busy and self._head is None and data:
            self._wait_for_head()
        super().data_received(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._on_writable is not None:
            self._on_writable(False)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._on_writable is not None:
            self._on_writable(True)

    # How long a head may take.

    def _wait_for_head(self) -> None:
        self._head = self._loop.call_later(self._limits.request_s, self._is_too_slow)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _is_too_slow(self) -> None:
        self._head = None
        if not self._busy:
            log.info("cut off", because="the head of a request took too long")
            self.cut()

    # What can't be read.

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no request of HTTP, or a fault of ours, without saying too much."""
        if status >= 500:
            log.error("a fault in the web server", exc_info=exc)
        refusal = problems.RefusedError(
            status, "expected a request of HTTP/1.1" if status < 500 else "a fault of the broker"
        )
        answer = web.Response(
            status=status,
            body=problems.body_of(refusal.problem),
            headers={"Content-Type": problems.CONTENT_TYPE, "Server": "headgate"},
        )
        answer.force_close()
        return answer


class Server(web.Server):
    """What makes a `Connection` for each socket that is accepted."""

    def __init__(self, handle: Any, limits: WebLimits, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(handle, loop=loop)
        self._limits = limits
        self._our_loop = loop

    def __call__(self) -> Connection:
        limits = self._limits
        return Connection(
            self,
            limits,
            self._our_loop,
            keepalive_timeout=limits.idle_s,
            access_log=None,
            max_line_size=limits.header_bytes,
            max_field_size=limits.header_bytes,
            max_headers=limits.headers,
            lingering_time=2.0,
            auto_decompress=False,
        )
