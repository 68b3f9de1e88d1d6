"""Does routing get all that the gate lets through, and not much more?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, cast

import pytest

from headgate.filters.filter import Filter
from headgate.model.events import Event
from headgate.model.limits import FILTER_LIMITS
from headgate.rights.changes import Grant
from headgate.rights.restriction import restricted
from headgate.rights.rules import Rule
from headgate.simulation.service_model import Record, Wish, view
from tests.proofs import COUNTED, proof_size
from tests.rights.policies import Chance, grant, policy, rule, subscription

parse = Filter.parse


def routed(wish: str, *grants: Grant, domain: str | None = None) -> Filter:
    return restricted(policy(*grants).current(), subscription("p", wish, domain))


def same(one: Filter, other: str) -> bool:
    return one.covers(parse(other)) and parse(other).covers(one)


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ("a = 1", "a = 1 AND b = 2"),
        ("salary > 5", "b = 2"),
        ("NOT (salary > 5)", "b = 2"),
        ("salary IS NULL", "b = 2"),
        ("NOT EXISTS(salary)", "b = 2"),
        ("a = 1 AND salary IS NULL", "a = 1 AND b = 2"),
        ("NOT (a = 1 OR salary = 1)", "a <> 1 AND b = 2"),
        ("a = 1 OR salary = 1", "b = 2"),
        ("NOT (a = 1 AND salary = 1)", "b = 2"),
        ("a + salary > 1", "b = 2"),
        ("$publisher = 'eve'", "b = 2"),
        ("topics IS NULL", "b = 2"),
        ("FALSE", "FALSE"),
        ("NOT TRUE", "FALSE"),
    ],
)
def test_a_condition_on_what_may_be_cut_becomes_true(wish: str, expected: str) -> None:
    found = routed(wish, grant("p", filter_="b = 2", attributes=["a", "b"]))
    assert same(found, expected)


def test_a_strict_upper_bound_cuts_what_it_does_not_name() -> None:
    found = routed("a IS NULL AND b = 2", grant("p", filter_="b > 1", strict="upper"))
    assert same(found, "b = 2")


def test_a_rule_for_topics_routes_what_shares_one() -> None:
    topical = grant("p", filter_="a = 1", topics=["red", "blue"])
    wanted = "a = 1 AND ('red' IN topics OR 'blue' IN topics)"
    assert same(routed("TRUE", topical), wanted)
    assert same(routed("NOT ('grey' IN topics)", topical), wanted)


def test_a_domain_has_to_grant_as_well() -> None:
    both = (grant("p", filter_="a = 1"), grant("d", filter_="b = 1", attributes=["a", "b"]))
    assert same(routed("c = 1 AND a = 1", *both, domain="d"), "a = 1 AND b = 1")
    assert routed("TRUE", *both, domain="nowhere").is_empty()


def test_without_rights_nothing_is_routed() -> None:
    assert routed("TRUE", grant("q")).is_empty()
    assert routed("TRUE", grant("p", "publish")).is_empty()


def by_two(count: int) -> str:
    return " OR ".join(f"(a = {i} AND b = {7 * i})" for i in range(count))


def test_a_subscription_that_is_too_complex_to_restrict_is_routed_by_its_rights() -> None:
    right = "x = 1 OR y = 2"
    found = routed(by_two(700), grant("p", filter_=right))
    assert same(found, right)
    found = routed(by_two(700), grant("p", filter_=right), grant("d", filter_="z = 1"), domain="d")
    assert same(found, f"({right}) AND z = 1")


def test_a_subscription_as_deep_as_a_filter_may_be_is_routed_by_its_rights_at_most() -> None:
    wish = "x = 1"
    for level in range(FILTER_LIMITS.depth // 2 - 2):
        wish = f"({wish}) OR (a = {level} AND b = 1)" if level % 2 else f"({wish}) AND c = {level}"
    found = routed(wish, grant("p", filter_="x = 1 AND z = 3"))
    assert parse("x = 1 AND z = 3").covers(found)


def test_rights_that_are_too_complex_are_routed_by_what_was_asked_for() -> None:
    wide = [grant("p", filter_=f"a = {i} AND b = {7 * i}") for i in range(1_100)]
    assert same(routed("z = 1", *wide), "z = 1")
    cutting = grant("p", filter_="y = 1", attributes=["y"])
    assert same(routed("z = 1 AND y = 1", *wide, cutting), "y = 1")


def test_what_is_too_complex_on_all_sides_is_routed_whole() -> None:
    wide = [grant("p", filter_=f"a = {i} AND b = {7 * i}") for i in range(1_100)]
    tail = grant("p", filter_="y = 1", attributes=["y"])
    assert same(routed("z IS NULL", *wide, tail), "TRUE")


def test_many_rules_on_both_sides_take_no_work_beyond_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from headgate.rights import restriction

    walked = 0
    honest = restriction._weakened

    def counted(*arguments: object) -> object:
        nonlocal walked
        walked += 1
        return honest(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(restriction, "_weakened", counted)
    grants = [
        *(grant("p", filter_=f"a = {i} AND b = {i}") for i in range(200)),
        *(grant("d", filter_=f"c = {i} AND d = {i}") for i in range(200)),
    ]
    found = routed("z = 1", *grants, domain="d")
    assert walked <= 2 * FILTER_LIMITS.nodes
    assert found.matches({"z": 1, "a": 5, "b": 5, "c": 7, "d": 7})


def test_many_rules_are_not_asked_again_for_each_of_many_attributes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0
    readable = cast("Any", Rule.readable).fget

    def counted(rule: Rule) -> frozenset[str] | None:
        nonlocal asked
        asked += 1
        return cast("frozenset[str] | None", readable(rule))

    grants = [grant("p", filter_=f"a = {i} AND b = {i}", attributes=["c0"]) for i in range(1_500)]
    monkeypatch.setattr(Rule, "readable", property(counted))
    found = routed(" AND ".join(f"EXISTS(c{at})" for at in range(1_000)), *grants)
    assert asked <= 3 * len(grants)
    assert same(found, "EXISTS(c0)")


@pytest.mark.proof
def test_whatever_the_gate_lets_through_is_routed(
    record_property: Callable[[str, object], None],
) -> None:
    """The service model says what the gate lets through."""
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(proof_size(test=120, soak=5_000)):
        chance = Chance(random, filters=40)
        history = chance.history(4)
        said = [made.to_json() for _, made in history.batches()]
        bodies = [(chance.body(), chance.known()) for _ in range(25)]
        events = [(body, known, Event.of(body).with_known(known)) for body, known in bodies]
        for _ in range(5):
            asked = chance.subscription()
            at = random.randrange(1, history.version + 1)
            found = restricted(history.at(at), asked)
            wish = Wish(asked.principal, str(asked.filter), asked.domain)
            for body, known, event in events:
                delivered = view(said, at, Record("s", 0, body, known), wish) is not None
                matched = found.matches(event)
                assert matched or not delivered, f"seed {seed}: {asked}, {event}"
                counts["events"] += 1
                counts["delivered"] += delivered
                counts["routed"] += matched
                counts["routed needlessly"] += matched and not delivered
                counts["asked for"] += asked.filter.matches(event)
    record_property(COUNTED, ", ".join(f"{many:,} {what}" for what, many in counts.items()))
    assert counts["delivered"] * 25 > counts["events"]
    # Most conditions are about what is cut, so that much is routed; more would be no use.
    assert counts["routed needlessly"] < 3 * counts["delivered"]


def test_rules_that_say_the_same_are_routed_once() -> None:
    upper = rule("p", filter_="a = 1"), rule("p", filter_="a = 1", on_excess="refuse")
    assert str(routed("TRUE", *map(Grant, upper))) == "a = 1 AND TRUE"
