"""How far has a stream got here, and who is served from it?

A feed is one stream as one broker sees it: a position up to which all that is owed was seen, the
newest records in memory, and consumers, each with the set it is owed and a position of its own.
Those at the position of the feed are *live*; the others catch up from memory, then from elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from enum import Enum

from headgate.broker.interests import NOTHING, Interest, InterestSet
from headgate.broker.outbox import Outbox
from headgate.broker.selection import Selection
from headgate.broker.settings import Settings
from headgate.log.records import Record


class Offer(Enum):
    """What became of a record that was offered to a consumer."""

    TAKEN = "taken"
    PASSED = "passed"
    """It is not owed."""
    BLOCKED = "blocked"
    """Not now: the consumer says when it is to be served again."""


class Consumer(ABC):
    """Somebody who is owed a part of a stream: a broker behind a link, or a subscription here."""

    listens = False
    """Whether it is told of every offset that passes while it is live."""

    def __init__(self, wanted: InterestSet, epoch: int, at: int | None, version: int) -> None:
        self.wanted = wanted
        self.epoch = epoch
        """The newest set that it asked for, and its number."""
        self.granted = NOTHING
        self.granted_epoch = -1
        """The set that holds for what it is sent now."""
        self.at = at
        """Its position while it is not live; `None`: from where the feed stands."""
        self.version = version
        self.live = False
        self.fetching = False
        self.has_seen = True
        """Whether it is known to have seen the stream up to its position; else it only says so."""
        self.home: Feed | None = None
        """The feed that it is a consumer of."""
        self.feed: Feed | None = None
        """Where it is served from; for a while that may be another feed of the same stream."""

    @abstractmethod
    def offer(self, record: Record, now: int) -> Offer:
        """A record that it is owed, the next one after its position."""

    @abstractmethod
    def vouched(self, after: int, version: int, now: int) -> None:
        """From now on it is sent what `granted` says; it was brought up to `after` before."""

    def unreadable(self, because: str, now: int) -> None:
        """What it is owed next is stored, and can't be read."""
        self.ended(because, now)

    def reached(self, up_to: int, version: int, now: int) -> None:  # noqa: B027
        """Nothing more is owed up to here."""

    def doubt(self) -> None:  # noqa: B027
        """What it says to have seen may be more than there is."""

    @abstractmethod
    def ended(self, because: str, now: int) -> None:
        """The feed can't serve it, and has let it go."""

    @property
    def pending(self) -> bool:
        return self.granted_epoch != self.epoch


