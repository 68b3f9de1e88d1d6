"""What does a program want to receive, how far has it got, and what comes next?

A wish is one subscription whatever becomes of the connections: on each of them it is asked for
anew, from where it was. What comes twice is dropped here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set
from enum import Enum
from typing import Final, TypeAlias, final

from headgate.http.cursors import Position, print_cursor
from headgate.http.socket_messages import Acknowledge, Delivery, Lost, Started, Subscribe
from headgate.model.errors import HeadgateError

ACKNOWLEDGED_TOGETHER: Final = 64
"""So many deliveries of a subscription that isn't durable are acknowledged at once."""

START: Final = "start"
Beginning: TypeAlias = Mapping[str, int] | str | None
"""After these offsets, after a cursor or at the `start`; else with what comes from now on."""


Coming: TypeAlias = Started | Delivery | Lost
"""What may wait for the program."""


class Phase(Enum):
    """Where a wish stands."""

    WAITING = "not asked for, on this connection"
    ASKED = "asked for"
    ACTIVE = "accepted"
    OVER = "ended"


@final
class Wish:
    """One subscription that a program wants to have."""

    def __init__(
        self,
        number: int,
        filter_: str,
        *,
        durable: str | None = None,
        causal: bool = False,
        after: Beginning = None,
        by_hand: bool = False,
    ) -> None:
        self.number = number
        self.filter = filter_
        self.durable = durable
        self.causal = causal
        self.by_hand = by_hand
        """Whether the program says itself what it is done with."""
        self.phase = Phase.WAITING
        self.subscription = 0
        """Its number on the connection that there is."""
        self.request = 0
        self.attachment = 0
        self.is_unwanted = False
        """Whether it is to be ended wherever it is durable."""
        self.refusals = 0
        self.because = ""
        """Why it was refused for now, the last time."""
        self.retry_at: int | None = None
        self.give_up_at: int | None = None
        """Until it is first accepted: when that takes too long."""
        self.error: HeadgateError | None = None
        self.ready: deque[Coming] = deque()
        """What waits for the program, in order."""
        self._after = after
        self._in_hand: Delivery | None = None
        self._incarnations: dict[str, str] = {}
        self._received: dict[tuple[str, str], int] = {}
        """By stream and incarnation, up to which offset everything has come."""
        self._done: dict[tuple[str, str], int] = {}
        self._kept: dict[tuple[str, str], int] = {}
        self._unsaid: dict[str, int] = {}
        self._taken = 0

    # Asking.

    def ask(self, request: int, subscription: int) -> Subscribe:
        self.phase, self.request, self.subscription = Phase.ASKED, request, subscription
        self.retry_at = None
        return Subscribe(
            request,
            subscription,
            self.filter,
            durable=self.durable,
            causal=self.causal,
            after=self._beginning(),
            paced=self.durable is None,
        )

    def _beginning(self) -> dict[str, int] | str | None:
        """Where it goes on: a durable one is told by its broker."""
        if self.durable is not None:
            return None
        at = {
            stream: Position(incarnation, self._received[stream, incarnation])
            for stream, incarnation in self._incarnations.items()
        }
        if not at:
            return self._after if isinstance(self._after, str | None) else dict(self._after)
        if isinstance(self._after, Mapping) and not self._after.keys() <= at.keys():
            # Of streams that haven't begun yet no more than an offset is known.
            return {**self._after, **{stream: one.offset for stream, one in at.items()}}
        return print_cursor(at)

    def accepted(self, attachment: int) -> None:
        self.phase, self.attachment = Phase.ACTIVE, attachment
        self.refusals, self.give_up_at = 0, None

    def refused_for_now(self, because: str, retry_at: int) -> None:
        self.phase, self.because, self.retry_at = Phase.WAITING, because, retry_at
        self.refusals += 1

    def next_timer(self) -> int | None:
        times = [at for at in (self.retry_at, self.give_up_at) if at is not None]
        return min(times, default=None)

    def disconnected(self) -> None:
        if self.phase is not Phase.OVER:
            self.phase, self.retry_at = Phase.WAITING, None
        self._unsaid.clear()

    def end(self, because: HeadgateError) -> None:
        """No more comes; of a durable one what the program hasn't taken will come again."""
        if self.phase is Phase.OVER:
            return
        self.phase, self.error, self.retry_at = Phase.OVER, because, None
        self._unsaid.clear()
        if self.durable is not None:
            self.ready.clear()

    # What comes.

    def started(self, said: Started) -> None:
        key = said.stream, said.incarnation
        self._incarnations[said.stream] = said.incarnation
        if self.durable is not None:
            self._kept[key] = max(said.after, self._kept.get(key, 0))
            self._drop_what_others_did(said)
        self._received[key] = max(said.after, self._received.get(key, 0))
        self.ready.append(said)

    def _drop_what_others_did(self, said: Started) -> None:
        """What waits here and is acknowledged already was done by another attachment."""
        self.ready = deque(
            one
            for one in self.ready
            if not isinstance(one, Delivery)
            or (one.stream, one.incarnation) != (said.stream, said.incarnation)
            or one.offset > said.after
        )

    def delivered(self, said: Delivery) -> None:
        if self.is_unwanted:
            return
        key = said.stream, said.incarnation
        if said.offset > self._received.get(key, 0):
            self._received[key] = said.offset
            self.ready.append(said)
        elif said.offset <= self._done.get(key, -1):
            # On this attachment it counts as on the way until it is acknowledged once more.
            self._unsaid[said.stream] = self._done[key]

    def lost(self, said: Lost) -> None:
        """The broker doesn't have it any more: it is not asked for again."""
        key = said.stream, said.incarnation
        self._received[key] = max(said.up_to, self._received.get(key, 0))
        self.ready.append(said)

    def acknowledged(self, stream: str, offset: int) -> None:
        key = stream, self._incarnations.get(stream, "")
        self._kept[key] = max(offset, self._kept.get(key, 0))

    @property
    def began_on(self) -> Set[str]:
        """The streams on which it has begun."""
        return self._incarnations.keys()

    # What the program does.

    def take(self) -> Coming | None:
        """What comes next, if anything does; whoever asks is done with what came before."""
        if self._in_hand is not None and not (self.by_hand and self.durable is not None):
            self.acknowledge(self._in_hand)
        self._in_hand = None
        if not self.ready:
            return None
        one = self.ready.popleft()
        if isinstance(one, Delivery):
            self._in_hand = one
        return one

    def acknowledge(self, one: Delivery) -> None:
        """The program is done with this, and with all that came before it on its stream."""
        key = one.stream, one.incarnation
        if one.offset <= self._done.get(key, -1):
            return
        self._done[key] = one.offset
        self._taken += 1
        if self.phase is not Phase.OVER and self._incarnations.get(one.stream) == one.incarnation:
            self._unsaid[one.stream] = one.offset

    def is_kept(self, one: Delivery) -> bool:
        """Whether the broker will never deliver this again; a stream that is gone least of all."""
        key = one.stream, one.incarnation
        return (
            self._kept.get(key, -1) >= one.offset
            or self._incarnations.get(one.stream) != one.incarnation
        )

    @property
    def has_unsaid(self) -> bool:
        """Whether there is something to acknowledge that is worth a message now."""
        return (
            bool(self._unsaid)
            and self.phase is Phase.ACTIVE
            and (self.durable is not None or not self.ready or self._taken >= ACKNOWLEDGED_TOGETHER)
        )

    def say(self) -> list[Acknowledge]:
        """What is to be acknowledged now."""
        said = [
            Acknowledge(self.subscription, stream, offset)
            for stream, offset in self._unsaid.items()
        ]
        self._unsaid.clear()
        self._taken = 0
        return said
