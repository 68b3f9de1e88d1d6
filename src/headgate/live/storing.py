"""When is what was published on the disk? One thread writes and syncs, and the loop is told.

Writes that come while a sync is under way wait for the next one, so that under load one sync serves
many: a group commit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TypeAlias, final

from headgate.broker.effects import Append, Keep
from headgate.log.store import LogStore, StoreFullError

Write: TypeAlias = Append | Keep
LOOK_AGAIN_S = 1.0
"""A disk that was full is looked at again after this, if nothing is to be written before."""
_NOTHING = "nothing"
"""A key under which nothing is kept."""
GROUP_MAX = 10_000
"""So many writes are synced together at most: the first of them doesn't wait for ever."""


@dataclass(frozen=True, slots=True)
class Synced:
    """What one sync brought onto the disk."""

    ticket: int
    """This write and all before it are there."""
    writes: int
    seconds: float


@final
class GroupCommit:
    """The one thread that writes to a log store; the loop alone calls its methods."""

    def __init__(
        self,
        log: LogStore,
        loop: asyncio.AbstractEventLoop,
        *,
        stored: Callable[[Synced], None],
        full: Callable[[str], None],
        broken: Callable[[BaseException], None],
        room: Callable[[], None] = lambda: None,
        look_again_s: float = LOOK_AGAIN_S,
    ) -> None:
        self._log = log
        self._loop = loop
        self._tell_stored = stored
        self._tell_full = full
        self._tell_broken = broken
        self._tell_room = room
        self._look_again_s = look_again_s
        self._is_full = False
        self._waiting: list[tuple[int, Write]] = []
        self._turn = Condition()
        self._ending = False
        self.is_idle = True
        self._epoch = 0
        """Grows each time that writes were lost: what was submitted before is not to be written."""
        self._thread = Thread(target=self._run, name="headgate-log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, writes: Sequence[Write]) -> None:
        """Write these after all that were submitted before."""
        with self._turn:
            self._waiting += [(self._epoch, write) for write in writes]
            self.is_idle = False
            self._turn.notify_all()

    def go_on(self) -> None:
        """Write again, after `full` was told.

        What was submitted before this was decided without knowing that, and is not written: whoever
        is told submits all that is decided by then, goes on, and only then decides more.
        """
        self._epoch += 1

    @property
    def waiting(self) -> int:
        """How many writes no sync has begun for."""
        return len(self._waiting)

    def flush(self) -> None:
        """Wait until all that was submitted is stored or lost, and the loop was told so."""
        with self._turn:
            while not self.is_idle and self._thread.is_alive():
                self._turn.wait(0.1)

    def stop(self) -> None:
        """Write and sync what is waiting, then end; what was stored is told before this returns."""
        with self._turn:
            self._ending = True
            self._turn.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def abandon(self) -> None:
        """End without writing what is waiting, as a crash would."""
        with self._turn:
            self._waiting.clear()
        self.stop()

    def _run(self) -> None:
        good_from = 0
        while (group := self._next_group()) is not None:
            if not group and not self._look_for_room():
                return
            writes = [write for epoch, write in group if epoch >= good_from]
            if not writes:
                continue
            began = time.perf_counter()
            try:
                self._store(writes)
            except StoreFullError as full:
                # What the core asked for before it hears of this is lost as well.
                good_from += 1
                self._is_full = True
                self._call(self._tell_full, str(full))
            except BaseException as problem:  # a disk that doesn't keep its word: nothing goes on
                self._call(self._tell_broken, problem)
                return
            else:
                seconds = time.perf_counter() - began
                self._is_full = False
                self._call(self._tell_stored, Synced(writes[-1].ticket, len(writes), seconds))

    def _look_for_room(self) -> bool:
        """Try a write that changes nothing, or who waits for room before writing waits for ever."""
        try:
            self._log.keep(_NOTHING, None)
            self._log.sync()
        except StoreFullError:
            pass
        except BaseException as problem:
            self._call(self._tell_broken, problem)
            return False
        else:
            self._is_full = False
            self._call(self._tell_room)
        return True

    def _next_group(self) -> list[tuple[int, Write]] | None:
        """What is to be written together: nothing where room is to be looked for, none: the end."""
        with self._turn:
            while not self._waiting and not self._ending:
                self.is_idle = True
                self._turn.notify_all()
                if not self._turn.wait(self._look_again_s if self._is_full else None):
                    return []
            if not self._waiting:
                return None
            group = self._waiting[:GROUP_MAX]
            del self._waiting[:GROUP_MAX]
        return group

    def _store(self, writes: Sequence[Write]) -> None:
        for write in writes:
            if isinstance(write, Append):
                self._log.append(write.records)
            else:
                self._log.keep(write.key, write.value)
        self._log.sync()

    def _call(self, act: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody is there to be told
            self._loop.call_soon_threadsafe(act, *args)