class Feed(ABC):
    """One stream at one broker."""

    def __init__(self, stream: str, incarnation: str, settings: Settings, outbox: Outbox) -> None:
        self.stream = stream
        self.incarnation = incarnation
        self.settings = settings
        self.outbox = outbox
        self.position: int | None = None
        """All that is owed up to here was seen; `None`: not attached yet."""
        self.version = 0
        """The version that the stream had reached there."""
        self.floor = 0
        """Of what comes after it, all that is owed is in memory."""
        self.consumers: dict[Consumer, None] = {}
        self._live: Selection[Consumer] = Selection()
        self._listeners: dict[Consumer, None] = {}
        """Of the live ones those who are told of every offset that passes."""
        self._ahead: dict[Consumer, None] = {}
        """Those who have seen more of the stream elsewhere than has come here."""
        self._cache: deque[Record] = deque()
        self._cache_bytes = 0
        self._interests: Counter[Interest] = Counter()
        self._interest_bytes = 0
        self._knowns: Counter[int] = Counter()
        self._unsettled: dict[Consumer, None] = {}
        """Those who are not live, or wait for a set to be vouched for."""

    # who is served

    def add(self, consumer: Consumer, now: int) -> None:
        consumer.feed = consumer.home = self
        self.consumers[consumer] = self._unsettled[consumer] = None
        self._count(consumer.wanted, 1)
        self.wants_changed(now)
        if consumer.feed is self:
            self.serve(consumer, now)

    def remove(self, consumer: Consumer, now: int) -> None:
        if consumer in self.consumers:
            self._release(consumer)
            self.wants_changed(now)

    def _release(self, consumer: Consumer) -> None:
        self._settle(consumer)
        del self.consumers[consumer]
        self._unsettled.pop(consumer, None)
        self._count(consumer.wanted, -1)
        consumer.feed = consumer.home = None

    def want(self, consumer: Consumer, wanted: InterestSet, epoch: int, now: int) -> None:
        """From a new epoch on, a consumer is owed another set."""
        self._count(consumer.wanted, -1)
        self._count(wanted, 1)
        consumer.wanted, consumer.epoch = wanted, epoch
        self._unsettled[consumer] = None
        self.wants_changed(now)
        if consumer.feed is self:
            self.serve(consumer, now)

    def _count(self, wanted: InterestSet, sign: int) -> None:
        if not wanted.entries:
            return
        interests = self._interests
        for entry in wanted.entries:
            count = interests[entry] = interests[entry] + sign
            if not count:
                del interests[entry]
                self._interest_bytes -= entry.wire_bytes
            elif count == sign:
                self._interest_bytes += entry.wire_bytes
        self._knowns[wanted.known] += sign
        if not self._knowns[wanted.known]:
            del self._knowns[wanted.known]

    @property
    def wishes(self) -> InterestSet:
        """All that the consumers ask for together."""
        if not self._interests:
            return NOTHING
        return InterestSet(min(self._knowns), frozenset(self._interests))

    @property
    def records_held(self) -> int:
        """How many records are in memory."""
        return len(self._cache)

    def where(self, consumer: Consumer) -> int | None:
        """Up to where a consumer has been served."""
        return self.position if consumer.live else consumer.at

    def _settle(self, consumer: Consumer) -> None:
        """Let a consumer have a position of its own."""
        if consumer.live:
            self._not_live(consumer)
            consumer.at, consumer.version = self.position, self.version

    def _not_live(self, consumer: Consumer) -> None:
        consumer.live = False
        self._unsettled[consumer] = None
        self._live.remove(consumer)
        self._listeners.pop(consumer, None)

    # what kinds of feeds differ in

    @abstractmethod
    def wants_changed(self, now: int) -> None:
        """The consumers ask for other things than before."""

    @abstractmethod
    def complete(self, wanted: InterestSet, after: int, version: int) -> bool:
        """Whether all that this set is owed after an offset is here, or will come."""

    @abstractmethod
    def fetch(self, consumer: Consumer, now: int) -> None:
        """Serve a consumer what is not in memory, or not complete for it."""

    # serving

    def serve(self, consumer: Consumer, now: int) -> None:
        """Bring a consumer as far as it goes."""
        self._vouch(consumer, now)
        if consumer.live or consumer.fetching:
            return
        if consumer.granted_epoch < 0:
            if consumer.at is not None:
                self.fetch(consumer, now)
            return
        while consumer.feed is self and not consumer.live:
            at, position = consumer.at, self.position
            if at is None or position is None:
                return
            if at > position:
                self._ahead[consumer] = None
                return
            if at == position:
                self._make_live(consumer, now)
            elif at < self.floor:
                self.fetch(consumer, now)
                return
            elif not self._offer_from_memory(consumer, at, position, now):
                return

    def _make_live(self, consumer: Consumer, now: int) -> None:
        consumer.live = True
        self._live.add(consumer)
        if consumer.listens:
            self._listeners[consumer] = None
        self._vouch(consumer, now)
        if not consumer.pending and consumer.live:
            self._unsettled.pop(consumer, None)

    def _offer_from_memory(self, consumer: Consumer, at: int, position: int, now: int) -> bool:
        """Offer what is in memory; false where it stops half-way."""
        start = bisect_right(self._cache, at, key=_offset_of)
        for index in range(start, len(self._cache)):
            if not self._offer_one(consumer, self._cache[index], now):
                return False
        consumer.at, consumer.version = position, self.version
        consumer.reached(position, self.version, now)
        return True

    def _offer_one(self, consumer: Consumer, record: Record, now: int) -> bool:
        """Offer a record to someone who is behind; false where that is all for now."""
        owed = consumer.granted.wants(record)
        if owed and consumer.offer(record, now) is Offer.BLOCKED:
            return False
        consumer.at, consumer.version = record.offset, record.version
        if not owed and consumer.listens:
            consumer.reached(record.offset, record.version, now)
        if consumer.pending:
            self._vouch(consumer, now)
        return consumer.feed is self and not consumer.live

    def _vouch(self, consumer: Consumer, now: int) -> None:
        """Let a new set hold from where the consumer is, if all of it is here from there on."""
        if not consumer.pending or self.position is None:
            return
        at = self.where(consumer)
        version = self.version if at is None or consumer.live else consumer.version
        if not self.complete(consumer.wanted, self.position if at is None else at, version):
            return
        if at is None:
            at = consumer.at = self.position
            consumer.version = self.version
        consumer.granted, consumer.granted_epoch = consumer.wanted, consumer.epoch
        if consumer.live:
            self._unsettled.pop(consumer, None)
            self._live.changed(consumer)
        consumer.vouched(at, version, now)

    # what comes in

    def extend(self, record: Record, now: int) -> None:
        """The next record that is owed, or of a stream of this broker the next that is stored."""
        before, version = self.position, self.version
        self._remember(record)
        self.position, self.version = record.offset, record.version
        owed = self._live.owed(record)
        chosen = set(owed) if self._listeners else ()
        passed = [one for one in self._listeners if one not in chosen]
        for consumer in owed:
            if consumer.live and consumer.offer(record, now) is Offer.BLOCKED and consumer.live:
                self._not_live(consumer)
                consumer.at, consumer.version = before, version
        self._passed(passed, now)
        self._forget(now)

    def reach(self, up_to: int, version: int, now: int) -> None:
        """Nothing more is owed up to here."""
        self.position = up_to
        self.version = max(version, self.version)
        self._passed(list(self._listeners), now)

    def _passed(self, listeners: Iterable[Consumer], now: int) -> None:
        assert self.position is not None
        for consumer in listeners:
            if consumer.live:
                consumer.reached(self.position, self.version, now)
        if self._ahead:
            self._serve_ahead(now)

    def _serve_ahead(self, now: int) -> None:
        for consumer in list(self._ahead):
            at = consumer.at
            if consumer.feed is not self:
                del self._ahead[consumer]
            elif at is not None and self.position is not None and at <= self.position:
                del self._ahead[consumer]
                self.serve(consumer, now)

    def serve_all(self, now: int) -> None:
        """After something has changed for many: serve whoever waits."""
        for consumer in list(self._unsettled):
            if consumer.feed is self and (consumer.pending or not consumer.live):
                self.serve(consumer, now)

    def _remember(self, record: Record) -> None:
        self._cache.append(record)
        self._cache_bytes += _size(record)

    def _forget(self, now: int) -> None:
        """Keep memory within its bounds; who is behind gets the rest from elsewhere."""
        while self._cache and (
            len(self._cache) > self.settings.cache_records
            or self._cache_bytes > self.settings.cache_bytes
        ):
            gone = self._cache.popleft()
            self._cache_bytes -= _size(gone)
            self.floor = gone.offset


