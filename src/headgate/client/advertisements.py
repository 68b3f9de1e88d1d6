"""What has the program said that it is going to publish, and does this broker know of it yet?

A broker that takes only what was advertised forgets it with the connection. So it is said again on
the next one, and nothing is published there before the broker has agreed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import final

from headgate.client.errors import RefusedError
from headgate.client.publications import rest_us
from headgate.http.socket_messages import Advertise, Refused
from headgate.model.errors import HeadgateError


@dataclass(eq=False, slots=True)
class Advertisement:
    """One filter that says what is going to be published."""

    filter: str
    is_accepted: bool = False
    """Whether any broker has agreed to it."""
    request: int | None = None
    refusals: int = 0
    retry_at: int | None = None


@final
class Advertisements:
    """All that the program advertises."""

    def __init__(self, chance: Random) -> None:
        self.settled: list[tuple[Advertisement, HeadgateError | None]] = []
        """What has its first answer since this was emptied."""
        self._chance = chance
        self._all: list[Advertisement] = []
        self._due: list[Advertisement] = []

    @property
    def all_known(self) -> bool:
        """Whether the broker has answered for all that were accepted before."""
        return not any(
            one.is_accepted and (one.request is not None or one.retry_at is not None)
            for one in self._all
        ) and not any(one.is_accepted for one in self._due)

    @property
    def waiting(self) -> bool:
        return bool(self._due)

    def add(self, filter_: str, *, is_open: bool) -> Advertisement:
        one = Advertisement(filter_)
        self._all.append(one)
        if is_open:
            self._due.append(one)
        return one

    def connected(self) -> None:
        self._due = list(self._all)

    def disconnected(self) -> None:
        self._due.clear()
        for one in self._all:
            one.request = one.retry_at = None

    def next(self, requests: Iterator[int]) -> list[Advertise]:
        due, self._due = self._due, []
        for one in due:
            one.request, one.retry_at = next(requests), None
        return [Advertise(one.request, one.filter) for one in due if one.request is not None]

    def advertised(self, request: int) -> None:
        one = self._asked(request)
        if one is not None:
            one.request, one.refusals = None, 0
            if not one.is_accepted:
                one.is_accepted = True
                self.settled.append((one, None))

    def refused(self, said: Refused, now: int) -> bool:
        one = self._asked(said.request)
        if one is None:
            return False
        one.request = None
        if said.temporary:
            one.retry_at = now + rest_us(one.refusals, self._chance)
            one.refusals += 1
            return True
        self._all.remove(one)
        if not one.is_accepted:
            self.settled.append((one, RefusedError(said.because)))
        return True

    def end(self, because: HeadgateError) -> None:
        self.disconnected()
        for one in self._all:
            if not one.is_accepted:
                self.settled.append((one, because))
        self._all.clear()

    def next_timer(self) -> int | None:
        return min((one.retry_at for one in self._all if one.retry_at is not None), default=None)

    def on_timer(self, now: int) -> None:
        for one in self._all:
            if one.retry_at is not None and now >= one.retry_at:
                one.retry_at = None
                self._due.append(one)

    def _asked(self, request: int) -> Advertisement | None:
        return next((one for one in self._all if one.request == request), None)
