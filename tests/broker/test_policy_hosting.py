"""Does a version's record say whom it affects, and what they may do from it on?"""

from __future__ import annotations

import msgspec

from headgate.broker.effects import (
    ApplyBatch,
    BatchApplied,
    BatchRefused,
    KeepStartingPoint,
    Recovered,
    Tell,
)
from headgate.broker.outbox import Outbox
from headgate.broker.policy_hosting import PolicyHosting, policy_record
from headgate.broker.questions import AskRights, Noted, ReportStarts, rights_from_wire
from headgate.log.records import moment_of
from headgate.rights.changes import CreateGroup, Join
from tests.broker.parts import NOTHING_FOUND, NOW, Reader, settings, wishes
from tests.rights.policies import batch, grant, policy

BATCHES = (
    (1, batch(grant("ann", filter_="a = 1"))),
    (2, batch(grant("bob", filter_="a = 2"))),
    (3, batch(grant("ann", filter_="a = 3"))),
)


def hosting(found: Recovered = NOTHING_FOUND) -> PolicyHosting:
    return PolicyHosting(settings(), Outbox(), found, NOW)


def test_the_record_of_a_version_says_whom_it_affects_through_groups_too() -> None:
    history = policy(CreateGroup("staff"), Join("staff", "ann"), Join("staff", "bob"))
    history.apply(batch(grant("staff", filter_="a = 1")))
    record = policy_record(history, 2)
    said = msgspec.json.decode(record.body or b"")
    assert (record.stream, record.offset, record.version) == ("$policy", 2, 2)
    assert {"ann", "bob"} <= set(said["affects"])
    for principals, granted in said["rights"]:
        for principal in principals:
            expected = history.at(2).rights_of(principal)
            assert rights_from_wire(principal, 2, granted) == expected


def test_those_with_the_same_rights_are_told_of_together() -> None:
    # The rights say through which groups they are held, and are alike for all of its members.
    history = policy(CreateGroup("staff"), *(Join("staff", f"u{one}") for one in range(200)))
    history.apply(batch(grant("staff", filter_="a = 1")))
    said = msgspec.json.decode(policy_record(history, 2).body or b"")
    assert len(said["affects"]) >= 200
    assert len(said["rights"]) <= 2


def test_a_version_too_large_to_be_told_says_that_everyone_may_be_affected() -> None:
    history = policy(*(grant(f"u{one}", filter_=f"a = '{'x' * 6_000}'") for one in range(100)))
    assert msgspec.json.decode(policy_record(history, 1).body or b"") == {"everyone": True}


def test_versions_are_a_stream_also_for_who_comes_late() -> None:
    host = PolicyHosting(settings(cache_records=1), Outbox(), NOTHING_FOUND, NOW)
    host.grew(BATCHES, NOW)
    reader = Reader(wishes("'ann' IN affects"), at=0)
    host.feed.add(reader, NOW)
    assert reader.records() == [1, 3]
    host.grew([*BATCHES, (4, batch(grant("ann", filter_="a = 4")))], NOW)
    assert reader.records() == [1, 3, 4], "what is known already is no news"
    assert host.version == 4


def test_a_snapshot_has_all_that_a_principal_could_ever_do() -> None:
    host = hosting()
    host.grew(BATCHES, NOW)
    said = host.rights(AskRights(("ann", "stranger")))
    assert said.version == 3
    for principal, timeline in said.timelines.items():
        for since, granted in timeline:
            expected = host.feed.history.at(since).rights_of(principal)
            assert rights_from_wire(principal, since, granted).granted == expected.granted
    assert [since for since, _ in said.timelines["ann"]] == [0, 1, 3]
    assert [since for since, _ in said.timelines["stranger"]] == [0]


