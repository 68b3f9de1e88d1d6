"""How does a stream of another broker come here? The child's side of sessions.

A followed feed is attached at one of the brokers that are next on the way to the stream's host. It
asks for what its consumers want together. Its ledger says from which offset on it is complete for
which set: what was vouched for upstream, never what was only asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, final

from headgate.broker.feeds import Consumer, Feed
from headgate.broker.interests import (
    ALL,
    ENTRIES_MAX,
    EVERYTHING,
    NOTHING,
    Interest,
    InterestSet,
    consolidated,
)
from headgate.broker.outbox import Outbox
from headgate.broker.settings import Settings
from headgate.log.records import POLICY, Record
from headgate.peering.frames import (
    LATEST,
    Attach,
    Data,
    Detach,
    Frame,
    Silence,
    Subscribe,
    Vouched,
)

_PATIENCE_MAX: Final = 16
_MANY: Final = 256
"""Sets of more interests than this are changed one change after the other."""


class Ways(Protocol):
    """How a feed gets at the next brokers on the way to the host of its stream."""

    def next_brokers(self, stream: str) -> Sequence[str]:
        """Those with an open link, the preferred one first."""
        ...

    def send(self, broker: str, frame: Frame, now: int) -> bool: ...

    def wishes_changed(self, feed: FollowedFeed) -> None:
        """Let it ask for what it wants once this input is dealt with."""
        ...

    def open_session(self, feed: FollowedFeed) -> int:
        """A number under which frames from the parent find the feed."""
        ...

    def close_session(self, session: int) -> None: ...

    def admits(self, broker: str, record: Record, now: int) -> bool | None:
        """Whether this neighbour may send this; `None`: that can't be told yet."""
        ...


@dataclass
class Attachment:
    """One session with a parent, and the sets it was asked for and hasn't vouched for yet."""

    session: int
    parent: str
    asked: dict[int, InterestSet] = field(default_factory=dict)
    vouched: bool = False


