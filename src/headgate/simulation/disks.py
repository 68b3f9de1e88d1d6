"""What is on a broker's disk? What was synced, after a while, and what a crash left of the rest.

Writes are synced in groups: those that come while a sync is under way wait for the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias, final

from headgate.broker.effects import Append, Keep, Read
from headgate.log.memory import MemoryLog
from headgate.log.records import Record
from headgate.log.store import StoreFullError
from headgate.simulation.timeline import Timeline

Write: TypeAlias = Append | Keep


@final
class Disk:
    """A log store whose syncs and reads take time, whoever uses it at the moment."""

    def __init__(self, timeline: Timeline, chance: Random, sync_us: int, read_us: int) -> None:
        self.log = MemoryLog()
        self.sync_us = sync_us
        self._read_us = read_us
        self._timeline = timeline
        self._chance = chance
        self._syncing: list[Write] = []
        self._waiting: list[Write] = []
        self._boot = 0
        self._stored: Callable[[list[Write]], None] = _nobody
        self._failed: Callable[[str], None] = _nobody_told

    def use(self, stored: Callable[[list[Write]], None], failed: Callable[[str], None]) -> None:
        """A process opens it, and is told from now on what becomes of its writes."""
        self._boot += 1
        self._stored, self._failed = stored, failed

    def write(self, effect: Write) -> None:
        self._waiting.append(effect)
        if not self._syncing:
            self._sync()

    def read(self, effect: Read, was_read: Callable[[int, tuple[Record, ...]], None]) -> None:
        delay = self._chance.randrange(1, 2 * self._read_us + 2)
        self._timeline.after(delay, self._read, self._boot, effect, was_read)

    def crash(self) -> int:
        """The process is gone, and with it a part of what wasn't synced; how much of that."""
        self._boot += 1
        lost = len(self._syncing) + len(self._waiting)
        self._syncing, self._waiting = [], []
        self.log.crash(self._chance)
        self._stored, self._failed = _nobody, _nobody_told
        return lost

    def _sync(self) -> None:
        self._syncing, self._waiting = self._waiting, []
        for write in self._syncing:
            if isinstance(write, Append):
                self.log.append(write.records)
            else:
                self.log.keep(write.key, write.value)
        delay = self._chance.randrange(1, 2 * self.sync_us + 2)
        self._timeline.after(delay, self._synced, self._boot)

    def _synced(self, boot: int) -> None:
        if boot != self._boot:
            return
        try:
            self.log.sync()
        except StoreFullError as full:
            self._syncing, self._waiting = [], []
            self._failed(str(full))
            return
        stored, self._syncing = self._syncing, []
        if self._waiting:
            self._sync()
        self._stored(stored)

    def _read(
        self, boot: int, effect: Read, was_read: Callable[[int, tuple[Record, ...]], None]
    ) -> None:
        if boot == self._boot:
            found = self.log.read(effect.stream, effect.after, effect.count_max)
            was_read(effect.number, found)


def _nobody(stored: list[Write]) -> None:
    """Nobody has opened the disk."""


def _nobody_told(because: str) -> None:
    """Nobody has opened the disk."""
