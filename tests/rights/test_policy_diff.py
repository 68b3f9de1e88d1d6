"""Does a batch worked out from two policies lead from the one to the other, and no further?"""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rights.changes import (
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
)
from headgate.rights.history import PolicyHistory
from headgate.rights.policy_diff import PolicyState, diff, stated
from headgate.rights.rules import PolicyError
from headgate.rights.validity import due
from tests.rights.policies import NOON, Chance, batch, grant, policy, rule

NAMES = ["a", "b", "c", "d", "e"]
RULES = [
    rule(name, filter_=text, **said)
    for name in NAMES
    for text, said in (
        ("x = 1", {}),
        ("x = 2", {"attributes": ["x"]}),
        ("x = 3", {"validity": {"from": "2026-06-01T00:00:00Z"}}),
    )
]


@st.composite
def states(draw: st.DrawFn) -> PolicyState:
    """Groups without cycles (members come later in some order), and rules for any of the names."""
    order = draw(st.permutations(NAMES))
    groups = {
        name: frozenset(draw(st.sets(st.sampled_from(order[at + 1 :]))) if order[at + 1 :] else ())
        for at, name in enumerate(order)
        if draw(st.booleans())
    }
    return PolicyState(groups, tuple(draw(st.lists(st.sampled_from(RULES), unique=True))))


def same(one: PolicyState, other: PolicyState) -> bool:
    return dict(one.groups) == dict(other.groups) and set(one.rules) == set(other.rules)


def applied(history: PolicyHistory, changes: tuple[Change, ...]) -> PolicyHistory:
    if changes:
        history.apply(batch(*changes))
    return history


@given(states(), states())
def test_applied_to_the_one_policy_it_gives_the_other_one(
    first: PolicyState, second: PolicyState
) -> None:
    history = applied(PolicyHistory(), diff(PolicyHistory().current(), first))
    assert same(stated(history.current()), first)
    changes = diff(history.current(), second)
    assert len(set(changes)) == len(changes)
    assert same(stated(applied(history, changes).current()), second)


@given(states())
def test_without_a_difference_there_is_no_change(state: PolicyState) -> None:
    history = applied(PolicyHistory(), diff(PolicyHistory().current(), state))
    assert diff(history.current(), state) == ()
    assert diff(history.current(), stated(history.current())) == ()


@given(states(), states())
def test_what_stays_is_not_touched(first: PolicyState, second: PolicyState) -> None:
    history = applied(PolicyHistory(), diff(PolicyHistory().current(), first))
    changes = diff(history.current(), second)
    dropped = first.groups.keys() - second.groups.keys()
    kept = {one for one in set(first.rules) & set(second.rules) if one.principal not in dropped}
    touched = {change.rule for change in changes if isinstance(change, Grant | Revoke)}
    assert not touched & kept


def test_the_order_is_one_in_which_every_step_is_allowed() -> None:
    history = policy(
        CreateGroup("old"), Join("old", "ann"), CreateGroup("top"), Join("top", "old"), grant("old")
    )
    state = PolicyState(
        {"new": frozenset({"ann"}), "top": frozenset({"new"})}, (rule("new", filter_="x = 1"),)
    )
    assert diff(history.current(), state) == (
        Revoke(rule("old")),
        Leave("old", "ann"),
        Leave("top", "old"),
        DropGroup("old"),
        CreateGroup("new"),
        Join("new", "ann"),
        Join("top", "new"),
        Grant(rule("new", filter_="x = 1")),
    )


def test_a_group_that_becomes_an_individual_keeps_its_rules_and_its_place() -> None:
    history = policy(CreateGroup("g"), CreateGroup("top"), Join("top", "g"), grant("g"))
    state = PolicyState({"top": frozenset({"g"})}, (rule("g"),))
    assert diff(history.current(), state) == (
        Revoke(rule("g")),
        Leave("top", "g"),
        DropGroup("g"),
        Join("top", "g"),
        Grant(rule("g")),
    )


def test_rules_that_certificates_granted_are_left_alone() -> None:
    certified = rule("ann", via=["abc"])
    history = policy(grant("ann", via=["abc"]), grant("bob"))
    assert diff(history.current(), PolicyState({}, ())) == (Revoke(rule("bob")),)
    applied(history, diff(history.current(), PolicyState({}, (rule("ann"),))))
    assert history.current().rules() == [certified, rule("ann")]


def test_a_group_with_such_rules_is_not_dropped() -> None:
    history = policy(CreateGroup("g"), Join("g", "ann"), grant("g", via=["abc"]))
    with pytest.raises(PolicyError, match="the group `g` has rights that certificates granted"):
        diff(history.current(), PolicyState({}, ()))
    assert diff(history.current(), PolicyState({"g": frozenset()}, ())) == (Leave("g", "ann"),)


def test_after_the_validities_that_are_due_an_ended_rule_is_no_difference() -> None:
    until = {"until": "2026-02-01T00:00:00Z"}
    history = policy(grant("ann", validity=until))
    later = NOON + timedelta(days=1)
    ending = due(history.current(), later)
    assert ending is not None
    history.apply(ending)
    assert diff(history.current(), PolicyState({}, ())) == ()


def test_a_rule_that_has_not_begun_is_no_difference() -> None:
    waiting = rule("ann", validity={"from": "2026-02-01T00:00:00Z"})
    history = policy(Grant(waiting))
    assert diff(history.current(), PolicyState({}, (waiting,))) == ()


def test_a_policy_at_random_is_reached_from_any_other() -> None:
    chance = Chance(Random(7))
    histories = [PolicyHistory(), *(chance.history(6) for _ in range(12))]
    for first in histories:
        for second in histories:
            history = PolicyHistory.of(b for _, b in first.batches())
            wanted = stated(second.current())
            applied(history, diff(history.current(), wanted))
            assert same(stated(history.current()), wanted)
