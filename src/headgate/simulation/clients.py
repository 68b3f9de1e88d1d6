"""How does a client behave? It connects, asks, and tries again, here or elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, final

from headgate.broker import effects
from headgate.broker.effects import Connected, Message
from headgate.filters.filter import Filter
from headgate.rights.rules import parse_filter
from headgate.simulation.administering import Office
from headgate.simulation.checkers.promises import Observers
from headgate.simulation.cores import Core
from headgate.simulation.counting import Counts
from headgate.simulation.publishing import Outbox
from headgate.simulation.schedules import ClientPlan
from headgate.simulation.sessions import AdvertisementAsked, Asked, Session
from headgate.simulation.subscribing import Wishes
from headgate.simulation.timeline import MILLISECOND, SECOND, Timeline
from headgate.simulation.tracing import Trace, message_line
from headgate.simulation.wires import ClientWire


@final
class Client:
    """One client of the network, at one broker at a time."""

    def __init__(
        self,
        name: str,
        plan: ClientPlan,
        timeline: Timeline,
        wire: ClientWire,
        chance: Random,
        observers: Observers,
        counts: Counts,
        trace: Trace,
    ) -> None:
        self.name = name
        self.plan = plan
        self.timeline = timeline
        self.chance = chance
        self.observers = observers
        self.counts = counts
        self.session: Session | None = None
        self.is_wanted = False
        """Whether it wants to be connected."""
        self.outbox = Outbox(self)
        self.wishes = Wishes(self)
        self.office = Office(self)
        self.advertised: list[str] = []
        self._wire = wire
        self._trace = trace
        self._next_broker = 0
        self._last_request = 0
        self._attempt = 0

    @property
    def is_connected(self) -> bool:
        return self.session is not None and self.session.is_greeted

    @property
    def is_idle(self) -> bool:
        """Whether it waits for nothing that it asked for."""
        return self.outbox.is_empty and self.office.is_empty and self.wishes.are_settled

    # It comes and goes.

    def come(self, broker: str = "") -> None:
        """Connect, or move to another broker."""
        if self.session is not None:
            self.counts["client moved"] += 1
        self.leave(silently=self.chance.random() < 0.3)
        self.is_wanted = True
        if broker in self.plan.brokers:
            self._next_broker = self.plan.brokers.index(broker)
        self._connect(self._attempt)

    def go(self, *, silently: bool) -> None:
        self.is_wanted = False
        self.leave(silently=silently)

    def leave(self, *, silently: bool = False) -> None:
        self._attempt += 1
        session, self.session = self.session, None
        if session is not None:
            self._trace.line(self.name, f"leaves {session.host.name}")
            self._wire.hang_up(session, silently=silently)
            self._without_session()

    def _connect(self, attempt: int) -> None:
        if attempt != self._attempt or not self.is_wanted or self.session is not None:
            return
        brokers = self.plan.brokers
        broker = brokers[self._next_broker % len(brokers)]
        self._next_broker += 1
        plan = self.plan
        self.session = self._wire.connect(self, broker, plan.principal, plan.domain)
        self._trace.line(self.name, f"connects to {broker} as {plan.principal}")
        self.timeline.after(plan.patience_us, self._lose_patience, self.session)

    def _lose_patience(self, session: Session) -> None:
        if session is self.session and not session.is_greeted:
            self.give_up(session, "no answer")

    def give_up(self, session: Session, because: str) -> None:
        """Leave a connection that leads to nothing, and try the next broker."""
        if session is self.session:
            self._trace.line(self.name, f"gives up {session.host.name}: {because}")
            self.counts["client gave up a connection"] += 1
            self.leave(silently=self.chance.random() < 0.5)
            self._try_again()

    def lost(self, session: Session, because: str) -> None:
        if session is self.session:
            self._trace.line(self.name, f"loses {session.host.name}: {because}")
            self.session = None
            self._without_session()
            self._try_again()

    def _without_session(self) -> None:
        self.outbox.disconnected()
        self.wishes.disconnected()
        self.office.disconnected()

    def _try_again(self) -> None:
        self._attempt += 1
        self.timeline.after(self.backoff(), self._connect, self._attempt)

    def backoff(self) -> int:
        return self.chance.randrange(100 * MILLISECOND, SECOND)

    # What it asks and hears.

    def ask(self, asked: Asked, act: Callable[[Core, int, int, int], None]) -> int:
        """Send a request; the act is given the core, this client's id, the request and the time."""
        session = self.session
        assert session is not None
        self._last_request += 1
        request = self._last_request
        session.asked[request] = asked
        for hook in self.observers.asked:
            hook(session, request, asked)
        self.send(session, lambda core, now: act(core, session.id, request, now))
        return request

    def send(self, session: Session, act: Callable[[Core, int], None]) -> None:
        self._wire.carry_up(session, act)

    def advertise(self, text: str) -> None:
        if text not in self.advertised:
            self.advertised.append(text)
        if self.is_connected:
            wanted: Filter = parse_filter(text)
            self.ask(
                AdvertisementAsked(text),
                lambda core, client, request, now: core.advertise(client, request, wanted, now),
            )

    def hear(self, session: Session, message: Message) -> None:
        if session is not self.session:
            return
        if self._trace.is_on:
            self._trace.line(self.name, f"hears {message_line(message)}")
        for hook in self.observers.heard:
            hook(session, message)
        if message.__class__ is Connected:
            session.is_greeted = True
            for text in self.advertised:
                self.advertise(text)
            self.outbox.connected()
            self.wishes.connected()
            self.office.connected()
        else:
            _HEAR[message.__class__](self, message)

    def _delivered(self, message: effects.Delivery) -> None:
        self.outbox.heard()
        self.wishes.delivered(message)

    def _refused(self, message: effects.RequestRefused) -> None:
        for part in (self.outbox, self.wishes, self.office):
            part.refused(message)


def _nothing(client: Client, message: Any) -> None:
    """Good to know."""


_HEAR: dict[type[Message], Callable[[Client, Any], None]] = {
    effects.RequestRefused: Client._refused,
    effects.Published: lambda client, message: client.outbox.published(message),
    effects.Subscribed: lambda client, message: client.wishes.subscribed(message),
    effects.Started: _nothing,
    effects.Lost: _nothing,
    effects.DurableEnded: _nothing,
    effects.Delivery: Client._delivered,
    effects.SubscriptionEnded: lambda client, message: client.wishes.ended(message),
    effects.Acknowledged: _nothing,
    effects.Advertised: _nothing,
    effects.BatchApplied: lambda client, message: client.office.applied(message),
    effects.BatchRefused: lambda client, message: client.office.batch_refused(message),
}
