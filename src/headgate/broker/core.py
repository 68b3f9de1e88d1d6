"""One broker of the network, without sockets, disk or clock: inputs with `now`, effects out.

Time never goes back in here (see `Clock`). After each input the world takes the effects.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, final

import msgspec

from headgate.broker import foreign
from headgate.broker.advertisements import Advertised
from headgate.broker.asking import Asking, Respond
from headgate.broker.clients import Clients
from headgate.broker.clock import Clock
from headgate.broker.durables import Durables
from headgate.broker.effects import Effect, Recovered, RequestRefused
from headgate.broker.feeds import Feed
from headgate.broker.following import FollowedFeed
from headgate.broker.foreign import ForeignChild
from headgate.broker.hosting import Hosting
from headgate.broker.neighbours import Neighbours
from headgate.broker.outbox import Outbox
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.policy_hosting import INCARNATION as POLICY_INCARNATION
from headgate.broker.policy_hosting import PolicyHosting
from headgate.broker.questions import (
    Answer,
    AskRights,
    AskVersion,
    KeepPositions,
    Noted,
    Question,
    ReportStarts,
    Take,
    TakenOver,
    VersionIs,
)
from headgate.broker.serving import ChildSession
from headgate.broker.settings import Settings
from headgate.broker.subscriptions import Subscribed, Subscriptions
from headgate.filters.filter import Filter
from headgate.log.records import OFFSET_MAX, POLICY, KnownValue, Record, moment_of
from headgate.model.errors import HeadgateError, named
from headgate.peering.errors import PeerError
from headgate.peering.frames import (
    Announce,
    Attach,
    Data,
    Detach,
    Ended,
    Frame,
    Reply,
    Request,
    Silence,
    Subscribe,
    Vouched,
)
from headgate.rights.changes import Batch
from headgate.rights.rules import parse_filter
from headgate.rights.subscriptions import Subscription

_SERIAL: Final = "announced"
_SESSIONS_MAX: Final = 100_000


@final
class Broker:
    """One node's worth of publishing, routing, delivering and following the policy."""

    def __init__(self, settings: Settings, recovered: Recovered, boot: str, now: int) -> None:
        self.settings = settings
        self.outbox = Outbox()
        self.clock = Clock(now)
        self._boot = boot
        self._announced: dict[str, Announce] = {}
        self._followed: dict[str, FollowedFeed] = {}
        self._sessions: dict[int, FollowedFeed] = {}
        self._children: dict[tuple[str, int], ChildSession] = {}
        self._quiet: dict[ChildSession, None] = {}
        self._asking_feeds: dict[FollowedFeed, None] = {}
        self._parentless: dict[ChildSession, str] = {}
        self._serial = msgspec.json.decode(recovered.kept.get(_SERIAL, b"0"), type=int)
        self._announce_at: int | None = None
        self._report_at: int | None = None
        self._reporting = False
        self.hosting = Hosting(settings, self.outbox, recovered, boot, self.clock)
        self.neighbours = Neighbours(
            settings, self.outbox, boot, now,
            heard=self._heard, found=self._found, lost=self._lost,
        )  # fmt: skip
        self.asking = Asking(settings, self.outbox, self.neighbours, boot, self._asked)
        self.policy_hosting: PolicyHosting | None = None
        self.durables: Durables | None = None
        if settings.broker == settings.policy_host:
            self.policy_hosting = PolicyHosting(settings, self.outbox, recovered, now)
            self.durables = Durables(self.outbox, recovered.kept, self._notify)
        self.policy = PolicyFollowing(
            settings, self.outbox, self.asking, learnt=self._learnt, changed=self._changed
        )
        self.clients = Clients(
            settings, self.outbox, self.policy, self.hosting, self.asking, boot,
            self._announce_own,
        )  # fmt: skip
        self.subscriptions = Subscriptions(
            settings, self.outbox, self.policy, self.hosting,
            streams=self._streams, feed=self.feed, advertised=self._advertised_on,
            keep_start=self.clients.keep_start,
        )  # fmt: skip
        self.clients.subscriptions = self.subscriptions
        self._announce_own(now)
        if not settings.routes_only or settings.foreign:
            self._follow_policy(now)
        for domain in sorted(set(settings.foreign.values())):
            self.policy.hold(domain, self._domain_known, now)

    @property
    def counts(self) -> Counter[str]:
        """How often the branches were taken that matter for what a simulation has reached."""
        return self.outbox.counts

    def effects(self) -> list[Effect]:
        """What there is to do since the last call, in order."""
        self._flush()
        return self.outbox.take()

    # links

    def link_up(self, link: int, now: int, dialled: str | None) -> None:
        self.neighbours.link_up(link, self.clock.enter(now), dialled)

    def dial_failed(self, broker: str, now: int) -> None:
        self.neighbours.dial_failed(broker, self.clock.enter(now))

    def link_down(self, link: int, now: int) -> None:
        self.neighbours.link_down(link, self.clock.enter(now))

    def receive(self, link: int, data: bytes, now: int) -> None:
        self.neighbours.receive(link, data, self.clock.enter(now))

    def set_writable(self, link: int, writable: bool, now: int) -> None:
        now = self.clock.enter(now)
        broker = self.neighbours.set_writable(link, writable)
        for child in list(self._children.values()):
            if child.child == broker and child.waits and child.feed is not None:
                child.waits = False
                child.feed.serve(child, now)
                child.break_silence(now)

    # storage

    def stored(self, ticket: int, now: int) -> None:
        self.outbox.stored(ticket, self.clock.enter(now))

    def store_failed(self, because: str, now: int) -> None:
        self.outbox.store_failed(because, self.clock.enter(now))

    def was_read(self, number: int, records: Sequence[Record], now: int) -> None:
        self.outbox.was_read(number, records, self.clock.enter(now))

    def batch_applied(self, number: int, refused: str | None, now: int) -> None:
        self.clock.enter(now)
        if self.policy_hosting is not None:
            self.policy_hosting.applied(number, refused)

    def policy_grew(self, batches: Sequence[tuple[int, Batch]], now: int) -> None:
        now = self.clock.enter(now)
        if self.policy_hosting is not None:
            self.policy_hosting.grew(batches, now)

    # time

    def next_timer(self) -> int | None:
        times = [
            self.neighbours.next_timer(),
            self.asking.next_timer(),
            self.policy.next_timer(),
            self.subscriptions.next_timer(),
            self.hosting.retry_at,
            self._report_at,
            self._announce_at,
            *(feed.next_timer() for feed in self._followed.values()),
            *(child.silent_at for child in self._quiet),
        ]
        if self.policy_hosting is not None:
            due = self.policy_hosting.next_timer()
            times.append(self.clock.inside(due) if due is not None else None)
        first = min((one for one in times if one is not None), default=None)
        return None if first is None else self.clock.wall(first)

    def on_timer(self, now: int) -> None:
        now = self.clock.enter(now)
        self.neighbours.on_timer(now)
        self.asking.on_timer(now)
        self.policy.on_timer(now)
        self.subscriptions.on_timer(now)
        self.hosting.on_timer(now)
        for feed in list(self._followed.values()):
            feed.on_timer(now)
        for child in list(self._quiet):
            if child.silent_at is not None and child.silent_at <= now:
                child.break_silence(now)
        if self.policy_hosting is not None:
            self.policy_hosting.on_timer(self.clock.wall(now), moment_of)
        if self._announce_at is not None and now >= self._announce_at:
            self._announce_at = None
            self._announce_own(now)
        if self._report_at is not None and now >= self._report_at:
            self._report_starts(now)

    # clients

    def connect(self, client: int, principal: str, now: int, domain: str | None = None) -> None:
        now = self.clock.enter(now)
        self.clients.connect(client, principal, domain, now)

    def disconnect(self, client: int, now: int) -> None:
        self.clients.disconnect(client, self.clock.enter(now))

    def publish(
        self,
        client: int,
        request: int,
        body: bytes,
        event_id: str,
        now: int,
        *,
        stream: str | None = None,
        is_json: bool = True,
        known: Mapping[str, KnownValue] | None = None,
    ) -> None:
        self.clients.publish(
            client, request, body, event_id, self.clock.enter(now), stream, is_json, known or {}
        )

    def advertise(self, client: int, request: int, advertised: Filter, now: int) -> None:
        self.clients.advertise(client, request, advertised, self.clock.enter(now))

    def subscribe(
        self,
        client: int,
        request: int,
        subscription: int,
        wanted: Filter,
        now: int,
        *,
        durable: str | None = None,
        causal: bool = False,
        after: Mapping[str, int] | None = None,
    ) -> None:
        now = self.clock.enter(now)
        for stream, offset in (after or {}).items():
            if not 0 <= offset <= OFFSET_MAX:
                because = f"expected an offset of 0 or more of {named(stream)}, found {offset}"
                self.outbox.tell(client, RequestRefused(request, because))
                return
        who = self.clients.principal_of(client)
        said = Subscription(who[0], wanted, who[1]) if who is not None else None
        one = Subscribed(
            client,
            subscription,
            said or Subscription("nobody", wanted),
            causal=causal,
            durable=durable,
            after={stream: ("", offset) for stream, offset in (after or {}).items()},
        )
        self.clients.subscribe(client, request, one, now)

    def acknowledge(
        self, client: int, subscription: int, stream: str, offset: int, now: int
    ) -> None:
        now = self.clock.enter(now)
        self.clients.acknowledge(client, subscription, stream, offset, now)

    def unsubscribe(self, client: int, subscription: int, now: int) -> None:
        self.clients.unsubscribe(client, subscription, self.clock.enter(now))

    def administer(
        self, client: int, request: int, batch: Batch, expected: int | None, now: int
    ) -> None:
        self.clock.enter(now)
        if self.policy_hosting is None:
            raise ValueError(f"the policy's host is `{self.settings.policy_host}`: ask there")
        self.policy_hosting.administer(client, request, batch, expected)

    # streams

    def _streams(self) -> Iterator[str]:
        yield POLICY
        yield from sorted(self._announced)

    def feed(self, stream: str, now: int) -> Feed | None:
        """A stream as it is seen here; nothing where it is not known."""
        if stream in self.hosting:
            return self.hosting.feed(stream)
        if stream == POLICY and self.policy_hosting is not None:
            return self.policy_hosting.feed
        followed = self._followed.get(stream)
        if followed is None:
            incarnation = self._incarnation(stream)
            if incarnation is None:
                return None
            followed = self._followed[stream] = FollowedFeed(
                stream, incarnation, self.settings, self.outbox, self
            )
        return followed

    def _incarnation(self, stream: str) -> str | None:
        if stream == POLICY:
            return POLICY_INCARNATION
        announced = self._announced.get(stream)
        return announced.incarnation if announced is not None else None

    def _host(self, stream: str) -> str:
        return self.settings.policy_host if stream == POLICY else self._announced[stream].host

    def _announce_own(self, now: int) -> None:
        """Say what is hosted here, once its incarnations can't be forgotten."""
        self._serial += 1
        serial = self._serial
        self.outbox.keep(_SERIAL, msgspec.json.encode(serial))

        def stored(now: int) -> None:
            for feed in self.hosting.feeds():
                ads = self.hosting.advertised(feed.stream)
                said = None if ads is None else tuple((str(one), after) for one, after in ads)
                self._take_announcement(
                    Announce(self.settings.broker, feed.stream, feed.incarnation, serial, said),
                    None,
                    now,
                )

        def lost(because: str, now: int) -> None:
            self._announce_at = now + self.settings.ask_again_us

        self.outbox.when_stored(stored, lost, now)

    def _take_announcement(self, said: Announce, source: str | None, now: int) -> None:
        before = self._announced.get(said.stream)
        if source is not None and said.host == self.settings.broker:
            # What others remember of us from before our disk was lost.
            if said.serial >= self._serial and said != before:
                self._serial = said.serial
                self._announce_own(now)
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
        self._announced[said.stream] = said
        for broker in self.neighbours.all():
            if broker != source:
                self.neighbours.send(broker, said, now)
        if before is not None and before.incarnation != said.incarnation:
            self._replace(said.stream, now)
        followed = self._followed.get(said.stream)
        if followed is not None:
            followed.parent_found(now)
        self.subscriptions.stream_found(said.stream, now)

    def _advertised_on(self, stream: str) -> Advertised | None:
        """What may be published on a stream; `None` for anything."""
        said = self._announced.get(stream)
        if said is None or said.advertised is None:
            return None
        return tuple((parse_filter(text), after) for text, after in said.advertised)

    def _replace(self, stream: str, now: int) -> None:
        """A stream goes on under another incarnation."""
        followed = self._followed.pop(stream, None)
        if followed is None:
            return
        for consumer in list(followed.consumers):
            consumer.ended("the stream goes on under another incarnation", now)
        self.subscriptions.stream_lost(stream, now)
        followed.let_go(now)

    # what a followed feed asks for

    def next_brokers(self, stream: str) -> Sequence[str]:
        me = self.settings.broker
        ways = self.neighbours.reachable(self.settings.topology.towards(me, self._host(stream)))
        if len(ways) < 2 or ways[0] == self._host(stream):
            return ways
        # Streams take different ways, so that redundant brokers share the load.
        turn = zlib.crc32(f"{me} {stream}".encode()) % len(ways)
        return [*ways[turn:], *ways[:turn]]

    def send(self, broker: str, frame: Frame, now: int) -> bool:
        return self.neighbours.send(broker, frame, now)

    def wishes_changed(self, feed: FollowedFeed) -> None:
        self._asking_feeds[feed] = None

    def open_session(self, feed: FollowedFeed) -> int:
        number = self.outbox.next_number()
        self._sessions[number] = feed
        return number

    def close_session(self, session: int) -> None:
        self._sessions.pop(session, None)

    def admits(self, broker: str, record: Record, now: int) -> bool | None:
        domain = self.settings.foreign.get(broker)
        return True if domain is None else foreign.admits(domain, self.policy, record, now)

    # what a child session asks for

    def writable(self, broker: str) -> bool:
        return self.neighbours.writable(broker)

    def quiet(self, session: ChildSession, now: int) -> None:
        if session.silent_at is None:
            wait = 0 if session.stream == POLICY else self.settings.silence_us
            session.silent_at = now + wait
            self._quiet[session] = None

    def child_ended(self, session: ChildSession, because: str, now: int) -> None:
        self._parentless[session] = because

    # frames

    def _heard(self, broker: str, frame: Frame, now: int) -> None:
        match frame:
            case Data():
                feed = self._sessions.get(frame.session)
                if feed is not None:
                    if (frame.record.stream, frame.record.incarnation) != (
                        feed.stream, feed.incarnation,
                    ):  # fmt: skip
                        raise PeerError(
                            f"expected a record of {named(feed.stream)} on session "
                            f"{frame.session}, found one of {named(frame.record.stream)}"
                        )
                    _check_event(frame.record)
                    feed.on_data(frame, now)
            case Silence():
                feed = self._sessions.get(frame.session)
                if feed is not None:
                    feed.on_silence(frame, now)
            case Vouched():
                feed = self._sessions.get(frame.session)
                if feed is not None:
                    feed.on_vouched(frame, now)
            case Ended():
                feed = self._sessions.get(frame.session)
                if feed is not None:
                    feed.session_ended(now)
            case Attach():
                self._attach(broker, frame, now)
            case Subscribe():
                self._subscribe(broker, frame, now)
            case Detach():
                self._drop_child((broker, frame.session), now)
            case Announce():
                self._take_announcement(frame, broker, now)
            case Request():
                domain = self.settings.foreign.get(broker)
                if domain is None or foreign.may_ask(domain, self.policy):
                    self.asking.on_request(frame, now)
            case Reply():
                self.asking.on_reply(frame, now)
            case _:
                raise PeerError(f"expected no `{type(frame).__name__}` on an open link")

    def _attach(self, broker: str, frame: Attach, now: int) -> None:
        key = broker, frame.session
        if key in self._children:
            return  # the frame came twice
        feed = self.feed(frame.stream, now)
        because = None
        if feed is None:
            because = f"the stream {named(frame.stream)} is not known here"
        elif feed.incarnation != frame.incarnation:
            because = f"{named(frame.stream)} has another incarnation here"
        elif frame.stream in self.hosting and frame.after > (feed.position or 0):
            because = f"{named(frame.stream)} ends at {feed.position}, before {frame.after}"
        elif len(self._children) >= _SESSIONS_MAX:
            because = f"this broker serves {_SESSIONS_MAX:,} sessions already"
        if because is not None:
            self.neighbours.send(broker, Ended(frame.session, because), now)
            return
        assert feed is not None
        domain = self.settings.foreign.get(broker)
        if domain is None:
            child = ChildSession(self, broker, frame)
        else:
            child = ForeignChild(self, broker, frame, domain, self.policy)
        self._children[key] = child
        upstream = isinstance(feed, FollowedFeed)
        feed.add(child, now)
        self.outbox.count(
            "attach upstream" if upstream and child.granted_epoch < 0 else "attach served here"
        )

    def _subscribe(self, broker: str, frame: Subscribe, now: int) -> None:
        child = self._children.get((broker, frame.session))
        if child is not None and child.home is not None:
            wanted = child.changed(frame)
            if wanted is not None:
                child.home.want(child, wanted, child.epoch_of(frame), now)

    def _drop_child(self, key: tuple[str, int], now: int) -> None:
        child = self._children.pop(key, None)
        if child is not None:
            self._quiet.pop(child, None)
            feed = self.feed(child.stream, now)
            if feed is not None:
                feed.remove(child, now)

    def _found(self, broker: str, now: int) -> None:
        for said in self._announced.values():
            self.neighbours.send(broker, said, now)
        for feed in list(self._followed.values()):
            feed.parent_found(now)

    def _lost(self, broker: str, now: int) -> None:
        for key in [key for key in self._children if key[0] == broker]:
            self._drop_child(key, now)
        for feed in list(self._followed.values()):
            feed.parent_lost(broker, now)

    # questions

    def _asked(self, origin: str, asked: Question, respond: Respond, now: int) -> None:
        hosting, durables = self.policy_hosting, self.durables
        if isinstance(asked, TakenOver):
            self.clients.taken_over(asked, now)
            respond(Noted(), now)
        elif hosting is None or durables is None:
            raise PeerError(f"the policy's host is `{self.settings.policy_host}`, not this broker")
        else:
            match asked:
                case AskVersion():
                    respond(VersionIs(hosting.version), now)
                case AskRights():
                    respond(hosting.rights(asked), now)
                case ReportStarts():
                    respond(hosting.keep_starts(asked), now)
                case Take():
                    durables.take(asked, respond, now)
                case KeepPositions():
                    durables.keep_positions(asked, respond, now)

    def _notify(self, broker: str, over: TakenOver, now: int) -> None:
        self.asking.ask(broker, over, lambda *_: None, now)

    # the policy

    def _follow_policy(self, now: int) -> None:
        feed = self.feed(POLICY, now)
        assert feed is not None
        self.policy.start(feed, now)

    def _learnt(self, version: int, now: int) -> None:
        """First the version begins on the streams of this broker, then it holds for its clients."""
        self.hosting.learn(version, now)

    def _changed(self, touched: list[str], now: int) -> None:
        self.clients.changed(touched, now)
        self.subscriptions.learnt(touched, now)
        if self.settings.foreign:
            self._domain_known(now)

    def _domain_known(self, now: int) -> None:
        for child in list(self._children.values()):
            if isinstance(child, ForeignChild):
                child.learnt(now)

    def _report_starts(self, now: int) -> None:
        """Tell the policy's host of starting points until it keeps them."""
        self._report_at = None
        for stream, points in self.hosting.unreported.items():
            if points and not self._reporting:
                self._reporting = True
                self._report(stream, dict(points), now)

    def _report(self, stream: str, points: dict[int, int], now: int) -> None:
        def answered(said: Answer, asked_at: int, now: int) -> None:
            self._reporting = False
            self.hosting.reported(stream, points)

        self.asking.ask(self.settings.policy_host, ReportStarts(stream, points), answered, now)

    # after each input

    def _flush(self) -> None:
        now = self.clock.newest
        while self._asking_feeds:
            feeds, self._asking_feeds = self._asking_feeds, {}
            for feed in feeds:
                feed.ask(now)
        self.subscriptions.serve_woken(now)
        while self._parentless:
            child, because = self._parentless.popitem()
            key = child.child, child.session
            if self._children.get(key) is child:
                self._drop_child(key, now)
                self.neighbours.send(child.child, Ended(child.session, because), now)
        if not self._reporting and any(self.hosting.unreported.values()):
            self._report_starts(now)
        for child in list(self._quiet):
            if child.silent_at is None:
                del self._quiet[child]
            elif child.stream == POLICY:
                child.break_silence(now)
                del self._quiet[child]
        for stream, feed in list(self._followed.items()):
            if not feed.consumers:
                feed.let_go(now)
                del self._followed[stream]
        self.neighbours.flush()


def _check_event(record: Record) -> None:
    """Refuse a record that can't be read, before it goes anywhere."""
    if record.body is not None:
        try:
            record.event  # noqa: B018  # reading it once is the check
        except HeadgateError as problem:
            raise PeerError(
                f"expected an event at offset {record.offset} of {named(record.stream)}: {problem}"
            ) from None
