"""How does a client subscribe? It asks, processes and acknowledges, and asks again."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from headgate.broker.effects import Delivery, RequestRefused, Subscribed, SubscriptionEnded
from headgate.rights.rules import parse_filter
from headgate.simulation.schedules import Subscribe
from headgate.simulation.sessions import Session, SubscriptionAsked
from headgate.simulation.timeline import MILLISECOND, SECOND

if TYPE_CHECKING:
    from headgate.simulation.clients import Client

_REFUSALS_MAX = 3
_ENDS_MAX = 3
_FLUSH_US = 200 * MILLISECOND


@final
class Wish:
    """One subscription that a client wants to have, whatever becomes of its connections."""

    __slots__ = (
        "ends", "is_active", "is_given_up", "processed", "refusals", "request", "subscription",
        "unacknowledged", "wanted",
    )  # fmt: skip

    def __init__(self, wanted: Subscribe) -> None:
        self.wanted = wanted
        self.request: int | None = None
        """Asked for, and not answered."""
        self.subscription = 0
        self.is_active = False
        self.is_given_up = False
        self.refusals = 0
        self.ends = 0
        self.processed: dict[str, int] = {}
        self.unacknowledged: dict[str, int] = {}


@final
class Wishes:
    """All subscriptions of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wishes: dict[str, Wish] = {}
        self._active: dict[int, Wish] = {}
        self._last_subscription = 0
        self._stalled_until = 0

    @property
    def are_settled(self) -> bool:
        """Whether each one is active, or given up after refusals."""
        return not self._client.is_wanted or all(
            wish.is_active or wish.is_given_up for wish in self._wishes.values()
        )

    @property
    def given_up(self) -> list[str]:
        return [key for key, wish in self._wishes.items() if wish.is_given_up]

    def add(self, wanted: Subscribe) -> None:
        if wanted.key not in self._wishes:
            wish = self._wishes[wanted.key] = Wish(wanted)
            if self._client.is_connected:
                self._ask(wish)

    def remove(self, key: str) -> None:
        wish = self._wishes.pop(key, None)
        session = self._client.session
        if wish is not None and wish.is_active and session is not None:
            subscription = wish.subscription
            self._client.send(
                session, lambda core, now: core.unsubscribe(session.id, subscription, now)
            )
            for hook in self._client.observers.unsubscribing:
                hook(session, subscription)

    def stall(self, for_us: int) -> None:
        """Process nothing for a while."""
        self._stalled_until = self._client.timeline.now + for_us

    def try_again(self) -> None:
        """The faults are over: what was given up is asked for once more."""
        for wish in self._wishes.values():
            wish.is_given_up = False
            wish.refusals = _REFUSALS_MAX - 1
            wish.ends = 0
            if self._client.is_connected and wish.request is None and not wish.is_active:
                self._ask(wish)

    def connected(self) -> None:
        for wish in self._wishes.values():
            self._ask(wish)

    def disconnected(self) -> None:
        self._active.clear()
        for wish in self._wishes.values():
            wish.request = None
            wish.is_active = False
            wish.is_given_up = False
            wish.refusals = 0
            wish.unacknowledged = {}

    def _ask(self, wish: Wish) -> None:
        self._last_subscription += 1
        wish.unacknowledged = {}  # of what it was before
        wanted, number = wish.wanted, self._last_subscription
        wish.subscription = number
        processed = wish.processed if wanted.resumed else {}
        after = {**wanted.after, **processed} or None
        if processed:
            self._client.counts["subscription resumed by its client"] += 1
        if wanted.after:
            self._client.counts["subscription from an offset"] += 1
        asked = SubscriptionAsked(
            number, wanted.key, wanted.filter, wanted.durable, wanted.causal, after
        )
        filter_ = parse_filter(wanted.filter)
        wish.request = self._client.ask(
            asked,
            lambda core, client, request, now: core.subscribe(
                client,
                request,
                number,
                filter_,
                now,
                durable=wanted.durable,
                causal=wanted.causal,
                after=after,
            ),
        )
        self._active[number] = wish
        patience = 2 * self._client.plan.patience_us
        self._client.timeline.after(patience, self._lose_patience, wish, wish.request)

    def _lose_patience(self, wish: Wish, request: int) -> None:
        session = self._client.session
        if wish.request == request and session is not None and self._asked_in(session, request):
            self._client.give_up(session, "a subscription has no answer")

    def _asked_in(self, session: Session, request: int) -> bool:
        return request in session.asked

    def _ask_again(self, wish: Wish, session: Session) -> None:
        if session is self._client.session and wish.request is None and not wish.is_active:
            self._ask(wish)

    # What it hears.

    def subscribed(self, message: Subscribed) -> None:
        wish = self._active.get(message.subscription)
        if wish is not None:
            wish.request = None
            wish.is_active = True
            wish.refusals = 0

    def refused(self, message: RequestRefused) -> None:
        for wish in self._wishes.values():
            if wish.request == message.request:
                self._active.pop(wish.subscription, None)
                wish.request = None
                self._refused(wish, temporary=message.temporary)

    def _refused(self, wish: Wish, *, temporary: bool) -> None:
        counts = self._client.counts
        session = self._client.session
        if temporary:
            counts["subscription refused for now"] += 1
        else:
            counts["subscription refused"] += 1
            wish.refusals += 1
            wish.is_given_up = wish.refusals >= _REFUSALS_MAX
        if not wish.is_given_up:
            self._client.timeline.after(self._client.backoff(), self._ask_again, wish, session)

    def ended(self, message: SubscriptionEnded) -> None:
        wish = self._active.pop(message.subscription, None)
        if wish is None or wish.subscription != message.subscription:
            return
        wish.is_active = False
        wish.request = None
        wish.ends += 1
        wish.is_given_up = wish.ends >= _ENDS_MAX
        self._client.counts["subscription ended by its broker"] += 1
        if not wish.is_given_up and self._wishes.get(wish.wanted.key) is wish:
            delay = self._client.backoff() + SECOND
            self._client.timeline.after(delay, self._ask_again, wish, self._client.session)

    def delivered(self, message: Delivery) -> None:
        session = self._client.session
        delay = self._client.plan.ack_us
        wait = max(0, self._stalled_until - self._client.timeline.now)
        if delay or wait:
            self._client.timeline.after(delay + wait, self._process, session, message)
        else:
            self._process(session, message)

    def _process(self, session: Session | None, message: Delivery) -> None:
        wish = self._active.get(message.subscription)
        if session is None or session is not self._client.session or wish is None:
            return
        wish.processed[message.stream] = message.offset
        is_first = not wish.unacknowledged
        wish.unacknowledged[message.stream] = message.offset
        wish.ends = 0
        total = self._client.plan.ack_every
        if total <= 1 or self._client.chance.randrange(total) == 0:
            self._acknowledge(session, wish)
        elif is_first:
            self._client.timeline.after(_FLUSH_US, self._acknowledge, session, wish)

    def _acknowledge(self, session: Session, wish: Wish) -> None:
        if session is not self._client.session or not wish.is_active:
            return
        unacknowledged, wish.unacknowledged = wish.unacknowledged, {}
        for stream, offset in unacknowledged.items():
            self._send_acknowledgement(session, wish.subscription, stream, offset)

    def _send_acknowledgement(
        self, session: Session, subscription: int, stream: str, offset: int
    ) -> None:
        for hook in self._client.observers.acknowledging:
            hook(session, subscription, stream, offset)
        self._client.send(
            session,
            lambda core, now: core.acknowledge(session.id, subscription, stream, offset, now),
        )
