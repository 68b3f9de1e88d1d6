"""What does a subscription receive, and what does that tell about the rest?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from headgate.filters.filter import Filter
from headgate.filters.syntax import Contains, IsType, Present, walk
from headgate.gate.delivery import (
    Outcome,
    Reading,
    Reason,
    View,
    Withheld,
    gate,
    gate_then_and_now,
    read,
)
from headgate.gate.explaining import explain_to_subscriber
from headgate.model.events import Event
from headgate.rights.changes import CreateGroup, Grant, Join, Revoke
from headgate.rights.history import PolicyHistory, PolicyVersion
from headgate.rights.restriction import restricted
from headgate.rights.rules import Rule
from headgate.rights.subscriptions import Subscription
from tests.proofs import COUNTED, proof_size
from tests.rights.policies import (
    NAMES,
    PRINCIPALS,
    TOPICS,
    Chance,
    batch,
    grant,
    policy,
    rule,
    subscription,
)
from tests.steps import steps_of

Count = Callable[[str, object], None]

ORACLES = [
    "salary > 100000", "NOT (salary > 100000)", "salary IS NULL", "NOT (salary IS NULL)",
    "EXISTS(salary)", "NOT EXISTS(salary)", "NOT (salary < 5)", "salary BETWEEN 0 AND 200000",
    "salary IN (5, 200000)", "salary NOT IN (5, 7)", "salary IN ('high', 'low')",
    "salary LIKE 'h%'", "salary NOT LIKE 'h%'", "salary + 1 > 100000", "salary / 0 = 1",
    "-salary < 0", "100000 < salary", "salary = grade", "salary <> grade", "salary > grade * 1000",
    "salary IS STRING", "salary IS NOT STRING", "salary IS INTEGER", "salary IS NOT NUMBER",
    "salary IS BOOLEAN", "salary IS TIMESTAMP", "salary", "NOT salary", "'x' IN salary",
    "NOT ('x' IN salary)", "salary.base IS NULL", "EXISTS(salary.base)", "salary.base > 5",
    "name = 'Ann' AND salary > 100000", "name = 'Bob' OR salary > 100000", "TRUE",
    "salary = TIMESTAMP '2026-01-31T12:00:00Z'", "salary > 0 OR salary <= 0", "SALARY IS NULL",
    '"salary" IS NULL', "(integer salary > 100000)",
]  # fmt: skip
SECRETS: list[Any] = [
    {}, {"salary": 5}, {"salary": 200_000}, {"salary": 100_000.5}, {"salary": "high"},
    {"salary": True}, {"salary": None}, {"salary": {}}, {"salary": []}, {"salary": ["x"]},
    {"salary": [1]}, {"salary": {"base": 7}}, {"salary": {"base": None, "deep": {"x": 1}}},
    {"salary.base": 7}, {"salary": {"base": {}}}, {"secret": "new name"},
    {"salary": 5, "aaa": 1, "zzz": None}, {"n": {"a": 1}}, {"payload": "x"},
]  # fmt: skip
HIDING = {
    "attributes": policy(grant("p", attributes=["name", "grade"])),
    "strict upper bound": policy(
        grant("p", filter_="EXISTS(name) OR EXISTS(grade)", strict="upper")
    ),
    "group": policy(
        CreateGroup("g"), Join("g", "p"), grant("g", attributes=["name"]),
        grant("p", attributes=["grade"]),
    ),
    "domain": policy(grant("p"), grant("d", attributes=["name", "grade"])),
    "principal and domain": policy(
        grant("p", attributes=["name", "grade", "salary"]), grant("d", attributes=["name", "grade"])
    ),
}  # fmt: skip


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("oracle", ORACLES)
def test_no_subscription_tells_anything_about_an_attribute_that_is_hidden(
    oracle: str, hiding: str
) -> None:
    domain = "d" if "domain" in hiding else None
    asked = subscription("p", oracle, domain)
    version = HIDING[hiding].current()
    events = [Event.of({"name": "Ann", "grade": 3, **secret}) for secret in SECRETS]
    answers = {shown(event, version, asked) for event in events}
    assert len(answers) == 1
    assert len({restricted(version, asked).matches(event) for event in events}) == 1


def shown(event: Event, version: PolicyVersion, asked: Subscription) -> object:
    """All that a subscriber gets to see, to the byte and the type."""
    outcome = gate(event, version, asked)
    told = explain_to_subscriber(event, version, asked)
    if isinstance(outcome, Withheld):
        assert told.outcome is None
        return outcome.reason, told.because
    assert told.outcome == outcome
    view = outcome.event
    values = sorted(
        (name, repr(sorted(value) if isinstance(value, frozenset) else value))
        for name, value in view.attributes.items()
    )
    names = tuple(sorted(view.names))
    return view.to_bytes(), tuple(values), names, outcome.version, told.because


def test_the_oracles_would_tell_whoever_may_read_the_attribute() -> None:
    version = policy(grant("p")).current()
    events = [Event.of({"name": "Ann", "grade": 3, **secret}) for secret in SECRETS]
    telling = [
        oracle
        for oracle in ORACLES
        if len({type(gate(event, version, subscription("p", oracle))) for event in events}) > 1
    ]
    assert len(telling) >= 30


def hidden_names(
    event: Event, version: PolicyVersion, asked: Subscription
) -> tuple[set[str], set[str]]:
    """The names, and the topics, that a subscriber may not read of an event."""
    names = {*NAMES, "$publisher", "$stream", "other", "n.z", "salary.base"}
    hidden: set[str] = set()
    topics: set[str] = set()
    for principal in filter(None, (asked.principal, asked.domain)):
        reading = read(event, version, principal)
        assert reading is not None
        hidden |= set() if reading.attributes is None else names - reading.attributes
        topics |= set() if reading.topics is None else {*TOPICS, "grey"} - reading.topics
    return hidden, topics


Fields = dict[str, Any]


def fields_by_chance(chance: Chance) -> Fields:
    """The fields of an event by their dotted names, the broker's own among them."""
    nested = chance.body()
    inner = nested.pop("n", {})
    return nested | {f"n.{name}": value for name, value in inner.items()} | chance.known()


