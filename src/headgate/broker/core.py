"""One broker of the network, without sockets, disk or clock: inputs with `now`, effects out.

Time never goes back in here (see `Clock`). After each input the world takes the effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, final

from headgate.broker import foreign
from headgate.broker.asking import Asking, Respond
from headgate.broker.children import Children
from headgate.broker.clients import Asked, Clients
from headgate.broker.clock import Clock
from headgate.broker.durables import Durable, Durables
from headgate.broker.effects import DurableEnded, Effect, Recovered
from headgate.broker.hosting import Hosting
from headgate.broker.neighbours import Neighbours
from headgate.broker.outbox import Outbox
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.policy_hosting import PolicyHosting
from headgate.broker.questions import (
    AskOwed,
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
from headgate.broker.removal import Removal
from headgate.broker.reporting import Reporting
from headgate.broker.settings import Settings
from headgate.broker.streams import Streams
from headgate.broker.subscriptions import Subscriptions
from headgate.filters.filter import Filter
from headgate.log.records import POLICY, KnownValue, Record, moment_of
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
        self.streams = Streams(
            settings, self.outbox, self.neighbours, self.hosting, recovered,
            policy_feed=self.policy_hosting.feed if self.policy_hosting is not None else None,
            found=self._stream_found, lost=self._stream_lost,
        )  # fmt: skip
        self.children = Children(settings, self.outbox, self.neighbours, self.hosting, self.streams)
        self.policy = PolicyFollowing(
            settings, self.outbox, self.asking, learnt=self._learnt, changed=self._changed
        )
        self.streams.policy = self.children.policy = self.policy
        self.reporting = Reporting(settings, self.hosting, self.asking)
        self.removal = Removal(settings, self.outbox, self.hosting, self.streams, self.asking)
        self.clients = Clients(
            settings, self.outbox, self.policy, self.hosting, self.asking, boot,
            self.streams.announce,
        )  # fmt: skip
        self.subscriptions = Subscriptions(
            settings,
            self.outbox,
            self.policy,
            self.hosting,
            self.streams,
            keep_start=self.clients.keep_start,
            give_up=self.clients.give_up,
        )
        self.clients.subscriptions = self.subscriptions
        self._begin(now)

    def _begin(self, now: int) -> None:
        """Say what is hosted here, and follow the policy."""
        self.streams.announce(now)
        if not self.settings.routes_only or self.settings.foreign:
            feed = self.streams.feed(POLICY)
            assert feed is not None
            self.policy.start(feed, now)
        for domain in sorted(set(self.settings.foreign.values())):
            self.policy.hold(domain, self.children.learnt, now)

    @property
    def counts(self) -> Counter[str]:
        """How often the branches were taken that matter for what a simulation has reached."""
        return self.outbox.counts

    def records_held(self) -> int:
        """How many records are in memory of the stream of which there are most."""
        return max((feed.records_held for feed in self.streams.feeds()), default=0)

    def effects(self) -> list[Effect]:
        """What there is to do since the last call, in order."""
        self._flush()
        return self.outbox.take()

    # links

    def link_up(self, link: int, now: int, dialled: str | None, named: str | None = None) -> None:
        """A link is there: it was dialled, or accepted from whom its certificate names, if any."""
        self.neighbours.link_up(link, self.clock.enter(now), dialled, named)

    def dial_failed(self, broker: str, now: int) -> None:
        self.neighbours.dial_failed(broker, self.clock.enter(now))

    def link_down(self, link: int, now: int) -> None:
        self.neighbours.link_down(link, self.clock.enter(now))

    def receive(self, link: int, data: bytes, now: int) -> None:
        self.neighbours.receive(link, data, self.clock.enter(now))

    def set_writable(self, link: int, writable: bool, now: int) -> None:
        now = self.clock.enter(now)
        broker = self.neighbours.set_writable(link, writable)
        if broker is not None:
            self.children.writable_again(broker, now)

    # storage

    def stored(self, ticket: int, now: int) -> None:
        self.outbox.stored(ticket, self.clock.enter(now))

    def store_failed(self, because: str, now: int) -> None:
        self.outbox.store_failed(because, self.clock.enter(now))

    def was_read(self, number: int, records: Sequence[Record], now: int) -> None:
        self.outbox.was_read(number, records, self.clock.enter(now))

    def batch_applied(self, number: int, refused: str | None, now: int) -> None:
        now = self.clock.enter(now)
        if self.policy_hosting is not None:
            self.policy_hosting.applied(number, refused, self.clock.wall(now))

    def starting_point_kept(self, version: int, stream: str, now: int) -> None:
        now = self.clock.enter(now)
        if self.policy_hosting is not None:
            self.policy_hosting.starting_point_kept(version, stream, now)

    def policy_grew(self, batches: Sequence[tuple[int, Batch]], now: int) -> None:
        now = self.clock.enter(now)
        if self.policy_hosting is not None:
            self.policy_hosting.grew(batches, now)

    def read_failed(self, number: int, because: str, now: int) -> None:
        self.outbox.read_failed(number, because, self.clock.enter(now))

    def consider_removal(self, now: int) -> None:
        """Find out what may be removed of the streams here; `MayRemove` says it."""
        now = self.clock.enter(now)
        self.removal.consider(now)

    def remove(self, up_to: Mapping[str, int], now: int) -> None:
        """Say that these records are going to be gone; `Remove` follows."""
        now = self.clock.enter(now)
        self.removal.remove(up_to, now)

    # time

    def next_timer(self) -> int | None:
        times = [
            self.neighbours.next_timer(),
            self.asking.next_timer(),
            self.policy.next_timer(),
            self.subscriptions.next_timer(),
            self.hosting.retry_at,
            self.streams.next_timer(),
            self.children.next_timer(),
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
        self.streams.on_timer(now)
        self.children.on_timer(now)
        if self.policy_hosting is not None:
            self.policy_hosting.on_timer(self.clock.wall(now), moment_of)

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
        asked = Asked(subscription, wanted, durable, causal, after or {})
        self.clients.subscribe(client, request, asked, self.clock.enter(now))

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

    def kept_durables(self) -> list[Durable]:
        """All durable subscriptions of the network, as far as they are kept here."""
        return [] if self.durables is None else self.durables.all()

    def end_durable(self, client: int, request: int, principal: str, name: str, now: int) -> None:
        """End a durable subscription in its client's place; `DurableEnded` follows."""
        now = self.clock.enter(now)
        if self.durables is None:
            raise ValueError(f"the policy's host is `{self.settings.policy_host}`: ask there")
        self.durables.end(
            principal,
            name,
            lambda existed, because: self.outbox.tell(
                client, DurableEnded(request, existed, because)
            ),
            now,
        )

    # neighbours

    def _heard(self, broker: str, frame: Frame, now: int) -> None:
        match frame:
            case Data() | Silence() | Vouched() | Ended():
                self.streams.heard(broker, frame, now)
            case Attach():
                self.children.attach(broker, frame, now)
            case Subscribe():
                self.children.subscribe(broker, frame, now)
            case Detach():
                self.children.drop((broker, frame.session), now)
            case Announce():
                self.streams.take_announcement(frame, broker, now)
            case Request():
                domain = self.settings.foreign.get(broker)
                if domain is None or foreign.may_ask(domain, self.policy):
                    self.asking.on_request(frame, now)
            case Reply():
                self.asking.on_reply(frame, now)
            case _:
                raise PeerError(f"expected no `{type(frame).__name__}` on an open link")

    def _found(self, broker: str, now: int) -> None:
        self.streams.neighbour_found(broker, now)

    def _lost(self, broker: str, now: int) -> None:
        self.children.neighbour_lost(broker, now)
        self.streams.neighbour_lost(broker, now)

    def _stream_found(self, stream: str, now: int) -> None:
        self.subscriptions.stream_found(stream, now)
        self.subscriptions.stream_cut(stream, now)

    def _stream_lost(self, stream: str, now: int) -> None:
        self.subscriptions.stream_lost(stream, now)

    # questions

    def _asked(self, origin: str, asked: Question, respond: Respond, now: int) -> None:
        hosting, durables = self.policy_hosting, self.durables
        if isinstance(asked, TakenOver):
            self.clients.taken_over(asked, now)
            respond(Noted(), now)
        elif hosting is None or durables is None:
            self.outbox.count("question to another")  # the policy has another host
        else:
            match asked:
                case AskVersion():
                    respond(VersionIs(hosting.version), now)
                case AskRights():
                    respond(hosting.rights(asked), now)
                case ReportStarts():
                    hosting.keep_starts(asked, respond, now)
                case Take():
                    durables.take(asked, respond, now)
                case AskOwed():
                    durables.owed(asked, respond, now)
                case KeepPositions():
                    durables.keep_positions(asked, respond, now)

    def _notify(self, broker: str, over: TakenOver, now: int) -> None:
        # It is a courtesy: what the attachment before acknowledges is refused in any case.
        until = now + self.settings.lease_us
        self.asking.ask(broker, over, lambda *_: None, now, until)

    # the policy

    def _learnt(self, version: int, now: int) -> None:
        """First the version begins on the streams of this broker, then it holds for its clients."""
        self.hosting.learn(version, now)

    def _changed(self, touched: list[str], now: int) -> None:
        self.clients.changed(touched, now)
        self.subscriptions.learnt(touched, now)
        self.children.learnt(now)

    # after each input

    def _flush(self) -> None:
        now = self.clock.newest
        # What one of these does may be something to do for another.
        while self.streams.ask(now) | self.subscriptions.serve_woken(now) | self.children.part(now):
            pass
        self.reporting.report(now)
        self.children.speak(now)
        self.streams.let_go(now)
        self.neighbours.flush()
