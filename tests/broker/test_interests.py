"""Is a set of interests owed what it says, and does it cover what it claims to?"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.broker.interests import (
    ALWAYS,
    EVERYTHING,
    NOTHING,
    STEPS_MAX,
    Interest,
    InterestSet,
    consolidated,
    covers,
)
from headgate.filters.filter import Filter
from headgate.log.records import Record
from headgate.model.errors import FilterError, FilterTooComplexError
from tests.broker.parts import record, stepwise, wishes

VERSIONS = range(6)
FILTERS = ["FALSE", "a = 1", "a = 2", "a < 3", "a IN (1, 2)", "TRUE"]
RECORDS = [record(1, a, version) for a, version in product((1, 2, 3, 9), VERSIONS)]

interests = st.lists(
    st.tuples(st.sampled_from(VERSIONS), st.sampled_from(FILTERS)),
    min_size=1, max_size=4, unique_by=lambda step: step[0],
).map(lambda steps: stepwise(*sorted(steps)))  # fmt: skip
sets = st.builds(
    InterestSet, st.sampled_from([*VERSIONS, ALWAYS]), st.frozensets(interests, max_size=3)
)


def owed(one: InterestSet, since: int = 0) -> list[Record]:
    """By the words: everything beyond what is known, and before the first step of an entry."""
    found = []
    for each in RECORDS:
        if each.version < since:
            continue
        for entry in one.entries:
            held = [one for version, one in entry.steps if version <= each.version]
            if each.version > one.known or not held or held[-1].matches(each.event):
                found.append(each)
                break
    return found


@given(sets)
def test_a_set_wants_what_it_is_owed_and_nothing_else(one: InterestSet) -> None:
    assert [each for each in RECORDS if one.wants(each)] == owed(one)


@given(sets, sets, st.sampled_from(VERSIONS))
def test_a_set_that_covers_another_is_owed_all_that_the_other_is(
    wide: InterestSet, narrow: InterestSet, since: int
) -> None:
    if wide.covers(narrow, since):
        missing = [one for one in owed(narrow, since) if one not in owed(wide, since)]
        assert missing == []


@given(sets, st.sampled_from(VERSIONS))
def test_a_set_covers_itself_and_nothing_covers_nothing(one: InterestSet, since: int) -> None:
    assert one.covers(one, since)
    assert one.covers(NOTHING, since)
    assert not NOTHING.covers(one, since) or not one.entries


@given(sets)
def test_a_consolidated_set_is_owed_the_same_in_no_more_words(one: InterestSet) -> None:
    assert owed(consolidated(one)) == owed(one)
    assert consolidated(one).entries <= one.entries


@given(interests)
def test_an_interest_is_read_as_it_was_written(one: Interest) -> None:
    assert Interest.from_wire(one.to_wire()) == one
    assert hash(Interest.from_wire(one.to_wire())) == hash(one)


def test_a_filter_holds_from_its_version_to_the_next() -> None:
    one = stepwise((2, "a = 1"), (4, "a = 2"))
    held = [one.at(version) for version in range(6)]
    first, second = Filter.parse("a = 1"), Filter.parse("a = 2")
    assert held == [None, None, first, first, second, second]


def test_a_filter_covers_only_at_the_versions_that_count() -> None:
    wide = InterestSet(9, frozenset({stepwise((0, "a = 1"), (3, "TRUE"))}))
    assert wide.covers(wishes("a = 2", known=9), since=3)
    assert not wide.covers(wishes("a = 2", known=9), since=2)


def test_who_knows_more_versions_than_another_does_not_cover_what_that_one_gets_of_them() -> None:
    assert not wishes("TRUE", known=5).covers(wishes("TRUE", known=4), since=0) or wishes(
        "TRUE", known=5
    ).wants(record(1, 9, 5))
    assert not wishes("a = 1", known=5).covers(wishes("a = 1", known=4), since=0)
    assert wishes("a = 1", known=4).covers(wishes("a = 1", known=5), since=0)


def test_who_is_owed_everything_covers_all_others_whatever_they_know() -> None:
    for known in (0, 4, ALWAYS):
        assert wishes("TRUE", "a = 1", known=ALWAYS).covers(wishes("a = 2", known=known), since=0)
    assert EVERYTHING.covers(wishes("TRUE", known=4), since=0)


def test_like_interests_are_one_and_covered_ones_are_none() -> None:
    assert consolidated(wishes("a = 1", "a < 3", "b = 1")) == wishes("a < 3", "b = 1")


def test_an_interest_stands_for_another_only_where_it_covers_it_at_every_version() -> None:
    late, early = stepwise((0, "a = 1"), (3, "TRUE")), stepwise((0, "a < 3"), (3, "TRUE"))
    small = Interest.always(Filter.parse("a = 2"))
    for wide, kept in ((late, {late, small}), (early, {early})):
        assert consolidated(InterestSet(9, frozenset({wide, small}))).entries == kept


def test_a_marker_is_owed_to_nobody() -> None:
    assert not wishes("TRUE").wants(record(1, None))


def test_an_interest_keeps_no_step_that_changes_nothing_and_no_more_than_matter() -> None:
    assert stepwise((1, "TRUE"), (2, "TRUE")) == stepwise((1, "TRUE"))
    many = stepwise(*((version, f"a = {version}") for version in range(STEPS_MAX + 5)))
    assert len(many.steps) == STEPS_MAX
    assert many.at(0) is None, "what is too old to be told is everything"
    assert many.at(STEPS_MAX + 4) == Filter.parse(f"a = {STEPS_MAX + 4}")


@pytest.mark.parametrize(
    "steps", [[], [(2, "TRUE"), (1, "TRUE")], [(1, "TRUE"), (1, "FALSE")], [(1, "a ~ 2")]]
)
def test_nonsense_is_no_interest(steps: list[tuple[int, str]]) -> None:
    with pytest.raises(FilterError):
        Interest.from_wire(steps)


def test_a_comparison_that_takes_too_long_is_a_no() -> None:
    random = Random(3)
    names = [f"a{at}" for at in range(60)]
    clauses = [
        " AND ".join(f"{name} = {random.choice(('TRUE', 'FALSE'))}" for name in chosen)
        for chosen in (random.sample(names, 3) for _ in range(300))
    ]
    hard = Filter.parse(" OR ".join(f"({clause})" for clause in clauses))
    narrow = Filter.parse(" AND ".join(f"{name} IS BOOLEAN" for name in names))
    with pytest.raises(FilterTooComplexError):
        hard.covers(narrow)
    assert not covers(hard, narrow)
    assert covers(hard, hard)
