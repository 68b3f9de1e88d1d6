"""Are the keys of a line in the order of its values?"""

from hypothesis import given
from hypothesis import strategies as st

from headgate.filters.filter import Filter
from headgate.filters.line import ranked_double
from headgate.matching.pieces import (
    MISSING_KEY,
    Piece,
    Role,
    View,
    number_keys,
    pieces_of,
    text_key,
)
from tests.filters.language_strategies import TEXTS


def pieces(text: str) -> list[Piece]:
    (box,) = Filter.parse(text).boxes
    return pieces_of(box.sets["a"])


@given(TEXTS, TEXTS)
def test_keys_of_texts_are_in_the_order_of_texts(one: str, other: str) -> None:
    low, high = sorted((one, other))
    low_key, high_key = text_key(low.encode()), text_key(high.encode())
    assert MISSING_KEY < low_key <= high_key < 2**63
    if len(low.encode()) <= 7 and low != high:
        assert low_key < high_key


@given(st.integers(-(2**63), 2**63 - 1))
def test_the_keys_of_an_integer_are_the_doubles_next_to_it(number: int) -> None:
    down, up = map(ranked_double, number_keys(number))
    assert down <= number <= up
    assert (down == up) == (float(number) == number)


def test_equal_numbers_have_one_mark() -> None:
    assert pieces("a = 5") == pieces("a = 5.0")
    assert pieces("a = 5")[0].marks[0][0] is Role.EQUALS
    assert pieces("a = 9007199254740993") != pieces("a = 9007199254740992.0")


def test_a_range_of_numbers_is_one_piece() -> None:
    assert [piece.tests[0][0] for piece in pieces("a > 5")] == [View.NUMBER]
    assert len(pieces("a BETWEEN 5 AND 9.5")[0].tests) == 2
    assert [piece.tests[0][0] for piece in pieces("a IS INTEGER AND a > 5")] == [View.INTEGER]
    assert [len(piece.tests) for piece in pieces("a <> 5")] == [1, 1]


def test_long_lists_are_cut_in_linear_time() -> None:
    listed = ", ".join(str(number) for number in range(0, 12_000, 3))
    assert len(pieces(f"a IN ({listed})")) == 4_000
