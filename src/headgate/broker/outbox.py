"""What has come up for the world to do, and what waits until something is stored?

A core never waits: it notes effects here, and what must not happen before something is on disk.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import final

from headgate.broker.effects import Append, Drop, Effect, Keep, Message, Read, Tell
from headgate.log.records import Record

Stored = Callable[[int], None]
"""Called with the time at which something was stored."""
Lost = Callable[[str, int], None]
"""Called with the reason and the time, where it could not be stored and never will be."""
Answered = Callable[[Sequence[Record], int], None]
Failed = Callable[[str, int], None]


@final
class Outbox:
    """The effects that come up while one input is dealt with, in order."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """How often the branches were taken that a simulation has to reach."""
        self._effects: list[Effect] = []
        self._ticket = 0
        self._stored = 0
        self._waiting: deque[tuple[int, Stored, Lost | None]] = deque()
        self._reads: dict[int, tuple[Answered, Failed]] = {}
        self._number = 0

    def take(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

    def tell(self, client: int, message: Message) -> None:
        self._effects.append(Tell(client, message))

    def drop(self, client: int, because: str) -> None:
        self._effects.append(Drop(client, because))

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def next_number(self) -> int:
        """A number that this core gives to nothing else."""
        self._number += 1
        return self._number

    def append(self, records: Sequence[Record], then: Stored, lost: Lost) -> None:
        self._ticket += 1
        self._effects.append(Append(self._ticket, tuple(records)))
        self._waiting.append((self._ticket, then, lost))

    def keep(
        self, key: str, value: bytes | None, then: Stored | None = None, lost: Lost | None = None
    ) -> None:
        self._ticket += 1
        self._effects.append(Keep(self._ticket, key, value))
        if then is not None:
            self._waiting.append((self._ticket, then, lost))

    def when_stored(self, then: Stored, lost: Lost, now: int) -> None:
        """Go on when all that was to be stored until now is."""
        if self._stored == self._ticket:
            then(now)
        else:
            self._waiting.append((self._ticket, then, lost))

    def stored(self, ticket: int, now: int) -> None:
        self._stored = max(self._stored, ticket)
        while self._waiting and self._waiting[0][0] <= self._stored:
            self._waiting.popleft()[1](now)

    def store_failed(self, because: str, now: int) -> None:
        """Nothing of what is not stored by now will ever be: what waits for it is told."""
        self._stored = self._ticket
        waiting, self._waiting = self._waiting, deque()
        for _, _, lost in waiting:
            if lost is not None:
                lost(because, now)

    def read(self, stream: str, after: int, count_max: int, then: Answered, failed: Failed) -> None:
        number = self.next_number()
        self._reads[number] = then, failed
        self._effects.append(Read(number, stream, after, count_max))

    def was_read(self, number: int, records: Sequence[Record], now: int) -> None:
        self._reads.pop(number)[0](records, now)

    def read_failed(self, number: int, because: str, now: int) -> None:
        self._reads.pop(number)[1](because, now)
