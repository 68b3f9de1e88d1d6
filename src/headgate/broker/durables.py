"""How far is each durable subscription, wherever it is attached? Kept by the policy's host.

Attaching takes the name over. An attachment has a number, acknowledgements of an earlier one are
refused, and positions only grow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import msgspec
from msgspec import Struct

from headgate.broker.outbox import Lost, Outbox
from headgate.broker.questions import (
    AskOwed,
    KeepPositions,
    OwedIs,
    Positions,
    PositionsKept,
    Take,
    Taken,
    TakenOver,
)

_KEY: Final = "durable/"
_ATTACHMENTS: Final = "attachments"
Ended = Callable[[bool, str], None]
"""Called with whether there was one, and why it is still there if it is."""
Notify = Callable[[str, TakenOver, int], None]


class Durable(Struct, frozen=True):
    """One durable subscription as it is kept."""

    principal: str
    name: str
    domain: str | None
    filter: str
    causal: bool
    attachment: int
    broker: str
    boot: str
    nonce: int
    positions: Positions


@final
class Durables:
    """All durable subscriptions of the network."""

    def __init__(self, outbox: Outbox, kept: dict[str, bytes], notify: Notify) -> None:
        self._outbox = outbox
        self._notify = notify
        self._all: dict[tuple[str, str], Durable] = {}
        self._ending: dict[tuple[str, str], Durable] = {}
        """Those of which it is being stored that they are over."""
        self._attachments = msgspec.json.decode(kept.get(_ATTACHMENTS, b"0"), type=int)
        for key, value in sorted(kept.items()):
            if key.startswith(_KEY):
                one = msgspec.msgpack.decode(value, type=Durable)
                self._all[one.principal, one.name] = one

    def take(self, asked: Take, respond: Callable[[Taken, int], None], now: int) -> None:
        """Attach, or say again what was attached when the same was asked before."""
        before = self._all.get((asked.principal, asked.name))
        if before is not None and self._differs(before, asked):
            because = (
                f"`{asked.name}` is a durable subscription to `{before.filter}`"
                f"{' in causal order' if before.causal else ''}: end it first, or take another name"
            )
            respond(Taken(0, {}, because[:1_000]), now)
            return
        same = before is not None and (before.broker, before.boot, before.nonce) == (
            asked.broker, asked.boot, asked.nonce,
        )  # fmt: skip
        if before is None and asked.existing:
            respond(Taken(0, {}, f"there is no durable subscription `{asked.name}`"), now)
            return
        if before is not None and same:
            attachment = before.attachment
        else:
            # One series for all: who holds an old number of a name that was made anew has none.
            attachment = self._attachments = self._attachments + 1
        # Asked again, all of it is kept again: the first time it may not have been.
        self._outbox.keep(_ATTACHMENTS, msgspec.json.encode(self._attachments))
        one = Durable(
            asked.principal, asked.name, asked.domain, asked.filter, asked.causal, attachment,
            asked.broker, asked.boot, asked.nonce, before.positions if before is not None else {},
        )  # fmt: skip
        self._keep(one, lambda now: respond(Taken(attachment, one.positions), now))
        if before is not None and not same:
            self._outbox.count("takeover of a durable name")
            over = TakenOver(asked.principal, asked.name, attachment, asked.broker)
            self._notify(before.broker, over, now)

    @staticmethod
    def _differs(before: Durable, asked: Take) -> bool:
        return (before.filter, before.causal, before.domain) != (
            asked.filter, asked.causal, asked.domain,
        )  # fmt: skip

    def keep_positions(
        self, asked: KeepPositions, respond: Callable[[PositionsKept, int], None], now: int
    ) -> None:
        key = asked.principal, asked.name
        one = self._all.get(key)
        if one is None and asked.forget:
            respond(PositionsKept(True), now)  # asked again: it is over already
        elif one is None or one.attachment != asked.attachment:
            self._outbox.count("late acknowledgement refused")
            respond(PositionsKept(False), now)
        elif asked.forget:
            self._forget(one, respond)
        elif self._ending.get(key) is one:
            respond(PositionsKept(False), now)  # asked before its end, and again
        else:
            grown = msgspec.structs.replace(one, positions=_grown(one.positions, asked.positions))
            self._keep(grown, lambda now: respond(PositionsKept(True), now))

    def all(self) -> list[Durable]:
        """Each of them, by the principal and the name."""
        return [self._all[key] for key in sorted(self._all)]

    def end(self, principal: str, name: str, then: Ended, now: int) -> None:
        """End one for good, whoever is attached; say whether there was one, once that is stored."""
        one = self._all.get((principal, name))
        if one is None:
            then(False, "")
            return
        self._outbox.count("durable ended by others")
        self._forget(one, lambda *_: then(True, ""), lambda because, now: then(True, because))
        over = TakenOver(principal, name, one.attachment + 1, one.broker, ended=True)
        self._notify(one.broker, over, now)

    def owed(self, asked: AskOwed, respond: Callable[[OwedIs, int], None], now: int) -> None:
        """Say up to where all are done, once what that is said by can't be forgotten."""
        done: dict[str, int] = {}
        for one in self._all.values():
            for stream, (incarnation, offset) in one.positions.items():
                if asked.streams.get(stream) == incarnation:
                    done[stream] = min(offset, done.get(stream, offset))
        said = OwedIs(done)
        self._outbox.when_stored(lambda now: respond(said, now), lambda *_: None, now)

    def _forget(
        self,
        one: Durable,
        respond: Callable[[PositionsKept, int], None],
        lost: Lost = lambda *_: None,
    ) -> None:
        """Until it is stored that it is over, it is not."""

        key = one.principal, one.name
        self._ending[key] = one

        def stored(now: int) -> None:
            if self._all.get(key) is one:
                del self._all[key]
            if self._ending.get(key) is one:
                del self._ending[key]
            respond(PositionsKept(True), now)

        self._outbox.keep(_key(one), None, stored, lost)

    def _keep(self, one: Durable, then: Callable[[int], None]) -> None:
        """Who asked asks again where this can't be stored."""
        self._all[one.principal, one.name] = one
        self._outbox.keep(_key(one), msgspec.msgpack.encode(one), then, lambda *_: None)


def _grown(before: Positions, said: Positions) -> Positions:
    positions = dict(before)
    for stream, (incarnation, offset) in said.items():
        old = positions.get(stream)
        if old is None or old[0] != incarnation or old[1] < offset:
            positions[stream] = (incarnation, offset)
    return positions


def _key(one: Durable) -> str:
    return _KEY + msgspec.json.encode([one.principal, one.name]).decode()