def event_of(fields: Fields) -> Event:
    body = {name: value for name, value in fields.items() if name[0] != "$"}
    return Event.of(body).with_known({name: fields[name] for name in fields.keys() - body.keys()})


def twin(fields: Fields, hidden: set[str], topics: set[str], chance: Chance) -> Fields:
    """The fields with other values, types, blanks and shapes where the reader may not look."""
    random = chance.random
    fields = dict(fields)
    for name in sorted(hidden):
        if random.random() < 0.6:
            fields.pop(name, None)
            if random.random() < 0.6:
                known = name[0] == "$"
                fields[name] = random.choice(["eve", "orders"]) if known else chance.value(name)
    if isinstance(fields.get("topics"), list) and topics and "topics" not in hidden:
        kept = [topic for topic in fields["topics"] if topic not in topics]
        fields["topics"] = [*kept, *random.sample(sorted(topics), random.randrange(len(topics)))]
    names = random.sample(sorted(fields), len(fields))
    return {name: fields[name] for name in names}


@pytest.mark.proof
def test_two_events_that_differ_in_what_the_reader_may_not_read_are_the_same_to_it(
    record_property: Count,
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(proof_size(test=120, soak=5_000)):
        chance = Chance(random, filters=60)
        history = chance.history(4)
        for _ in range(120):
            fields, asked = fields_by_chance(chance), chance.subscription()
            event = event_of(fields)
            version = history.at(random.randrange(1, history.version + 1))
            rules = granting(event, version, asked)
            if not all(rules):
                continue
            other = event_of(twin(fields, *hidden_names(event, version, asked), chance))
            if granting(other, version, asked) != rules or other == event:
                continue
            counts["twins"] += 1
            one = shown(event, version, asked)
            counts["twins delivered"] += isinstance(gate(event, version, asked), View)
            assert one == shown(other, version, asked), f"seed {seed}: {asked}, {event}, {other}"
    record_property(COUNTED, ", ".join(f"{many:,} {what}" for what, many in counts.items()))
    assert counts["twins"] > 300
    assert counts["twins delivered"] * 4 > counts["twins"]


def granting(
    event: Event, version: PolicyVersion, asked: Subscription
) -> list[tuple[Rule, ...] | None]:
    readings = [
        read(event, version, principal)
        for principal in (asked.principal, asked.domain)
        if principal is not None
    ]
    return [None if reading is None else reading.rules for reading in readings]


def nested_secrets() -> list[Any]:
    return [
        {"n": {"x": 1}},
        {"n": {"x": 1, "s": 2}},
        {"n": {"x": 1, "s": {"deep": None}}},
        {"n": {"x": 1}, "m": {"s": {}}},
        {"n": {"x": 1, "y": {"z": {"s": [1]}}}},
    ]


def test_what_is_nested_around_a_hidden_field_goes_with_it() -> None:
    version = policy(grant("p", attributes=["n.x"])).current()
    views = {shown(Event.of(body), version, subscription("p")) for body in nested_secrets()}
    assert len(views) == 1
    (view,) = views
    assert isinstance(view, tuple)
    assert view[0] == b'{"n":{"x":1}}'


@pytest.mark.parametrize("body", [b'"text"', b"[1]", b"null", b"5", b'["red"]'])
def test_a_body_that_may_not_be_read_looks_like_an_event_of_which_nothing_may_be_read(
    body: bytes,
) -> None:
    version = policy(grant("p", attributes=["a"])).current()
    expected = shown(Event.of({"b": 1}), version, subscription("p"))
    assert shown(Event.from_json(body), version, subscription("p")) == expected
    assert shown(Event.from_bytes(body), version, subscription("p")) == expected


def test_every_withheld_event_has_one_answer_for_the_subscriber() -> None:
    version = policy(grant("p", filter_="a = 1"), grant("d", filter_="b = 1")).current()
    asked = subscription("p", "c = 1", "d")
    bodies = [{}, {"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 2}]
    outcomes = [gate(Event.of(body), version, asked) for body in bodies]
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Withheld)]
    assert reasons == [
        Reason.NO_RIGHT, Reason.NO_DOMAIN_RIGHT, Reason.NOT_ASKED_FOR, Reason.NOT_ASKED_FOR,
    ]  # fmt: skip
    assert len({explain_to_subscriber(Event.of(body), version, asked) for body in bodies}) == 1


def view_of(outcome: Outcome) -> Event:
    assert isinstance(outcome, View)
    return outcome.event


def test_a_screened_notification_of_miklos_3_5_lacks_the_colour() -> None:
    upper = "(string message any, integer price any)"
    version = policy(grant("c", filter_=upper, strict="upper")).current()
    asked = subscription("c", "(string message new_product, integer price < 100)")
    sent = Event.of({"message": "new_product", "price": 23, "color": "red"})
    expected = Event.of({"message": "new_product", "price": 23})
    assert view_of(gate(sent, version, asked)) == expected
    assert isinstance(gate(Event.of({"message": "new_product"}), version, asked), Withheld)


def test_what_may_be_read_is_the_union_over_the_rules_that_grant_the_event() -> None:
    version = policy(
        grant("p", filter_="a = 1", attributes=["a"]),
        grant("p", filter_="b = 1", attributes=["b"]),
        grant("p", filter_="c = 1", attributes=["c"]),
    ).current()
    seen = view_of(gate(Event.of({"a": 1, "b": 1, "c": 2}), version, subscription("p")))
    assert seen == Event.of({"a": 1, "b": 1})


def test_a_domain_without_rights_lets_nothing_through() -> None:
    version = policy(grant("p"), grant("other")).current()
    outcome = gate(Event.of({"a": 1}), version, subscription("p", domain="d"))
    assert outcome == Withheld(1, Reason.NO_DOMAIN_RIGHT)


def test_the_reader_gets_what_both_it_and_its_domain_may_read() -> None:
    version = policy(
        grant("p", attributes=["a", "b", "topics"]),
        grant("d", attributes=["b", "c", "topics"], topics=["red"]),
    ).current()
    event = Event.of({"a": 1, "b": 2, "c": 3, "topics": ["red", "blue"]})
    seen = view_of(gate(event, version, subscription("p", domain="d")))
    assert seen == Event.of({"b": 2, "topics": ["red"]})


@pytest.mark.parametrize("topics", ["red", None, {}, 5, ["red", 5], [["red"]], {"red": True}])
def test_topics_that_are_no_set_of_texts_are_none_to_a_topic_rule(topics: object) -> None:
    version = policy(grant("p", topics=["red"])).current()
    outcome = gate(Event.of({"topics": topics}), version, subscription("p"))
    assert outcome == Withheld(1, Reason.NO_RIGHT)


def test_topics_that_may_not_be_subscribed_are_cut_where_only_topic_rules_grant() -> None:
    event = Event.of({"topics": ["grey", "red", "blue", "red"]})
    topical = policy(grant("p", topics=["red"]), grant("p", filter_="a = 1", topics=["blue"]))
    seen = view_of(gate(event, topical.current(), subscription("p")))
    assert seen.to_json() == b'{"topics":["red","blue","red"]}'
    blind = subscription("p", "'grey' IN topics")
    assert isinstance(gate(event, topical.current(), blind), Withheld)
    plain = policy(grant("p", topics=["red"]), grant("p"))
    assert view_of(gate(event, plain.current(), subscription("p"))) == event


def test_a_rule_that_does_not_let_read_topics_opens_none_of_them() -> None:
    event = Event.of({"topics": ["red", "hidden"], "x": 1})
    for attributes, seen in ((["x"], ["red"]), (["x", "topics"], ["red", "hidden"])):
        both = policy(
            grant("p", topics=["red"]), grant("p", filter_="x = 1", attributes=attributes)
        )
        view = view_of(gate(event, both.current(), subscription("p")))
        assert view == Event.of({"topics": seen, "x": 1})
    strict = policy(grant("p", topics=["red"]), grant("p", filter_="x = 1", strict="upper"))
    view = view_of(gate(event, strict.current(), subscription("p")))
    assert view == Event.of({"topics": ["red"], "x": 1})


def test_streams_of_the_broker_are_reached_only_by_rules_that_name_the_stream() -> None:
    own = Event.of({"a": 1}).with_known({"$stream": "$policy"})
    ordinary = Event.of({"a": 1}).with_known({"$stream": "orders"})
    plain = policy(grant("p"), grant("p", filter_="a = 1")).current()
    assert isinstance(gate(own, plain, subscription("p")), Withheld)
    assert isinstance(gate(ordinary, plain, subscription("p")), View)
    naming = policy(grant("p", filter_="$stream = '$policy'", attributes=["a"])).current()
    assert view_of(gate(own, naming, subscription("p"))) == Event.of({"a": 1})
    assert isinstance(gate(ordinary, naming, subscription("p")), Withheld)
    for said, reached in {
        "$stream <> 'orders'": False,
        "NOT ($stream = 'orders')": False,
        "EXISTS($stream)": False,
        "$stream LIKE '%'": False,
        "$stream LIKE '$%'": True,
        "$stream IN ('$policy', 'orders')": True,
        "$stream = '$deliveries' OR a = 1": False,
        "NOT ($stream = '$policy') OR a = 1": False,
        "$stream <> '$policy' OR a = 1": False,
        "$stream NOT IN ('$policy') OR a = 1": False,
        "$stream NOT LIKE '$%' OR a = 1": False,
        "NOT ($stream <> '$policy' OR a = 2)": True,
        "NOT (NOT ($stream LIKE '$%'))": True,
    }.items():
        version = policy(grant("p", filter_=said)).current()
        assert isinstance(gate(own, version, subscription("p")), View) is reached, said
    both = policy(grant("p"), grant("d", filter_="$stream = '$policy'")).current()
    assert isinstance(gate(own, both, subscription("p", domain="d")), Withheld)


def test_a_subscription_by_what_the_broker_knows_needs_it_to_be_readable() -> None:
    event = Event.of({"a": 1}).with_known({"$publisher": "eve"})
    asked = subscription("p", "$publisher = 'eve'")
    assert isinstance(gate(event, policy(grant("p", attributes=["a"])).current(), asked), Withheld)
    open_ = policy(grant("p", attributes=["a", "$publisher"])).current()
    assert view_of(gate(event, open_, asked)) == event


@pytest.mark.proof
def test_a_group_member_receives_what_it_would_with_the_groups_rules_as_its_own(
    record_property: Count,
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    delivered = checked = 0
    for _ in range(proof_size(test=80, soak=3_000)):
        chance = Chance(random, filters=40)
        version = chance.history(5).current()
        alone = flattened_policy(version)
        for _ in range(60):
            event, asked = chance.event(), chance.subscription()
            expected = gate(event, alone, asked)
            outcome = gate(event, version, asked)
            checked += 1
            if isinstance(expected, View):
                delivered += 1
                assert isinstance(outcome, View), f"seed {seed}"
                assert outcome.event == expected.event, f"seed {seed}"
            else:
                assert isinstance(outcome, Withheld), f"seed {seed}"
                assert outcome.reason is expected.reason, f"seed {seed}"
    record_property(COUNTED, f"{checked:,} events, {delivered:,} delivered")
    assert delivered * 10 > checked


def flattened_policy(version: PolicyVersion) -> PolicyVersion:
    """Without groups: every principal gets the rules of all that it is in, found by brute force."""
    pending = set(version.pending())
    above: dict[str, set[str]] = {name: {name} for name in PRINCIPALS}
    for _ in PRINCIPALS:
        for group, members in version.groups().items():
            for member in members:
                for names in above.values():
                    if member in names:
                        names.add(group)
    grants = {
        Grant(rule(**renamed(held, principal)))
        for principal, names in above.items()
        for held in version.rules()
        if held.principal in names and held not in pending
    }
    return policy(*grants).current()


def renamed(held: Rule, principal: str) -> dict[str, Any]:
    said = {**held.to_json(), "principal": principal}
    said.pop("validity", None)
    if "filter" in said:
        said["filter_"] = said.pop("filter")
    return said


def never_lost(filter_: Filter) -> bool:
    """Whether a wider view can't make it match less: it never asks whether something is there.

    Nor what is in a set of which members may have been cut.
    """
    asks = (Present, IsType, Contains)
    return not any(isinstance(node, asks) for node, _ in walk(filter_.condition))


@pytest.mark.proof
def test_another_rule_takes_nothing_away(record_property: Count) -> None:
    """What grows: the rules that grant, what may be read, and what is received.

    The last only for filters that don't ask whether something is there: see the next test.
    """
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(proof_size(test=120, soak=5_000)):
        chance = Chance(random, filters=60)
        history = chance.history(3)
        chance.batches(history, 1)
        before = history.current()
        more = chance.rule(random.choice(PRINCIPALS))
        if more in before.rules() or more.valid_until is not None:
            continue
        after = history.apply(batch(Grant(more), time=chance.time))
        for _ in range(80):
            event, asked = chance.event(), chance.subscription()
            old, new = (read(event, at, asked.principal) for at in (before, after))
            if old is None:
                continue
            counts["readings"] += 1
            assert new is not None, f"seed {seed}"
            assert within(old, new), f"seed {seed}"
            counts["wider"] += old != new
            if never_lost(asked.filter) and isinstance(gate(event, before, asked), View):
                counts["deliveries"] += 1
                kept = gate(event, after, asked)
                assert isinstance(kept, View), f"seed {seed}"
                assert view_of(gate(event, before, asked)).names <= kept.event.names, f"seed {seed}"
    record_property(COUNTED, ", ".join(f"{many:,} {what}" for what, many in counts.items()))
    assert counts["deliveries"] > 100
    assert counts["wider"] > 50


def within(old: Reading, new: Reading) -> bool:
    names = new.attributes is None or (
        old.attributes is not None and old.attributes <= new.attributes
    )
    topics = new.topics is None or (old.topics is not None and old.topics <= new.topics)
    return set(old.rules) <= set(new.rules) and names and topics


@pytest.mark.parametrize(
    "wish", ["salary IS NULL", "salary IS NOT INTEGER", "NOT EXISTS(salary)", "NOT ('red' IN t)"]
)
def test_a_filter_that_asks_for_what_is_missing_may_match_less_when_more_may_be_read(
    wish: str,
) -> None:
    wish = wish.replace(" t)", " topics)")
    event = Event.of({"salary": 5, "topics": ["red", "blue"]})
    history = policy(grant("p", topics=["blue"], attributes=["topics"]))
    assert isinstance(gate(event, history.current(), subscription("p", wish)), View)
    history.apply(batch(grant("p")))
    assert isinstance(gate(event, history.current(), subscription("p", wish)), Withheld)


def then_and_now(then: Rule, now: Rule | None, body: dict[str, Any], wish: str) -> Outcome:
    history = policy(Grant(then))
    history.apply(batch(Revoke(then), *([Grant(now)] if now else [])))
    return gate_then_and_now(
        Event.of(body), history.at(1), history.current(), subscription("p", wish)
    )


def test_a_strict_replay_gives_what_could_be_read_then_and_may_be_read_now() -> None:
    then, now = rule("p", attributes=["a", "b", "n.x"]), rule("p", attributes=["b", "c", "n.x"])
    body = {"a": 1, "b": 2, "c": 3, "n": {"x": None, "y": 5}}
    outcome = then_and_now(then, now, body, "a IS NULL AND b = 2 AND c IS NULL")
    assert outcome == View(Event.of({"b": 2, "n": {"x": None}}), 1)
    assert then_and_now(then, now, body, "a = 1") == Withheld(2, Reason.NOT_ASKED_FOR)
    assert then_and_now(then, None, body, "TRUE") == Withheld(2, Reason.NO_RIGHT)


def test_a_strict_replay_of_topics_that_may_not_be_read_any_more_leaves_them_out() -> None:
    body = {"a": 1, "topics": ["red", "blue"]}
    outcome = then_and_now(rule("p"), rule("p", attributes=["a"]), body, "TRUE")
    assert outcome == View(Event.of({"a": 1}), 1)
    then, now = rule("p", topics=["red", "blue"]), rule("p", topics=["red"])
    for first, second in ((then, now), (now, then)):
        outcome = then_and_now(first, second, body, "TRUE")
        assert outcome == View(Event.of({"a": 1, "topics": ["red"]}), 1)


@pytest.mark.proof
def test_a_strict_replay_shows_no_more_than_either_version_does(record_property: Count) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    delivered = 0
    for _ in range(proof_size(test=40, soak=1_000)):
        chance = Chance(random, filters=40)
        history = chance.history(6)
        for _ in range(60):
            event, asked = chance.event(), chance.subscription()
            then, now = (history.at(random.randrange(history.version + 1)) for _ in range(2))
            outcome = gate_then_and_now(event, then, now, asked)
            everything = Subscription(asked.principal, domain=asked.domain)
            apart = [gate(event, at, everything) for at in (then, now)]
            views = [one.event for one in apart if isinstance(one, View)]
            if isinstance(outcome, View):
                delivered += 1
                assert asked.filter.matches(outcome.event), f"seed {seed}"
                names = views[0].names & views[1].names
                assert outcome.event.names == names, f"seed {seed}: {asked}"
            elif len(views) == 2:
                assert outcome.reason is Reason.NOT_ASKED_FOR
    record_property(COUNTED, f"{delivered:,} deliveries")
    assert delivered > 100


def test_the_gate_gives_the_same_answer_wherever_it_is_asked() -> None:
    chance = Chance(Random(7), filters=40)
    history = chance.history(6)
    again = PolicyHistory.of(made for _, made in history.batches())
    for _ in range(200):
        event, asked, at = chance.event(), chance.subscription(), chance.random.randrange(7)
        assert gate(event, history.at(at), asked) == gate(event, again.at(at), asked)


def test_a_decision_takes_as_many_steps_among_thousands_of_principals_as_among_ten() -> None:
    """At the first time, when the rights are gathered, and after that."""
    event, asked = Event.of({"a": 1, "b": 2}), subscription("p7", "a = 1")
    steps: list[list[int]] = []
    for principals in (10, 3_000):
        names = [f"p{number}" for number in range(principals)]
        history = policy(
            CreateGroup("all"),
            *(Join("all", name) for name in names),
            *(grant(name, filter_="a = 1", attributes=["a"]) for name in names),
            grant("all", filter_="b = 2", attributes=["b"]),
        )
        decide = partial(gate, event, history.current(), asked)
        decide()  # the filters are compiled
        for name in names:
            history._rights.pop(name, None)
        steps.append([steps_of(decide), steps_of(decide)])
        assert view_of(decide()) == event
    assert steps[0] == steps[1]
    assert steps[0][0] > steps[0][1]
