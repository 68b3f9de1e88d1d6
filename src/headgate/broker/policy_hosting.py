"""How does the policy become a stream? At its host: versions, snapshots, batches, starting points.

The ACL database is the log of `$policy`. A version's record says whom it affects and what rights
they have from it on, so that the broker of a principal needs to know no more of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, final

import msgspec

from headgate.broker.asking import Respond
from headgate.broker.effects import (
    ApplyBatch,
    BatchApplied,
    BatchRefused,
    KeepStartingPoint,
    Recovered,
)
from headgate.broker.feeds import Consumer, HostedFeed
from headgate.broker.outbox import Outbox
from headgate.broker.questions import (
    AskRights,
    Noted,
    ReportStarts,
    RightsAre,
    Timeline,
    granted_to_wire,
)
from headgate.broker.settings import Settings
from headgate.log.records import POLICY, Record, microseconds
from headgate.rights.changes import Batch
from headgate.rights.effective import Rights
from headgate.rights.history import PolicyHistory
from headgate.rights.validity import due, next_due

INCARNATION: Final = "policy"
_RECORD_BYTES_MAX: Final = 512 * 1024


@final
class PolicyFeed(HostedFeed):
    """`$policy`, made from the versions of the ACL database."""

    def __init__(self, settings: Settings, outbox: Outbox) -> None:
        super().__init__(POLICY, INCARNATION, settings, outbox, 0, 0)
        self.history = PolicyHistory()

    def grow(self, version: int, batch: Batch, now: int) -> None:
        self.history.apply(batch)
        assert self.history.version == version, "versions come one after the other"
        self.extend(policy_record(self.history, version), now)

    def fetch(self, consumer: Consumer, now: int) -> None:
        """What is no longer in memory is made again."""
        at, position = consumer.at, self.position
        assert at is not None
        assert position is not None
        end = min(position, at + self.settings.read_records, max(self.floor, at + 1))
        for version in range(at + 1, end + 1):
            if not self._offer_one(consumer, policy_record(self.history, version), now):
                return
        self.serve(consumer, now)


def policy_record(history: PolicyHistory, version: int) -> Record:
    """A version as a record: whom it affects, their rights from it on, and the batch."""
    batch = history.batch(version)
    affects = sorted(history.affected(version))
    body = msgspec.json.encode(
        {
            "affects": affects,
            "rights": _rights_of(history, version, affects),
            "batch": [batch.to_json()],
        },
        order="sorted",
    )
    if len(body) > _RECORD_BYTES_MAX:
        # Whoever hosts one of them asks for its rights.
        body = msgspec.json.encode({"everyone": True}, order="sorted")
    return Record(
        POLICY, INCARNATION, version, version, microseconds(batch.time), batch.author,
        str(version), body, True, {}, {},
    )  # fmt: skip


def _rights_of(history: PolicyHistory, version: int, affects: Iterable[str]) -> list[Any]:
    """What each has from now on; those with the same rights together, for groups are large."""
    alike: dict[bytes, tuple[list[str], Any]] = {}
    policy = history.at(version)
    for principal in affects:
        granted = granted_to_wire(policy.rights_of(principal))
        alike.setdefault(msgspec.json.encode(granted), ([], granted))[0].append(principal)
    return [[principals, granted] for principals, granted in alike.values()]


@final
class PolicyHosting:
    """The policy's host: takes batches, tells of versions, keeps starting points."""

    def __init__(self, settings: Settings, outbox: Outbox, recovered: Recovered, now: int) -> None:
        self.outbox = outbox
        self.feed = PolicyFeed(settings, outbox)
        self._bytes_max = settings.asked_bytes_max
        self._asked: dict[int, Callable[[str | None, int], None]] = {}
        self._kept = {(stream, version): at for version, stream, at in recovered.starting_points}
        self._keeping: set[tuple[str, int]] = set()
        """Those that the ACL database doesn't have yet."""
        self._reports: dict[str, tuple[tuple[int, ...], Respond]] = {}
        """By stream the versions in the newest report that is not answered, and how to."""
        self._due_at: int | None = None
        self._rest_until = 0
        """After a refusal: when the batch that is due may be tried again."""
        self._ask_again_us = settings.ask_again_us
        self._applying_due = False
        self.grew(recovered.batches, now)

    @property
    def version(self) -> int:
        return self.feed.history.version

    def grew(self, batches: Sequence[tuple[int, Batch]], now: int) -> None:
        """The ACL database has these versions, whoever made them."""
        for version, batch in batches:
            if version == self.version + 1:
                self.feed.grow(version, batch, now)
        moment = next_due(self.feed.history.current())
        self._due_at = microseconds(moment) if moment is not None else None

    # administrators

    def administer(self, client: int, request: int, batch: Batch, expected: int | None) -> None:
        number = self.outbox.next_number()

        def applied(refused: str | None, now: int) -> None:
            if refused is None:
                self.outbox.tell(client, BatchApplied(request, self._version_of(batch)))
            else:
                self.outbox.tell(client, BatchRefused(request, refused, self.version))

        self._asked[number] = applied
        self.outbox.add(ApplyBatch(number, batch, expected))

    def _version_of(self, batch: Batch) -> int:
        for version in range(self.version, 0, -1):
            if self.feed.history.batch(version) == batch:
                return version
        return self.version

    def applied(self, number: int, refused: str | None, now: int) -> None:
        answered = self._asked.pop(number, None)
        if answered is not None:
            answered(refused, now)

    # time in the policy

    def next_timer(self) -> int | None:
        due = self._due_at
        return None if self._applying_due or due is None else max(due, self._rest_until)

    def on_timer(self, now: int, moment: Callable[[int], Any]) -> None:
        """Turn beginnings and expiries into a batch."""
        due_at = self.next_timer()
        if due_at is None or now < due_at:
            return
        batch = due(self.feed.history.current(), moment(now))
        if batch is None:
            return
        self._applying_due = True
        number = self.outbox.next_number()
        self._asked[number] = self._due_applied
        self.outbox.add(ApplyBatch(number, batch, self.version))

    def _due_applied(self, refused: str | None, now: int) -> None:
        self._applying_due = False
        if refused is not None:
            self._rest_until = now + self._ask_again_us

    # other brokers

    def rights(self, asked: AskRights) -> RightsAre:
        """What these could do at the versions so far; of a long past, the newest part."""
        names = sorted(set(asked.principals))
        room = self._bytes_max // max(len(names), 1)
        found = {name: self._timeline(name, asked.before, room) for name in names}
        too_large = tuple(name for name in names if found[name] is None)
        told = {name: steps for name, steps in found.items() if steps is not None}
        return RightsAre(self.version, told, too_large)

    def _timeline(self, principal: str, before: int | None, bytes_max: int) -> Timeline | None:
        """As many steps as there is room for; nothing if that isn't one."""
        steps: list[Any] = []
        for rights in self.timeline(principal):
            if before is not None and rights.since >= before:
                continue
            granted = granted_to_wire(rights)
            bytes_max -= len(msgspec.msgpack.encode(granted))
            if bytes_max < 0:
                return tuple(reversed(steps)) if steps else None
            steps.append((rights.since, granted))
        return tuple(reversed(steps))

    def timeline(self, principal: str) -> Iterator[Rights]:
        """The rights that a principal had, the newest first."""
        rights = self.feed.history.current().rights_of(principal)
        yield rights
        while rights.since > 0:
            rights = self.feed.history.at(rights.since - 1).rights_of(principal)
            yield rights

    def keep_starts(self, report: ReportStarts, respond: Respond, now: int) -> None:
        """Answer when the ACL database has them: then whoever reported them forgets them."""
        stream = report.stream
        for version, offset in sorted(report.points.items()):
            if (stream, version) not in self._kept:
                self._kept[stream, version] = offset
                self._keeping.add((stream, version))
                self.outbox.add(KeepStartingPoint(version, stream, offset))
        self._reports[stream] = tuple(report.points), respond
        self._answer_report(stream, now)

    def starting_point_kept(self, version: int, stream: str, now: int) -> None:
        self._keeping.discard((stream, version))
        self._answer_report(stream, now)

    def _answer_report(self, stream: str, now: int) -> None:
        versions, respond = self._reports.get(stream, ((), None))
        if respond is not None and not any((stream, one) in self._keeping for one in versions):
            del self._reports[stream]
            respond(Noted(), now)
