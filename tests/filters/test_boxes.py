"""Do boxes hold exactly the events for which a condition is true?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from headgate.filters.boxes import Box, boxes_where_true
from headgate.filters.filter import Filter
from headgate.filters.parsing import parse
from headgate.filters.syntax import Condition, Not
from headgate.filters.value_sets import ABSENT, EVERYTHING, VALUES, compared
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import FilterLimits
from headgate.model.values import OPAQUE
from tests.filters import oracle
from tests.filters.oracle import All, Formula, Opposite, Some, World, written
from tests.proofs import COUNTED, proof_size


def events_in(world: World, boxes: tuple[Box, ...]) -> int:
    """The events of a world that some box allows."""
    found = 0
    for box in boxes:
        inside = world.everything
        for name, allowed in box.sets.items():
            inside &= world.where(name, partial(allows, Box({"it": allowed})))
        found |= inside
    return found


def allows(box: Box, value: Any) -> bool:
    kind = oracle.kind(value)
    return box.allows({} if kind == "none" else {"it": OPAQUE if kind == "opaque" else value})


@pytest.mark.proof
def test_boxes_hold_exactly_the_events_for_which_a_condition_is_true(
    record_property: Callable[[str, object], None],
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    several = 0
    for _ in range(proof_size(test=8, soak=400)):
        world = World.random(random)
        for _ in range(50):
            formula = oracle.random_formula(world, random, 4)
            condition = parse(written(formula))
            true, false = world.judge(formula)
            case = f"{written(formula)} (seed {seed})"
            boxes = boxes_where_true(condition)
            several += len(boxes) > 2
            assert events_in(world, boxes) == true, case
            assert events_in(world, boxes_where_true(Not(condition))) == false, case
    record_property(COUNTED, f"{several:,} unions of more than two boxes")
    assert several >= 50


@pytest.mark.proof
def test_a_union_is_the_same_in_whatever_order_and_grouping_it_is_written() -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    for _ in range(proof_size(test=60, soak=2_000)):
        world = World.random(random) if random.random() < 0.1 else _WORLD
        parts = [oracle.random_formula(world, random, 1) for _ in range(4)]
        for join, other in ((Some, All), (All, Some)):
            forms: list[Formula] = [
                join(tuple(parts)),
                join(tuple(reversed(parts))),
                join((join((parts[2], parts[0])), join((parts[3], parts[1])))),
                Opposite(other(tuple(map(Opposite, parts)))),
            ]
            filters = [Filter.parse(written(form)) for form in forms]
            for one in filters[1:]:
                for relation in ("covers", "covers_strictly", "covers_advertisement_strictly"):
                    case = f"{relation}: {filters[0]} {one} (seed {seed})"
                    assert getattr(filters[0], relation)(one), case
                    assert getattr(one, relation)(filters[0]), case


_WORLD = World.random(Random(1))


def boxes_of(text: str) -> list[dict[str, object]]:
    return [dict(box.sets) for box in boxes_where_true(parse(text))]


def test_boxes_that_differ_in_one_attribute_become_one() -> None:
    assert boxes_of("x < 5 OR x >= 5") == boxes_of("x IS NUMBER")
    assert boxes_of("(x = 1 AND y = 1) OR (x = 2 AND y = 1)") == boxes_of("x IN (1, 2) AND y = 1")
    assert len(boxes_of("(x = 1 AND y = 1) OR (x = 2 AND y = 2)")) == 2


def test_an_impossible_box_keeps_its_names() -> None:
    assert boxes_of("x = 1 AND x = 2 AND y = 1") == [
        {"x": compared("=", 1) & compared("=", 2), "y": compared("=", 1)}
    ]


def test_what_is_always_true_names_nothing_and_what_is_never_has_no_box() -> None:
    assert boxes_of("TRUE") == [{}]
    assert boxes_of("FALSE") == []
    assert boxes_of("x = 1 AND FALSE") == []
    assert boxes_of("x = 1 OR TRUE") == [{"x": compared("=", 1)}, {}]


def test_presence_is_never_unknown() -> None:
    assert boxes_of("x IS NULL") == [{"x": ABSENT}]
    assert boxes_of("NOT x IS NULL") == boxes_of("EXISTS(x)") == [{"x": VALUES}]
    assert boxes_of("NOT x IS STRING OR x IS STRING") == [{"x": EVERYTHING}]


def test_a_list_of_two_types_is_never_known_not_to_hold() -> None:
    assert boxes_of("x NOT IN (1, 2)") == boxes_of("x <> 1 AND x <> 2")
    (box,) = boxes_where_true(parse("x NOT IN (1, 'a')"))
    assert box.is_empty()


def test_what_no_box_can_say_stays_beside_it_as_a_residue() -> None:
    (box,) = boxes_where_true(parse("x + 1 > 2 AND y = 1"))
    assert set(box.sets) == {"y"}
    assert len(box.residues) == 1
    assert box.names() == {"x", "y"}
    assert box.allows({"y": 1})
    (opposite,) = boxes_where_true(parse("NOT x < z"))
    assert opposite.residues == boxes_where_true(parse("x >= z"))[0].residues


def test_between_and_in_over_arithmetic_are_residues() -> None:
    assert len(boxes_where_true(parse("x + 1 BETWEEN 2 AND 3"))[0].residues) == 2
    assert [len(box.residues) for box in boxes_where_true(parse("x + 1 IN (2, 3)"))] == [1, 1]


# Bounds.


def exploding(pairs: int) -> Condition:
    return parse(" AND ".join(f"(a{at} = 1 OR b{at} = 1)" for at in range(pairs)))


def test_a_filter_of_too_many_boxes_is_refused() -> None:
    assert len(boxes_where_true(exploding(10))) == 1_024
    with pytest.raises(FilterTooComplexError, match="at most 512 boxes"):
        boxes_where_true(exploding(10), FilterLimits(boxes=512))
    with pytest.raises(FilterTooComplexError):
        boxes_where_true(exploding(11))


@pytest.mark.parametrize("pairs", [20, 200, 1_000])
def test_a_filter_that_explodes_is_refused_early(pairs: int) -> None:
    with pytest.raises(FilterTooComplexError):
        boxes_where_true(exploding(pairs))


def test_a_filter_that_takes_too_many_steps_is_refused() -> None:
    with pytest.raises(FilterTooComplexError):
        boxes_where_true(exploding(8), FilterLimits(normal_form_steps=100))


def test_thousands_of_alternatives_on_one_attribute_are_one_box() -> None:
    (box,) = boxes_where_true(parse(" OR ".join(f"x = {at}" for at in range(3_000))))
    assert box.allows({"x": 2_999})
    assert not box.allows({"x": 3_000})
    assert not box.allows({"x": 0.5})


def test_long_lists_count_by_their_length_when_multiplied_out() -> None:
    def lists(length: int) -> str:
        values = ", ".join(str(2 * at) for at in range(length))
        return " AND ".join(f"(a{at} IN ({values}) OR b{at} = 1)" for at in range(10))

    assert len(boxes_where_true(parse(lists(5)))) == 1_024
    with pytest.raises(FilterTooComplexError):
        boxes_where_true(parse(lists(500)))
