"""Across modules: do the fast answers agree with the slow and obvious ones?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headgate.filters import value_sets
from headgate.filters.compiling import compile_condition
from headgate.filters.evaluation import evaluate
from headgate.filters.likeness import Effort, Pattern
from headgate.filters.syntax import (
    Arithmetic,
    ArithmeticSign,
    Comparison,
    ComparisonSign,
    Expression,
    Like,
    Name,
    Negated,
    Not,
    comparison,
    literal,
)
from headgate.filters.value_sets import Cell
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import OPAQUE, Value
from tests.proofs import proof_size

NUMBERS: list[int | float] = [0, 1, -1, 2, 3, -7, 2**53 + 1, INTEGER_MAX, INTEGER_MIN]
NUMBERS += [0.0, -0.0, 0.5, -2.5, 3.0, 1e19, 5e-324, 1.7e308, -1.7e308]
OTHERS: list[Value] = [True, False, "", "a", datetime(2026, 1, 1, tzinfo=UTC), frozenset("a")]
COMPARISONS: list[ComparisonSign] = ["=", "<>", "<", "<=", ">", ">="]
ARITHMETIC: list[ArithmeticSign] = ["+", "-", "*", "/", "%"]

names = st.sampled_from("xyz").map(Name)
numbers = st.sampled_from(NUMBERS)
leaves: st.SearchStrategy[Expression] = st.one_of(names, names, numbers.map(literal))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(Negated),
        st.builds(Arithmetic, st.sampled_from(ARITHMETIC), inner, inner),
    ),
    max_leaves=6,
)
residues = st.builds(
    comparison,
    st.sampled_from(COMPARISONS),
    st.one_of(names, expressions),
    st.one_of(names, expressions),
)
events = st.dictionaries(
    st.sampled_from("xyz"), st.one_of(numbers, numbers, st.sampled_from([*OTHERS, OPAQUE]))
)
patterns = st.text(alphabet="ab%_", max_size=6)


@pytest.mark.proof
@settings(max_examples=proof_size(test=1_000, soak=20_000))
@given(node=residues, event=events)
def test_compiled_arithmetic_agrees_with_evaluation(
    node: Comparison, event: dict[str, Value]
) -> None:
    expected = evaluate(node, event)
    assert compile_condition(node)(event) is (expected is True)
    assert compile_condition(Not(node))(event) is (expected is False)


@pytest.mark.proof
@settings(max_examples=proof_size(test=1_000, soak=20_000))
@given(pattern=patterns, text=st.text(alphabet="abc", max_size=9))
def test_a_compiled_pattern_fits_the_same_texts(pattern: str, text: str) -> None:
    expected = Pattern.read(pattern).matches(text)
    node = Like(Name("x"), pattern)
    assert compile_condition(node)({"x": text}) is expected
    assert compile_condition(Not(node))({"x": text}) is not expected


@pytest.mark.proof
@settings(max_examples=proof_size(test=1_000, soak=20_000))
@given(
    tests=st.dictionaries(patterns.map(Pattern.read), st.booleans(), min_size=1, max_size=3),
    low=st.sampled_from(["", "a", "ab", "b"]),
    end=st.sampled_from([None, "\0", "b", "c"]),
)
def test_a_cell_is_possible_exactly_where_the_search_finds_a_text(
    tests: dict[Pattern, bool], low: str, end: str | None
) -> None:
    stretch = value_sets._text_between(low, None if end is None else low + end)
    cell = Cell(stretch.bounds, frozenset(tests.items()))
    try:
        found = value_sets._searched(cell, Effort())
    except FilterTooComplexError:
        assume(False)
    assert value_sets._is_possible(cell, Effort()) is (found is not None)
