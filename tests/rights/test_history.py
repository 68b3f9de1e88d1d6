"""Is every version of a policy what its batches say, for ever?"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from headgate.rights.changes import (
    Batch,
    Begin,
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
)
from headgate.rights.effective import Rights
from headgate.rights.history import (
    PolicyHistory,
    PolicyVersion,
    StaleVersionError,
    UnknownVersionError,
)
from headgate.rights.rules import Action, PolicyError, Rule
from headgate.rights.validity import due
from headgate.simulation import service_model
from tests.proofs import COUNTED, proof_size
from tests.rights.policies import GROUPS, NOON, PRINCIPALS, Chance, batch, grant, policy, rule

Count = Callable[[str, object], None]


def photograph(version: PolicyVersion) -> Any:
    """All that can be asked of a version."""
    return (
        version.number,
        {name: version.rights_of(name) for name in (*PRINCIPALS, "stranger")},
        {name: version.rights_of(name).granted for name in PRINCIPALS},
        version.rules(),
        version.pending(),
        version.groups(),
    )


def album(history: PolicyHistory) -> Any:
    """All that can be asked of a history."""
    return (
        [photograph(history.at(number)) for number in range(history.version + 1)],
        history.batches(),
        [history.affected(number) for number in range(1, history.version + 1)],
    )


def inside(history: PolicyHistory) -> Any:
    """What a history keeps, copied to the ground: what it remembers for speed aside."""
    return (
        {name: (list(line.versions), list(map(dict, line.values)))
         for name, line in history._rules.items()},
        {name: (list(line.versions), list(line.values)) for name, line in history._groups.items()},
        {group: (set(members.now), list(members.changes), list(members.exists.values))
         for group, members in history._members.items()},
        list(history._batches), list(history._touched),
    )  # fmt: skip


def said(version: PolicyVersion, name: str) -> list[str]:
    return sorted(str(one.rule.to_json()) for one in version.rights_of(name).granted)


@pytest.mark.proof
def test_versions_once_made_never_change_and_say_what_their_batches_say(
    record_property: Count,
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    versions = 0
    for _ in range(proof_size(test=25, soak=1_000)):
        chance = Chance(random, filters=10)
        history = PolicyHistory()
        taken = [photograph(history.current())]
        kept = [history.current()]
        for _ in range(12):
            before = history.version
            chance.batches(history, 1)
            for number in range(before + 1, history.version + 1):
                kept.append(history.at(number))
                taken.append(photograph(kept[-1]))
            old = random.randrange(len(taken))
            assert photograph(history.at(old)) == taken[old], f"seed {seed}"
        assert [photograph(one) for one in kept] == taken, f"seed {seed}"
        batches = [made for _, made in history.batches()]
        written = [made.to_json() for made in batches]
        for number, version in enumerate(kept):
            versions += 1
            assert photograph(PolicyHistory.of(batches[:number]).current())[3:] == taken[number][3:]
            for name in PRINCIPALS:
                expected = service_model.rights(written[:number], name)
                assert said(version, name) == sorted(map(str, expected)), f"seed {seed}"
    record_property(COUNTED, f"{versions:,} versions")


@pytest.mark.proof
def test_whoever_has_other_rights_than_before_is_among_the_affected(record_property: Count) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(proof_size(test=50, soak=2_000)):
        history = Chance(random, filters=5).history(15)
        for number in range(1, history.version + 1):
            before, after = history.at(number - 1), history.at(number)
            for name in (*PRINCIPALS, "stranger"):
                differs = before.rights_of(name).granted != after.rights_of(name).granted
                told = name in history.affected(number)
                assert told or not differs, f"seed {seed}: {name} at {number}"
                counts["affected"] += told
                counts["different rights"] += differs
    record_property(COUNTED, ", ".join(f"{many:,} {what}" for what, many in counts.items()))
    assert counts["different rights"] * 3 > counts["affected"]


@pytest.mark.proof
def test_an_invalid_batch_leaves_everything_as_it_was(record_property: Count) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    refused: Counter[str] = Counter()
    for _ in range(proof_size(test=40, soak=1_000)):
        chance = Chance(random, filters=10)
        history = chance.history(5)
        for _ in range(25):
            changes = [chance.change(history) for _ in range(random.randrange(2, 7))]
            asked = batch(*changes, time=chance.time)
            before = album(history)
            inner = inside(history)
            try:
                history.check(asked)
            except PolicyError as refusal:
                problem = str(refusal)
                with pytest.raises(PolicyError, match=re.escape(problem)):
                    history.apply(asked)
                refused[problem.rpartition(": ")[2][:12]] += 1
            assert inside(history) == inner, f"seed {seed}"
            assert album(history) == before, f"seed {seed}"
    record_property(COUNTED, f"{sum(refused.values()):,} refused, for {len(refused)} reasons")
    assert sum(refused.values()) > 200
    assert len(refused) >= 5


def test_a_batch_is_applied_in_its_order() -> None:
    made = rule("p")
    steps: list[Change] = [
        CreateGroup("g"), Join("g", "p"), Grant(made), Revoke(made), Leave("g", "p"),
        DropGroup("g"), CreateGroup("g"),
    ]  # fmt: skip
    history = policy(*steps)
    assert history.current().groups() == {"g": frozenset()}
    assert history.current().rules() == []
    for first, second in ((0, 1), (2, 3), (1, 4), (0, 5), (5, 6), (4, 5)):
        swapped = list(steps)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        with pytest.raises(PolicyError, match=r"change [1-7] "):
            policy(*swapped)


def test_revoking_and_granting_again_in_one_batch_moves_a_rule_to_the_end() -> None:
    one, other = rule("p", filter_="a = 1"), rule("p", filter_="a = 2")
    history = policy(Grant(one), Grant(other))
    history.apply(batch(Revoke(one), Grant(one)))
    assert history.current().rules() == [other, one]
    assert history.at(1).rules() == [one, other]


REFUSED: list[tuple[list[Change], str]] = [
    ([grant("p"), grant("p")], r"change 2 .*: this rule is granted already"),
    ([Revoke(rule("p"))], "there is no such rule"),
    ([Begin(rule("p"))], "there is no such rule"),
    ([grant("p"), Begin(rule("p"))], "has begun already"),
    ([CreateGroup("g"), CreateGroup("g")], "there is a group `g` already"),
    ([CreateGroup("$g")], "kept for the broker"),
    ([Join("g", "p")], "there is no group `g`: create it first"),
    ([Leave("g", "p")], "there is no group `g`: create it first"),
    ([DropGroup("g")], "there is no group `g`: create it first"),
    ([CreateGroup("g"), Leave("g", "p")], "`p` is no member of `g`"),
    ([CreateGroup("g"), Join("g", "p"), Join("g", "p")], "`p` is a member of `g` already"),
    ([CreateGroup("g"), Join("g", "$p")], "kept for the broker"),
    ([CreateGroup("g"), Join("g", "p"), DropGroup("g")], "still has members"),
    ([CreateGroup("g"), grant("g"), DropGroup("g")], "still has rules"),
    ([CreateGroup("g"), CreateGroup("h"), Join("h", "g"), DropGroup("g")], "has groups above it"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "problem"), REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_do(
    changes: list[Change], problem: str
) -> None:
    history = PolicyHistory()
    with pytest.raises(PolicyError, match=problem):
        history.apply(batch(*changes))
    assert history.version == 0


def test_a_cycle_of_groups_is_refused_and_shown() -> None:
    groups = [CreateGroup(name) for name in "abc"]
    history = policy(*groups, Join("b", "a"), Join("c", "b"))
    for changes, cycle in (
        ([Join("a", "a")], "a in a"),
        ([Join("a", "b")], "b in a in b"),
        ([Join("a", "c")], "c in a in b in c"),
        ([CreateGroup("d"), Join("d", "c"), Join("a", "d")], "d in a in b in c in d"),
    ):
        with pytest.raises(PolicyError, match=f"this makes a cycle: {cycle}$"):
            history.apply(batch(*changes))
    history.apply(batch(Leave("b", "a"), Join("a", "c")))
    assert history.current().groups()["a"] == {"c"}


def test_each_group_is_looked_at_once_for_the_cycles_of_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = 0
    groups_at = PolicyHistory._groups_at

    def counted(history: PolicyHistory, member: str, version: int) -> frozenset[str]:
        nonlocal looked
        looked += 1
        return groups_at(history, member, version)

    monkeypatch.setattr(PolicyHistory, "_groups_at", counted)
    many = 200
    names = [f"g{number:03}" for number in range(many)]
    near = [(one, other) for at, one in enumerate(names) for other in names[at + 1 : at + 4]]
    history = policy(*map(CreateGroup, names), *(Join(*edge) for edge in near))
    assert looked < 5 * many
    looked = 0
    with pytest.raises(PolicyError, match=r"^change 2 .*: g001 in g199 in .* in … in g001$"):
        history.apply(batch(Join("g000", "p"), Join("g199", "g001")))
    assert looked < 5 * many


def test_what_makes_no_cycle_in_the_end_is_none() -> None:
    history = policy(CreateGroup("a"), CreateGroup("b"), Join("b", "a"))
    history.apply(batch(Join("a", "b"), Leave("b", "a")))
    assert history.current().groups() == {"a": {"b"}, "b": frozenset()}


def test_ways_through_groups_are_written_out_for_rules_only() -> None:
    names = [f"g{number:03}" for number in range(100)]
    chain: list[Change] = [Join(above, below) for below, above in pairwise(names)]
    history = policy(*map(CreateGroup, names), *chain, Join("g000", "p"), grant("g099"))
    (granted,) = history.current().rights_of("p").granted
    assert granted.through == tuple(names)


def above(version: PolicyVersion, name: str) -> set[str]:
    found: set[str] = set()
    for _ in GROUPS:
        for group, members in version.groups().items():
            if members & {name, *found}:
                found.add(group)
    return found


def test_no_group_is_ever_above_itself() -> None:
    for seed in range(30):
        history = Chance(Random(seed), filters=3).history(20)
        for number in range(history.version + 1):
            for group in GROUPS:
                assert group not in above(history.at(number), group)


def test_membership_at_past_versions_is_what_it_was() -> None:
    history = policy(CreateGroup("g"), CreateGroup("h"), grant("g"))
    steps: list[Change] = [Join("g", "p"), Join("h", "p"), Leave("g", "p"), Join("g", "h")]
    for step in steps:
        history.apply(batch(step))
    assert [sorted(history.at(number).groups()["g"]) for number in range(1, 6)] == [
        [], ["p"], ["p"], [], ["h"],
    ]  # fmt: skip
    assert [len(history.at(number).rights_of("p").granted) for number in range(6)] == [
        0, 0, 1, 1, 0, 1,
    ]  # fmt: skip
    assert history.affected(5) >= {"p", "h"}


def test_a_group_that_is_dropped_and_made_again_starts_with_nothing() -> None:
    history = policy(CreateGroup("g"), Join("g", "p"), grant("g"))
    history.apply(batch(Leave("g", "p"), Revoke(rule("g")), DropGroup("g")))
    assert history.current().groups() == {}
    history.apply(batch(CreateGroup("g")))
    assert history.current().groups() == {"g": frozenset()}
    history.apply(batch(grant("g", filter_="a = 1")))
    assert history.current().rights_of("p").granted == ()
    assert history.at(1).groups() == {"g": {"p"}}
    assert len(history.at(1).rights_of("p").granted) == 1
    assert history.at(2).groups() == {}


def test_a_name_with_rules_that_becomes_a_group_passes_its_rules_on() -> None:
    """Individuals are not listed anywhere, so a group may carry the name of one."""
    history = policy(grant("ann"))
    history.apply(batch(CreateGroup("ann"), Join("ann", "eve")))
    assert history.current().rights_of("eve").rules(Action.SUBSCRIBE) == [rule("ann")]
    assert history.at(1).rights_of("eve").granted == ()
    assert history.affected(2) >= {"eve"}


def test_a_batch_against_an_old_version_is_refused_with_what_came_in_between() -> None:
    history = policy(CreateGroup("g"))
    for why in ("first", "", "third", "fourth"):
        history.apply(Batch((grant("p", filter_=f"a = '{why}'"),), "bob", NOON, why))
    with pytest.raises(StaleVersionError) as refusal:
        history.apply(batch(CreateGroup("h")), expected=1)
    assert str(refusal.value) == (
        "expected version 1, but the current one is 5 (since then: 2 by bob: first; "
        "3 by bob: no reason given; 4 by bob: third and 1 more)"
    )
    assert (refusal.value.expected, refusal.value.current) == (1, 5)
    assert [number for number, _ in refusal.value.since] == [2, 3, 4, 5]
    assert history.version == 5
    for strange in (6, -1, 100):
        with pytest.raises(StaleVersionError, match=f"expected version {strange}, .* is 5$"):
            history.apply(batch(CreateGroup("h")), expected=strange)
    assert history.apply(batch(CreateGroup("h")), expected=5).number == 6


def test_of_two_batches_against_one_version_the_second_is_refused() -> None:
    history = policy(CreateGroup("g"))
    history.apply(batch(Join("g", "p")), expected=1)
    with pytest.raises(StaleVersionError):
        history.apply(batch(Join("g", "q")), expected=1)
    assert history.current().groups() == {"g": {"p"}}


def test_a_stale_batch_is_refused_in_one_line_that_survives_a_pickle() -> None:
    history = policy(CreateGroup("g"))
    history.apply(batch(CreateGroup("h"), why="line\nbreak \x1b[31m"))
    with pytest.raises(StaleVersionError) as refusal:
        history.apply(batch(CreateGroup("i")), expected=1)
    assert str(refusal.value).isprintable()
    again = pickle.loads(pickle.dumps(refusal.value))
    assert str(again) == str(refusal.value)
    assert again.since == refusal.value.since


def test_a_change_that_is_refused_is_shown_in_one_line() -> None:
    strange = rule("p", filter_="a = 'line\nbreak'", topics=["\x1b[31m"])
    with pytest.raises(PolicyError, match="no such rule") as refusal:
        policy(Revoke(strange))
    assert str(refusal.value).isprintable()


def test_versions_that_do_not_exist_are_refused() -> None:
    history = policy(CreateGroup("g"))
    for number in (-1, 2):
        with pytest.raises(UnknownVersionError, match=f"from 0 to 1, found {number}"):
            history.at(number)
    for number in (0, 2):
        with pytest.raises(UnknownVersionError, match=f"from 1 to 1, found {number}"):
            history.batch(number)
        with pytest.raises(UnknownVersionError):
            history.affected(number)
    assert history.at(0).rules() == []
    assert history.batch(1) == batch(CreateGroup("g"))
    assert history.batches(after=1) == []


def test_past_rights_are_right_however_many_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.rights.history._PAST_RIGHTS_MAX", 3)
    history = Chance(Random(11), filters=5).history(12)
    expected = [photograph(history.at(number)) for number in range(13)]
    assert [photograph(history.at(number)) for number in range(13)] == expected
    assert len(history._past_rights) <= 3


def test_rights_gathered_while_a_version_is_made_are_not_taken_for_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One thread looks at the policy while another one takes a right away."""
    history = policy(grant("p"))
    gathered = PolicyHistory._gathered

    def overtaken(self: PolicyHistory, principal: str, version: int) -> Rights:
        found = gathered(self, principal, version)
        monkeypatch.undo()
        self.apply(batch(Revoke(rule("p"))))
        return found

    monkeypatch.setattr(PolicyHistory, "_gathered", overtaken)
    before = history.current()
    assert len(before.rights_of("p").granted) == 1
    assert history.version == 2
    assert history.current().rights_of("p").granted == ()
    assert len(before.rights_of("p").granted) == 1


