"""Is a request allowed exactly under the rules whose bounds it keeps?"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from headgate.filters.filter import Filter
from headgate.model.events import Event
from headgate.model.limits import FilterLimits
from headgate.rights.changes import CreateGroup, Grant, Join
from headgate.rights.effective import Rights
from headgate.rights.requests import (
    Allowed,
    Answer,
    Refused,
    may_advertise,
    may_connect,
    may_publish,
    may_subscribe,
)
from headgate.rights.rules import Action, Rule
from tests.proofs import COUNTED, proof_size
from tests.rights.policies import (
    INDIVIDUALS,
    PRINCIPALS,
    Chance,
    batch,
    connecting,
    grant,
    policy,
)

parse = Filter.parse
NEW_PRODUCT = "(string message new_product)"
CHEAP = "(string message new_product, integer price < 100)"


def rights(action: str, filter_: str = "TRUE", **said: Any) -> Rights:
    return policy(grant("c", action, filter_, **said)).current().rights_of("c")


def because(answer: Answer) -> str:
    assert isinstance(answer, Refused)
    return answer.because


def notification(**values: object) -> Event:
    return Event.of(values)


WEATHER = notification(weather="sunny", temperature=27)


def product(price: int, **more: object) -> Event:
    return notification(message="new_product", price=price, **more)


def allowed(answer: Answer) -> bool:
    return isinstance(answer, Allowed)


def test_miklos_3_3_an_upper_bound_lets_publish_what_it_covers() -> None:
    publisher = rights("publish", NEW_PRODUCT)
    assert allowed(may_publish(publisher, product(10)))
    assert not allowed(may_publish(publisher, WEATHER))


def test_miklos_3_3_an_upper_bound_lets_advertise_what_it_covers() -> None:
    publisher = rights("advertise", NEW_PRODUCT)
    assert allowed(may_advertise(publisher, parse(CHEAP)))
    assert not allowed(
        may_advertise(publisher, parse("weather IS STRING AND temperature IS INTEGER"))
    )


def test_miklos_3_3_a_strict_upper_bound_lets_publish_no_other_attributes() -> None:
    publisher = rights("publish", NEW_PRODUCT, strict="upper")
    assert allowed(may_publish(publisher, notification(message="new_product")))
    assert not allowed(may_publish(publisher, product(10)))


def test_miklos_3_3_a_lower_bound_lets_publish_what_it_advertises() -> None:
    publisher = rights("publish", lower=CHEAP)
    assert allowed(may_publish(publisher, product(10, color="blue")))
    assert not allowed(may_publish(publisher, WEATHER))
    assert not allowed(may_publish(publisher, product(523)))


def test_miklos_3_3_a_lower_bound_lets_advertise_what_it_covers_as_an_advertisement() -> None:
    publisher = rights("advertise", lower=CHEAP)
    cheaper = "(string message new_product, integer price < 53)"
    assert allowed(may_advertise(publisher, parse(cheaper)))
    coloured = "(string message new_product, string color any)"
    assert not allowed(may_advertise(publisher, parse(coloured)))


def test_miklos_3_3_a_strict_lower_bound_lets_publish_nothing_new() -> None:
    publisher = rights("publish", lower=CHEAP, strict="lower")
    assert allowed(may_publish(publisher, product(10)))
    assert allowed(may_publish(publisher, notification(message="new_product")))
    assert not allowed(may_publish(publisher, product(10, color="blue")))
    assert not allowed(may_publish(publisher, notification()))


def test_miklos_3_3_a_strict_lower_bound_lets_advertise_nothing_new() -> None:
    publisher = rights("advertise", lower=CHEAP, strict="lower")
    assert allowed(may_advertise(publisher, parse("(integer price < 53)")))
    coloured = "(integer price < 53, string color any)"
    assert not allowed(may_advertise(publisher, parse(coloured)))


def test_miklos_3_4_an_upper_bound_lets_subscribe_to_what_it_covers() -> None:
    subscriber = rights("subscribe", NEW_PRODUCT, on_excess="refuse")
    narrow = "(string message new_product, integer price 10)"
    assert allowed(may_subscribe(subscriber, parse(narrow)))
    weather = "(string weather sunny, integer temperature > 25)"
    assert not allowed(may_subscribe(subscriber, parse(weather)))


def test_miklos_3_4_a_lower_bound_keeps_subscriptions_from_being_too_specific() -> None:
    subscriber = rights("subscribe", lower="(string message any)")
    assert allowed(may_subscribe(subscriber, parse(NEW_PRODUCT)))
    assert not allowed(may_subscribe(subscriber, parse(CHEAP)))


def test_miklos_3_5_a_strict_upper_bound_demands_its_attributes() -> None:
    subscriber = rights("subscribe", "(string message any, integer price any)", strict="upper")
    assert allowed(may_subscribe(subscriber, parse(CHEAP)))
    assert not allowed(may_subscribe(subscriber, parse(NEW_PRODUCT)))


def test_miklos_3_5_a_strict_lower_bound_forbids_other_attributes() -> None:
    bound = "(string message any, integer price any)"
    subscriber = rights("subscribe", lower=bound, strict="lower")
    assert allowed(may_subscribe(subscriber, parse(CHEAP)))
    wider = "(string message any, string color any)"
    assert not allowed(may_subscribe(subscriber, parse(wider)))


def test_a_strict_upper_bound_accepts_no_request_that_names_more() -> None:
    coloured = parse("(string message new_product, string color blue)")
    for action, ask in (("subscribe", may_subscribe), ("advertise", may_advertise)):
        assert allowed(ask(rights(action, NEW_PRODUCT), coloured))
        assert not allowed(ask(rights(action, NEW_PRODUCT, strict="upper"), coloured))
        assert allowed(ask(rights(action, NEW_PRODUCT, strict="upper"), parse(NEW_PRODUCT)))


def test_a_strict_lower_bound_of_alternatives_accepts_no_mixture_of_them() -> None:
    mixed = parse("a = 1 AND b = 1")
    for action, ask in (("subscribe", may_subscribe), ("advertise", may_advertise)):
        assert allowed(ask(rights(action, lower="a = 1 OR b = 1"), mixed))
        strict = rights(action, lower="a = 1 OR b = 1", strict="lower")
        assert not allowed(ask(strict, mixed))
        assert allowed(ask(strict, parse("a = 1")))


def test_zhao_and_sturman_2_1_the_premium_group_may_subscribe_to_all_three() -> None:
    stories = "type = 'quote' OR type = 'news' OR type = 'report'"
    version = policy(
        CreateGroup("Premium group"),
        Join("Premium group", "Jane Smith"),
        Join("Premium group", "James Brown"),
        grant("Premium group", filter_=stories, on_excess="refuse"),
        Grant(connecting("John Doe")),
        grant("John Doe", filter_="type = 'quote'", on_excess="refuse"),
    ).current()
    expected = {
        "Jane Smith": [True, True, True, False],
        "James Brown": [True, True, True, False],
        "John Doe": [True, False, False, False],
        "stranger": [False, False, False, False],
    }
    for name, answers in expected.items():
        held = version.rights_of(name)
        asked = [parse(f"type = '{type_}'") for type_ in ("quote", "news", "report", "video")]
        assert [allowed(may_subscribe(held, one)) for one in asked] == answers
        assert allowed(may_connect(held)) is (name == "John Doe")


def test_a_wider_subscription_is_accepted_unless_the_rule_refuses_excess() -> None:
    wide = parse("TRUE")
    assert allowed(may_subscribe(rights("subscribe", "a = 1"), wide))
    refusing = rights("subscribe", "a = 1", on_excess="refuse")
    assert "wider than the upper bound" in because(may_subscribe(refusing, wide))
    assert not allowed(may_subscribe(rights("subscribe", "a = 1", strict="upper"), wide))
    assert not allowed(may_subscribe(rights("subscribe", "a = 1", lower="a = 1"), parse("b = 1")))


def test_connecting_takes_one_rule_that_allows_it() -> None:
    no, yes = Grant(connecting("c", allow=False)), Grant(connecting("c"))
    for changes, expected in (((no,), False), ((yes,), True), ((no, yes), True), ((yes, no), True)):
        assert allowed(may_connect(policy(*changes).current().rights_of("c"))) is expected
    only_group = policy(CreateGroup("g"), Join("g", "c"), Grant(connecting("g")), no).current()
    assert allowed(may_connect(only_group.rights_of("c")))
    assert because(may_connect(only_group.rights_of("stranger"))) == (
        "no rule lets `stranger` connect"
    )


def test_a_right_of_one_kind_is_none_of_another() -> None:
    everything = parse("TRUE")
    for action in ("publish", "advertise", "subscribe"):
        held = rights(action)
        assert allowed(may_publish(held, notification(a=1))) is (action == "publish")
        assert allowed(may_advertise(held, parse("a = 1"))) is (action == "advertise")
        assert allowed(may_subscribe(held, everything)) is (action == "subscribe")
        assert not allowed(may_connect(held))


BLANKS: list[dict[str, object]] = [
    {"smuggled": None}, {"smuggled": {}}, {"n": {"smuggled": None}}, {"a b c": {}},
    {"a.smuggled": None},
]  # fmt: skip


@pytest.mark.parametrize("blank", BLANKS)
def test_nothing_is_smuggled_in_a_name_without_a_value(blank: dict[str, object]) -> None:
    event = Event.of({"a": 1, **blank})
    assert allowed(may_publish(rights("publish"), event))
    for bounds in (
        {"filter_": "a = 1", "strict": "upper"},
        {"lower": "a = 1", "strict": "lower"},
        {"filter_": "a = 1", "lower": "a = 1", "strict": "both"},
        {"attributes": ["a"]},
    ):
        assert allowed(may_publish(rights("publish", **bounds), Event.of({"a": 1}))), bounds
        assert not allowed(may_publish(rights("publish", **bounds), event)), bounds


def test_a_name_without_a_value_that_a_strict_bound_names_may_be_sent() -> None:
    event = Event.of({"a": 1, "b": None})
    for bounds in (
        {"filter_": "a = 1 AND b IS NULL", "strict": "upper"},
        {"lower": "a = 1 AND b = 1", "strict": "lower"},
        {"attributes": ["a", "b"]},
    ):
        assert allowed(may_publish(rights("publish", **bounds), event)), bounds


def test_what_the_broker_adds_counts_for_no_strict_bound() -> None:
    event = Event.of({"a": 1}).with_known({"$publisher": "c", "$stream": "s", "$user.x": None})
    for bounds in (
        {"filter_": "a = 1", "strict": "upper"},
        {"lower": "a = 1", "strict": "lower"},
        {"attributes": ["a"]},
    ):
        assert allowed(may_publish(rights("publish", **bounds), event)), bounds


def test_a_body_that_is_no_object_is_the_attribute_payload_to_a_publisher() -> None:
    for event in (Event.from_json(b"5"), Event.from_json(b"null"), Event.from_bytes(b"x")):
        assert not allowed(may_publish(rights("publish", attributes=["a"]), event))
        assert allowed(may_publish(rights("publish", attributes=["payload"]), event))


def test_only_a_rule_that_names_the_stream_lets_publish_to_the_broker_itself() -> None:
    own = Event.of({"a": 1}).with_known({"$stream": "$policy"})
    for plain in ({}, {"filter_": "a = 1"}, {"attributes": ["a"]}):
        answer = may_publish(rights("publish", **plain), own)
        assert "rules that name `$stream`" in because(answer)
    assert allowed(may_publish(rights("publish", "$stream = '$policy'"), own))
    assert not allowed(may_publish(rights("publish", "$stream = '$audit'"), own))


def test_a_publication_needs_a_right_to_each_of_its_topics() -> None:
    held = policy(
        grant("c", "publish", "a = 1", topics=["red"]),
        grant("c", "publish", "a = 2", topics=["blue"]),
    ).current()
    for topics, expected in (
        (["red"], True), (["red", "blue"], True), (["blue"], False), ([], False),
        (["red", "grey"], False), ("red", False), (["red", 5], False), (None, False),
    ):  # fmt: skip
        event = Event.of({"a": 1, "topics": topics})
        assert allowed(may_publish(held.rights_of("c"), event)) is expected, topics


def test_what_cannot_be_decided_is_refused_under_that_rule_only() -> None:
    tangle = " AND ".join(f"(a{i} = 1 OR b{i} = 2)" for i in range(10))
    bound = parse(tangle, FilterLimits(covering_steps=100))
    hard = Grant(Rule("c", Action.SUBSCRIBE, lower=bound))
    held = policy(hard).current().rights_of("c")
    assert "overlap in too many ways" in because(may_subscribe(held, parse(tangle)))
    easy = policy(hard, grant("c", filter_=tangle)).current().rights_of("c")
    answer = may_subscribe(easy, parse(tangle))
    assert isinstance(answer, Allowed)
    assert [rule.lower for rule in answer.rules] == [None]


def test_a_residue_is_no_way_around_a_bound() -> None:
    held = rights("subscribe", "a > 5", on_excess="refuse")
    assert not allowed(may_subscribe(held, parse("a + 0 > 5")))
    assert not allowed(may_subscribe(held, parse("a > b AND b > 5")))
    assert allowed(may_subscribe(held, parse("a > 6 AND a > b")))


def test_a_refusal_gives_a_reason_for_each_rule_that_could_have_allowed_it() -> None:
    held = policy(
        grant("c", "publish", "a = 1"),
        grant("c", "publish", attributes=["b"]),
        grant("c", "publish", lower="b = 1"),
        grant("c"),
    ).current()
    answer = may_publish(held.rights_of("c"), Event.of({"a": 2}))
    assert isinstance(answer, Refused)
    assert [why for _, why in answer.rules] == [
        "the event is not within the upper bound",
        "the attribute `a` may not be written",
        "the event is not within the lower bound",
    ]
    assert because(may_advertise(held.rights_of("c"), parse("a = 1"))) == (
        "no rule lets `c` advertise"
    )


@pytest.mark.proof
def test_another_rule_turns_no_allowed_request_into_a_refused_one(
    record_property: Callable[[str, object], None],
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    kept = 0
    for _ in range(proof_size(test=60, soak=2_000)):
        chance = Chance(random, filters=40)
        history = chance.history(3)
        before = history.current()
        more = chance.rule(random.choice(PRINCIPALS))
        if more in before.rules() or more.valid_until is not None:
            continue
        after = history.apply(batch(Grant(more), time=chance.time))
        for principal in INDIVIDUALS:
            event, wish = chance.event(), parse(random.choice(chance.wishes))
            old, new = before.rights_of(principal), after.rights_of(principal)
            for ask in (
                may_connect,
                lambda held, event=event: may_publish(held, event),
                lambda held, wish=wish: may_subscribe(held, wish),
                lambda held, wish=wish: may_advertise(held, wish),
            ):
                answer = ask(old)
                if isinstance(answer, Allowed):
                    again = ask(new)
                    assert isinstance(again, Allowed), f"seed {seed}"
                    assert set(answer.rules) <= set(again.rules), f"seed {seed}"
                    kept += 1
    record_property(COUNTED, f"{kept:,} requests stayed allowed")
    assert kept > 100


@pytest.mark.proof
def test_a_narrower_request_is_allowed_wherever_excess_is_refused(
    record_property: Callable[[str, object], None],
) -> None:
    """What a subscriber is refused for asking too much, it may ask within its rights."""
    seed = Random().randrange(2**32)
    chance = Chance(Random(seed))
    refused = 0
    for _ in range(proof_size(test=400, soak=20_000)):
        upper = chance.random.choice(chance.filters)
        held = rights("subscribe", upper, on_excess="refuse")
        wish = parse(chance.random.choice(chance.filters))
        refused += not allowed(may_subscribe(held, wish))
        assert allowed(may_subscribe(held, wish & parse(upper))), f"seed {seed}: {wish}"
    record_property(COUNTED, f"{refused:,} refused, and allowed when narrowed")
    assert refused > 50
