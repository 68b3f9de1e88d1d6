"""How does the policy's host use the ACL database? In a thread of its own, and watching for others.

An administrator may store a version without asking this broker (`headgate policy apply --store`):
the database is looked at again and again. While it is away, what is to be stored waits.
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
from headgate.rights.rules import PolicyError
from headgate.rights.starting_points import StartingPoints
from headgate.stores.acl import AclStore, StoreError

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

    def __init__(
        self,
        store: AclStore,
        *,
        grew: Callable[[list[tuple[int, Batch]]], None],
        noted: Callable[[str, str], None] = lambda what, because: None,
        look_s: float = LOOK_S,
    ) -> None:
        self.problem: str | None = None
        """Why the database couldn't be asked the last time."""
        self._store = store
        self._grew = grew
        self._noted = noted
        """Called with what is worth a line in the log, and why."""
        self._look_s = look_s
        self._told = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-policy")

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

    async def watch(self) -> None:
        """Look for new versions, for ever."""
        while True:
            await asyncio.sleep(self._look_s)
            await self.look()

    async def look(self) -> None:
        """Tell of the versions that came since the last look, whoever made them."""
        try:
            batches = await self._do(lambda: self._store.history().batches(self._told))
        except StoreError as problem:
            self._is_away(problem)
            return
        self._is_back()
        # Two looks may have been under way at once.
        fresh = [(number, batch) for number, batch in batches if number > self._told]
        if fresh:
            self._told = fresh[-1][0]
            self._grew(fresh)

    async def apply(self, batch: Batch, expected: int | None) -> int:
        """Store the next version, and tell of it before this returns."""
        version = await self._do(lambda: self._store.apply(batch, expected))
        await self.look()
        while self._told < version:  # it is stored, and the database went away
            await asyncio.sleep(self._look_s)
            await self.look()
        return version

    async def keep_starting_point(self, version: int, stream: str, offset: int) -> None:
        """Keep where a version began, as soon as the database is there."""
        while True:
            try:
                await self._do(lambda: self._store.record_starting_point(version, stream, offset))
            except StoreError as problem:
                self._is_away(problem)
            except PolicyError as problem:
                # A stream whose log was lost begins anew: what was said of it before stands.
                self._noted("starting point refused", str(problem))
                return
            else:
                self._is_back()
                return
            await asyncio.sleep(self._look_s)

    async def history(self) -> PolicyHistory:
        """All versions; it grows in another thread, so ask it what is long by `consult`."""
        return await self._do(self._store.history)

    async def consult(self, act: Callable[[PolicyHistory], T]) -> T:
        """What somebody wants to know of the versions, found out beside the loop."""
        return await self._do(lambda: act(self._store.history()))

    async def starting_points(self) -> StartingPoints:
        return await self._do(self._store.starting_points)

    async def stop(self) -> None:
        """End; what has begun is finished."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    def _is_away(self, problem: HeadgateError) -> None:
        if self.problem is None:
            self._noted("policy database away", str(problem))
        self.problem = str(problem)

    def _is_back(self) -> None:
        if self.problem is not None:
            self._noted("policy database back", self.problem)
        self.problem = None

    async def _do(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)