def test_an_administrator_is_told_the_version_or_what_is_wrong() -> None:
    host = hosting()
    (first, second), said = (one for _, one in BATCHES[:2]), []
    for request, one in enumerate((first, second), 1):
        host.administer(9, request, one, 0)
    for effect in host.outbox.take():
        assert isinstance(effect, ApplyBatch)
        assert effect.expected == 0
        if effect.batch == first:
            host.grew([(1, first)], NOW)
            host.applied(effect.number, None, NOW)
        else:
            host.applied(effect.number, "too late", NOW)
        said += host.outbox.take()
    assert said == [Tell(9, BatchApplied(1, 1)), Tell(9, BatchRefused(2, "too late", 1))]


def test_a_starting_point_is_kept_once_and_never_another() -> None:
    host = hosting()
    for points in ({1: 5}, {1: 7, 2: 9}):
        host.keep_starts(ReportStarts("orders", points), _ignored, NOW)
    assert host.outbox.take() == [
        KeepStartingPoint(1, "orders", 5), KeepStartingPoint(2, "orders", 9)
    ]  # fmt: skip
    again = hosting(Recovered({}, {}, {}, {}, BATCHES, ((1, "orders", 5),)))
    again.keep_starts(ReportStarts("orders", {1: 7}), _ignored, NOW)
    assert again.outbox.take() == []
    assert again.version == 3


def test_a_report_is_answered_when_all_of_it_is_kept() -> None:
    host = hosting(Recovered({}, {}, {}, {}, BATCHES, ((1, "orders", 5),)))
    answers: list[tuple[object, int]] = []

    def respond(answer: object, now: int) -> None:
        answers.append((answer, now))

    host.keep_starts(ReportStarts("orders", {1: 5}), respond, NOW)
    assert answers == [(Noted(), NOW)]  # it was there
    host.keep_starts(ReportStarts("orders", {2: 7, 3: 9}), _ignored, NOW)
    host.keep_starts(ReportStarts("orders", {2: 7, 3: 9}), respond, NOW)  # asked again
    host.keep_starts(ReportStarts("alarms", {2: 1}), _ignored, NOW)
    host.starting_point_kept(2, "alarms", NOW + 1)
    host.starting_point_kept(2, "orders", NOW + 2)
    assert len(answers) == 1
    host.starting_point_kept(3, "orders", NOW + 3)
    host.starting_point_kept(3, "orders", NOW + 4)
    assert answers[1:] == [(Noted(), NOW + 3)]


def _ignored(answer: object, now: int) -> None:
    """Whoever asked is told elsewhere."""


def test_a_batch_that_is_due_and_refused_is_not_tried_again_at_once() -> None:
    host = hosting()
    begin = moment_of(NOW + 1_000_000).isoformat()
    host.grew([(1, batch(grant("ann", validity={"from": begin}), time=moment_of(NOW)))], NOW)
    host.on_timer(NOW + 1_000_000, moment_of)
    (effect,) = host.outbox.take()
    assert isinstance(effect, ApplyBatch)
    host.applied(effect.number, "the database is away", NOW + 2_000_000)
    rests = host.next_timer()
    assert rests is not None
    assert rests > NOW + 2_000_000
    host.on_timer(rests - 1, moment_of)
    assert host.outbox.take() == []
    host.on_timer(rests, moment_of)
    assert len(host.outbox.take()) == 1


def test_time_in_the_policy_becomes_one_batch() -> None:
    host = hosting()
    begin = moment_of(NOW + 1_000_000).isoformat()
    host.grew([(1, batch(grant("ann", validity={"from": begin}), time=moment_of(NOW)))], NOW)
    assert host.next_timer() == NOW + 1_000_000
    host.on_timer(NOW + 999_999, moment_of)
    assert host.outbox.take() == []
    for _ in range(2):
        host.on_timer(NOW + 1_000_000, moment_of)
    (effect,) = host.outbox.take()
    assert isinstance(effect, ApplyBatch)
    assert host.next_timer() is None
    host.grew([(2, effect.batch)], NOW)
    host.applied(effect.number, None, NOW)
    assert host.next_timer() is None
    assert len(host.feed.history.current().rights_of("ann").granted) == 1
