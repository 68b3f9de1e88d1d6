"""What does this broker know of the policy? It follows `$policy` for the principals it hosts.

The known version is the broker's position on that stream. It counts for a principal once the
interest in it is vouched for, and a snapshot taken after that is here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, final

import msgspec

from headgate.broker.asking import Asking
from headgate.broker.feeds import Consumer, Feed, Offer
from headgate.broker.interests import ALWAYS, Interest, InterestSet
from headgate.broker.known_rights import KnownRights
from headgate.broker.outbox import Outbox
from headgate.broker.questions import Answer, AskRights, AskVersion, RightsAre, VersionIs
from headgate.broker.questions import rights_from_wire as read_rights
from headgate.broker.settings import Settings
from headgate.filters.filter import Filter
from headgate.filters.syntax import Contains, Name
from headgate.log.records import Record
from headgate.rights.effective import Rights

Ready = Callable[[int], None]
_ASKED_AT_ONCE: Final = 64
_EVERYONE: Final = Interest.always(Filter.parse("everyone = TRUE"))


@dataclass
class _Hosted:
    """A principal that somebody here is connected as."""

    interest: Interest
    held: int = 0
    vouched: int | None = None
    """The version from which on its changes come here."""
    ready: bool = False
    waiting: list[Ready] = field(default_factory=list)
    early: list[Rights] = field(default_factory=list)
    """What came by `$policy` before the snapshot that it changes."""


class _Watch(Consumer):
    """This broker as a consumer of `$policy`."""

    listens = True

    def __init__(self, following: PolicyFollowing) -> None:
        super().__init__(InterestSet(ALWAYS, frozenset({_EVERYONE})), 0, None, 0)
        self.following = following

    def offer(self, record: Record, now: int) -> Offer:
        return self.following.offered(record, now)

    def reached(self, up_to: int, version: int, now: int) -> None:
        self.following.knows(up_to, now)

    def vouched(self, after: int, version: int, now: int) -> None:
        self.following.vouched(after, now)

    def ended(self, because: str, now: int) -> None:
        pass  # there is no other path than those that the feed tries again and again


@final
class PolicyFollowing:
    """The known version, the rights of the principals here, and the lease."""

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        asking: Asking,
        *,
        learnt: Callable[[int, int], None],
        changed: Callable[[list[str], int], None],
    ) -> None:
        self._settings = settings
        self._outbox = outbox
        self._asking = asking
        self._learnt, self._changed = learnt, changed
        self.rights = KnownRights()
        self.known = 0
        self.started = False
        self._watch = _Watch(self)
        self._feed: Feed | None = None
        self._hosted: dict[str, _Hosted] = {}
        self._asked_back: dict[str, None] = {}
        self._blocked_at: int | None = None
        """A version that was too large to be told."""
        self._awaited: set[str] = set()
        """Whose rights at that version are not here yet."""
        self._lease_until: int | None = None
        self._answer: tuple[int, int] | None = None
        """When a question was asked, and the version that its answer told of."""
        self._ask_at: int | None = None
        self._questions: deque[tuple[int, int]] = deque()

    def start(self, feed: Feed, now: int) -> None:
        """Begin to follow."""
        if not self.started:
            self.started = True
            self._feed = feed
            self._ask_at = now
            feed.add(self._watch, now)

    # principals

    def hold(self, principal: str, then: Ready, now: int) -> None:
        """Follow a principal's rights; `then` is called when they are known."""
        hosted = self._hosted.get(principal)
        if hosted is None:
            condition = Contains(principal, Name("affects"))
            hosted = self._hosted[principal] = _Hosted(Interest.always(Filter(condition)))
            self._want(now)
        hosted.held += 1
        if hosted.ready:
            then(now)
        else:
            hosted.waiting.append(then)

    def release(self, principal: str, now: int) -> None:
        hosted = self._hosted[principal]
        hosted.held -= 1
        if not hosted.held:
            del self._hosted[principal]
            self.rights.forget(principal)
            self._want(now)
            self._awaited.discard(principal)
            self._unblock(now)

    def ready(self, principal: str) -> bool:
        hosted = self._hosted.get(principal)
        return hosted is not None and hosted.ready

    def _want(self, now: int) -> None:
        entries = frozenset({_EVERYONE, *(one.interest for one in self._hosted.values())})
        watch = self._watch
        if self._feed is not None:
            self._feed.want(watch, InterestSet(ALWAYS, entries), watch.epoch + 1, now)

    def vouched(self, after: int, now: int) -> None:
        """What was asked for comes here from now on: take snapshots of those who are new."""
        self.knows(after, now)
        granted = self._watch.granted.entries
        new = []
        for principal, hosted in self._hosted.items():
            if hosted.vouched is None and hosted.interest in granted:
                hosted.vouched = after
                new.append(principal)
        if new:
            self._ask_rights(new, now)

    def _ask_rights(self, principals: Iterable[str], now: int) -> None:
        def answered(said: Answer, asked_at: int, now: int) -> None:
            if isinstance(said, RightsAre):
                self._take_snapshots(said, now)

        ordered = sorted(principals)
        for start in range(0, len(ordered), _ASKED_AT_ONCE):
            asked = AskRights(tuple(ordered[start : start + _ASKED_AT_ONCE]))
            self._asking.ask(self._settings.policy_host, asked, answered, now)

    def _take_snapshots(self, said: RightsAre, now: int) -> None:
        for name in said.too_large:
            self._cannot_know(name, now)
        behind = []
        learnt = set(said.too_large)
        for principal, timeline in sorted(said.timelines.items()):
            hosted = self._hosted.get(principal)
            if hosted is None or hosted.vouched is None:
                continue
            oldest = timeline[0][0] if timeline else 0
            at = self._blocked_at if hosted.ready else None
            if said.version < hosted.vouched or oldest > (self.known if at is None else at):
                # Too old; or of so long a past that it begins after what has to be known here.
                behind.append(principal)
                continue
            learnt.add(principal)
            steps = [read_rights(principal, since, granted) for since, granted in timeline]
            (self.rights.renew if hosted.ready else self.rights.learn)(principal, steps)
            for rights in hosted.early:
                if self.rights.change(principal, rights):
                    self._outbox.count("version before its snapshot")
            hosted.early.clear()
            self._outbox.count("new principal")
            hosted.ready = True
            waiting, hosted.waiting = hosted.waiting, []
            for then in waiting:
                then(now)
        if behind:
            self._ask_rights(behind, now)
        if self._blocked_at is not None and said.version >= self._blocked_at:
            self._awaited -= learnt
            self._unblock(now)

    def reaches_back(self, principals: Iterable[str], version: int) -> bool:
        """Whether their rights are known as far back as that."""
        return all(self.rights.since(name) <= version for name in principals)

    def ask_back(self, principals: Iterable[str], version: int, then: Ready, now: int) -> None:
        """Ask for what they could do at older versions than are known here."""
        for name in principals:
            since = self.rights.since(name)
            if since > version and name not in self._asked_back:
                self._asked_back[name] = None
                self._ask_older(name, since, then, now)

    def _ask_older(self, name: str, since: int, then: Ready, now: int) -> None:
        self._outbox.count("older rights asked for")

        def answered(said: Answer, asked_at: int, now: int) -> None:
            self._asked_back.pop(name, None)
            if isinstance(said, RightsAre) and name in self.rights:
                steps = said.timelines.get(name, ())
                older = [read_rights(name, at, granted) for at, granted in steps]
                self.rights.extend_back(name, older)
                then(now)

        asked = AskRights((name,), since)
        self._asking.ask(self._settings.policy_host, asked, answered, now)

    def _cannot_know(self, name: str, now: int) -> None:
        """A principal whose rights are too large to be told may do nothing here."""
        hosted = self._hosted.get(name)
        if hosted is None:
            return
        hosted.ready = False
        self._outbox.count("rights too large")
        waiting, hosted.waiting = hosted.waiting, []
        for then in waiting:
            then(now)
        self._changed([name], now)

    # versions

    def offered(self, record: Record, now: int) -> Offer:
        """A version that affects somebody here, or perhaps somebody."""
        if record.offset <= self.known:
            return Offer.TAKEN
        if self._blocked_at is not None:
            return Offer.BLOCKED
        body = msgspec.json.decode(record.body or b"{}")
        if body.get("everyone"):
            return self._block(record.offset, now)
        touched = []
        for principals, granted in body["rights"]:
            for principal in principals:
                hosted = self._hosted.get(principal)
                if hosted is not None:
                    rights = read_rights(principal, record.offset, granted)
                    if not hosted.ready:
                        hosted.early.append(rights)
                    else:
                        # A snapshot may have told of it before: it is in force from here on.
                        self.rights.change(principal, rights)
                        touched.append(principal)
        self.knows(record.offset, now, touched)
        return Offer.TAKEN

    def _block(self, version: int, now: int) -> Offer:
        """A version that is too large to be told: ask what it means for those who are here."""
        ready = []
        for name, hosted in self._hosted.items():
            if hosted.ready:
                ready.append(name)
            elif hosted.vouched is not None:
                hosted.vouched = version  # an older snapshot would lack it
        if not ready:
            self.knows(version, now)
            return Offer.TAKEN
        self._blocked_at = version
        self._awaited = set(ready)
        self._ask_rights(ready, now)
        return Offer.BLOCKED

    def _unblock(self, now: int) -> None:
        """Go on once all rights at the large version are here."""
        at = self._blocked_at
        if at is None or self._awaited:
            return
        self._blocked_at = None
        self.knows(at, now, [name for name, hosted in self._hosted.items() if hosted.ready])
        if self._watch.feed is not None:
            self._watch.feed.serve(self._watch, now)

    def knows(self, version: int, now: int, touched: Iterable[str] = ()) -> None:
        """The policy is known up to here: tell the streams first, then those who wait."""
        if version <= self.known:
            return
        self.known = version
        self._renew()
        self._learnt(version, now)
        self._changed(sorted(touched), now)

    # the lease

    def leased(self, now: int) -> bool:
        """Whether the policy's host itself has answered lately, and what it said is known here."""
        if self._settings.policy_host == self._settings.broker:
            return True
        return self._lease_until is not None and now < self._lease_until

    def _renew(self) -> None:
        if self._answer is not None and self.known >= self._answer[1]:
            until = self._answer[0] + self._settings.lease_us
            self._lease_until = max(until, self._lease_until or until)
            self._answer = None

    def next_timer(self) -> int | None:
        return self._ask_at

    def on_timer(self, now: int) -> None:
        if self._ask_at is None or now < self._ask_at:
            return
        self._ask_at = now + max(self._settings.lease_us // 4, 1)
        if self._settings.policy_host == self._settings.broker:
            return

        def answered(said: Answer, asked_at: int, now: int) -> None:
            if isinstance(said, VersionIs):
                self._answer = max(self._answer or (asked_at, 0), (asked_at, said.version))
                self._renew()

        # A lease counts from when its question was asked: one as old as that is no use any more.
        while self._questions and self._questions[0][0] <= now - self._settings.lease_us:
            self._asking.forget(self._questions.popleft()[1])
        number = self._asking.ask(self._settings.policy_host, AskVersion(), answered, now)
        self._questions.append((now, number))
