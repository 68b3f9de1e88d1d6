"""A broker that runs beside a test which itself has no event loop: a command's, mostly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, Self, TypeVar

from tests.live.web.servers import PASSWORD, WAIT_S, Site, site

T = TypeVar("T")

__all__ = ["PASSWORD", "WAIT_S", "Running", "Site", "aborted", "site"]


class Running:
    """A broker in a thread of its own, with jane, who may do everything, and ann, who administers.

    Both have the same password.
    """

    def __init__(self, directory: Path, **more: Any) -> None:
        self._directory = directory
        self._more = more
        self.site: Site
        self._loop = asyncio.new_event_loop()
        self._stop: asyncio.Event
        self._started: Future[None] = Future()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result(WAIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_S)
        self._loop.close()

    @property
    def url(self) -> str:
        return self.site.url

    def do(self, work: Callable[[Site], Coroutine[Any, Any, T]]) -> T:
        """Have something done in the broker's loop."""
        return asyncio.run_coroutine_threadsafe(work(self.site), self._loop).result(WAIT_S)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        try:
            async with site(self._directory, **self._more) as self.site:
                self._started.set_result(None)
                await self._stop.wait()
        except BaseException as problem:
            if self._started.done():
                raise
            self._started.set_exception(problem)


def aborted(made: Site) -> int:
    """Break all connections of a broker, as a cable would; say how many there were."""
    connections = [one for one in made.server._server.connections if one.transport is not None]
    for one in connections:
        assert one.transport is not None
        one.transport.abort()
    return len(connections)
