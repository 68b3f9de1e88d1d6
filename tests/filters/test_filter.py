"""Do filters say what the paper and the specification say? Miklós' examples are here by name.

`both` reads a filter of the paper in its own notation and in the SQL-like one.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest

from headgate.filters.filter import Filter
from headgate.model.errors import FilterError, FilterTooComplexError
from headgate.model.events import Event
from headgate.model.limits import FilterLimits
from headgate.model.values import OPAQUE
from tests.filters import oracle
from tests.filters.oracle import World, written
from tests.proofs import COUNTED, proof_size

parse = Filter.parse


class Both:
    """The same filter in two notations: whatever is asked, both must say the same."""

    def __init__(self, paper: str, sql: str) -> None:
        self.readings = parse(paper), parse(sql)

    def __getattr__(self, relation: str) -> Callable[[Any], bool]:
        def ask(other: Both | Mapping[str, object]) -> bool:
            others = other.readings if isinstance(other, Both) else (other,)
            answers = {getattr(one, relation)(two) for one in self.readings for two in others}
            assert len(answers) == 1, "the two notations disagree"
            return bool(answers.pop())

        return ask


NEW_PRODUCT = Both("(string message new_product)", "message = 'new_product'")
CHEAP_NEW_PRODUCT = Both(
    "(string message new_product, integer price < 100)",
    "message = 'new_product' AND price IS INTEGER AND price < 100",
)

# 3.2 Notation


def test_miklos_3_2_s1_matches_n1_but_not_strictly() -> None:
    n1 = {"message": "new_product", "price": 1}
    assert NEW_PRODUCT.matches(n1)
    assert not NEW_PRODUCT.matches_strictly(n1)


def test_miklos_3_2_s2_matches_n2_and_strictly() -> None:
    s2 = Both(
        "(string message new_product, integer price < 5)",
        "message = 'new_product' AND price IS INTEGER AND price < 5",
    )
    n2 = {"message": "new_product", "price": 1}
    assert s2.matches(n2)
    assert s2.matches_strictly(n2)


def test_miklos_3_2_s3_does_not_match_n3_and_not_strictly() -> None:
    s3 = Both(
        "(string message new_product, string color blue)",
        "message = 'new_product' AND color = 'blue'",
    )
    n3 = {"message": "new_product", "price": 1}
    assert not s3.matches(n3)
    assert not s3.matches_strictly(n3)


def test_miklos_3_2_a_constraint_covers_an_attribute_of_its_type_only() -> None:
    cheap = Both("(integer price < 5)", "price IS INTEGER AND price < 5")
    assert cheap.matches({"price": 1})
    assert not cheap.matches({"price": 1.5})
    assert not cheap.matches({"price": "1"})
    assert not cheap.matches({"cost": 1})


# 3.3 Control rules for publishers


def test_miklos_3_3_the_upper_bound_allows_a_new_product_with_a_price() -> None:
    assert NEW_PRODUCT.matches({"message": "new_product", "price": 10})


def test_miklos_3_3_the_upper_bound_refuses_the_weather() -> None:
    assert not NEW_PRODUCT.matches({"weather": "sunny", "temperature": 27})


def test_miklos_3_3_the_upper_bound_allows_advertising_cheap_new_products() -> None:
    assert NEW_PRODUCT.covers(CHEAP_NEW_PRODUCT)


def test_miklos_3_3_the_upper_bound_refuses_advertising_any_weather() -> None:
    weather = Both(
        "(string weather any, integer temperature any)",
        "weather IS STRING AND temperature IS INTEGER",
    )
    assert not NEW_PRODUCT.covers(weather)


def test_miklos_3_3_a_strict_upper_bound_refuses_what_it_does_not_name() -> None:
    assert NEW_PRODUCT.matches_strictly({"message": "new_product"})
    assert not NEW_PRODUCT.matches_strictly({"message": "new_product", "price": 10})


def test_miklos_3_3_the_lower_bound_allows_a_cheap_blue_new_product() -> None:
    event = {"message": "new_product", "price": 10, "color": "blue"}
    assert CHEAP_NEW_PRODUCT.advertises(event)
    assert not CHEAP_NEW_PRODUCT.advertises_strictly(event)


def test_miklos_3_3_the_lower_bound_refuses_the_weather() -> None:
    assert not CHEAP_NEW_PRODUCT.advertises({"weather": "sunny", "temperature": 27})


def test_miklos_3_3_the_lower_bound_refuses_a_new_product_at_523() -> None:
    assert not CHEAP_NEW_PRODUCT.advertises({"message": "new_product", "price": 523})


def test_miklos_3_3_the_lower_bound_allows_advertising_below_53() -> None:
    cheaper = Both(
        "(string message new_product, integer price < 53)",
        "message = 'new_product' AND price IS INTEGER AND price < 53",
    )
    assert CHEAP_NEW_PRODUCT.covers_advertisement(cheaper)
    assert CHEAP_NEW_PRODUCT.covers_advertisement_strictly(cheaper)


def test_miklos_3_3_the_lower_bound_refuses_advertising_any_color() -> None:
    colored = Both(
        "(string message new_product, string color any)",
        "message = 'new_product' AND color IS STRING",
    )
    assert not CHEAP_NEW_PRODUCT.covers_advertisement(colored)
    assert not CHEAP_NEW_PRODUCT.covers_advertisement_strictly(colored)


def test_miklos_3_3_a_strict_lower_bound_lets_no_new_topic_through() -> None:
    assert CHEAP_NEW_PRODUCT.advertises_strictly({"message": "new_product"})
    assert CHEAP_NEW_PRODUCT.advertises_strictly({"price": 10})
    assert not CHEAP_NEW_PRODUCT.advertises_strictly({"price": 10, "topic": "other"})


# 3.4 Control rules for subscribers


def test_miklos_3_4_the_upper_bound_allows_subscribing_to_a_new_product_at_10() -> None:
    at_10 = Both(
        "(string message new_product, integer price 10)",
        "message = 'new_product' AND price IS INTEGER AND price = 10",
    )
    assert NEW_PRODUCT.covers(at_10)


def test_miklos_3_4_the_upper_bound_refuses_subscribing_to_sunny_weather() -> None:
    sunny = Both(
        "(string weather sunny, integer temperature > 25)",
        "weather = 'sunny' AND temperature IS INTEGER AND temperature > 25",
    )
    assert not NEW_PRODUCT.covers(sunny)


ANY_MESSAGE = Both("(string message any)", "message IS STRING")


def test_miklos_3_4_the_lower_bound_allows_subscribing_to_new_products() -> None:
    assert ANY_MESSAGE.covers_advertisement(NEW_PRODUCT)


def test_miklos_3_4_the_lower_bound_refuses_subscribing_to_cheap_new_products() -> None:
    assert not ANY_MESSAGE.covers_advertisement(CHEAP_NEW_PRODUCT)


# 3.5 Information confidentiality for subscribers


def test_miklos_3_5_the_upper_bound_strictly_covers_what_is_subscribed_to() -> None:
    upper = Both(
        "(string message any, integer price any)", "message IS STRING AND price IS INTEGER"
    )
    assert upper.covers_strictly(CHEAP_NEW_PRODUCT)
    assert not upper.covers_strictly(NEW_PRODUCT)
    colored = Both(
        "(string message new_product, integer price < 100, string color any)",
        "message = 'new_product' AND price IS INTEGER AND price < 100 AND color IS STRING",
    )
    assert not upper.covers_strictly(colored)


def test_miklos_3_5_the_color_is_screened_out() -> None:
    event = {"message": "new_product", "price": 23, "color": "red"}
    for subscription in CHEAP_NEW_PRODUCT.readings:
        screened = subscription.screen(event)
        assert screened == Event.of({"message": "new_product", "price": 23})
        assert subscription.matches_strictly(screened)
        assert not subscription.matches_strictly(event)


def test_miklos_3_5_a_strict_lower_bound_sets_the_most_attributes() -> None:
    lower = Both(
        "(string message any, integer price any)", "message IS STRING AND price IS INTEGER"
    )
    assert lower.covers_advertisement_strictly(NEW_PRODUCT)
    assert lower.covers_advertisement_strictly(CHEAP_NEW_PRODUCT)
    colored = Both(
        "(string message any, string color any)", "message IS STRING AND color IS STRING"
    )
    assert not lower.covers_advertisement_strictly(colored)


# What the specification adds to the paper.


def test_nothing_advertises_the_empty_event() -> None:
    assert not ANY_MESSAGE.advertises({})
    assert not ANY_MESSAGE.advertises_strictly({})
    assert not Filter.everything().advertises({"x": 1})
    assert parse("x IS NULL").matches_strictly({})


def test_constraints_on_one_attribute_are_one_set() -> None:
    between = parse("price > 5 AND price < 100")
    assert between.advertises({"price": 50})
    assert not between.advertises({"price": 523})
    either = parse("price < 5 OR price > 100")
    assert either.advertises({"price": 523})
    assert not either.advertises({"price": 50})


def test_a_union_advertises_what_one_of_its_boxes_advertises() -> None:
    union = parse("(x = 1 AND y = 1) OR (x = 2 AND y = 2)")
    assert union.advertises_strictly({"x": 1, "y": 1})
    assert union.advertises_strictly({"x": 2})
    assert not union.advertises({"x": 1, "y": 2})


def test_is_null_names_its_attribute_and_allows_no_value() -> None:
    without = parse("x IS NULL AND y = 1")
    assert without.advertises_strictly({"y": 1})
    assert not without.advertises({"x": 5, "y": 1})
    assert without.advertises_strictly({"x": None, "y": 1})
    assert not parse("x IS NULL").advertises({"x": 5})


def test_broker_names_are_left_out_of_the_strict_relations_unless_named() -> None:
    event = {"x": 1, "$publisher": "anna"}
    assert parse("x = 1").matches_strictly(event)
    assert parse("x = 1").advertises_strictly(event)
    assert not parse("x = 1 AND $publisher = 'bert'").matches_strictly(event)
    assert not parse("x = 1 AND $publisher = 'bert'").advertises_strictly(event)
    assert parse("x = 1").covers_strictly(parse("x = 1 AND $publisher = 'anna'"))
    assert not parse("x = 1 AND $publisher = 'anna'").covers_strictly(parse("x = 1"))


def test_a_blank_is_missing_for_conditions_and_relations() -> None:
    blanks: list[object] = [None, {}]
    for blank in blanks:
        event = {"x": 1, "y": blank}
        assert parse("y IS NULL").matches(event)
        assert parse("x = 1").matches_strictly(event)
        assert parse("x = 1").advertises_strictly(event)
        assert not parse("y = 1").advertises(event)


def test_two_to_the_53_plus_1_is_not_two_to_the_53_as_a_double() -> None:
    assert not parse(f"x = {2**53 + 1}").matches({"x": 2.0**53})
    assert not parse(f"x = {2**53}.0").covers(parse(f"x = {2**53 + 1}"))
    assert parse(f"x > {2**53}.0").covers(parse(f"x = {2**53 + 1}"))
    assert parse(f"x = {2**53} AND x IS NUMBER").covers(parse(f"x = {2**53}.0"))


# Laws, on filters and events by chance.


def _worlds(seed: int, test: int, soak: int) -> Any:
    random = Random(seed)
    for _ in range(proof_size(test=test, soak=soak)):
        yield World.random(random), random


@pytest.mark.proof
def test_every_relation_to_an_event_is_as_specified(
    record_property: Callable[[str, object], None],
) -> None:
    seed = Random().randrange(2**32)
    judged = 0
    for world, random in _worlds(seed, 4, 400):
        for _ in range(30):
            formula = oracle.random_formula(world, random)
            filter_ = parse(written(formula))
            true, false = world.judge(formula)
            expected = {
                "matches": true,
                "matches_strictly": world.strictly_matched(formula),
                "advertises": world.advertised(formula, strict=False),
                "advertises_strictly": world.advertised(formula, strict=True),
            }
            likely = [events.bit_length() - 1 for events in expected.values() if events]
            for at in [random.randrange(world.size) for _ in range(12)] + likely:
                event = world.event(at)
                case = f"{written(formula)} and {event} (seed {seed})"
                for relation, events in expected.items():
                    judged += 1
                    assert getattr(filter_, relation)(event) is bool(events >> at & 1), (
                        f"{relation}: {case}"
                    )
                truth = True if true >> at & 1 else False if false >> at & 1 else None
                assert filter_.evaluate(event) is truth, case
    record_property(COUNTED, f"{judged:,} judgements of one event")


@pytest.mark.proof
def test_what_matches_matches_strictly_once_it_is_screened() -> None:
    seed = Random().randrange(2**32)
    matched = 0
    for world, random in _worlds(seed, 3, 300):
        for _ in range(30):
            formula = oracle.random_formula(world, random)
            filter_ = parse(written(formula))
            for _ in range(15):
                event = world.event(random.randrange(world.size))
                if filter_.matches(event):
                    matched += 1
                    screened = filter_.screen(event)
                    assert filter_.matches_strictly(screened), (written(formula), event, seed)
                    assert set(screened.attributes) <= filter_.names
    assert matched >= 100


@pytest.mark.proof
def test_strict_implies_plain() -> None:
    seed = Random().randrange(2**32)
    for world, random in _worlds(seed, 3, 300):
        for _ in range(30):
            formula = oracle.random_formula(world, random)
            filter_ = parse(written(formula))
            for _ in range(15):
                event = world.event(random.randrange(world.size))
                case = written(formula), event, seed
                assert filter_.matches(event) or not filter_.matches_strictly(event), case
                assert filter_.advertises(event) or not filter_.advertises_strictly(event), case


def _same(left: Filter, right: Filter) -> bool:
    """True for the same events, and false for the same events."""
    return all(
        one.covers(two)
        for one, two in ((left, right), (right, left), (~left, ~right), (~right, ~left))
    )


@pytest.mark.proof
def test_the_laws_of_kleene_hold() -> None:
    seed = Random().randrange(2**32)
    for world, random in _worlds(seed, 3, 300):
        for _ in range(15):
            texts = [written(oracle.random_formula(world, random, 2)) for _ in range(3)]
            f, g, h = map(parse, texts)
            case = (*texts, seed)
            assert _same(~~f, f), case
            assert _same(~(f & g), ~f | ~g), case
            assert _same(~(f | g), ~f & ~g), case
            assert _same(f & (g | h), (f & g) | (f & h)), case
            assert _same(f | (g & h), (f | g) & (f | h)), case
            assert _same(f & g, g & f), case
            assert _same(f | g, g | f), case
            assert _same(f & (f | g), f), case
            assert _same(f | (f & g), f), case
            assert _same(f & Filter.everything(), f), case
            assert _same(f | Filter.nothing(), f), case
            assert (f & ~f).is_empty(), case
            assert (f | g).covers(f), case
            assert f.covers(f & g), case
            assert (g | ~g).covers(f & ~f | ~g), case


def test_unknown_is_no_match_and_neither_is_its_opposite() -> None:
    cheap = parse("price < 5")
    for event in ({}, {"price": "1"}, {"price": None}, {"price": [1]}, {"price": True}):
        assert cheap.evaluate(event) is None
        assert (~cheap).evaluate(event) is None
        assert not cheap.matches(event)
        assert not (~cheap).matches(event)
    assert not (cheap | ~cheap).covers(Filter.everything())
    assert (cheap | ~cheap).covers(parse("price IS NUMBER"))


# Filters as values.


def test_filters_are_compared_by_what_is_written() -> None:
    assert parse("x = 1") == parse("(x = 1)")
    assert hash(parse("x = 1")) == hash(parse("1 = x"))
    assert parse("x = 1") != parse("x = 1.0")
    assert parse("x = 1") != parse("x = TRUE")
    assert parse("x = 1") != "x = 1"


def test_a_filter_is_kept_as_written_and_as_boxes() -> None:
    filter_ = parse("  (string message new_product) ")
    assert filter_.as_written == "  (string message new_product) "
    assert str(filter_) == "message = 'new_product'"
    assert repr(filter_) == """Filter.parse("message = 'new_product'")"""
    assert (filter_ & parse("x = 1")).as_written == "message = 'new_product' AND x = 1"
    assert len(filter_.boxes) == 1
    assert filter_.names == {"message"}


def test_a_filter_survives_copying_and_pickling() -> None:
    filter_ = parse("x LIKE 'a%b' AND y = 1 OR z + 1 > 2")
    filter_.matches({"x": "ab"})
    for again in (copy.deepcopy(filter_), pickle.loads(pickle.dumps(filter_))):
        assert again == filter_
        assert again.as_written == filter_.as_written
        assert again.matches({"x": "ab", "y": 1})


def test_everything_and_nothing_are_what_they_say() -> None:
    assert Filter.everything().matches({})
    assert Filter.everything().matches({"x": 1})
    assert not Filter.everything().matches_strictly({"x": 1})
    assert not Filter.nothing().matches({})
    assert Filter.nothing().is_empty()
    assert not Filter.everything().is_empty()
    assert parse("x = 1").covers(Filter.nothing())
    assert not Filter.nothing().covers(parse("x = 1"))


def test_an_example_beyond_is_an_event_or_nothing() -> None:
    assert parse("price < 100").example_beyond(parse("price < 10")) == {"price": 10}
    assert parse("price < 10").example_beyond(parse("price < 100")) is None
    assert Filter.everything().example_beyond(parse("EXISTS(x)")) == {}
    assert parse("x + 1 > 2").example_beyond(parse("y = 1")) == {"x": 2}


def test_a_residue_is_known_to_be_one() -> None:
    assert parse("x + 1 > 2").has_residue
    assert not parse("x > 1 + 1").has_residue
    assert not parse("x + 1 > 2").is_empty()


def test_limits_are_handed_on_to_what_is_made_of_a_filter() -> None:
    limits = FilterLimits(nodes=8)
    small = Filter.parse("x = 1 OR y = 2", limits)
    with pytest.raises(FilterTooComplexError):
        small & small
    assert len((parse("x = 1 OR y = 2") & parse("x = 1 OR y = 2")).boxes) == 3


def test_a_refusal_is_a_filter_error() -> None:
    with pytest.raises(FilterError):
        parse("x = ")
    with pytest.raises(FilterTooComplexError):
        parse("x = 1 AND " * 5_000 + "x = 1")


def test_numbers_are_tried_for_an_example_that_hangs_on_a_residue() -> None:
    wanted, other = parse("price * volume > 1000 AND side = 'buy'"), parse("price > 10")
    example = wanted.example_beyond(other)
    assert example is not None
    assert wanted.matches(example)
    assert not other.matches(example)
    assert parse("a * b = 391").example_beyond(parse("a + b > 5")) is None


def test_an_example_may_need_what_no_one_can_filter_on() -> None:
    kinds = "x IS STRING OR x IS NUMBER OR x IS BOOLEAN OR x IS TIMESTAMP"
    every = parse(f"{kinds} OR 'a' IN x OR NOT ('a' IN x)")
    assert parse("x IS NOT NULL").example_beyond(every) == {"x": OPAQUE}
