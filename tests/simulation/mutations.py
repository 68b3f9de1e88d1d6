"""What becomes of the network when a rule of its core is broken? Which promise breaks, and where.

Each mutation replaces a function of the real core by one that lacks a single rule. What is said of
it here is what `docs/simulation.md` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec
import pytest
from msgspec.structs import replace

from headgate.broker import deliveries, durables, foreign, interests
from headgate.broker.asking import Asking, Respond
from headgate.broker.clients import Clients
from headgate.broker.deliveries import StreamDelivery
from headgate.broker.durables import Durables
from headgate.broker.effects import Lost, Published, Recovered, Remove
from headgate.broker.feeds import Feed, HostedFeed, Offer
from headgate.broker.following import FollowedFeed, PrivateFeed
from headgate.broker.hosting import Hosting
from headgate.broker.interests import Interest, InterestSet
from headgate.broker.known_rights import KnownRights
from headgate.broker.neighbours import Neighbours
from headgate.broker.outbox import Outbox
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.policy_hosting import PolicyHosting
from headgate.broker.questions import KeepPositions, ReportStarts, RightsAre
from headgate.broker.removal import Removal
from headgate.broker.serving import ChildSession
from headgate.broker.subscriptions import Subscriptions
from headgate.filters.filter import Filter
from headgate.gate.delivery import Outcome, View, gate, gate_then_and_now
from headgate.log.records import Record
from headgate.model.errors import FilterTooComplexError
from headgate.peering.frames import LATEST, Data, Vouched
from headgate.rights.effective import Rights
from headgate.rights.history import PolicyHistory
from headgate.simulation import world
from headgate.simulation.timeline import SECOND

Patch: TypeAlias = pytest.MonkeyPatch
Break: TypeAlias = Callable[[Patch], None]


@dataclass(frozen=True)
class Mutation:
    """One rule that doesn't hold any more, and where that was seen."""

    name: str
    break_it: Break
    seen: tuple[Seen, ...]

    @contextmanager
    def in_force(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            self.break_it(patch)
            yield


@dataclass(frozen=True)
class Seen:
    """A run, and the promise that breaks in it."""

    scenario: str
    promise: str
    seed: int = 1


MUTATIONS: Final[list[Mutation]] = []
REVOKED: Final = "nothing_after_the_starting_point_of_a_revocation"


def mutation(name: str, *seen: Seen) -> Callable[[Break], Break]:
    """Without this rule, these promises are broken in these runs."""

    def register(break_it: Break) -> Break:
        MUTATIONS.append(Mutation(name, break_it, seen))
        return break_it

    return register


def table() -> str:
    """As the documentation shows it."""
    rows = [
        f"| {mutation.name} | `{seen.scenario}` | `{seen.promise}` |"
        for mutation in MUTATIONS
        for seen in mutation.seen
    ]
    head = ("| what the core does wrong | scenario | promise that is broken |", "|---|---|---|")
    return "\n".join((*head, *rows))


def forgotten(*_: Any, **__: Any) -> None:
    """Does nothing, where something had to be done."""


# Sessions.


@mutation(
    "a cache serves whoever asks, complete or not",
    Seen("a-cache-that-is-complete-for-less", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = FollowedFeed.complete

    def complete(self: FollowedFeed, wanted: InterestSet, after: int, version: int) -> bool:
        return bool(self._ledger) or original(self, wanted, after, version)

    patch.setattr(FollowedFeed, "complete", complete)


@mutation(
    "what is no longer in memory counts as there",
    Seen("a-cache-that-is-too-short", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = Feed._forget

    def forget(self: Feed, *rest: Any) -> None:
        floor = self.floor
        original(self, *rest)
        self.floor = floor

    patch.setattr(Feed, "_forget", forget)


@mutation(
    "a vouch leaves out the silence that was held back",
    Seen("an-epoch-vouched-while-a-silence-was-held-back", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    def vouched(self: ChildSession, after: int, version: int, now: int) -> None:
        told = after if self.told is None else self.told
        self.mouth.send(self.child, Vouched(self.session, self.epoch, told, told, version), now)
        self.told = told

    patch.setattr(ChildSession, "vouched", vouched)


@mutation(
    "the start is told before it is written down",
    Seen("a-start-while-the-disk-is-slow", "starts_are_written_down"),
)
def _(patch: Patch) -> None:
    def begin(self: Subscriptions, delivery: StreamDelivery, after: int, now: int) -> None:
        self._started(delivery, now)

    patch.setattr(Subscriptions, "begin", begin)


@mutation(
    "a set is vouched for that was only asked for upstream",
    Seen("a-covering-subscription-asked-for-and-not-vouched-for-yet", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = FollowedFeed.complete

    def complete(self: FollowedFeed, wanted: InterestSet, after: int, version: int) -> bool:
        asked = self._attached() and self._consolidated().covers(wanted, version)
        return asked or original(self, wanted, after, version)

    patch.setattr(FollowedFeed, "complete", complete)


@mutation(
    "the narrower set that is under way is forgotten",
    Seen("a-narrower-set-under-way", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = FollowedFeed.complete

    def complete(self: FollowedFeed, wanted: InterestSet, after: int, version: int) -> bool:
        attachment, self._attachment = self._attachment, None
        try:
            return original(self, wanted, after, version)
        finally:
            self._attachment = attachment

    patch.setattr(FollowedFeed, "complete", complete)


@mutation(
    "gaps are ignored",
    Seen("a-gap-on-a-link", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    patch.setattr(FollowedFeed, "_gap", lambda *_: False)


@mutation(
    "after a failover a stream goes on from its end",
    Seen("a-routing-broker-that-restarts", "in_order_without_gaps"),
    Seen("failover-in-the-middle-of-a-gap", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = FollowedFeed._reattach

    def reattach(self: FollowedFeed, now: int, *, avoid: bool, tell: bool) -> None:
        self.position, self._start = None, (LATEST, 0)
        original(self, now, avoid=avoid, tell=tell)

    patch.setattr(FollowedFeed, "_reattach", reattach)


@mutation(
    "another parent takes up a session without all of its set",
    Seen("failover-to-a-parent-that-lacks-the-set", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = FollowedFeed.complete

    def complete(self: FollowedFeed, wanted: InterestSet, after: int, version: int) -> bool:
        return self._attached() or original(self, wanted, after, version)

    patch.setattr(FollowedFeed, "complete", complete)


@mutation(
    "a link that is lost is waited for, though there is another way",
    Seen("the-loss-of-a-way", "everybody_is_served_in_the_end"),
)
def _(patch: Patch) -> None:
    patch.setattr(FollowedFeed, "parent_lost", forgotten)


@mutation(
    "who catches up gets only what is new on the stream",
    Seen("catching-up-beside-live", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    def fetch(self: FollowedFeed, consumer: Any, now: int) -> None:
        consumer.at = self.floor
        self.serve(consumer, now)

    patch.setattr(FollowedFeed, "fetch", fetch)


@mutation(
    "a catch-up ends before its live start",
    Seen("a-catch-up-that-runs-to-its-live-start", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    def complete(self: FollowedFeed, wanted: InterestSet, after: int, version: int) -> bool:
        return bool(self._ledger)

    original = PrivateFeed.try_to_join

    def try_to_join(self: PrivateFeed, now: int) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(FollowedFeed, "complete", complete)
            original(self, now)

    patch.setattr(PrivateFeed, "try_to_join", try_to_join)


@mutation(
    "what comes twice is taken twice",
    Seen("frames-that-come-twice", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = FollowedFeed.on_data

    def on_data(self: FollowedFeed, frame: Data, now: int) -> None:
        position = self.position
        if position is not None and frame.record.offset <= position:
            self.position = frame.record.offset - 1
        original(self, replace(frame, previous=min(frame.previous, self.position or 0)), now)

    patch.setattr(FollowedFeed, "on_data", on_data)


@mutation(
    "a link that carries nonsense is kept",
    Seen("bytes-that-nobody-sent", "everybody_is_served_in_the_end"),
)
def _(patch: Patch) -> None:
    patch.setattr(Neighbours, "close", forgotten)


@mutation(
    "silence is never told",
    Seen("the-end-of-a-burst", "everybody_is_served_in_the_end"),
)
def _(patch: Patch) -> None:
    patch.setattr(ChildSession, "reached", forgotten)


@mutation(
    "a record is seen before it is stored",
    Seen("a-record-that-is-not-stored-yet", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    write, extend = Hosting._write, HostedFeed.extend

    def write_and_show(self: Hosting, written: Any, record: Record, then: Any) -> None:
        write(self, written, record, then)
        written.feed.extend(record, self.clock.newest)

    def extend_once(self: HostedFeed, record: Record, now: int) -> None:
        if record.offset > (self.position or 0):
            extend(self, record, now)

    patch.setattr(Hosting, "_write", write_and_show)
    patch.setattr(HostedFeed, "extend", extend_once)


# Versions.


@mutation(
    "the newest filter counts for all versions",
    Seen("any-batch-at-any-step-of-a-delivery", "in_order_without_gaps", seed=4),
    Seen("a-filter-narrowed-while-an-older-record-is-on-a-slow-path", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    patch.setattr(Interest, "at", lambda self, version: self.steps[-1][1])


@mutation(
    "a new subscription is owed nothing of versions before those it was told of",
    Seen("a-new-subscription-to-a-stream-that-lags", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = Interest.at

    def at(self: Interest, version: int) -> Filter | None:
        return original(self, version) or self.steps[0][1]

    patch.setattr(Interest, "at", at)


@mutation(
    "a filter stands for another one if it covers it at the newest version",
    Seen("filters-that-cover-at-some-versions-only", "everybody_is_served_in_the_end"),
)
def _(patch: Patch) -> None:
    def stands_for(wide: Interest, narrow: Interest, known: int) -> bool:
        return interests._covers_or_all(wide.steps[-1][1], narrow.steps[-1][1])

    patch.setattr(interests, "_stands_for", stands_for)


@mutation(
    "a cache is complete for whom it covers at the newest version",
    Seen("a-cache-that-is-complete-at-some-versions-only", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = InterestSet.covers

    def covers(self: InterestSet, other: InterestSet, since: int) -> bool:
        return original(self, other, max(since, min(self.known, other.known)))

    patch.setattr(InterestSet, "covers", covers)


@mutation(
    "everything covers only what it can be compared with",
    Seen("filters-that-are-too-much-to-say", "everybody_is_served_in_the_end"),
)
def _(patch: Patch) -> None:
    def covers(self: InterestSet, other: InterestSet, since: int) -> bool:
        if not other.entries:
            return True
        known = bool(self.entries) and self.known <= max(other.known, since - 1)
        missing = other.entries - self.entries
        return known and all(self._covers_one(entry, since) for entry in missing)

    def compared(wide: Filter, narrow: Filter) -> bool:
        try:
            return wide == narrow or wide.covers(narrow)
        except FilterTooComplexError:
            return False

    patch.setattr(InterestSet, "covers", covers)
    patch.setattr(interests, "covers", compared)


@mutation(
    "a record of a version that isn't known behind a link is not sent to be safe",
    Seen("a-version-that-is-not-known-behind-a-link", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = InterestSet.wants

    def wants(self: InterestSet, record: Record) -> bool:
        return original(InterestSet(interests.ALWAYS, self.entries), record)

    patch.setattr(InterestSet, "wants", wants)


@mutation(
    "the subscriber's broker doesn't hold what overtakes its version",
    Seen("a-record-that-overtakes-its-version", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    original = StreamDelivery._offer

    def offer(self: StreamDelivery, record: Record, now: int) -> Offer:
        policy = self.subscriptions.policy
        known, policy.known = policy.known, max(policy.known, record.version)
        try:
            return original(self, record, now)
        finally:
            policy.known = known

    patch.setattr(StreamDelivery, "_offer", offer)


@mutation(
    "the gate goes by the newest rights",
    Seen("any-batch-at-any-step-of-a-delivery", "exactly_what_the_gate_gives", seed=2),
    Seen("rights-that-change-while-a-record-is-under-way", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    def gate_now(self: StreamDelivery, record: Record) -> Outcome:
        policy = self.subscriptions.policy
        return gate(record.event, policy.rights.at(policy.known), self.subscribed.subscription)

    patch.setattr(StreamDelivery, "_gate", gate_now)


@mutation(
    "a revocation takes what was published before it",
    Seen("a-revocation-with-in-flight-and-durable-messages", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    def gate_both(self: StreamDelivery, record: Record) -> Outcome:
        policy = self.subscriptions.policy
        then, today = policy.rights.at(record.version), policy.rights.at(policy.known)
        return gate_then_and_now(record.event, then, today, self.subscribed.subscription)

    patch.setattr(StreamDelivery, "_gate", gate_both)


@mutation(
    "views are not cut to what may be read",
    Seen("checkpoints-of-what-was-delivered", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    def whole(event: Any, then: Any, subscription: Any) -> Outcome:
        outcome = gate(event, then, subscription)
        return View(event, outcome.version) if isinstance(outcome, View) else outcome

    patch.setattr(deliveries, "gate", whole)


@mutation(
    "rights of versions before a snapshot are taken to be none",
    Seen("a-past-that-is-longer-than-what-was-told-of-it", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = KnownRights.rights_at

    def rights_at(self: KnownRights, principal: str, version: int) -> Rights:
        if version < self.since(principal):
            return Rights(principal, 0, ())
        return original(self, principal, version)

    patch.setattr(KnownRights, "rights_at", rights_at)
    patch.setattr(PolicyFollowing, "reaches_back", lambda *_: True)


@mutation(
    "rights of versions before a snapshot are not asked for",
    Seen("a-past-that-is-longer-than-what-was-told-of-it", "no_core_fails"),
)
def _(patch: Patch) -> None:
    patch.setattr(PolicyFollowing, "reaches_back", lambda *_: True)


@mutation(
    "a version affects only whom its batch names",
    Seen("a-batch-that-names-a-group-only", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    patch.setattr(
        PolicyHistory, "affected", lambda self, version: frozenset(self._touched[version])
    )


@mutation(
    "a snapshot counts before the interest in its changes is vouched for",
    Seen("a-new-principal-between-two-versions", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    original = PolicyFollowing.hold

    def hold(self: PolicyFollowing, principal: str, then: Any, now: int) -> None:
        is_new = principal not in self._hosted
        original(self, principal, then, now)
        if is_new:
            self._hosted[principal].vouched = 0
            self._ask_rights([principal], now)

    patch.setattr(PolicyFollowing, "hold", hold)


@mutation(
    "a version that overtakes a snapshot is lost",
    Seen("a-version-that-overtakes-a-snapshot", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    original = PolicyFollowing._take_snapshots

    def take(self: PolicyFollowing, said: RightsAre, now: int) -> None:
        for hosted in self._hosted.values():
            hosted.early.clear()
        original(self, said, now)

    patch.setattr(PolicyFollowing, "_take_snapshots", take)


@mutation(
    "who is connected stays, whatever becomes of the right",
    Seen("a-connection-whose-right-ends", "connected_only_with_the_right"),
)
def _(patch: Patch) -> None:
    patch.setattr(Clients, "changed", forgotten)


@mutation(
    "the policy is swapped in before its marker is written",
    Seen("a-publication-while-its-right-ends", "published_only_with_the_right"),
)
def _(patch: Patch) -> None:
    original = Hosting.learn

    def learn(self: Hosting, version: int, now: int) -> None:
        if self.retry_at is not None and now >= self.retry_at:
            original(self, version, now)
        else:
            self.retry_at = now + SECOND // 2

    def mark(self: Hosting, stream: str, now: int) -> None:
        if self.retry_at is None:
            marked(self, stream, now)

    marked = Hosting._mark
    patch.setattr(Hosting, "learn", learn)
    patch.setattr(Hosting, "_mark", mark)


@mutation(
    "a version begins without a marker",
    Seen("a-publication-while-its-right-ends", "versions_never_go_back"),
)
def _(patch: Patch) -> None:
    def mark(self: Hosting, stream: str, now: int) -> None:
        self._streams[stream].version = max(self.known, self._streams[stream].version)

    patch.setattr(Hosting, "_mark", mark)


@mutation(
    "a starting point is reported before its marker is stored",
    Seen("a-crash-just-after-a-version-was-learnt", "starting_points_grow"),
)
def _(patch: Patch) -> None:
    original = Hosting._mark

    def mark(self: Hosting, stream: str, now: int) -> None:
        written = self._streams[stream]
        if written.version < self.known:
            original(self, stream, now)
            self.unreported[stream][written.version] = written.offset

    patch.setattr(Hosting, "_mark", mark)


@mutation(
    "a starting point moves to what is published next",
    Seen("a-publication-while-its-right-ends", "starting_points_grow"),
)
def _(patch: Patch) -> None:
    def keep_starts(self: PolicyHosting, report: ReportStarts, respond: Respond, now: int) -> None:
        moved = {version: offset + 1 for version, offset in report.points.items()}
        original(self, ReportStarts(report.stream, moved), respond, now)

    original = PolicyHosting.keep_starts
    patch.setattr(PolicyHosting, "keep_starts", keep_starts)


@mutation(
    "one starting point is reported for all streams",
    Seen("two-hosts-with-different-starting-points", "starting_points_grow"),
)
def _(patch: Patch) -> None:
    original = PolicyHosting.keep_starts
    first: dict[int, int] = {}

    def keep_starts(self: PolicyHosting, report: ReportStarts, respond: Respond, now: int) -> None:
        points = {one: first.setdefault(one, at) for one, at in report.points.items()}
        original(self, ReportStarts(report.stream, points), respond, now)

    patch.setattr(PolicyHosting, "keep_starts", keep_starts)


@mutation(
    "a broker that comes back has forgotten the version of its streams",
    Seen("a-broker-that-comes-back-with-an-old-version", "no_core_fails"),
    Seen("a-crash-just-after-a-version-was-learnt", "versions_never_go_back"),
)
def _(patch: Patch) -> None:
    original = Hosting._open

    def open_(self: Hosting, name: str, recovered: Recovered, boot: str) -> Any:
        written = original(self, name, recovered, boot)
        written.version = 0
        return written

    patch.setattr(Hosting, "_open", open_)


@mutation(
    "an offset stays taken when its record could not be stored",
    Seen("a-full-disk-where-a-version-should-begin", "no_core_fails"),
)
def _(patch: Patch) -> None:
    original = Hosting._write

    def write(self: Hosting, written: Any, record: Record, then: Any) -> None:
        original(self, written, record, then)
        written.stored = written.offset, written.version, written.chain

    patch.setattr(Hosting, "_write", write)


@mutation(
    "no lease is needed to publish",
    Seen(
        "a-broker-cut-off-for-longer-than-its-lease",
        REVOKED,
    ),
)
def _(patch: Patch) -> None:
    patch.setattr(PolicyFollowing, "leased", lambda *_: True)


@mutation(
    "a lease counts from when its answer comes, however late",
    Seen("answers-and-silences-that-come-late", REVOKED),
)
def _(patch: Patch) -> None:
    original = Asking._answered

    def answered(self: Asking, number: int, said: Any, now: int) -> None:
        one = self._open.get(number)
        if one is not None:
            one.asked_at = now
        original(self, number, said, now)

    patch.setattr(Asking, "_answered", answered)
    patch.setattr(Asking, "forget", forgotten)


@mutation(
    "whatever is heard of the policy renews the lease",
    Seen("answers-and-silences-that-come-late", REVOKED),
)
def _(patch: Patch) -> None:
    original = PolicyFollowing.knows

    def knows(self: PolicyFollowing, version: int, now: int, touched: Iterable[str] = ()) -> None:
        self._answer = (now, 0)
        self._renew()
        original(self, version, now, touched)

    patch.setattr(PolicyFollowing, "knows", knows)


@mutation(
    "an answer renews the lease though its version isn't known",
    Seen("a-version-that-a-broker-hears-of-and-is-not-given", REVOKED),
)
def _(patch: Patch) -> None:
    original = PolicyFollowing._renew

    def renew(self: PolicyFollowing) -> None:
        if self._answer is not None:
            self._answer = (self._answer[0], 0)
        original(self)

    patch.setattr(PolicyFollowing, "_renew", renew)


@mutation(
    "a version that is too large to be told changes nothing",
    Seen("a-version-that-is-too-large-to-be-told", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    def block(self: PolicyFollowing, version: int, now: int) -> Offer:
        self.knows(version, now)
        return Offer.TAKEN

    patch.setattr(PolicyFollowing, "_block", block)


# Publications.


@mutation(
    "a publication is acknowledged before it is stored",
    Seen("a-crash-between-a-write-and-its-sync", "acknowledged_only_when_stored"),
)
def _(patch: Patch) -> None:
    original = Hosting._write

    def write(self: Hosting, written: Any, record: Record, then: Any) -> None:
        if record.body is None or record.stream.startswith("$"):
            original(self, written, record, then)
        else:
            then(record, "", self.clock.newest)
            original(self, written, record, forgotten)

    patch.setattr(Hosting, "_write", write)


@mutation(
    "event ids are not looked at",
    Seen("a-publication-without-an-answer", "published_once"),
)
def _(patch: Patch) -> None:
    patch.setattr(Hosting, "repeated", forgotten)


@mutation(
    "event ids are forgotten in a crash",
    Seen("a-publication-repeated-after-a-crash", "published_once"),
)
def _(patch: Patch) -> None:
    original = Hosting._open

    def open_(self: Hosting, name: str, recovered: Recovered, boot: str) -> Any:
        written = original(self, name, recovered, boot)
        written.recent.clear()
        return written

    patch.setattr(Hosting, "_open", open_)


@mutation(
    "a repeated publication is acknowledged before the first one is stored",
    Seen("a-publication-without-an-answer", "acknowledged_only_when_stored"),
)
def _(patch: Patch) -> None:
    def repeated(
        self: Clients, client: Any, request: int, stream: str, event_id: str, now: int
    ) -> bool:
        found = self._hosting.repeated(stream, client.principal, event_id)
        if found is not None:
            self._outbox.tell(client.number, Published(request, stream, *found, repeated=True))
        return found is not None

    patch.setattr(Clients, "_repeated", repeated)


# Durable subscriptions.


@mutation(
    "late acknowledgements are accepted, and positions go back",
    Seen("a-late-acknowledgement", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    original = Durables.keep_positions

    def keep_positions(self: Durables, asked: KeepPositions, respond: Any, now: int) -> None:
        one = self._all.get((asked.principal, asked.name))
        current = asked if one is None else replace(asked, attachment=one.attachment)
        original(self, current, respond, now)

    patch.setattr(Durables, "keep_positions", keep_positions)
    patch.setattr(durables, "_grown", lambda before, said: {**before, **said})


@mutation(
    "a durable subscription that moves begins anew",
    Seen("a-subscriber-that-moves-between-brokers", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    original = Clients._begin

    def begin(self: Clients, client: Any, request: int, one: Any, now: int) -> None:
        one.after = {}
        original(self, client, request, one, now)

    patch.setattr(Clients, "_begin", begin)


@mutation(
    "the start of a durable subscription is told before it is kept",
    Seen("a-subscriber-that-moves-at-once", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    def keep_start(self: Clients, *said: Any) -> None:
        *_, then, now = said
        then(now)

    patch.setattr(Clients, "keep_start", keep_start)


@mutation(
    "what was sent counts as acknowledged",
    Seen("a-subscriber-that-moves-between-brokers", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    original = StreamDelivery._deliver

    def deliver(self: StreamDelivery, record: Record, view: View, now: int) -> None:
        original(self, record, view, now)
        self.done = record.offset

    patch.setattr(StreamDelivery, "_deliver", deliver)


@mutation(
    "a position is said to be kept before it is stored",
    Seen("a-crash-where-positions-are-kept", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    def keep(self: Durables, one: Any, then: Callable[[int], None]) -> None:
        self._all[one.principal, one.name] = one
        self._outbox.keep(durables._key(one), msgspec.msgpack.encode(one))
        then(0)

    patch.setattr(Durables, "_keep", keep)


# What subscribers are sent.


@mutation(
    "effects don't wait for their causes",
    Seen("an-effect-that-overtakes-its-cause", "causal_order_is_kept"),
)
def _(patch: Patch) -> None:
    patch.setattr(StreamDelivery, "_waits_for_others", lambda *_: False)


@mutation(
    "what a client has seen is no cause of what it publishes",
    Seen("an-effect-that-overtakes-its-cause", "causal_order_is_kept"),
)
def _(patch: Patch) -> None:
    patch.setattr(Subscriptions, "delivered", forgotten)


@mutation(
    "a subscription is begun with each new set",
    Seen("the-end-of-a-burst", "what_is_said_makes_sense"),
)
def _(patch: Patch) -> None:
    original = StreamDelivery.vouched

    def vouched(self: StreamDelivery, after: int, version: int, now: int) -> None:
        self.vouched_at = None
        original(self, after, version, now)

    patch.setattr(StreamDelivery, "vouched", vouched)


@mutation(
    "the window is ignored",
    Seen("a-slow-consumer", "no_more_than_the_window"),
)
def _(patch: Patch) -> None:
    patch.setattr(Subscriptions, "window_full", lambda *_: False)


@mutation(
    "whatever came is kept in memory",
    Seen("a-slow-consumer", "memory_is_bounded"),
)
def _(patch: Patch) -> None:
    patch.setattr(Feed, "_forget", forgotten)


@mutation(
    "a digest leaves out what the broker knows of an event",
    Seen("checkpoints-of-what-was-delivered", "digests_agree"),
)
def _(patch: Patch) -> None:
    patch.setattr(Subscriptions, "view_bytes", lambda self, event: event.to_bytes())


@mutation(
    "a checkpoint goes on over the border of a version",
    Seen("checkpoints-of-what-was-delivered", "digests_agree"),
)
def _(patch: Patch) -> None:
    original = StreamDelivery._deliver

    def deliver(self: StreamDelivery, record: Record, view: View, now: int) -> None:
        self.digest_version = record.version
        original(self, record, view, now)

    patch.setattr(StreamDelivery, "_deliver", deliver)


@mutation(
    "a link to another domain carries what it may not read",
    Seen("a-domain-that-may-read-less", "exactly_what_the_gate_gives"),
)
def _(patch: Patch) -> None:
    patch.setattr(foreign, "gate", lambda event, then, subscription: View(event, then.number))


# What is removed.


@mutation(
    "records are removed before anybody is told",
    Seen("a-slow-reader-whose-past-goes", "in_order_without_gaps"),
    Seen("a-removal-while-a-broker-in-the-middle-dies", "in_order_without_gaps"),
    Seen("a-removal-that-cannot-be-announced", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    def remove(self: Removal, up_to: Any, now: int) -> None:
        self._outbox.add(Remove(self._hosting.removable(up_to)))

    patch.setattr(Removal, "remove", remove)


@mutation(
    "whoever is at the end of what has come here is not told of a gap",
    Seen("a-removal-while-a-link-is-cut", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    original = Subscriptions.stream_cut

    def stream_cut(self: Subscriptions, stream: str, now: int) -> None:
        before = dict(self._all)
        for one in before:
            if stream in one.deliveries and one.deliveries[stream].live:
                del self._all[one]
        original(self, stream, now)
        self._all = {one: None for one in before if one in self._all or one.deliveries}

    patch.setattr(Subscriptions, "stream_cut", stream_cut)


@mutation(
    "what one durable subscription is owed is left out where it is asked what may go",
    Seen("a-removal-while-a-durable-subscription-is-away", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    original = Durables.owed

    def owed(self: Durables, *rest: Any) -> None:
        some = dict(self._all)
        self._all.pop(min(self._all, default=("", "")), None)
        original(self, *rest)
        self._all = some

    patch.setattr(Durables, "owed", owed)


@mutation(
    "what is lost is not told",
    Seen("a-slow-reader-whose-past-goes", "what_is_said_makes_sense"),
    Seen("a-reader-that-resumes-what-is-gone", "what_is_lost_is_told"),
    Seen("a-removal-while-a-durable-subscription-is-made", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    original = Outbox.tell

    def tell(self: Outbox, client: int, message: Any) -> None:
        if not isinstance(message, Lost):
            original(self, client, message)

    patch.setattr(Outbox, "tell", tell)


@mutation(
    "less is told than is lost",
    Seen("a-slow-reader-whose-past-goes", "what_is_lost_is_told"),
)
def _(patch: Patch) -> None:
    original = Outbox.tell

    def tell(self: Outbox, client: int, message: Any) -> None:
        if isinstance(message, Lost):
            message = msgspec.structs.replace(message, up_to=message.up_to - 1)
        original(self, client, message)

    patch.setattr(Outbox, "tell", tell)


@mutation(
    "what is outstanding of a part that is over still fills the window",
    Seen("a-slow-reader-whose-past-goes", "everybody_is_served_in_the_end"),
)
def _(patch: Patch) -> None:
    original = Subscriptions._forget

    def forget(self: Subscriptions, delivery: StreamDelivery) -> None:
        outstanding = delivery.subscribed.outstanding
        original(self, delivery)
        delivery.subscribed.outstanding = outstanding

    patch.setattr(Subscriptions, "_forget", forget)


@mutation(
    "who starts live starts in front of a gap that is known",
    Seen("a-newcomer-behind-a-broker-that-lags", "in_order_without_gaps"),
)
def _(patch: Patch) -> None:
    patch.setattr(Subscriptions, "vouched", Subscriptions.begin)


@mutation(
    "a start that is moved behind a gap counts as kept",
    Seen("a-removal-while-a-start-is-being-kept", "durable_positions_are_kept"),
)
def _(patch: Patch) -> None:
    original = Subscriptions._serve_from

    def serve_from(self: Subscriptions, *rest: Any, **said: Any) -> None:
        original(self, *rest, **{**said, "is_kept": said["is_kept"] or "kept_from" in said})

    patch.setattr(Subscriptions, "_serve_from", serve_from)


@mutation(
    "who waits for a cause that is lost goes on waiting",
    Seen("an-effect-whose-cause-is-gone", "everybody_is_served_in_the_end"),
)
def _(patch: Patch) -> None:
    original = Subscriptions._forget

    def forget(self: Subscriptions, delivery: StreamDelivery) -> None:
        delivery.waiters.clear()
        original(self, delivery)

    patch.setattr(Subscriptions, "_forget", forget)


# Time.


@mutation(
    "what has no answer is asked again at once",
    Seen("the-end-of-a-burst", "time_goes_on"),
)
def _(patch: Patch) -> None:
    original = Asking._ask

    def ask(self: Asking, number: int, one: Any, now: int) -> None:
        original(self, number, one, now)
        one.again_at = now

    patch.setattr(Asking, "_ask", ask)
    patch.setattr(world, "HAPPENINGS_MAX", 20_000)