class HostedFeed(Feed):
    """A stream of this broker: all of it is here, the older part on disk."""

    def __init__(
        self,
        stream: str,
        incarnation: str,
        settings: Settings,
        outbox: Outbox,
        position: int,
        version: int,
    ) -> None:
        super().__init__(stream, incarnation, settings, outbox)
        self.position = self.floor = position
        self.version = version

    def wants_changed(self, now: int) -> None:
        pass

    def complete(self, wanted: InterestSet, after: int, version: int) -> bool:
        return True

    def fetch(self, consumer: Consumer, now: int) -> None:
        at = consumer.at
        assert at is not None
        consumer.fetching = True
        self.outbox.count("read from the log")
        self.outbox.read(
            self.stream,
            at,
            self.settings.read_records,
            lambda records, then: self._was_read(consumer, at, records, then),
            lambda because, then: self._unreadable(consumer, because, then),
        )

    def _unreadable(self, consumer: Consumer, because: str, now: int) -> None:
        """What is damaged is served to nobody, and passed over for nobody."""
        consumer.fetching = False
        self.outbox.count("unreadable log")
        if consumer.feed is self:
            consumer.unreadable(because, now)

    def _was_read(self, consumer: Consumer, at: int, records: Sequence[Record], now: int) -> None:
        consumer.fetching = False
        if consumer.feed is not self or consumer.at != at:
            return
        for record in records:
            if not self._offer_one(consumer, record, now):
                break
        else:
            if records:
                self.serve(consumer, now)


def _offset_of(record: Record) -> int:
    return record.offset


def _size(record: Record) -> int:
    return 200 + len(record.body or b"")