def test_a_version_is_kept_as_what_it_changed_however_many_it_affects() -> None:
    many = [f"m{number}" for number in range(500)]
    history = policy(CreateGroup("g"), *(Join("g", name) for name in many))
    for number in range(20):
        history.apply(batch(grant("g", filter_=f"a = {number}")))
    history.apply(batch(Leave("g", "m7")))
    history.apply(batch(grant("g")))
    assert [history.affected(version) for version in (5, 22, 23)] == [
        {"g", *many}, {"m7"}, {"g", *many} - {"m7"},
    ]  # fmt: skip
    assert len(pickle.dumps(history._touched)) < 2 * len(pickle.dumps(many))


def test_nothing_is_kept_of_strangers_however_many_are_asked_for() -> None:
    history = policy(CreateGroup("g"), Join("g", "member"), grant("g"), grant("p"))
    for number in range(50):
        assert history.current().rights_of(f"stranger-{number}").granted == ()
    assert [history.current().rights_of(name).since for name in ("p", "member", "g")] == [1, 1, 1]
    assert sorted(history._rights) == ["g", "member", "p"]
    history.apply(batch(grant("stranger-1")))
    assert len(history.current().rights_of("stranger-1").granted) == 1
    assert history.at(1).rights_of("stranger-1").granted == ()


def test_a_deep_chain_of_groups_grants_from_its_top_to_its_bottom() -> None:
    depth = 300
    changes: list[Change] = [CreateGroup(f"g{level}") for level in range(depth)]
    changes += [Join(f"g{level + 1}", f"g{level}") for level in range(depth - 1)]
    history = policy(*changes, Join("g0", "p"), grant(f"g{depth - 1}"))
    (granted,) = history.current().rights_of("p").granted
    assert len(granted.through) == depth
    with pytest.raises(PolicyError, match="cycle"):
        history.apply(batch(Join("g0", f"g{depth - 1}")))


def test_a_rule_waits_outside_the_rights_until_its_validity_begins() -> None:
    later = Rule("p", Action.SUBSCRIBE, valid_from=NOON + timedelta(days=1))
    history = policy(Grant(later), grant("p"))
    assert history.current().rights_of("p").rules(Action.SUBSCRIBE) == [rule("p")]
    assert history.current().rules() == [later, rule("p")]
    found = due(history.current(), NOON + timedelta(days=1))
    assert found is not None
    history.apply(found)
    assert len(history.current().rights_of("p").granted) == 2
    assert history.at(1).pending() == [later]
    assert history.affected(2) == {"p"}
