"""How are old records read, and let go? In threads beside the loop, while others are written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import final

from headgate.broker.effects import MayRemove, Read, Remove
from headgate.log.records import Record
from headgate.log.store import LogStore, StoreFullError

READERS = 2


@final
class LogReading:
    """A log store's readers; the loop alone calls its methods."""

    def __init__(self, log: LogStore) -> None:
        self._log = log
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="headgate-read")
        self._asked: list[asyncio.Future[Mapping[str, int]]] = []

    async def read(self, effect: Read) -> Sequence[Record]:
        """The records; a `LogError` says which of them is damaged."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, self._log.read, effect.stream, effect.after, effect.count_max
        )

    async def remove(self, effect: Remove) -> None:
        loop = asyncio.get_running_loop()
        for stream, up_to in effect.up_to.items():
            # On a full disk even this may have no room: it stays, and nobody is shown it.
            with suppress(StoreFullError):
                await loop.run_in_executor(self._threads, self._log.remove, stream, up_to)

    def ask(self) -> asyncio.Future[Mapping[str, int]]:
        """What may be removed, as soon as the core says so."""
        asked: asyncio.Future[Mapping[str, int]] = asyncio.get_running_loop().create_future()
        self._asked.append(asked)
        return asked

    def answer(self, effect: MayRemove) -> None:
        asked, self._asked = self._asked, []
        for one in asked:
            if not one.done():
                one.set_result(effect.up_to)

    async def stop(self) -> None:
        """End; what has begun is finished."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