class FollowedFeed(Feed):
    """A stream of another broker."""

    is_apart = False

    def __init__(
        self, stream: str, incarnation: str, settings: Settings, outbox: Outbox, ways: Ways
    ) -> None:
        super().__init__(stream, incarnation, settings, outbox)
        self.ways = ways
        self.away: dict[Consumer, PrivateFeed] = {}
        """Consumers of this feed that are served apart until they have caught up."""
        self._ledger: list[tuple[int, InterestSet]] = []
        self._asked = NOTHING
        self._epoch = 0
        self._start: tuple[int, int] | None = None
        """After which offset to attach at first, and its version."""
        self._attachment: Attachment | None = None
        self._avoided: dict[str, None] = {}
        self._retry_at: int | None = None
        self._gap_at: int | None = None
        """Where something was missing the last time."""
        self._patience = settings.attach_us
        """How long to wait for a parent's vouch: longer each time it was too short."""

    @property
    def parent(self) -> str | None:
        """The broker that it is attached at."""
        return self._attachment.parent if self._attachment is not None else None

    # what is asked for

    def wants_changed(self, now: int) -> None:
        self.ways.wishes_changed(self)

    def ask(self, now: int) -> None:
        """Say upstream what is wanted now; all that has changed at once."""
        if not self.consumers:
            return
        if self._attachment is None:
            if self._retry_at is None:
                self._attach(now)
            return
        if len(self._attachment.asked) > 1 and len(self._interests) > _MANY:
            return  # one change of a large set at a time: the next is asked for when it is vouched
        wishes = self._consolidated()
        if wishes != self._asked:
            before, self._asked = self._asked, wishes
            self._epoch += 1
            self._attachment.asked[self._epoch] = wishes
            self.ways.send(self._attachment.parent, self._difference(before, wishes), now)

    def _consolidated(self) -> InterestSet:
        """What the consumers want; what would be too much to say is said as everything."""
        wishes = self.wishes
        if wishes and self.settings.filters_at_edge_only and self.stream != POLICY:
            return EVERYTHING
        too_much = self._interest_bytes > self.settings.asked_bytes_max
        if too_much or len(wishes.entries) > ENTRIES_MAX:
            return InterestSet(wishes.known, frozenset({ALL}))
        return consolidated(wishes)

    def _difference(self, before: InterestSet, after: InterestSet) -> Subscribe:
        assert self._attachment is not None
        return Subscribe(
            self._attachment.session,
            self._epoch,
            after.known,
            wire_entries(after.entries - before.entries),
            wire_entries(before.entries - after.entries),
        )

    def _attach(self, now: int) -> None:
        """Ask the next broker on the way, one that hasn't failed lately if there is one."""
        self._retry_at = now + self._patience
        brokers = self.ways.next_brokers(self.stream)
        fresh = [broker for broker in brokers if broker not in self._avoided]
        if not fresh:
            self._avoided.clear()
        if not brokers:
            self._give_up("no broker on the way to the host of the stream can be reached", now)
            return
        parent = (fresh or list(brokers))[0]
        self._epoch += 1
        self._asked = self._consolidated()
        session = self.ways.open_session(self)
        self._attachment = Attachment(session, parent, {self._epoch: self._asked})
        after, version = self._start_after()
        self.ways.send(
            parent,
            Attach(
                session, self.stream, self.incarnation, after, version,
                self._epoch, self._asked.known, wire_entries(self._asked.entries), self.is_apart,
            ),
            now,
        )  # fmt: skip

    def _start_after(self) -> tuple[int, int]:
        if self.position is not None:
            return self.position, self.version
        if self._start is None:
            seen = [one for one in self.consumers if one.at is not None and one.has_seen]
            known = [(one.at, one.version) for one in seen if one.at is not None]
            self._start = min(known) if known else (LATEST, 0)
        return self._start

    def _give_up(self, because: str, now: int) -> None:
        """Whoever may find another path is told to; who can't, waits."""
        for consumer in list(self.consumers):
            consumer.ended(because, now)

    def let_go(self, now: int) -> None:
        """Stop following."""
        self._drop_attachment(now, tell=True)
        self._retry_at = None
        for private in list(self.away.values()):
            private.let_go(now)

    def _drop_attachment(self, now: int, *, tell: bool) -> None:
        attachment, self._attachment = self._attachment, None
        if attachment is not None:
            self.ways.close_session(attachment.session)
            if tell:
                self.ways.send(attachment.parent, Detach(attachment.session), now)

    def _reattach(self, now: int, *, avoid: bool, tell: bool) -> None:
        if self._attachment is not None and avoid:
            self._avoided[self._attachment.parent] = None
        if self._attachment is not None and self._attachment.vouched:
            self.outbox.count("failover")
        self._drop_attachment(now, tell=tell)
        if self.consumers:
            self._attach(now)

    # what the parent says

    def parent_lost(self, broker: str, now: int) -> None:
        if self._attachment is not None and self._attachment.parent == broker:
            self._reattach(now, avoid=True, tell=False)
        for private in list(self.away.values()):
            private.parent_lost(broker, now)

    def parent_found(self, now: int) -> None:
        """There is a new link: perhaps the one that is missing."""
        if self._attachment is None and self.consumers:
            self._avoided.clear()
            self._attach(now)
        for private in list(self.away.values()):
            private.parent_found(now)

    def session_ended(self, now: int) -> None:
        """The parent can't serve us: the next one is asked, or this one later."""
        if self._attachment is not None:
            self._avoided[self._attachment.parent] = None
        self._drop_attachment(now, tell=False)
        if self.position is None and not self.is_apart:
            # It may be behind the end of the stream where we wanted to begin.
            self._start = None
            for consumer in self.consumers:
                consumer.doubt()
        if set(self.ways.next_brokers(self.stream)) - set(self._avoided):
            self._attach(now)
        else:
            self._avoided.clear()
            self._retry_at = now + self.settings.redial_us
            self._give_up("the brokers on the way to the host of the stream don't reach it", now)

    def on_data(self, frame: Data, now: int) -> None:
        record = frame.record
        if not self._attached() or self._gap(frame.previous, now):
            return
        assert self.position is not None
        assert self._attachment is not None
        if record.offset <= self.position:
            self.outbox.count("repeated record")
            return
        admitted = self.ways.admits(self._attachment.parent, record, now)
        if admitted is None:
            self._wait_for_policy(now)
            return
        if admitted:
            self.extend(record, now)
        else:
            self.outbox.count("publication of a domain refused")
            self.reach(record.offset, record.version, now)
        self._progressed(now)

    def _wait_for_policy(self, now: int) -> None:
        """What an untrusted domain sends is looked at again when its version is known here."""
        self._drop_attachment(now, tell=True)
        self._retry_at = now + self.settings.redial_us

    def on_silence(self, frame: Silence, now: int) -> None:
        if not self._attached() or self._gap(frame.previous, now):
            return
        assert self.position is not None
        if frame.up_to > self.position:
            self.reach(frame.up_to, frame.version, now)
            self._progressed(now)

    def on_vouched(self, frame: Vouched, now: int) -> None:
        attachment = self._attachment
        if attachment is None:
            return
        if frame.epoch not in attachment.asked:
            self.on_silence(Silence(0, frame.previous, frame.after, frame.version), now)
            return
        if self.position is None:
            self.position = self.floor = frame.after
            self.version = frame.version
        elif self._gap(frame.previous, now):
            return
        elif frame.after > self.position:
            self.reach(frame.after, frame.version, now)
        vouched = attachment.asked[frame.epoch]
        for epoch in [one for one in attachment.asked if one <= frame.epoch]:
            del attachment.asked[epoch]
        attachment.vouched = True
        self._patience = self.settings.attach_us
        self._avoided.clear()
        self._retry_at = None
        self._ledger.append((self.position, vouched))
        self.serve_all(now)
        self._progressed(now)
        self.ways.wishes_changed(self)

    def _attached(self) -> bool:
        return self._attachment is not None and self._attachment.vouched

    def _gap(self, previous: int, now: int) -> bool:
        """Whether something is missing that was owed; then it is asked for again."""
        assert self.position is not None
        if previous <= self.position:
            return False
        self.outbox.count("gap")
        if self._gap_at == self.position:
            # It was missed before: not again and again without a pause.
            self._drop_attachment(now, tell=True)
            self._retry_at = now + self.settings.redial_us
        else:
            self._gap_at = self.position
            self._reattach(now, avoid=False, tell=True)
        return True

    def _progressed(self, now: int) -> None:
        """Something has come: forget what the ledger says of what isn't in memory any more."""
        while len(self._ledger) > 1 and self._ledger[1][0] <= self.floor:
            del self._ledger[0]
        for private in list(self.away.values()):
            private.try_to_join(now)

    # who is served

    def complete(self, wanted: InterestSet, after: int, version: int) -> bool:
        """What is under way counts, too: a set that was asked for since may be narrower."""
        if self._attachment is not None and not all(
            one.covers(wanted, version) for one in self._attachment.asked.values()
        ):
            return False
        for start, vouched in reversed(self._ledger):
            if not vouched.covers(wanted, version):
                return False
            if start <= after:
                return True
        return False

    def fetch(self, consumer: Consumer, now: int) -> None:
        if self.position is None:
            start = self._start_after()[0]
            if start != LATEST and consumer.at is not None and start <= consumer.at:
                return  # it begins where we attach, or after
        self.outbox.count("catching up apart")
        self._settle(consumer)
        private = PrivateFeed(self, consumer)
        self.away[consumer] = private
        private.add(consumer, now)
        consumer.home = self

    def remove(self, consumer: Consumer, now: int) -> None:
        private = self.away.pop(consumer, None)
        if private is not None:
            private.remove(consumer, now)
            private.let_go(now)
            consumer.feed = consumer.home = self
        super().remove(consumer, now)

    def want(self, consumer: Consumer, wanted: InterestSet, epoch: int, now: int) -> None:
        private = self.away.get(consumer)
        if private is None:
            super().want(consumer, wanted, epoch, now)
            return
        self._count(consumer.wanted, -1)
        self._count(wanted, 1)
        self.wants_changed(now)
        private.want(consumer, wanted, epoch, now)
        if consumer in self.away:
            private.try_to_join(now)

    # time

    def next_timer(self) -> int | None:
        times = [private.next_timer() for private in self.away.values()]
        return min((one for one in (self._retry_at, *times) if one is not None), default=None)

    def on_timer(self, now: int) -> None:
        if self._retry_at is not None and now >= self._retry_at:
            if self._attachment is not None and not self._attachment.vouched:
                # The way to the stream's host and back may be longer than we thought.
                self._patience = min(2 * self._patience, _PATIENCE_MAX * self.settings.attach_us)
                self._reattach(now, avoid=True, tell=True)
            elif self._attachment is None and self.consumers:
                self._attach(now)
            else:
                self._retry_at = None
        for private in list(self.away.values()):
            private.on_timer(now)


