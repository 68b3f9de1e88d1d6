"""Are a principal's rights the union of its own and all its groups', and where are they from?"""

from __future__ import annotations

from random import Random

import pytest

from headgate.model.events import Event
from headgate.rights.changes import CreateGroup, Grant, Join
from headgate.rights.effective import Granted, reaches, topics_of
from headgate.rights.rules import Action
from tests.rights.policies import Chance, connecting, grant, policy, rule


def test_rights_are_the_union_of_the_own_and_the_groups_rules_and_say_through_whom() -> None:
    own, near, far = rule("p", filter_="a = 1"), rule("near", filter_="b = 1"), rule("far")
    stranger = rule("other")
    held = policy(
        CreateGroup("near"), CreateGroup("far"), CreateGroup("other"),
        Join("near", "p"), Join("far", "near"), *map(Grant, (far, near, own, stranger)),
    ).current().rights_of("p")  # fmt: skip
    assert held.granted == (
        Granted(own), Granted(near, ("near",)), Granted(far, ("near", "far")),
    )  # fmt: skip


def test_a_group_reached_by_two_ways_counts_once_and_by_the_shorter() -> None:
    held = policy(
        CreateGroup("a"), CreateGroup("b"), CreateGroup("c"), Join("a", "p"), Join("b", "a"),
        Join("c", "b"), Join("c", "p"), grant("c"), grant("b"),
    ).current().rights_of("p")  # fmt: skip
    assert held.granted == (
        Granted(rule("c"), ("c",)), Granted(rule("b"), ("a", "b")),
    )  # fmt: skip


def test_rights_are_asked_by_action_and_topics_only_from_subscriptions() -> None:
    held = policy(
        grant("p", topics=["red"]), grant("p", filter_="a = 1", topics=["red", "blue"]),
        grant("p", "publish", topics=["grey"]), Grant(connecting("p")), grant("p", "advertise"),
    ).current().rights_of("p")  # fmt: skip
    assert held.topics == {"red", "blue"}
    assert len(held.subscribing) == 2
    for action in Action:
        assert all(rule.action is action for rule in held.rules(action))
    assert sum(len(held.rules(action)) for action in Action) == 5


@pytest.mark.parametrize(
    ("topics", "expected"),
    [(["red"], True), (["red", "grey"], True), (["grey"], False), ([], False), ("red", False)],
)
def test_a_rule_for_topics_reaches_events_that_share_one(topics: object, expected: bool) -> None:
    event = Event.of({"a": 1, "topics": topics})
    topical = rule("p", filter_="a = 1", topics=["red", "blue"])
    assert reaches(topical, event, own=None) is expected
    assert not reaches(topical, Event.of({"a": 2, "topics": topics}), own=None)


def test_what_is_no_set_of_texts_holds_no_topics() -> None:
    for topics in ("red", 5, None, ["red", 5], {"red": 1}, True):
        assert topics_of(Event.of({"topics": topics})) == frozenset()
    assert topics_of(Event.of({"topics": ["red", "red"]})) == {"red"}


def test_a_stream_of_the_broker_is_read_by_the_rules_that_name_the_stream() -> None:
    naming = rule("p", filter_="$stream = '$policy' OR a = 1")
    held = policy(Grant(naming), grant("p")).current().rights_of("p")
    for stream, expected in (("$policy", 1), ("$audit", 0), ("orders", 2)):
        event = Event.of({"a": 1}).with_known({"$stream": stream})
        assert len(held.reading(event)) == expected
    assert len(held.reading(Event.of({"a": 1}))) == 2


def test_the_rules_that_read_an_event_are_those_that_reach_it() -> None:
    chance = Chance(Random(8))
    version = chance.history(6).current()
    for _ in range(300):
        event, asked = chance.event(), chance.subscription()
        held = version.rights_of(asked.principal)
        stream = str(event.attributes.get("$stream", ""))
        own = stream if stream.startswith("$") else None
        expected = [one for one in held.subscribing if reaches(one, event, own=own)]
        assert list(held.reading(event)) == expected
