"""What does the ACL database say? Every batch it accepted, and where each version began.

It is a machine of its own: it survives the broker that asks it, and may crash by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import final

from headgate.rights.changes import Batch
from headgate.rights.history import PolicyHistory
from headgate.rights.rules import PolicyError
from headgate.simulation.checkers.promises import Observers
from headgate.simulation.timeline import Timeline

Grew = Callable[[list[tuple[int, Batch]]], None]
Answer = Callable[[str | None], None]


@final
class AclDatabase:
    """All versions, one after the other; whoever watches is told of each new one."""

    def __init__(
        self, timeline: Timeline, chance: Random, delay_us: int, observers: Observers
    ) -> None:
        self.history = PolicyHistory()
        self.starting_points: list[tuple[int, str, int]] = []
        self.is_up = True
        self._timeline = timeline
        self._chance = chance
        self._delay_us = delay_us
        self._observers = observers
        self._grew: Grew | None = None
        self._told = 0
        self._waiting: list[Callable[[], None]] = []

    def watch(self, grew: Grew) -> None:
        """The policy's host starts: it has read what is there, and is told what comes."""
        self._grew, self._told = grew, self.history.version
        self._note_told()

    def begin(self, batches: Iterable[Batch]) -> None:
        """What it has before the run begins; what is refused is left out."""
        for batch in batches:
            with suppress(PolicyError):
                self._store(batch, None)

    def forget_watcher(self) -> None:
        self._grew = None

    def apply(self, batch: Batch, expected: int | None, answer: Answer) -> None:
        """Make the next version after a while, or refuse; while it is down everybody waits."""
        if not self.is_up:
            self._waiting.append(lambda: self.apply(batch, expected, answer))
            return
        self._timeline.after(self._delay(), self._apply, batch, expected, answer)

    def keep_starting_point(
        self, version: int, stream: str, offset: int, kept: Callable[[], None]
    ) -> None:
        """Keep it, and say so; while it is down everybody waits."""
        if not self.is_up:
            self._waiting.append(lambda: self.keep_starting_point(version, stream, offset, kept))
            return
        self.starting_points.append((version, stream, offset))
        self._timeline.after(0, kept)

    def crash(self) -> None:
        self.is_up = False

    def recover(self) -> None:
        self.is_up = True
        waiting, self._waiting = self._waiting, []
        self._tell()
        for act in waiting:
            act()

    def _apply(self, batch: Batch, expected: int | None, answer: Answer) -> None:
        if not self.is_up and self._chance.random() < 0.5:
            # It died before the commit; else after it, and nobody knows until it is back.
            self._waiting.append(lambda: answer("the ACL database was lost for a while"))
            return
        try:
            self._store(batch, expected)
        except PolicyError as refused:
            self._answer(answer, str(refused))
            return
        self._tell()
        self._answer(answer, None)

    def _store(self, batch: Batch, expected: int | None) -> None:
        version = self.history.apply(batch, expected).number
        for hook in self._observers.batch_stored:
            hook(version, batch)

    def _answer(self, answer: Answer, refused: str | None) -> None:
        if self.is_up:
            self._timeline.after(0, answer, refused)
        else:
            self._waiting.append(lambda: answer(refused))

    def _tell(self) -> None:
        """What comes in one go is told in one go."""
        if self.is_up and self._grew is not None and self._told < self.history.version:
            batches, self._told = self.history.batches(self._told), self.history.version
            self._note_told()
            self._grew(batches)

    def _note_told(self) -> None:
        for hook in self._observers.policy_told:
            hook(self._told)

    def _delay(self) -> int:
        return self._chance.randrange(1, 2 * self._delay_us + 2)
