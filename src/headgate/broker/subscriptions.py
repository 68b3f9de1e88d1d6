"""Who subscribes to what here, and from where to where on each stream?

A subscription becomes one delivery for each stream. Where it starts is vouched for, written to
`$subscriptions`, told to the client, and only then something is delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, final

from headgate.broker.advertisements import first_wanted
from headgate.broker.deliveries import StreamDelivery
from headgate.broker.effects import Lost, Started, SubscriptionEnded
from headgate.broker.feeds import Feed
from headgate.broker.hosting import Hosting
from headgate.broker.interests import STEPS_MAX, Interest, InterestSet
from headgate.broker.outbox import Outbox
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.settings import Settings
from headgate.broker.streams import Streams
from headgate.filters.filter import Filter
from headgate.log.digests import RunningDigest
from headgate.log.records import DELIVERIES, SUBSCRIPTIONS, Record
from headgate.model.limits import FILTER_LIMITS
from headgate.rights.effective import Rights
from headgate.rights.restriction import restricted
from headgate.rights.subscriptions import Subscription

VECTOR_MAX: Final = 1_024


@dataclass(eq=False)
class Subscribed:
    """One subscription of a client that is connected here."""

    client: int
    number: int
    subscription: Subscription
    causal: bool = False
    durable: str | None = None
    attachment: int = 0
    after: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Where it is to start, on streams on which it doesn't start live: incarnation and offset."""
    passed_over: dict[str, int | None] = field(default_factory=dict)
    """Streams on which nobody had advertised what it wants, and where that begins after all."""
    deliveries: dict[str, StreamDelivery] = field(default_factory=dict)
    interest: Interest | None = None
    outstanding: int = 0
    outstanding_bytes: int = 0
    full: bool = False
    vector: dict[str, tuple[str, int]] = field(default_factory=dict)
    """What its client has seen, shared by all subscriptions of the client."""

    @property
    def principals(self) -> tuple[str, ...]:
        one = self.subscription
        return (one.principal,) if one.domain is None else (one.principal, one.domain)


GiveUp = Callable[[Subscribed, str, int], None]
KeepStart = Callable[[Subscribed, str, str, int, Callable[[int], None], int], None]


