"""Does a rule begin and end at its moment, by a batch that anyone can compute again?"""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest

from headgate.rights.changes import Batch, Begin, Grant, Revoke
from headgate.rights.history import PolicyHistory
from headgate.rights.rules import Action, PolicyError, Rule
from headgate.rights.validity import AUTHOR, due, next_due
from tests.rights.policies import NOON, PRINCIPALS, Chance, batch, policy

HOUR = timedelta(hours=1)
INSTANT = timedelta(microseconds=1)


def timed(begin: datetime | None = None, end: datetime | None = None, who: str = "p") -> Rule:
    return Rule(who, Action.SUBSCRIBE, valid_from=begin, valid_until=end)


def test_a_rule_holds_from_its_begin_to_its_end() -> None:
    made = timed(NOON + HOUR, NOON + 3 * HOUR)
    history = policy(Grant(made))
    assert history.current().rights_of("p").granted == ()
    assert history.current().pending() == [made]
    assert next_due(history.current()) == NOON + HOUR
    assert due(history.current(), NOON + HOUR - INSTANT) is None
    begin = due(history.current(), NOON + HOUR)
    assert begin == Batch((Begin(made),), AUTHOR, NOON + HOUR, "validity")
    history.apply(begin)
    assert history.current().rights_of("p").rules(Action.SUBSCRIBE) == [made]
    assert next_due(history.current()) == NOON + 3 * HOUR
    assert due(history.current(), NOON + 3 * HOUR - INSTANT) is None
    end = due(history.current(), NOON + 3 * HOUR)
    assert end == Batch((Revoke(made),), AUTHOR, NOON + 3 * HOUR, "validity")
    history.apply(end)
    assert history.current().rules() == []
    assert next_due(history.current()) is None
    granted = [len(history.at(version).rights_of("p").granted) for version in range(4)]
    assert granted == [0, 0, 1, 0]


def test_a_rule_whose_whole_time_was_missed_is_only_revoked() -> None:
    made = timed(NOON + HOUR, NOON + 2 * HOUR)
    missed = due(policy(Grant(made)).current(), NOON + 5 * HOUR)
    assert missed is not None
    assert missed.changes == (Revoke(made),)


def test_a_rule_that_has_begun_when_it_is_granted_holds_at_once() -> None:
    for begin in (None, NOON, NOON - HOUR):
        history = policy(Grant(timed(begin, NOON + HOUR)))
        assert len(history.current().rights_of("p").granted) == 1
        assert due(history.current(), NOON) is None


def test_a_rule_whose_time_is_over_is_not_granted() -> None:
    with pytest.raises(PolicyError, match="the validity of this rule is over"):
        policy(Grant(timed(None, NOON)))


def test_a_rule_begins_no_sooner_than_it_says_and_once() -> None:
    made = timed(NOON + HOUR)
    history = policy(Grant(made))
    with pytest.raises(PolicyError, match="doesn't begin yet"):
        history.apply(batch(Begin(made), time=NOON + HOUR - INSTANT))
    history.apply(batch(Begin(made), time=NOON + HOUR))
    with pytest.raises(PolicyError, match="has begun already"):
        history.apply(batch(Begin(made), time=NOON + HOUR))
    assert history.version == 2


def test_all_that_is_due_comes_in_one_batch() -> None:
    rules = [timed(NOON + HOUR, who="a"), timed(None, NOON + HOUR, who="b"), timed(who="c")]
    found = due(policy(*map(Grant, rules)).current(), NOON + HOUR)
    assert found is not None
    assert found.changes == (Begin(rules[0]), Revoke(rules[1]))


def test_whoever_follows_what_is_due_next_sees_every_rule_in_its_time_and_no_other() -> None:
    chance = Chance(Random(10), filters=10)
    for _ in range(60):
        rules = {chance.rule(chance.random.choice(PRINCIPALS)) for _ in range(12)}
        open_ = [one for one in rules if one.valid_until is None or one.valid_until > NOON]
        history = policy(*map(Grant, sorted(open_, key=lambda one: one.id)))
        now = NOON
        while True:
            expected = {
                one
                for one in open_
                if (one.valid_from is None or one.valid_from <= now)
                and (one.valid_until is None or now < one.valid_until)
            }
            assert in_force(history) == expected
            moment = next_due(history.current())
            if moment is None:
                break
            assert moment > now
            assert due(history.current(), moment - INSTANT) is None
            now = moment
            found = due(history.current(), now)
            assert found is not None
            history.apply(found)
            assert due(history.current(), now) is None


def in_force(history: PolicyHistory) -> set[Rule]:
    version = history.current()
    return {one.rule for name in PRINCIPALS for one in version.rights_of(name).granted}
