"""How does the policy's host use the ACL database? In a thread of its own, and watching for others.

An administrator may store a version without asking this broker (`headgate policy apply --store`):
the database is looked at again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar, final

from headgate.model.errors import HeadgateError
from headgate.rights.changes import Batch
from headgate.rights.history import PolicyHistory
from headgate.rights.starting_points import StartingPoints
from headgate.stores.acl import AclStore

LOOK_S = 0.25
T = TypeVar("T")


@dataclass(frozen=True)
class AtStart:
    """What the database said when the broker started."""

    batches: tuple[tuple[int, Batch], ...]
    starting_points: tuple[tuple[int, str, int], ...]


@final
class PolicyDatabase:
    """An ACL store behind one thread; the loop alone calls its methods."""

    def __init__(self, store: AclStore, *, grew: Callable[[list[tuple[int, Batch]]], None]) -> None:
        self.problem: str | None = None
        """Why the database couldn't be asked the last time."""
        self._store = store
        self._grew = grew
        self._told = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-policy")
        self._watching: asyncio.Task[None] | None = None

    async def read(self) -> AtStart:
        found = await self._do(self._read_all)
        self._told = len(found.batches)
        return found

    def _read_all(self) -> AtStart:
        points = self._store.starting_points()
        return AtStart(
            tuple(self._store.history().batches()),
            tuple(points),
        )

    def watch(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Tell of the versions that came since the last look, whoever made them."""
        try:
            batches = await self._do(lambda: self._store.history().batches(self._told))
        except HeadgateError as problem:
            self.problem = str(problem)
            return
        self.problem = None
        # Two looks may have been under way at once.
        fresh = [(number, batch) for number, batch in batches if number > self._told]
        if fresh:
            self._told = fresh[-1][0]
            self._grew(fresh)

    async def apply(self, batch: Batch, expected: int | None) -> int:
        """Store the next version, and tell of it before this returns."""
        version = await self._do(lambda: self._store.apply(batch, expected))
        await self.look()
        return version

    async def keep_starting_point(self, version: int, stream: str, offset: int) -> None:
        await self._do(lambda: self._store.record_starting_point(version, stream, offset))

    async def history(self) -> PolicyHistory:
        return await self._do(self._store.history)

    async def starting_points(self) -> StartingPoints:
        return await self._do(self._store.starting_points)

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.to_thread(self._thread.shutdown)

    async def _do(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)