@final
class Subscriptions:
    """All subscriptions of the clients here, and their deliveries."""

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        policy: PolicyFollowing,
        hosting: Hosting,
        streams: Streams,
        *,
        keep_start: KeepStart,
        give_up: GiveUp,
    ) -> None:
        self.settings = settings
        self.outbox = outbox
        self.policy = policy
        self.hosting = hosting
        self._streams = streams
        self._keep_start = keep_start
        self.give_up = give_up
        """Ends a subscription that can't be served any more, and tells its client why."""
        self._all: dict[Subscribed, None] = {}
        self._held: dict[StreamDelivery, None] = {}
        self._woken: dict[StreamDelivery, None] = {}
        self._unnoted: dict[StreamDelivery, None] = {}
        self._retry_at: int | None = None
        self._checkpoint_at: int | None = None

    # beginning

    def all(self) -> Iterator[Subscribed]:
        """In the order in which they came."""
        return iter(self._all)

    def add(self, subscribed: Subscribed, now: int) -> None:
        self._all[subscribed] = None
        if self._checkpoint_at is None:
            self._checkpoint_at = now + self.settings.checkpoint_us
        subscribed.interest = self._interest(subscribed)
        for stream in list(self._streams.names()):
            self._attach(subscribed, stream, now)

    def stream_found(self, stream: str, now: int) -> None:
        for subscribed in list(self._all):
            self._attach(subscribed, stream, now)

    def _attach(self, subscribed: Subscribed, stream: str, now: int) -> None:
        if subscribed not in self._all:
            return  # what became of it on another stream has ended it
        if stream in subscribed.deliveries or not self._may_reach(subscribed, stream):
            return
        feed = self._streams.feed(stream) if self._is_published(subscribed, stream) else None
        if feed is None:
            return
        incarnation, at = subscribed.after.pop(stream, ("", None))
        if incarnation not in ("", feed.incarnation):
            at = None  # the stream it was at is gone
        # What the client itself names has no incarnation: nobody keeps it yet.
        is_kept = at is not None and bool(incarnation)
        if at is None:
            at = subscribed.passed_over.pop(stream, None)
        self._serve_from(subscribed, feed, at, now, is_kept=is_kept)

    def _serve_from(
        self,
        subscribed: Subscribed,
        feed: Feed,
        at: int | None,
        now: int,
        *,
        is_kept: bool,
        kept_from: int | None = None,
    ) -> None:
        """Let a subscription begin on a stream after an offset, or behind what is gone of it."""
        stream = feed.stream
        removed = self._streams.removed(stream)
        if at is not None and at < removed:
            self.outbox.count("owed and removed")
            lost = Lost(subscribed.number, stream, feed.incarnation, at, removed)
            self.outbox.tell(subscribed.client, lost)
            # Until its client acknowledges something behind the gap, it is told again.
            kept_from = at if kept_from is None else kept_from
            at = removed
        delivery = StreamDelivery(self, subscribed, stream, self._wanted(subscribed), at)
        delivery.kept_from = kept_from
        delivery.start_is_kept = is_kept
        delivery.has_seen = is_kept and subscribed.durable is not None
        delivery.incarnation = feed.incarnation
        subscribed.deliveries[stream] = delivery
        feed.add(delivery, now)
        delivery.asked_remotely = delivery.vouched_at is None

    def vouched(self, delivery: StreamDelivery, after: int, now: int) -> None:
        """It is known where it starts."""
        removed = self._streams.removed(delivery.stream)
        if after >= removed:
            self.begin(delivery, after, now)
            return
        # What it is served from is behind the gap: there is nothing between that it is owed.
        self.outbox.count("start behind a gap")
        self._detach(delivery, now)
        feed = self._streams.feed(delivery.stream)
        assert feed is not None
        self._serve_from(delivery.subscribed, feed, removed, now, is_kept=False)

    def _is_published(self, subscribed: Subscribed, stream: str) -> bool:
        """Whether anything may be published there that the subscription wants.

        Who was not attached for that reason starts, when it is, where the first of it may stand.
        """
        advertised = self._streams.advertised(stream)
        if advertised is None:
            return True
        assert subscribed.interest is not None
        first = first_wanted(advertised, subscribed.interest)
        if first is None:
            self.outbox.count("nobody advertises it")
            subscribed.passed_over[stream] = None
        elif stream in subscribed.passed_over:
            subscribed.passed_over[stream] = first
        return first is not None

    def _may_reach(self, subscribed: Subscribed, stream: str) -> bool:
        """The broker's own streams are only for those who have a rule that names them."""
        if not stream.startswith("$"):
            return True
        return all(
            any(
                rule.names_stream(stream)
                for rule in self.policy.rights.rights_at(name, self.policy.known).subscribing
            )
            for name in subscribed.principals
        )

    def begin(self, delivery: StreamDelivery, after: int, now: int) -> None:
        """The start is vouched for: write it down, then tell the client, then deliver."""
        subscribed = delivery.subscribed

        def kept(now: int) -> None:
            delivery.start_is_kept = True
            if subscribed.deliveries.get(delivery.stream) is delivery:
                self._note(delivery, "started", now, lambda then: self._started(delivery, then))

        if subscribed.durable is not None and not delivery.start_is_kept:
            at = after if delivery.kept_from is None else delivery.kept_from
            self._keep_start(subscribed, delivery.stream, delivery.incarnation, at, kept, now)
        else:
            kept(now)

    def _started(self, delivery: StreamDelivery, now: int) -> None:
        subscribed = delivery.subscribed
        if subscribed.deliveries.get(delivery.stream) is not delivery:
            return
        assert delivery.vouched_at is not None
        delivery.start = delivery.done = delivery.vouched_at
        self.outbox.tell(
            subscribed.client,
            Started(subscribed.number, delivery.stream, delivery.incarnation, delivery.start),
        )
        self.serve(delivery, now)
        self.wake(delivery)  # where it starts may be all that others waited for

    def _note(
        self, delivery: StreamDelivery, what: str, now: int, then: Callable[[int], None]
    ) -> None:
        """Write to `$subscriptions`; where that fails a start is tried again a little later."""
        one = delivery.subscribed
        at = delivery.feed.where(delivery) if delivery.feed is not None else delivery.at

        def stored(record: Record | None, because: str, now: int) -> None:
            if record is not None:
                then(now)
            elif what == "started" and one.deliveries.get(delivery.stream) is delivery:
                self._unnoted[delivery] = None
                self._retry_at = now + self.settings.ask_again_us

        body: dict[str, Any] = {
            "change": what,
            "client": one.client,
            "subscription": one.number,
            "principal": one.subscription.principal,
            "filter": str(one.subscription.filter),
            "stream": delivery.stream,
            "incarnation": delivery.incarnation,
            "after": delivery.vouched_at if what == "started" else at,
            "attachment": one.attachment,
        }
        if one.subscription.domain is not None:
            body["domain"] = one.subscription.domain
        if one.durable is not None:
            body["durable"] = one.durable
        self.hosting.note(SUBSCRIPTIONS + self.settings.broker, body, now, stored)

    # ending

    def end(self, subscribed: Subscribed, because: str, now: int, *, tell: bool) -> None:
        if subscribed not in self._all:
            return
        del self._all[subscribed]
        ends = []
        for delivery in list(subscribed.deliveries.values()):
            at = delivery.feed.where(delivery) if delivery.feed is not None else None
            if delivery.start is not None and at is not None:
                ends.append((delivery.stream, at))
                self.checkpoint(delivery, now)
                self._note(delivery, "ended", now, lambda _: None)
            self._detach(delivery, now)
        if tell:
            self.outbox.tell(
                subscribed.client, SubscriptionEnded(subscribed.number, because, tuple(ends))
            )

    def _detach(self, delivery: StreamDelivery, now: int) -> None:
        self._forget(delivery)
        feed = self._streams.feed(delivery.stream)
        if feed is not None:
            feed.remove(delivery, now)

    def _forget(self, delivery: StreamDelivery) -> None:
        """Nobody acknowledges any more what is outstanding of it, or waits for it to go on."""
        self._held.pop(delivery, None)
        self.wake(delivery)
        subscribed = delivery.subscribed
        del subscribed.deliveries[delivery.stream]
        subscribed.outstanding -= len(delivery.outstanding)
        subscribed.outstanding_bytes -= sum(size for _, size in delivery.outstanding)

    def stream_lost(self, stream: str, now: int) -> None:
        """A stream goes on under another incarnation: what was owed of the old one is lost."""
        for subscribed in list(self._all):
            delivery = subscribed.deliveries.get(stream)
            if delivery is not None:
                self.checkpoint(delivery, now)
                self._note(delivery, "ended", now, lambda _: None)
                self._forget(delivery)
                self._go_on(subscribed, now)

    def stream_cut(self, stream: str, now: int) -> None:
        """The beginning of a stream is gone: who was owed some of it goes on behind, and is told.

        Whatever was read after that comes here later than this, so nobody takes it for all.
        """
        removed = self._streams.removed(stream)
        if not removed:
            return
        for subscribed in list(self._all):
            delivery = subscribed.deliveries.get(stream)
            if delivery is None or delivery.feed is None:
                continue
            at = delivery.feed.where(delivery)
            if at is not None and at < removed:
                if delivery.start is not None:
                    self.checkpoint(delivery, now)
                    self._note(delivery, "ended", now, lambda _: None)
                self._detach(delivery, now)
                feed = self._streams.feed(stream)
                assert feed is not None
                self._serve_from(
                    subscribed, feed, at, now,
                    is_kept=delivery.start_is_kept, kept_from=delivery.kept_from,
                )  # fmt: skip
                self._go_on(subscribed, now)

    # what is owed

    def _interest(self, subscribed: Subscribed) -> Interest:
        rights = self.policy.rights
        borders = rights.borders(subscribed.principals)[-STEPS_MAX:]
        steps = []
        for version in borders:
            of_each = tuple(rights.rights_at(name, version) for name in subscribed.principals)
            steps.append((version, _restricted(of_each, subscribed.subscription)))
        return Interest.of(steps)

    def _wanted(self, subscribed: Subscribed) -> InterestSet:
        assert subscribed.interest is not None
        return InterestSet(self.policy.known, frozenset({subscribed.interest}))

    def learnt(self, touched: Iterable[str], now: int) -> None:
        """A version is known now: say what is owed under it, and go on with what was held."""
        changed = set(touched)
        for subscribed in list(self._all):
            if not changed.isdisjoint(subscribed.principals):
                subscribed.interest = self._interest(subscribed)
                for stream in list(self._streams.names()):
                    self._attach(subscribed, stream, now)
            wanted = self._wanted(subscribed)
            for delivery in list(subscribed.deliveries.values()):
                feed = self._streams.feed(delivery.stream)
                if feed is not None and delivery in feed.consumers:
                    feed.want(delivery, wanted, delivery.epoch + 1, now)
        self._serve_held(now)

    def hold(self, delivery: StreamDelivery) -> None:
        self.outbox.count("held for a version")
        self._held[delivery] = None

    def hold_for_older(self, delivery: StreamDelivery, version: int, now: int) -> None:
        """The past is longer than what was told of it."""
        principals = delivery.subscribed.principals
        self._held[delivery] = None
        self.policy.ask_back(principals, version, self._serve_held, now)

    def _serve_held(self, now: int) -> None:
        held, self._held = self._held, {}
        for delivery in held:
            self.serve(delivery, now)

    def serve(self, delivery: StreamDelivery, now: int) -> None:
        if delivery.feed is not None:
            delivery.feed.serve(delivery, now)

    # causal order

    def delivered(self, delivery: StreamDelivery, record: Record, now: int) -> None:
        """What a client has seen is in the causes of what it publishes from now on."""
        vector = delivery.subscribed.vector
        seen = record.stream, (record.incarnation, record.offset)
        for stream, (incarnation, offset) in (*record.vector.items(), seen):
            before = vector.get(stream)
            if before is not None and before[0] == incarnation:
                vector[stream] = (incarnation, max(offset, before[1]))
            elif before is None and len(vector) >= VECTOR_MAX:
                self.outbox.count("vector is full")
            elif before is None or self._current(stream) == incarnation:
                vector[stream] = (incarnation, offset)

    def _current(self, stream: str) -> str | None:
        feed = self._streams.feed(stream)
        return feed.incarnation if feed is not None else None

    def wake(self, delivery: StreamDelivery) -> None:
        self._woken.update(delivery.waiters)
        delivery.waiters.clear()

    def serve_woken(self, now: int) -> bool:
        """Those that waited for another stream, once that has gone on, if there are any."""
        woken, self._woken = self._woken, {}
        for delivery in woken:
            self.serve(delivery, now)
        return bool(woken)

    # acknowledgements

    def window_full(self, subscribed: Subscribed) -> bool:
        if self._has_room(subscribed):
            return False
        if not subscribed.full:
            self.outbox.count("slow consumer")
        subscribed.full = True
        return True

    def _has_room(self, subscribed: Subscribed) -> bool:
        return (
            subscribed.outstanding < self.settings.window
            and subscribed.outstanding_bytes < self.settings.window_bytes
        )

    def _go_on(self, subscribed: Subscribed, now: int) -> None:
        """Deliver what waited for room among the outstanding, if there is room."""
        if subscribed.full and self._has_room(subscribed):
            subscribed.full = False
            for one in list(subscribed.deliveries.values()):
                self.serve(one, now)

    def acknowledge(self, subscribed: Subscribed, stream: str, offset: int, now: int) -> None:
        delivery = subscribed.deliveries.get(stream)
        if delivery is None or delivery.start is None:
            return
        outstanding = delivery.outstanding
        while outstanding and outstanding[0][0] <= offset:
            reached, size = outstanding.popleft()
            delivery.done = max(delivery.done, reached)
            subscribed.outstanding -= 1
            subscribed.outstanding_bytes -= size
        self._go_on(subscribed, now)

    # checkpoints

    def checkpoint(self, delivery: StreamDelivery, now: int) -> None:
        """Write down the digest of what was sent since the last checkpoint."""
        digest, delivery.digest = delivery.digest, RunningDigest()
        if not digest.count:
            return
        one = delivery.subscribed
        body: dict[str, Any] = {
            "client": one.client,
            "subscription": one.number,
            "principal": one.subscription.principal,
            "attachment": one.attachment,
            "stream": delivery.stream,
            "incarnation": delivery.incarnation,
            "from": delivery.digest_from,
            "to": delivery.digest_to,
            "version": delivery.digest_version,
            "count": digest.count,
            "digest": digest.digest.hex(),
        }
        if one.durable is not None:
            body["durable"] = one.durable
        self.outbox.count("checkpoint")
        self.hosting.note(
            DELIVERIES + self.settings.broker, body, now, lambda record, because, then: None
        )

    # time

    def next_timer(self) -> int | None:
        times = (self._checkpoint_at, self._retry_at)
        return min((one for one in times if one is not None), default=None)

    def on_timer(self, now: int) -> None:
        if self._retry_at is not None and now >= self._retry_at:
            self._retry_at = None
            unnoted, self._unnoted = self._unnoted, {}
            for delivery in unnoted:
                if delivery.subscribed.deliveries.get(delivery.stream) is delivery:
                    assert delivery.vouched_at is not None
                    self.begin(delivery, delivery.vouched_at, now)
        if self._checkpoint_at is not None and now >= self._checkpoint_at:
            self._checkpoint_at = now + self.settings.checkpoint_us if self._all else None
            for subscribed in list(self._all):
                for delivery in list(subscribed.deliveries.values()):
                    if now - delivery.digest_since >= self.settings.checkpoint_us:
                        self.checkpoint(delivery, now)


@lru_cache(maxsize=16_384)
def _restricted(of_each: tuple[Rights, ...], subscription: Subscription) -> Filter:
    """Like subscriptions with like rights are restricted once."""
    found = restricted(_Rights(0, of_each), subscription)
    return found if len(str(found)) <= FILTER_LIMITS.text_chars else Filter.everything()


@dataclass(frozen=True)
class _Rights:
    """A version of which the rights of one or two principals matter."""

    number: int
    of_each: tuple[Rights, ...]

    def rights_of(self, principal: str) -> Rights:
        return next(rights for rights in self.of_each if rights.principal == principal)
