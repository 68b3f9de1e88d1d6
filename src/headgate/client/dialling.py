"""Which broker is tried next, and when?

First the one that there was a connection with last: it knows what it has stored of ours. Then the
others, in turn. Each round in vain makes the wait longer; some chance is in it, so that the clients
of a broker that restarts don't all come in the same moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, final

FIRST_WAIT_US: Final = 100_000
WAIT_MAX_US: Final = 10_000_000
STEADY_US: Final = 5_000_000
"""A connection that lasted so long has shown that the broker is well."""
FLICKERING: Final = 2
"""After one that didn't last, the wait is at most that of so many rounds in vain."""


@final
class Dialling:
    """The brokers that a program may talk to, and how often it has tried in vain."""

    def __init__(self, urls: Sequence[str], chance: Random, now: int) -> None:
        assert urls, "expected at least one broker"
        self.at: int = now
        """When to try the next one."""
        self.tries = 0
        """In vain, since a connection lasted."""
        self._urls = tuple(urls)
        self._chance = chance
        self._next = 0
        self._since: int | None = None

    def next_url(self) -> str:
        return self._urls[self._next]

    @property
    def tried_all(self) -> bool:
        return self.tries >= len(self._urls)

    def connected(self, now: int) -> None:
        self._since = now

    def lost(self, now: int, wait_us: int = 0) -> None:
        """Wait, at least as long as the broker says; a connection that lasted is tried again."""
        since, self._since = self._since, None
        if since is None:
            self._next = (self._next + 1) % len(self._urls)
        elif now - since >= STEADY_US:
            self.tries = 0
        else:
            self.tries = min(self.tries, FLICKERING * len(self._urls))
        self.at = now + max(wait_us, self._wait_us())
        self.tries += 1

    def _wait_us(self) -> int:
        rounds = self.tries // len(self._urls)
        longest = min(WAIT_MAX_US, FIRST_WAIT_US << min(rounds, 16))
        return int(longest * (0.5 + self._chance.random() / 2))
