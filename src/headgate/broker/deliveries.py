"""What of one stream does one subscription here receive? Hold, gate, deliver, keep a digest.

A record is held until its version is known here, then gated by the rights of that version, whatever
has become of them since.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from headgate.broker.effects import Delivery
from headgate.broker.feeds import Consumer, Offer
from headgate.broker.interests import InterestSet
from headgate.gate.delivery import Outcome, View, gate, gate_then_and_now
from headgate.log.digests import RunningDigest, view_bytes
from headgate.log.records import Record

if TYPE_CHECKING:
    from headgate.broker.subscriptions import Subscribed, Subscriptions


@final
class StreamDelivery(Consumer):
    """One subscription on one stream."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        subscribed: Subscribed,
        stream: str,
        wanted: InterestSet,
        at: int | None,
    ) -> None:
        super().__init__(wanted, 0, at, 0)
        self.listens = subscribed.causal
        self.subscriptions = subscriptions
        self.subscribed = subscribed
        self.stream = stream
        self.incarnation = ""
        self.start: int | None = None
        """The offset after which it receives; set once that is written down."""
        self.vouched_at: int | None = None
        self.kept_from: int | None = None
        """Of a durable one: where it was to start, if some of what comes after that is gone."""
        self.start_is_kept = False
        """Of a durable one: whether where it starts can't be forgotten any more."""
        self.asked_remotely = False
        self.outstanding: deque[tuple[int, int]] = deque()
        """Offsets and sizes of what waits for its client's acknowledgement."""
        self.done = 0
        """Of a durable one: up to here its client is done."""
        self.digest = RunningDigest()
        self.digest_from = 0
        self.digest_to = 0
        self.digest_version = 0
        self.digest_since = 0
        self.passed = 0
        """Up to here nothing more is owed, as is known from what was offered."""
        self.waiters: dict[StreamDelivery, None] = {}
        """Causal deliveries of other streams that wait for this one to go on."""

    def offer(self, record: Record, now: int) -> Offer:
        # Whatever becomes of it: of what comes before it, nothing more is owed.
        before, self.passed = self.passed, max(self.passed, record.offset - 1)
        outcome = self._offer(record, now)
        if self.waiters and (outcome is not Offer.BLOCKED or self.passed > before):
            self.subscriptions.wake(self)
        return outcome

    def _offer(self, record: Record, now: int) -> Offer:
        if self.start is None:
            return Offer.BLOCKED
        policy = self.subscriptions.policy
        if record.version > policy.known:
            self.subscriptions.hold(self)
            return Offer.BLOCKED
        if not policy.reaches_back(self.subscribed.principals, record.version):
            self.subscriptions.hold_for_older(self, record.version, now)
            return Offer.BLOCKED
        outcome = self._gate(record)
        if not isinstance(outcome, View):
            self.subscriptions.outbox.count("withheld at the subscriber's broker")
            return Offer.PASSED
        if self.subscriptions.window_full(self.subscribed) or self._waits_for_others(record):
            return Offer.BLOCKED
        self._deliver(record, outcome, now)
        return Offer.TAKEN

    def _gate(self, record: Record) -> Outcome:
        policy = self.subscriptions.policy
        then = policy.rights.at(record.version)
        subscription = self.subscribed.subscription
        if self.subscriptions.settings.replay_strictly:
            return gate_then_and_now(
                record.event, then, policy.rights.at(policy.known), subscription
            )
        return gate(record.event, then, subscription)

    def _waits_for_others(self, record: Record) -> bool:
        """Whether something that its publisher had seen is still owed to this subscription."""
        if not self.subscribed.causal:
            return False
        for stream, (incarnation, offset) in record.vector.items():
            other = self.subscribed.deliveries.get(stream)
            if other is None or other is self or other.incarnation != incarnation:
                continue  # not owed, or lost with its stream
            at = other.feed.where(other) if other.feed is not None else None
            if other.start is None or at is None or max(at, other.passed) < offset:
                other.waiters[self] = None
                self.subscriptions.outbox.count("held for causal order")
                return True
        return False

    def _deliver(self, record: Record, view: View, now: int) -> None:
        if self.digest.count and record.version != self.digest_version:
            self.subscriptions.checkpoint(self, now)
        if not self.digest.count:
            self.digest_from, self.digest_since = record.offset, now
        self.digest_to, self.digest_version = record.offset, record.version
        self.digest = self.digest.add(record.offset, record.version, view_bytes(view.event))
        size = len(record.body or b"")
        self.outstanding.append((record.offset, size))
        self.subscribed.outstanding += 1
        self.subscribed.outstanding_bytes += size
        self.subscriptions.delivered(self, record, now)
        self.subscriptions.outbox.tell(
            self.subscribed.client,
            Delivery(
                self.subscribed.number, self.stream, self.incarnation, record.offset,
                record.version, view.event,
            ),
        )  # fmt: skip
        if self.digest.count >= self.subscriptions.settings.checkpoint_records:
            self.subscriptions.checkpoint(self, now)

    def reached(self, up_to: int, version: int, now: int) -> None:
        if self.waiters:
            self.subscriptions.wake(self)

    def vouched(self, after: int, version: int, now: int) -> None:
        if self.vouched_at is None:
            self.vouched_at = after
            self.subscriptions.outbox.count(
                "remote start" if self.asked_remotely else "local start"
            )
            self.subscriptions.vouched(self, after, now)

    def unreadable(self, because: str, now: int) -> None:
        self.subscriptions.give_up(self.subscribed, because, now)

    def doubt(self) -> None:
        self.has_seen = False  # a client may have named its offset

    def ended(self, because: str, now: int) -> None:
        pass  # the feed goes on trying all paths
