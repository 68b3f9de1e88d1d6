"""Does `headgate filter explain` say what was read, what covers what, and what shows it?"""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from headgate.filters import value_sets
from headgate.filters.filter import Filter


def explain(*words: str) -> Result:
    return CliRunner().invoke(main, ["filter", "explain", *words])


def answer(*words: str) -> Any:
    result = explain(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_one_filter_is_shown_as_it_was_read_with_its_boxes() -> None:
    result = explain("Type='quote' and (price>100 or urgent)")
    assert result.output == (
        "  reads as  Type = 'quote' AND (price > 100 OR urgent = TRUE)\n"
        "  box 1\n"
        "    Type   'quote'\n"
        "    price  number > 100\n"
        "  box 2\n"
        "    Type    'quote'\n"
        "    urgent  TRUE\n"
        "  index     2 entries, exact: found without looking at the filter\n"
        "    looked up  Type = 'quote'; Type = 'quote' and urgent = TRUE\n"
        "    compared   price as number\n"
        "\n"
    )


def test_how_a_filter_is_indexed_is_shown_and_what_makes_it_slow() -> None:
    output = explain("a < b").output
    assert "slow: every event is verified with the whole filter" in output
    assert "for every event" in output
    index = answer("a = 1 AND b LIKE '%x'")["filters"][0]["index"]
    assert (index["entries"], index["verified"], index["looked_up"]) == (1, 1, ["a = 1"])


def test_what_is_not_analysed_is_named_as_such() -> None:
    assert "not analysed  price * volume > 1000" in explain("price * volume > 1000").output
    boxes = answer("price * volume > 1000")["filters"][0]["boxes"]
    assert boxes == [{"attributes": {}, "not_analysed": ["price * volume > 1000"], "empty": False}]


def test_nothing_in_a_filter_ends_a_line_or_steers_the_terminal() -> None:
    text = "a = '\x1b[2J\n  box 9' AND \"b\u202ec\" > d"
    output = CliRunner().invoke(main, ["filter", "explain", text], color=True).output
    assert all(line.isprintable() for line in output.splitlines())
    assert output.splitlines()[0] == "  reads as  a = '?[2J?  box 9' AND \"b?c\" > d"


def test_an_impossible_filter_is_called_that() -> None:
    output = explain("a > 5 AND a < 3").output
    assert "box 1  (fits no event)" in output
    assert "no event at all matches it" in output
    assert answer("FALSE")["filters"][0]["empty"] is True


def test_a_filter_without_conditions_fits_any_event() -> None:
    assert "box 1  any event" in explain("TRUE").output


def test_of_two_filters_it_says_which_covers_which() -> None:
    said = answer("price < 100", "price < 50")
    assert said["first_to_second"]["covers"] is True
    assert "not_covered" not in said["first_to_second"]
    assert said["second_to_first"]["covers"] is False


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("price < 50", "price < 100"),
        ("a = 1 OR b LIKE '%x%'", "b LIKE '%y' OR a > 3"),
        ("topics IS NULL", "'a' IN topics"),
        ("x IS STRING", "x IS NOT NULL"),
        ("$publisher = 'ann'", "$publisher <> 'ann'"),
        ('"unit price" > 1', '"unit price" > 0'),
    ],
)
def test_the_event_shown_is_matched_by_the_one_and_not_by_the_other(
    first: str, second: str
) -> None:
    shown = answer(first, second)["first_to_second"]["not_covered"]
    assert Filter.parse(second).matches(shown)
    assert not Filter.parse(first).matches(shown)


def test_a_comparison_that_is_too_wide_says_so_instead_of_guessing() -> None:
    wide = " AND ".join(f"(a{n} = 1 OR b{n} = 1)" for n in range(9))
    result = explain(wide, " AND ".join(f"(a{n} < 2 OR b{n} < 2)" for n in range(9)))
    assert result.exit_code == 0
    assert "overlap in too many ways" in result.output


def test_a_filter_too_entangled_to_be_decided_is_shown_all_the_same() -> None:
    value_sets.forget()
    rest = "_" * 20
    entangled = f"s LIKE '%a{rest}' AND s LIKE '%b{rest}'"
    result = explain(entangled)
    assert (result.exit_code, result.stderr) == (0, "")
    why = "these LIKE patterns are too entangled to be compared: use fewer `%` and `_`"
    assert f"  box 1  (not known whether an event fits: {why})\n" in result.stdout
    assert f"    s  text LIKE '%a{rest}' and LIKE '%b{rest}'\n" in result.stdout
    assert f"  not known whether any event matches it: {why}\n" in result.stdout
    assert answer(entangled)["filters"][0]["empty"] == why
    second = answer("s = 'x'", entangled)
    assert second["first_to_second"]["covers"] == why


def test_where_a_residue_decides_no_event_is_made_up() -> None:
    output = explain("a + b > 5", "a * b = 391").output
    assert "it hangs on a part that is not analysed" in output


def test_on_an_event_it_says_what_the_filter_makes_of_it() -> None:
    said = answer("price > 5", "--event", '{"price": 7, "color": "red"}')["event"]
    assert said == [
        {
            "condition": "true",
            "matches": True,
            "matches_strictly": False,
            "advertises": True,
            "advertises_strictly": False,
            "screened": '{"price":7}',
        }
    ]
    assert "the filter is unknown" in explain("price > 5", "--event", "{}").output


def test_an_event_that_is_no_object_is_its_payload() -> None:
    assert answer("payload = 7", "--event", "7")["event"][0]["screened"] == "7"
