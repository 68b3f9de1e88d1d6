"""Are sets of values exact, point by point?"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.filters import value_sets
from headgate.filters.likeness import Pattern
from headgate.filters.line import double_rank, moment_rank, ranked_double
from headgate.filters.syntax import ComparisonSign
from headgate.filters.value_sets import (
    ABSENT,
    EVERYTHING,
    NOTHING,
    VALUES,
    ValueSet,
    compared,
)
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import OPAQUE, Kind, Scalar, Value
from tests.filters import oracle
from tests.proofs import COUNTED, proof_size

SIGNS: list[ComparisonSign] = ["=", "<>", "<", "<=", ">", ">="]
CONSTANTS: list[Scalar] = [*oracle.NUMBERS, *oracle.TEXTS, *oracle.MOMENTS]
SETS: list[Value] = [frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")]
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


def points() -> list[Value | None]:
    """One value of every cell that the constants make, and those at every end."""
    found: list[Any] = [None, OPAQUE, True, False, *SETS, FIRST, LAST]
    found += oracle.numbers_around(oracle.NUMBERS)
    found += [one + timedelta(microseconds=step) for one in oracle.MOMENTS for step in (-1, 0, 1)]
    return [*found, *oracle.short_texts(oracle.TEXT_LENGTH)]


def random_set(random: Random, depth: int) -> tuple[ValueSet, Any]:
    """A set, and an obvious test of what is in it."""
    if depth == 0:
        return _simple_set(random)
    (left, in_left), (right, in_right) = (
        random_set(random, depth - 1),
        random_set(random, random.randrange(depth)),
    )
    choice = random.randrange(4)
    if choice == 0:
        return ~left, lambda value: not in_left(value)
    if choice == 1:
        return left | right, lambda value: in_left(value) or in_right(value)
    if choice == 2:
        return left & right, lambda value: in_left(value) and in_right(value)
    return (
        value_sets.union([left, right, right, left]),
        lambda value: in_left(value) or in_right(value),
    )


def _simple_set(random: Random) -> tuple[ValueSet, Any]:
    choice = random.randrange(5)
    if choice == 0:
        text = random.choice("ab")
        return value_sets.containing(
            text
        ), lambda value: isinstance(value, frozenset) and text in value
    if choice == 1:
        pattern = random.choice(oracle.PATTERNS)
        return value_sets.like(
            Pattern.read(pattern)
        ), lambda value: isinstance(value, str) and oracle.fits(pattern, value)
    if choice == 2:
        kind = random.choice(list(Kind))
        return value_sets.of_kinds([kind]), lambda value: _kind(value) == kind.value
    if choice == 3:
        return ABSENT, lambda value: value is None
    sign, constant = random.choice(SIGNS), random.choice(CONSTANTS)
    return compared(sign, constant), lambda value: oracle.compared(sign, value, constant) is True


def _kind(value: Value | None) -> str:
    return "opaque" if value is OPAQUE else oracle.kind(value)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_comparison_holds_exactly_the_values_that_compare_so(sign: ComparisonSign) -> None:
    everything = points()
    for constant in [*CONSTANTS, True, False]:
        if isinstance(constant, bool) and sign not in ("=", "<>"):
            continue
        chosen = compared(sign, constant)
        for value in everything:
            expected = oracle.compared(sign, value, constant) is True
            assert (value in chosen) is expected, f"{value!r} {sign} {constant!r}"


@pytest.mark.proof
def test_sets_made_of_sets_hold_point_by_point_what_they_should(record_property: Any) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    everything = points()
    empty = 0
    for _ in range(proof_size(test=400, soak=20_000)):
        made, inside = random_set(random, 3)
        for value in everything:
            assert (value in made) is bool(inside(value)), f"{value!r} in {made} (seed {seed})"
        has_any = any(map(inside, everything))
        empty += not has_any
        assert made.is_empty() is not has_any, f"{made} (seed {seed})"
        if has_any:
            assert inside(made.example()), f"{made.example()!r} in {made} (seed {seed})"
    record_property(COUNTED, f"{empty:,} of them empty")


@pytest.mark.proof
def test_patterns_are_empty_together_exactly_where_no_short_text_fits(record_property: Any) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    texts = ["".join(chars) for size in range(7) for chars in product("Aabc", repeat=size)]
    fitting = cache(lambda pattern: frozenset(t for t in texts if oracle.fits(pattern, t)))
    empty = 0
    for _ in range(proof_size(test=600, soak=50_000)):
        made, left = value_sets.STRINGS, frozenset(texts)
        said = []
        for at in range(random.randrange(2, 4)):
            pattern = "".join(
                random.choices("ab%_", weights=(2, 2, 3, 2), k=random.randrange(1, 5))
            )
            wanted = at == 0 or random.random() < 0.4
            chosen = value_sets.like(Pattern.read(pattern))
            made = made & (chosen if wanted else ~chosen)
            left = left & fitting(pattern) if wanted else left - fitting(pattern)
            said.append(f"{'' if wanted else 'NOT '}{pattern}")
        empty += not left
        assert made.is_empty() is not bool(left), f"{said}: {sorted(left)[:3]} (seed {seed})"
        assert not left or made.example() in made, f"{said} (seed {seed})"
    record_property(COUNTED, f"{empty:,} of them empty")
    assert empty >= 100


@pytest.mark.proof
def test_containing_and_overlapping_are_what_they_are_point_by_point() -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    everything = points()
    for _ in range(proof_size(test=400, soak=20_000)):
        left, in_left = random_set(random, 2)
        right, in_right = random_set(random, random.randrange(3))
        if random.random() < 0.5:
            right, in_right = left & right, _both(in_left, in_right)
        pairs = [(bool(in_left(value)), bool(in_right(value))) for value in everything]
        case = f"{left} {right} (seed {seed})"
        assert left.issuperset(right) is ((False, True) not in pairs), case
        assert left.isdisjoint(right) is ((True, True) not in pairs), case


def _both(left: Any, right: Any) -> Any:
    return lambda value: left(value) and right(value)


@pytest.mark.proof
def test_a_sweep_over_many_is_the_same_as_one_after_the_other() -> None:
    random = Random(7)
    for _ in range(proof_size(test=100, soak=5_000)):
        sets = [random_set(random, random.randrange(2))[0] for _ in range(random.randrange(8))]
        united, common = NOTHING, EVERYTHING
        for one in sets:
            united, common = united | one, common & one
        for value in points()[::3]:
            assert (value in value_sets.union(sets)) is (value in united)
            assert (value in value_sets.intersection(sets)) is (value in common)


def test_sets_without_tests_are_written_in_one_way_only() -> None:
    below, above = compared("<", 5), compared(">=", 5)
    assert below | above == value_sets.NUMBERS
    assert below & above == NOTHING
    assert ~~below == below
    assert ~EVERYTHING == NOTHING
    assert ABSENT | VALUES == EVERYTHING
    assert value_sets.of_kinds(Kind) == VALUES


def test_between_neighbours_there_is_nothing() -> None:
    doubles = value_sets.of_kinds([Kind.DOUBLE])
    integers = value_sets.of_kinds([Kind.INTEGER])
    gaps: list[tuple[Scalar, Scalar, ValueSet]] = [
        (5, 6, integers),
        (1.0, math.nextafter(1.0, 2), doubles),
        (0.0, 5e-324, doubles),
        (-5e-324, 0.0, doubles),
        (2.0**53, 2**53 + 1, integers),
        (INTEGER_MAX, 2.0**63, integers),
        ("a", "a\0", value_sets.STRINGS),
    ]
    for low, high, kind in gaps:
        gap = compared(">", low) & compared("<", high) & kind
        assert gap.is_empty(), (low, high)
        assert not (compared(">=", low) & compared("<=", high)).is_empty()


def test_beyond_the_ends_there_is_nothing() -> None:
    greatest, least = 1.7976931348623157e308, -1.7976931348623157e308
    assert compared(">", greatest).is_empty()
    assert compared("<", least).is_empty()
    assert compared("<", FIRST).is_empty()
    assert compared(">", LAST).is_empty()
    assert compared("<", "").is_empty()
    assert not compared(">", "\U0010ffff").is_empty()
    assert (compared("<", INTEGER_MIN) & value_sets.of_kinds([Kind.INTEGER])).is_empty()
    assert not (compared("<", INTEGER_MIN) & value_sets.of_kinds([Kind.DOUBLE])).is_empty()


def test_two_to_the_53_plus_1_is_no_double() -> None:
    assert 2.0**53 not in compared("=", 2**53 + 1)
    assert 2**53 + 1 not in compared("=", 2.0**53)
    assert 2**53 in compared("=", 2.0**53)
    assert 2.0**63 in compared(">", INTEGER_MAX)
    assert -0.0 in compared("=", 0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_rank_gives_its_double_back(number: float) -> None:
    assert ranked_double(double_rank(number)) == number


@given(*[st.floats(allow_nan=False, allow_infinity=False)] * 2)
def test_ranks_are_in_the_order_of_the_doubles(left: float, right: float) -> None:
    assert (double_rank(left) < double_rank(right)) is (left < right)


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=1e308))
def test_the_next_double_has_the_next_rank(number: float) -> None:
    assert double_rank(math.nextafter(number, math.inf)) == double_rank(number) + 1


@given(st.datetimes(timezones=st.just(UTC)))
def test_moments_are_a_microsecond_of_rank_apart(moment: datetime) -> None:
    if moment < LAST:
        assert moment_rank(moment + timedelta(microseconds=1)) == moment_rank(moment) + 1


def test_an_example_is_simple_where_it_can_be() -> None:
    assert compared(">", 2.5).example() == 3
    assert compared("<", 100).example() == 0
    assert (compared(">", 0.2) & compared("<", 0.31)).example() == 0.3
    assert value_sets.like(Pattern.read("%b_")).example() == "bb"
    assert EVERYTHING.example() is None
    assert (value_sets.containing("a") & ~value_sets.containing("b")).example() == {"a"}


def _all_of_either(number: int) -> ValueSet:
    made = EVERYTHING
    for at in range(number):
        low, high = (value_sets.like(Pattern.read(f"%{at}{end}%")) for end in "ab")
        made &= low | high
    return made


def test_too_many_patterns_on_one_attribute_are_an_error() -> None:
    assert len(_all_of_either(8).cells) == 256
    with pytest.raises(FilterTooComplexError, match="256 cases"):
        _all_of_either(9)


def test_an_answer_that_another_thread_forgets_is_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Forgotten(dict[value_sets.Cell, Value | None]):
        def __contains__(self, cell: object) -> bool:
            found = super().__contains__(cell)
            self.clear()  # right after the look, before the answer is taken
            return found

    monkeypatch.setattr(value_sets, "_examples", Forgotten())
    fitting = value_sets.like(Pattern.read("%a_c%"))
    assert fitting.example() == fitting.example() == "aac"
