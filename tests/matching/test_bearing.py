"""Does a value bear the marks and have the keys that the slow answer says?"""

from hypothesis import given
from hypothesis import strategies as st

from headgate.filters import line
from headgate.filters.line import double_rank
from headgate.matching.bearing import rank_of_double
from headgate.matching.pieces import Role, State, View
from tests.filters.language_strategies import NUMBERS_, TEXTS
from tests.matching.columns import asked
from tests.matching.slow_entries import bears, keys


@given(NUMBERS_)
def test_the_rank_of_a_double_is_the_rank_on_the_line(number: float) -> None:
    assert rank_of_double(float(number)) == double_rank(float(number))


@given(NUMBERS_ | TEXTS | st.booleans() | st.frozensets(TEXTS, max_size=3))
def test_keys_are_those_of_the_slow_answer(value: float | str | frozenset[str]) -> None:
    _, found = asked([], list(View), value)
    expected = {}
    for view in View:
        down, up = keys(value, view)
        if down is not None and up is not None:
            expected[view] = (down, ~up)
    assert found == expected


@given(NUMBERS_ | TEXTS | st.frozensets(TEXTS, max_size=3), TEXTS, NUMBERS_)
def test_marks_are_those_of_the_slow_answer(
    value: float | str | frozenset[str], text: str, number: float
) -> None:
    rank = line.point_of(number)
    if number == int(number) and -(2**63) <= number < 2**63:
        rank = line.point_of(int(number))
    marks = [
        (Role.EQUALS, text),
        (Role.BEGINS, text),
        (Role.HAS_MEMBER, text),
        (Role.EQUALS, rank),
        *((Role.STATE, state) for state in State if state is not State.ABSENT),
    ]
    found, _ = asked(marks, [], value)
    assert found == {mark for mark in marks if bears(value, mark)}