@final
class PrivateFeed(FollowedFeed):
    """What one consumer is owed of the past, until the feed of all can serve it."""

    is_apart = True

    def __init__(self, home: FollowedFeed, consumer: Consumer) -> None:
        super().__init__(home.stream, home.incarnation, home.settings, home.outbox, home.ways)
        assert consumer.at is not None
        self._start = consumer.at, consumer.version
        self.home = home
        self.consumer = consumer
        self._rests = False
        """Until the consumer takes more, nothing more is asked for."""

    def _attach(self, now: int) -> None:
        if self._rests:
            self._retry_at = None
        else:
            super()._attach(now)

    def try_to_join(self, now: int) -> None:
        consumer, home = self.consumer, self.home
        at = self.where(consumer)
        version = self.version if consumer.live else consumer.version
        if (
            at is None
            or home.position is None
            or at < home.floor
            or not home.complete(consumer.wanted, at, version)
        ):
            return
        self._settle(consumer)
        self._release(consumer)
        del home.away[consumer]
        self.let_go(now)
        consumer.feed = consumer.home = home
        home.serve(consumer, now)

    def fetch(self, consumer: Consumer, now: int) -> None:
        """It fell behind what is in memory here: begin again from where it is."""
        if self.position is None:
            return
        self._rests = False
        self._drop_attachment(now, tell=True)
        self._cache.clear()
        self._cache_bytes = 0
        self._ledger.clear()
        assert consumer.at is not None
        start = consumer.at, consumer.version
        if start == self._start:
            # Whatever kept it from going on the last time, it shouldn't be tried without a pause.
            self._retry_at = now + self.settings.redial_us
        self.position, self._start = None, start
        if self._retry_at is None:
            self._attach(now)

    def _forget(self, now: int) -> None:
        """Don't let a stream pass by that the consumer doesn't take."""
        super()._forget(now)
        at = self.consumer.at
        if not self.consumer.live and at is not None and at < self.floor:
            self._drop_attachment(now, tell=True)
            self._rests = True


def wire_entries(entries: frozenset[Interest]) -> tuple[tuple[tuple[int, str], ...], ...]:
    return tuple(sorted(entry.to_wire() for entry in entries))
