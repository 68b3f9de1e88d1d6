"""Is every refusal one short, printable line that says where the fault is?"""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import (
    EventError,
    FilterError,
    FilterSyntaxError,
    FilterTooComplexError,
    HeadgateError,
    named,
    printable,
)

NASTY = st.text(st.characters(codec=None), max_size=200)


@given(NASTY, st.integers(1, 80))
def test_a_name_in_a_message_is_short_and_printable_whatever_it_holds(
    name: str, chars_max: int
) -> None:
    shown = named(name, chars_max)
    assert shown.isprintable()
    assert len(shown) <= chars_max + 3
    assert (shown[-2:] == "…`") == (len(name) > chars_max) or name[chars_max - 1] == "…"


@given(NASTY)
def test_a_printable_text_has_as_many_characters_as_before(text: str) -> None:
    assert len(printable(text)) == len(text)
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "position", "line", "column", "where"),
    [
        ("abc", 1, 1, 2, "(filter, column 2)"),
        ("abc", 3, 1, 4, "(filter, column 4)"),
        ("abc", 99, 1, 4, "(filter, column 4)"),
        ("abc", -1, 1, 1, "(filter, column 1)"),
        ("a\nbc", 3, 2, 2, "(filter, line 2, column 2)"),
        ("a\n\n", 3, 3, 1, "(filter, line 3, column 1)"),
        ("a\nb", 1, 1, 2, "(filter, line 1, column 2)"),
        ("", 0, 1, 1, "(filter, column 1)"),
    ],
)
def test_a_syntax_error_counts_lines_and_columns_from_one(
    text: str, position: int, line: int, column: int, where: str
) -> None:
    error = FilterSyntaxError("wrong", text, position)
    assert (error.line, error.column) == (line, column)
    assert str(error) == f"wrong {where}"


@given(NASTY, NASTY, st.integers(-5, 205), st.integers(1, 100))
def test_a_caret_stands_under_the_character_at_fault_within_the_width(
    problem: str, text: str, position: int, width: int
) -> None:
    error = FilterSyntaxError(problem, text, position)
    assert 0 <= error.position <= len(text)
    assert str(error).isprintable()
    shown, caret = error.caret(width).split("\n")
    assert shown.isprintable()
    assert len(shown) <= width
    assert len(caret) <= width + 1
    assert caret.strip(" ") == "^"
    at = len(caret) - 1
    ended = error.position == len(text) or text[error.position] == "\n"
    assert at == len(shown) if ended else shown[at] == printable(text[error.position])


def test_a_caret_under_a_long_line_shows_what_is_around_it() -> None:
    text = "x" * 200 + "?" + "y" * 200
    assert FilterSyntaxError("wrong", text, 200).caret(9) == "xxxx?yyyy\n    ^"
    assert FilterSyntaxError("wrong", text, 2).caret(9) == "xxxxxxxxx\n  ^"
    assert FilterSyntaxError("wrong", "a\n\tb", 3).caret() == "?b\n ^"


@pytest.mark.parametrize(
    "error",
    [
        HeadgateError("refused"),
        EventError("refused", "name"),
        EventError("refused"),
        FilterError("refused"),
        FilterSyntaxError("refused", "a = \n5", 3),
        FilterTooComplexError("refused"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_a_pickle_and_a_copy(error: HeadgateError) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert vars(other) == vars(error)


def test_what_is_refused_is_a_value_error_to_those_who_know_no_better() -> None:
    assert issubclass(EventError, ValueError)
    assert issubclass(FilterSyntaxError, FilterError)
    assert issubclass(FilterTooComplexError, FilterError)
    assert issubclass(FilterError, ValueError)
