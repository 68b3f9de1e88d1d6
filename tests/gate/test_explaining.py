"""Does an administrator learn the whole reason, and a subscriber no more than its view?"""

from __future__ import annotations

from random import Random

import pytest

from headgate.gate.delivery import Reason, View, Withheld, gate
from headgate.gate.explaining import (
    NOTHING_FOR_YOU,
    explain,
    explain_to_subscriber,
    nearest_failure,
)
from headgate.model.events import Event
from headgate.rights.changes import CreateGroup, Join
from headgate.rights.effective import Granted, topics_of
from headgate.rights.rules import parse_filter
from tests.proofs import proof_size
from tests.rights.policies import Chance, grant, policy, rule, subscription

ANN = Event.of({"name": "Ann", "salary": 5, "n": {"x": 1, "gone": None}})


def test_a_delivery_is_explained_by_its_rules_where_they_come_from_and_what_was_cut() -> None:
    version = policy(
        CreateGroup("staff"), Join("staff", "p"),
        grant("staff", filter_="name = 'Ann'", attributes=["name", "n.x"]),
        grant("p", filter_="name = 'Bob'"),
    ).current()  # fmt: skip
    found = explain(ANN, version, subscription("p", "n.x = 1"))
    assert found.delivered
    assert found.outcome == View(Event.of({"name": "Ann", "n": {"x": 1}}), 1)
    upper = rule("staff", filter_="name = 'Ann'", attributes=["name", "n.x"])
    assert found.granting == (Granted(upper, ("staff",)),)
    assert found.cut == ("n.gone", "salary")
    assert found.because == "granted, and what `p` may read matches the subscription"


def test_what_a_domain_cuts_is_shown_as_well() -> None:
    version = policy(grant("p", attributes=["name", "salary"]), grant("d", attributes=["name"]))
    found = explain(ANN, version.current(), subscription("p", domain="d"))
    assert found.cut == ("n.gone", "n.x", "salary")


@pytest.mark.parametrize(
    ("wish", "domain", "reason", "because"),
    [
        (
            "name = 'Bob' AND n.x = 1", None, Reason.NOT_ASKED_FOR,
            "what the principal may read of it does not match the subscription: "
            "`name = 'Bob'` is not true of it",
        ),
        (
            "salary = 5", None, Reason.NOT_ASKED_FOR,
            "what the principal may read of it does not match the subscription: "
            "`salary = 5` is not true of it",
        ),
        (
            "TRUE", "d", Reason.NO_DOMAIN_RIGHT,
            "no rule of the domain grants it: the nearest is "
            "[d, subscribe, name = 'Eve' AND n.x = 1], where `name = 'Eve'` is not true",
        ),
        (
            "TRUE", "nowhere", Reason.NO_DOMAIN_RIGHT,
            "no rule of the domain grants it: `nowhere` has no rule for `subscribe` at version 1",
        ),
    ],
)  # fmt: skip
def test_what_is_withheld_is_explained_by_what_failed_nearest(
    wish: str, domain: str | None, reason: Reason, because: str
) -> None:
    version = policy(
        grant("p", attributes=["name", "n.x"]),
        grant("d", filter_="name = 'Eve' AND n.x = 1"),
        grant("d", filter_="name = 'Eve' AND n.x = 2"),
    ).current()
    found = explain(ANN, version, subscription("p", wish, domain))
    assert not found.delivered
    assert found.outcome == Withheld(1, reason)
    assert found.because == because


def test_a_topic_that_is_not_shared_and_a_stream_that_is_not_named_are_told() -> None:
    topical = policy(grant("p", topics=["red"])).current()
    found = explain(Event.of({"topics": ["blue"]}), topical, subscription("p"))
    assert found.because.endswith("where no topic is shared")
    own = Event.of({"a": 1}).with_known({"$stream": "$policy"})
    found = explain(own, policy(grant("p")).current(), subscription("p"))
    assert "has to be named" in found.because


@pytest.mark.parametrize(
    ("wish", "failure"),
    [
        ("name = 'Ann' AND salary > 10", "salary > 10"),
        ("(name = 'Bob' AND salary > 10) OR salary > 20", "salary > 20"),
        ("(name = 'Bob' AND salary > 10) OR (name = 'Ann' AND n.x = 2)", "n.x = 2"),
        ("NOT (salary = 5)", "NOT (salary = 5)"),
        ("nowhere = 1 AND FALSE", "nowhere = 1"),
        ("n.gone IS NOT NULL", "n.gone IS NOT NULL"),
    ],
)
def test_of_several_alternatives_the_one_that_comes_nearest_is_told(
    wish: str, failure: str
) -> None:
    assert nearest_failure(parse_filter(wish), ANN) == failure


def test_a_subscriber_is_told_its_view_or_that_there_is_nothing() -> None:
    version = policy(grant("p", attributes=["name"])).current()
    told = explain_to_subscriber(ANN, version, subscription("p"))
    assert told.outcome == View(Event.of({"name": "Ann"}), 1)
    assert told.because == "delivered under version 1"
    for asked in (
        subscription("p", "salary = 5"),
        subscription("q"),
        subscription("p", domain="d"),
    ):
        told = explain_to_subscriber(ANN, version, asked)
        assert (told.outcome, told.because) == (None, NOTHING_FOR_YOU)


def test_every_explanation_agrees_with_the_gate() -> None:
    chance = Chance(Random(12), filters=60)
    for _ in range(proof_size(test=15, soak=500)):
        version = chance.history(4).current()
        for _ in range(60):
            event, asked = chance.event(), chance.subscription()
            outcome = gate(event, version, asked)
            found = explain(event, version, asked)
            assert found.outcome == outcome
            assert found.because.isprintable()
            if isinstance(outcome, View):
                fewer = topics_of(outcome.event) != topics_of(event)
                gone = event.names - outcome.event.names
                assert set(found.cut) == gone | ({"topics"} if fewer else set())
                assert found.granting
                assert bool(found.domain_granting) is (asked.domain is not None)
                told = explain_to_subscriber(event, version, asked)
                assert told.outcome == outcome
            else:
                assert outcome.reason.value in found.because


def test_the_rules_of_the_domain_and_topics_that_are_cut_are_named() -> None:
    version = policy(grant("p", topics=["red"]), grant("d", attributes=["topics"])).current()
    event = Event.of({"a": 1, "topics": ["red", "blue"]})
    found = explain(event, version, subscription("p", domain="d"))
    assert [one.rule.principal for one in found.granting] == ["p"]
    assert [one.rule.principal for one in found.domain_granting] == ["d"]
    assert found.cut == ("a", "topics")
    alone = explain(event, version, subscription("p"))
    assert (alone.domain_granting, alone.cut) == ((), ("topics",))
