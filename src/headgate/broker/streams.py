"""Which streams are there, who hosts them, and how does each come here?

Every broker announces what it hosts to its neighbours, who pass it on. A stream that somebody here
wants is followed: one feed for all who want it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, final

import msgspec

from headgate.broker import foreign
from headgate.broker.advertisements import Advertised
from headgate.broker.effects import Recovered, Remove
from headgate.broker.feeds import Feed, HostedFeed
from headgate.broker.following import FollowedFeed
from headgate.broker.hosting import Hosting
from headgate.broker.neighbours import Neighbours
from headgate.broker.outbox import Outbox
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.policy_hosting import INCARNATION as POLICY_INCARNATION
from headgate.broker.settings import Settings
from headgate.log.records import POLICY, Record
from headgate.model.errors import HeadgateError, named
from headgate.peering.errors import PeerError
from headgate.peering.frames import Announce, Data, Ended, Frame, Silence, Vouched
from headgate.rights.rules import parse_filter

_SERIAL: Final = "announced"
_STREAMS_MAX: Final = 100_000
Changed = Callable[[str, int], None]


@final
class Streams:
    """All streams that are known here, hosted or followed."""

    policy: PolicyFollowing

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        neighbours: Neighbours,
        hosting: Hosting,
        recovered: Recovered,
        *,
        policy_feed: HostedFeed | None,
        found: Changed,
        lost: Changed,
    ) -> None:
        self.settings = settings
        self.outbox = outbox
        self._neighbours = neighbours
        self._hosting = hosting
        self._policy_feed = policy_feed
        self._stream_found, self._stream_lost = found, lost
        self._announced: dict[str, Announce] = {}
        self._followed: dict[str, FollowedFeed] = {}
        self._sessions: dict[int, FollowedFeed] = {}
        self._asking: dict[FollowedFeed, None] = {}
        self._serial = msgspec.json.decode(recovered.kept.get(_SERIAL, b"0"), type=int)
        self._announce_at: int | None = None

    def names(self) -> Iterator[str]:
        """All streams that are known, in an order that is always the same."""
        yield POLICY
        yield from sorted(self._announced)

    def feed(self, stream: str) -> Feed | None:
        """A stream as it is seen here; nothing where it is not known."""
        if stream in self._hosting:
            return self._hosting.feed(stream)
        if stream == POLICY and self._policy_feed is not None:
            return self._policy_feed
        followed = self._followed.get(stream)
        if followed is None:
            incarnation = self._incarnation(stream)
            if incarnation is None:
                return None
            followed = self._followed[stream] = FollowedFeed(
                stream, incarnation, self.settings, self.outbox, self
            )
        return followed

    def feeds(self) -> Iterator[Feed]:
        """All streams as they are seen here, with those that somebody is served apart from."""
        yield from self._hosting.feeds()
        if self._policy_feed is not None:
            yield self._policy_feed
        for followed in self._followed.values():
            yield followed
            yield from followed.away.values()

    def _incarnation(self, stream: str) -> str | None:
        if stream == POLICY:
            return POLICY_INCARNATION
        announced = self._announced.get(stream)
        return announced.incarnation if announced is not None else None

    def _host(self, stream: str) -> str:
        return self.settings.policy_host if stream == POLICY else self._announced[stream].host

    def advertised(self, stream: str) -> Advertised | None:
        """What may be published on a stream; `None` for anything."""
        said = self._announced.get(stream)
        if said is None or said.advertised is None:
            return None
        return tuple((parse_filter(text), after) for text, after in said.advertised)

    # announcements

    def removed(self, stream: str) -> int:
        """Up to where the records of a stream are gone."""
        said = self._announced.get(stream)
        return said.removed if said is not None else 0

    def announce(self, now: int, removing: Mapping[str, int] | None = None) -> None:
        """Say what is hosted here, once its incarnations can't be forgotten.

        What is to be removed goes when that is said; where it can't be, nothing goes.
        """
        self._serial += 1
        serial = self._serial
        self.outbox.keep(_SERIAL, msgspec.json.encode(serial))

        def stored(now: int) -> None:
            gone = self._hosting.removable(removing or {})
            self._hosting.removed.update(gone)
            for feed in self._hosting.feeds():
                ads = self._hosting.advertised(feed.stream)
                said = None if ads is None else tuple((str(one), after) for one, after in ads)
                self.take_announcement(
                    Announce(
                        self.settings.broker, feed.stream, feed.incarnation, serial, said,
                        self._hosting.removed.get(feed.stream, 0),
                    ),
                    None,
                    now,
                )  # fmt: skip
            if gone:
                self.outbox.count("records removed")
                self.outbox.add(Remove(gone))

        def lost(because: str, now: int) -> None:
            self._announce_at = now + self.settings.ask_again_us

        self.outbox.when_stored(stored, lost, now)

    def take_announcement(self, said: Announce, source: str | None, now: int) -> None:
        """What a neighbour says, or (without a source) this broker itself."""
        before = self._announced.get(said.stream)
        if source is not None and said.host == self.settings.broker:
            # What others remember of us from before our disk was lost.
            if said.serial >= self._serial and said != before:
                self._serial = said.serial
                self.announce(now)
            return
        if before is not None and before.serial >= said.serial:
            return
        if said.host not in self.settings.topology.node_of or said.stream == POLICY:
            raise PeerError(
                f"expected a stream of a broker of this network, found {named(said.stream)}"
            )
        if source in self.settings.foreign and source not in self.settings.topology.towards(
            self.settings.broker, said.host
        ):
            raise PeerError(f"expected a stream of the domain itself, found {named(said.stream)}")
        if before is None and len(self._announced) >= _STREAMS_MAX:
            raise PeerError(f"expected no more than {_STREAMS_MAX:,} streams, found another one")
        self._announced[said.stream] = said
        for broker in self._neighbours.all():
            if broker != source:
                self._neighbours.send(broker, said, now)
        if before is not None and before.incarnation != said.incarnation:
            self._replace(said.stream, now)
        followed = self._followed.get(said.stream)
        if followed is not None:
            followed.parent_found(now)
        self._stream_found(said.stream, now)

    def _replace(self, stream: str, now: int) -> None:
        """A stream goes on under another incarnation."""
        followed = self._followed.pop(stream, None)
        if followed is None:
            return
        for consumer in list(followed.consumers):
            consumer.ended("the stream goes on under another incarnation", now)
        self._stream_lost(stream, now)
        followed.let_go(now)

    # what a followed feed asks for

    def next_brokers(self, stream: str) -> Sequence[str]:
        me = self.settings.broker
        ways = self._neighbours.reachable(self.settings.topology.towards(me, self._host(stream)))
        if len(ways) < 2 or ways[0] == self._host(stream):
            return ways
        # Streams take different ways, so that redundant brokers share the load.
        turn = zlib.crc32(f"{me} {stream}".encode()) % len(ways)
        return [*ways[turn:], *ways[:turn]]

    def send(self, broker: str, frame: Frame, now: int) -> bool:
        return self._neighbours.send(broker, frame, now)

    def wishes_changed(self, feed: FollowedFeed) -> None:
        self._asking[feed] = None

    def open_session(self, feed: FollowedFeed) -> int:
        number = self.outbox.next_number()
        self._sessions[number] = feed
        return number

    def close_session(self, session: int) -> None:
        self._sessions.pop(session, None)

    def admits(self, broker: str, record: Record, now: int) -> bool | None:
        domain = self.settings.foreign.get(broker)
        return True if domain is None else foreign.admits(domain, self.policy, record, now)

    # what its parent says

    def heard(self, broker: str, frame: Data | Silence | Vouched | Ended, now: int) -> None:
        """A frame of a session; of one that is over, or another broker's, nothing is heard."""
        feed = self._sessions.get(frame.session)
        if feed is None or feed.parent != broker:
            return
        match frame:
            case Data():
                _check(feed, frame)
                feed.on_data(frame, now)
            case Silence():
                feed.on_silence(frame, now)
            case Vouched():
                feed.on_vouched(frame, now)
            case Ended():
                feed.session_ended(now)

    def neighbour_found(self, broker: str, now: int) -> None:
        for said in self._announced.values():
            self._neighbours.send(broker, said, now)
        for feed in list(self._followed.values()):
            feed.parent_found(now)

    def neighbour_lost(self, broker: str, now: int) -> None:
        for feed in list(self._followed.values()):
            feed.parent_lost(broker, now)

    # time, and after each input

    def next_timer(self) -> int | None:
        times = [self._announce_at, *(feed.next_timer() for feed in self._followed.values())]
        return min((one for one in times if one is not None), default=None)

    def on_timer(self, now: int) -> None:
        for feed in list(self._followed.values()):
            feed.on_timer(now)
        if self._announce_at is not None and now >= self._announce_at:
            self._announce_at = None
            self.announce(now)

    def ask(self, now: int) -> bool:
        """Have all feeds ask for what has come to be wanted of them, if any has."""
        feeds, self._asking = self._asking, {}
        for feed in feeds:
            feed.ask(now)
        return bool(feeds)

    def let_go(self, now: int) -> None:
        """Follow no stream that nobody wants."""
        for stream, feed in list(self._followed.items()):
            if not feed.consumers:
                feed.let_go(now)
                del self._followed[stream]


def _check(feed: FollowedFeed, frame: Data) -> None:
    """Refuse a record of another stream, or one that can't be read, before it goes anywhere."""
    record = frame.record
    if (record.stream, record.incarnation) != (feed.stream, feed.incarnation):
        raise PeerError(
            f"expected a record of {named(feed.stream)} on session {frame.session}, found one of "
            f"{named(record.stream)}"
        )
    if record.body is not None:
        try:
            record.event  # noqa: B018  # reading it once is the check
        except HeadgateError as problem:
            raise PeerError(
                f"expected an event at offset {record.offset} of {named(record.stream)}: {problem}"
            ) from None
