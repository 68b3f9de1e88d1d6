"""How does a broker get an answer from another one, wherever it is in the tree?

Questions go hop by hop to the broker that is named, and are asked again until they are answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from headgate.broker.neighbours import Neighbours
from headgate.broker.outbox import Outbox
from headgate.broker.questions import Answer, Question, answer, encode, question
from headgate.broker.settings import Settings
from headgate.peering.errors import PeerError
from headgate.peering.frames import Reply, Request

Answered = Callable[[Answer, int, int], None]
"""Called with the answer, the time at which the question was first asked, and now."""
Respond = Callable[[Answer, int], None]
Handler = Callable[[str, Question, Respond, int], None]


@dataclass
class _Open:
    target: str
    body: bytes
    then: Answered
    asked_at: int
    again_at: int
    until: int | None


@final
class Asking:
    """The questions of this broker, and the way through it for those of others."""

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        neighbours: Neighbours,
        boot: str,
        handle: Handler,
    ) -> None:
        self._settings = settings
        self._outbox = outbox
        self._neighbours = neighbours
        self._boot = boot
        self._handle = handle
        self._open: dict[int, _Open] = {}
        self._turn = 0

    def ask(
        self, target: str, asked: Question, then: Answered, now: int, until: int | None = None
    ) -> int:
        """Ask until there is an answer, the time is up, or `forget` is called with the number."""
        number = self._outbox.next_number()
        one = _Open(target, encode(asked), then, now, now, until)
        self._open[number] = one
        self._ask(number, one, now)
        return number

    def forget(self, number: int) -> None:
        self._open.pop(number, None)

    def _ask(self, number: int, one: _Open, now: int) -> None:
        one.again_at = now + self._settings.ask_again_us
        if one.target == self._settings.broker:
            self._handle(
                one.target,
                question(one.body),
                lambda said, then: self._answered(number, said, then),
                now,
            )
            return
        me = self._settings.broker
        self._pass_on(one.target, Request(me, self._boot, number, one.target, one.body), now)

    def _pass_on(self, target: str, frame: Request | Reply, now: int) -> None:
        topology = self._settings.topology
        ways = self._neighbours.reachable(topology.towards(self._settings.broker, target))
        if ways:
            self._turn += 1
            way = target if target in ways else ways[self._turn % len(ways)]
            self._neighbours.send(way, frame, now)

    def on_request(self, frame: Request, now: int) -> None:
        if frame.target not in self._settings.topology.node_of:
            return
        if frame.target != self._settings.broker:
            self._pass_on(frame.target, frame, now)
            return

        def respond(said: Answer, then: int) -> None:
            reply = Reply(frame.origin, frame.boot, frame.number, encode(said))
            self._pass_on(frame.origin, reply, then)

        if frame.origin in self._settings.topology.node_of:
            try:
                asked = question(frame.body)
            except PeerError:
                # Not the fault of the neighbour, who only passed it on.
                self._outbox.count("nonsense asked")
                return
            self._handle(frame.origin, asked, respond, now)

    def on_reply(self, frame: Reply, now: int) -> None:
        if frame.origin != self._settings.broker:
            if frame.origin in self._settings.topology.node_of:
                self._pass_on(frame.origin, frame, now)
        elif frame.boot == self._boot:
            try:
                said = answer(frame.body)
            except PeerError:
                self._outbox.count("nonsense answered")
                return
            self._answered(frame.number, said, now)

    def _answered(self, number: int, said: Answer, now: int) -> None:
        one = self._open.pop(number, None)
        if one is not None:
            one.then(said, one.asked_at, now)

    def next_timer(self) -> int | None:
        return min((one.again_at for one in self._open.values()), default=None)

    def on_timer(self, now: int) -> None:
        for number, one in list(self._open.items()):
            if one.again_at <= now and number in self._open:
                if one.until is not None and now >= one.until:
                    del self._open[number]
                else:
                    self._ask(number, one, now)
