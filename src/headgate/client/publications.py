"""Which publications have no answer yet, and to whom may they be sent again?

A broker knows a repeated publication by its event id, on its own streams. So what may have been
stored by one broker is never sent to another one, which would store it once more: it waits until
that broker is back, or until its time is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from random import Random
from typing import Final, TypeAlias, final

from msgspec import Raw

from headgate.client.errors import RefusedError, UnreachableError
from headgate.http.socket_messages import Publish, Published, Refused
from headgate.model.errors import HeadgateError, named
from headgate.stores.acl import UnknownOutcomeError

REST_US: Final = 200_000
"""What is refused for now is tried again after about this, then after twice that, …"""
REST_MAX_US: Final = 5_000_000
_AROUND_BYTES: Final = 128
"""What stands around an event in its message, about."""


@dataclass(eq=False, slots=True)
class Publication:
    """One event on its way, under the same event id however often it is sent."""

    number: int
    event_id: str
    stream: str | None
    body: bytes
    is_json: bool
    size: int
    """How many bytes its message takes, about."""
    give_up_at: int
    broker: str | None = None
    """The broker that may have stored it."""
    is_doubtful: bool = False
    """Whether it was once sent on a connection that was lost before the answer."""
    refusals: int = 0
    because: str = ""
    """Why it was refused for now, the last time."""
    rests_until: int | None = None

    def message(self, request: int) -> Publish:
        if self.is_json:
            return Publish(request, Raw(self.body), id=self.event_id, stream=self.stream)
        return Publish(request, payload_base64=self.body, id=self.event_id, stream=self.stream)


Outcome: TypeAlias = Published | HeadgateError


@final
class Publications:
    """All publications of a program that have no answer yet, in the order in which they came."""

    def __init__(self, names: str, in_flight_max: int, patience_us: int, chance: Random) -> None:
        self.settled: list[tuple[Publication, Outcome]] = []
        """What has an outcome since this was emptied."""
        self._names = names
        """What the event ids of those begin with that have none of their own."""
        self._in_flight_max = in_flight_max
        self._patience_us = patience_us
        self._chance = chance
        self._last = 0
        self._all: dict[int, Publication] = {}
        self._to_send: deque[Publication] = deque()
        self._asked: dict[int, Publication] = {}
        """By number of the request, on the connection that there is."""
        self._resting: dict[int, Publication] = {}
        """Refused for now."""
        self._broker: str | None = None

    def __len__(self) -> int:
        return len(self._all)

    @property
    def waiting(self) -> bool:
        """Whether there is something that may be sent now."""
        return bool(self._to_send) and len(self._asked) < self._in_flight_max

    def add(
        self, body: bytes, is_json: bool, event_id: str, stream: str | None, now: int
    ) -> Publication:
        self._last += 1
        one = Publication(
            self._last,
            event_id or f"{self._names}-{self._last}",
            stream,
            body,
            is_json,
            len(body) * (1 if is_json else 2) + _AROUND_BYTES,
            now + self._patience_us,
        )
        self._all[one.number] = one
        if self._broker is not None:
            self._to_send.append(one)
        return one

    def forget(self, one: Publication) -> None:
        """Nobody waits for it any more; it may be stored or not."""
        self._all.pop(one.number, None)
        self._resting.pop(one.number, None)

    # The connection.

    def connected(self, broker: str) -> None:
        """Send in order what this broker may store; what another may have stored waits for that."""
        self._broker = broker
        self._to_send = deque(
            one
            for one in self._all.values()
            if one.rests_until is None and one.broker in (None, broker)
        )

    def disconnected(self) -> None:
        for one in self._asked.values():
            one.is_doubtful = True
        self._asked.clear()
        self._to_send.clear()
        self._broker = None

    def next(self, requests: Iterator[int], bytes_max: int) -> list[Publish]:
        """What is to be sent now: one at least, if there is any, and no more than these bytes."""
        messages: list[Publish] = []
        while self._to_send and len(self._asked) < self._in_flight_max:
            one = self._to_send[0]
            bytes_max -= one.size
            if messages and bytes_max < 0:
                break
            self._to_send.popleft()
            if one.number not in self._all:
                continue
            request = next(requests)
            one.broker = self._broker
            self._asked[request] = one
            messages.append(one.message(request))
        return messages

    # Answers.

    def published(self, said: Published) -> bool:
        one = self._asked.pop(said.request, None)
        if one is None:
            return False
        self._settle(one, said)
        return True

    def refused(self, said: Refused, now: int) -> bool:
        one = self._asked.pop(said.request, None)
        if one is None:
            return False
        if not said.temporary:
            self._settle(one, RefusedError(said.because))
            return True
        if not one.is_doubtful:
            one.broker = None  # it isn't stored: another one may have it
        one.because = said.because
        one.rests_until = now + rest_us(one.refusals, self._chance)
        one.refusals += 1
        self._resting[one.number] = one
        return True

    def _settle(self, one: Publication, outcome: Outcome) -> None:
        self._resting.pop(one.number, None)
        if self._all.pop(one.number, None) is not None:
            self.settled.append((one, outcome))

    def end(self, because: HeadgateError) -> None:
        """There will be no answers any more."""
        self.disconnected()
        for one in list(self._all.values()):
            error = because if one.broker is None else _unknown(one, str(because))
            self._settle(one, error)

    # Time.

    def next_timer(self) -> int | None:
        # All have the same patience, so the oldest loses it first.
        oldest = next(iter(self._all.values()), None)
        times = [one.rests_until for one in self._resting.values() if one.rests_until is not None]
        return min(times if oldest is None else [*times, oldest.give_up_at], default=None)

    def on_timer(self, now: int) -> None:
        overdue = list(takewhile(lambda one: now >= one.give_up_at, self._all.values()))
        for one in overdue:
            self._settle(one, self._given_up(one))
        for one in list(self._resting.values()):
            if one.rests_until is not None and now >= one.rests_until:
                one.rests_until = None
                del self._resting[one.number]
                if self._broker is not None and one.broker in (None, self._broker):
                    self._to_send.append(one)

    def _given_up(self, one: Publication) -> HeadgateError:
        patience = f"{self._patience_us / 1e6:g} s"
        if one.broker is not None:
            return _unknown(one, f"no answer from broker {named(one.broker)} within {patience}")
        if one.because:
            return RefusedError(f"{one.because} (tried for {patience})", temporary=True)
        return UnreachableError(f"not published: no broker could be reached within {patience}")


def rest_us(refusals: int, chance: Random) -> int:
    """How long to wait after so many refusals: some chance, so that not all come back at once."""
    longest = min(REST_MAX_US, REST_US << min(refusals, 16))
    return int(longest * (0.5 + chance.random() / 2))


def _unknown(one: Publication, because: str) -> UnknownOutcomeError:
    at = f" by broker {named(one.broker)}" if one.broker is not None else ""
    return UnknownOutcomeError(
        f"event {named(one.event_id)} may have been stored{at}, or not: {because}; published there "
        "again under the same id it is stored once"
    )
