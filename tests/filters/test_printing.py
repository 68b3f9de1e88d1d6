"""Is a filter read from what it is printed as, and printed in one way only?"""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.filters.filter import Filter
from headgate.filters.parsing import parse
from headgate.filters.printing import (
    print_condition,
    print_expression,
    print_name,
    print_text,
    print_value,
)
from headgate.filters.syntax import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Contains,
    In,
    Like,
    Name,
    Negated,
    Not,
    Or,
    Present,
    literal,
)
from headgate.model.values import Scalar
from tests.filters.language_strategies import (
    NASTY,
    NASTY_NAMES,
    SCALARS,
    TEXTS,
    TEXTS_AT_EDGES,
    conditions,
)
from tests.filters.test_parsing import VALID
from tests.proofs import proof_size


@settings(max_examples=proof_size(test=800, soak=40_000))
@pytest.mark.proof
@given(conditions(NASTY))
@example(Not(Constant(True)))
@example(In(Name("a"), (literal(-1), literal(-0.5), literal(-(2**63)))))
@example(And((Or((Constant(True), Constant(False))), Not(And((Constant(True),) * 2)))))
@example(Contains("it's", Name("exists")))
@example(Like(Name("timestamp"), "''%", "'"))
def test_what_is_printed_is_read_as_the_same_tree(node: Condition) -> None:
    printed = print_condition(node)
    assert parse(printed) == node
    assert Filter(node).as_written == str(Filter(node)) == printed


def test_printing_again_what_was_read_changes_nothing() -> None:
    for text in VALID:
        printed = print_condition(parse(text))
        assert parse(printed) == parse(text), text
        assert print_condition(parse(printed)) == printed, text


@given(NASTY)
@example('a"b')
def test_a_name_of_any_characters_is_read_back(name: str) -> None:
    assert parse(f"{print_name(name)} IS NOT NULL") == Present(Name(name))
    assert parse(f"'x' IN {print_name(name)}") == Contains("x", Name(name))


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_a_nasty_name_is_read_back_in_every_place(name: str) -> None:
    shown = print_name(name)
    for node in (
        Comparison("=", Name(name), literal(True)),
        Comparison("<", Arithmetic("-", Name(name), Negated(Name(name))), Name(name)),
        Not(Present(Name(name))),
        Or((Comparison("=", Name(name), literal("x")), Constant(False))),
    ):
        assert parse(print_condition(node)) == node
        assert shown in print_condition(node)
    assert parse(f"({shown})") == Comparison("=", Name(name), literal(True))
    assert parse(f"EXISTS({shown})") == Present(Name(name))


@given(TEXTS)
def test_a_text_of_any_characters_is_read_back(text: str) -> None:
    assert parse(f"a = {print_text(text)}") == Comparison("=", Name("a"), literal(text))


@given(SCALARS)
def test_a_value_is_read_back_with_its_kind(value: Scalar) -> None:
    assert parse(f"a = {print_value(value)}") == Comparison("=", Name("a"), literal(value))
    assert parse(f"a IN ({print_value(value)})") == In(Name("a"), (literal(value),))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a=1and not(b or c)", "a = 1 AND NOT (b = TRUE OR c = TRUE)"),
        ("((a)) or ((b)) and ((c))", "a = TRUE OR b = TRUE AND c = TRUE"),
        ("(a or b) and c", "(a = TRUE OR b = TRUE) AND c = TRUE"),
        ("not (a is null)", "NOT (a IS NULL)"),
        ("exists(a)", "a IS NOT NULL"),
        ("not not a", "NOT (NOT (a = TRUE))"),
        ("not a between 1 and 2", "a NOT BETWEEN 1 AND 2"),
        ("a in (1,-1)", "a IN (1, -1)"),
        ("a+b-c=0 and a-(b-c)=0", "a + b - c = 0 AND a - (b - c) = 0"),
        ("(a+b)*c=0", "(a + b) * c = 0"),
        ("(a-b)/c=0 and (a+b)%c=0", "(a - b) / c = 0 AND (a + b) % c = 0"),
        ("a*b*c=0 and a*(b*c)=0", "a * b * c = 0 AND a * (b * c) = 0"),
        ("-(a+b)=0", "-(a + b) = 0"),
        ("(-a)*b=0", "-a * b = 0"),
        ("a - -b = 0", "a - -b = 0"),
        ("a = 1e16", "a = 1e+16"),
        ("a = 1.", "a = 1.0"),
        ("a = -0.0", "a = 0.0"),
        ('"a"."b c" = \'x\'', "\"a.b c\" = 'x'"),
        ("\"string\" = 'x'", "string = 'x'"),
        ("\"not\" = 'x'", "\"not\" = 'x'"),
        ("a < timestamp '2026-01-31'", "a < TIMESTAMP '2026-01-31T00:00:00Z'"),
        ("a like 'x!%' escape '!'", "a LIKE 'x!%' ESCAPE '!'"),
        ("(string a b, integer c any)", "a = 'b' AND c IS INTEGER"),
    ],
)
def test_a_filter_is_printed_like_this(text: str, printed: str) -> None:
    assert print_condition(parse(text)) == printed


def test_one_value_is_printed_in_one_way() -> None:
    assert print_value(True) == "TRUE"
    assert print_value(1) == "1"
    assert print_value(1.0) == "1.0"
    assert print_value("1") == "'1'"
    assert print_expression(Negated(Name("in"))) == '-"in"'
    assert len({print_text(text) for text in TEXTS_AT_EDGES}) == len(TEXTS_AT_EDGES)


@given(st.lists(NASTY, min_size=1, max_size=4, unique=True))
def test_different_names_are_printed_differently(names: list[str]) -> None:
    assert len({print_name(name) for name in names}) == len(names)
