"""The parts of a core on their own: records, interests, feeds and consumers for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

from headgate.broker.effects import Append, Effect, Keep, Read, Recovered
from headgate.broker.feeds import Consumer, Offer
from headgate.broker.following import FollowedFeed
from headgate.broker.interests import ALWAYS, Interest, InterestSet
from headgate.broker.outbox import Outbox
from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.filters.filter import Filter
from headgate.log.records import Record
from headgate.peering.frames import Frame

NOW = 1_700_000_000_000_000
NOTHING_FOUND = Recovered({}, {}, {}, {})


def settings(**said: Any) -> Settings:
    return Settings("p", Topology.alone("p"), "p", ("orders",), **said)


def record(offset: int, a: int | None = 1, version: int = 1, stream: str = "orders") -> Record:
    """A publication of `{"a": …}`, or without one a version marker."""
    body = None if a is None else b'{"a":%d}' % a
    return Record(stream, "boot", offset, version, NOW, "eve", "", body, True, {}, {})


def stepwise(*steps: tuple[int, str]) -> Interest:
    return Interest.of((version, Filter.parse(text)) for version, text in steps)


def wishes(*filters: str, known: int = ALWAYS) -> InterestSet:
    """A set of interests that hold at all versions."""
    return InterestSet(known, frozenset(Interest.always(Filter.parse(one)) for one in filters))


@final
class Reader(Consumer):
    """A consumer that notes what becomes of it, and is blocked when a test says so."""

    listens = True

    def __init__(self, wanted: InterestSet, at: int | None = None, version: int = 0) -> None:
        super().__init__(wanted, 0, at, version)
        self.said: list[str] = []
        self.blocked = False

    def offer(self, record: Record, now: int) -> Offer:
        if self.blocked:
            return Offer.BLOCKED
        self.said.append(f"record {record.offset}")
        return Offer.TAKEN

    def vouched(self, after: int, version: int, now: int) -> None:
        self.said.append(f"vouched {self.granted_epoch} after {after}")

    def reached(self, up_to: int, version: int, now: int) -> None:
        self.said.append(f"reached {up_to}")

    def ended(self, because: str, now: int) -> None:
        self.said.append("ended")

    def records(self) -> list[int]:
        return [int(one.split()[1]) for one in self.said if one.startswith("record")]


@dataclass
class Paths:
    """The ways of a followed feed: which brokers are next, and what was sent to them."""

    brokers: Sequence[str] = ("m1", "m2")
    sent: list[tuple[str, Frame]] = field(default_factory=list)
    sessions: dict[int, FollowedFeed] = field(default_factory=dict)
    asking: dict[FollowedFeed, None] = field(default_factory=dict)

    def wishes_changed(self, feed: FollowedFeed) -> None:
        self.asking[feed] = None

    def ask(self) -> None:
        """What comes at the end of an input."""
        while self.asking:
            feeds, self.asking = self.asking, {}
            for feed in feeds:
                feed.ask(NOW)

    def next_brokers(self, stream: str) -> Sequence[str]:
        return self.brokers

    def send(self, broker: str, frame: Frame, now: int) -> bool:
        self.sent.append((broker, frame))
        return True

    def open_session(self, feed: FollowedFeed) -> int:
        self.sessions[len(self.sessions) + 1] = feed
        return len(self.sessions)

    def close_session(self, session: int) -> None:
        pass

    def admits(self, broker: str, record: Record, now: int) -> bool | None:
        return True


class Disk:
    """Carries out what an outbox asks to have stored and read."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.records: list[Record] = []
        self.kept: dict[str, bytes | None] = {}

    def effects(self) -> list[Effect]:
        return self.outbox.take()

    def store(self, now: int = NOW) -> list[Effect]:
        """Store all that is asked for, and read; what else there was to do."""
        rest: list[Effect] = []
        while effects := self.outbox.take():
            for effect in effects:
                match effect:
                    case Append(ticket, records):
                        self.records.extend(records)
                        self.outbox.stored(ticket, now)
                    case Keep(ticket, key, value):
                        self.kept[key] = value
                        self.outbox.stored(ticket, now)
                    case Read(number, stream, after, count_max):
                        found = [one for one in self.records
                                 if one.stream == stream and one.offset > after]  # fmt: skip
                        self.outbox.was_read(number, found[:count_max], now)
                    case _:
                        rest.append(effect)
        return rest
