"""Do values compare exactly, and does arithmetic stay within the numbers?"""

import math
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.filters.arithmetic import calculate, compare, is_number, negate
from headgate.filters.syntax import OPPOSITE, ArithmeticSign, ComparisonSign
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import OPAQUE, Value
from tests.filters.language_strategies import (
    ARITHMETIC_SIGNS,
    DOUBLES_AT_EDGES,
    INTEGERS_AT_EDGES,
    SIGNS,
    VALUES,
)

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
INTEGERS = st.sampled_from(INTEGERS_AT_EDGES) | st.integers(INTEGER_MIN, INTEGER_MAX)
DOUBLES = st.sampled_from(DOUBLES_AT_EDGES) | st.floats(allow_nan=False, allow_infinity=False)


@given(INTEGERS | DOUBLES, INTEGERS | DOUBLES)
def test_numbers_compare_exactly_whatever_their_kinds(one: float, other: float) -> None:
    difference = Fraction(one) - Fraction(other)
    assert compare("=", one, other) is (difference == 0)
    assert compare("<>", one, other) is (difference != 0)
    assert compare("<", one, other) is (difference < 0)
    assert compare("<=", one, other) is (difference <= 0)
    assert compare(">", one, other) is (difference > 0)
    assert compare(">=", one, other) is (difference >= 0)


@given(VALUES, VALUES, st.sampled_from(SIGNS))
def test_a_sign_and_its_opposite_are_unknown_together(
    one: Value, other: Value, sign: ComparisonSign
) -> None:
    said, denied = compare(sign, one, other), compare(OPPOSITE[sign], one, other)
    assert (said is None) == (denied is None)
    assert said is None or said is not denied


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"), (1, True), (0, False), (1.0, True), ("a", None), (None, None), (NOON, "2026"),
        (NOON, 0), (frozenset(), frozenset()), (frozenset({"a"}), "a"), (OPAQUE, OPAQUE),
        (OPAQUE, 1), ("", False),
    ],
)  # fmt: skip
def test_values_of_two_kinds_never_compare(
    one: Value | None, other: Value | None, sign: ComparisonSign
) -> None:
    assert compare(sign, one, other) is None
    assert compare(sign, other, one) is None


def test_booleans_are_equal_or_not_but_have_no_order() -> None:
    assert compare("=", True, True) is True
    assert compare("<>", True, False) is True
    assert compare("=", True, False) is False
    assert [compare(sign, False, True) for sign in SIGNS[2:]] == [None] * 4


@pytest.mark.parametrize(
    ("left", "sign", "right", "result"),
    [
        (7, "/", 2, 3), (-7, "/", 2, -3), (7, "/", -2, -3), (-7, "/", -2, 3),
        (7, "%", 2, 1), (-7, "%", 2, -1), (7, "%", -2, 1), (-7, "%", -2, -1),
        (0, "/", -5, 0), (0, "%", 5, 0), (6, "/", 3, 2),
        (INTEGER_MAX, "+", 0, INTEGER_MAX), (INTEGER_MAX, "+", 1, None),
        (INTEGER_MIN, "-", 1, None), (INTEGER_MIN, "+", INTEGER_MAX, -1),
        (INTEGER_MIN, "/", -1, None), (INTEGER_MIN, "*", -1, None), (INTEGER_MIN, "%", -1, 0),
        (2**32, "*", 2**31, None), (2**32, "*", -(2**31), INTEGER_MIN),
        (INTEGER_MAX, "/", 1, INTEGER_MAX), (2**53 + 1, "+", 1, 2**53 + 2),
        (INTEGER_MAX, "+", 1.0, 2.0**63), (INTEGER_MAX, "*", 1.0, 2.0**63),
        (7, "/", 2.0, 3.5), (7.5, "%", 2, 1.5), (-7.5, "%", 2, -1.5), (7.5, "%", -2, 1.5),
        (1, "/", 0, None), (1, "%", 0, None), (1.0, "/", 0, None), (1.0, "%", 0.0, None),
        (0.0, "/", 0.0, None), (1, "/", -0.0, None),
        (1e308, "*", 10, None), (1e308, "+", 1e308, None), (-1e308, "-", 1e308, None),
        (1e308, "/", 5e-324, None), (5e-324, "/", 2, 0.0), (5e-324, "*", 0.1, 0.0),
        (1e308, "%", 3, math.fmod(1e308, 3.0)),
        (True, "+", 1, None), (1, "+", True, None), ("1", "+", 1, None), (None, "+", 1, None),
        (1, "*", None, None), (NOON, "-", NOON, None), (OPAQUE, "+", 1, None),
        (frozenset({"a"}), "-", frozenset({"a"}), None), ("a", "%", "b", None),
        ("a", "*", 3, None),
    ],
)  # fmt: skip
def test_arithmetic_comes_to_this(
    left: object, sign: ArithmeticSign, right: object, result: float | None
) -> None:
    found = calculate(sign, left, right)
    assert found == result
    assert type(found) is type(result)


@given(st.sampled_from(ARITHMETIC_SIGNS), INTEGERS | DOUBLES, INTEGERS | DOUBLES)
def test_a_result_is_a_finite_number_within_its_kind_or_unknown(
    sign: ArithmeticSign, left: float, right: float
) -> None:
    found = calculate(sign, left, right)
    if found is None:
        return
    if type(left) is int and type(right) is int:
        assert type(found) is int
        assert INTEGER_MIN <= found <= INTEGER_MAX
    else:
        assert type(found) is float
        assert math.isfinite(found)


@given(INTEGERS, INTEGERS.filter(bool))
def test_a_quotient_and_its_remainder_make_the_whole(left: int, right: int) -> None:
    quotient, rest = calculate("/", left, right), calculate("%", left, right)
    assert rest is not None
    assert abs(rest) < abs(right)
    assert rest == 0 or (rest < 0) == (left < 0)
    if quotient is None:
        assert (left, right) == (INTEGER_MIN, -1)
    else:
        assert quotient * right + rest == left


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (5, -5), (-5, 5), (0, 0), (1.5, -1.5), (INTEGER_MAX, -INTEGER_MAX), (INTEGER_MIN, None),
        (True, None), ("5", None), (None, None), (OPAQUE, None), (NOON, None),
    ],
)  # fmt: skip
def test_only_numbers_are_negated(value: object, result: float | None) -> None:
    assert negate(value) == result
    assert type(negate(value)) is type(result)


def test_a_boolean_is_no_number() -> None:
    assert is_number(1)
    assert is_number(1.0)
    for value in (True, False, "1", None, OPAQUE):
        assert not is_number(value)
