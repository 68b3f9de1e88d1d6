"""Is each value read as what is expected there, and never as something else?"""

from typing import Any

import pytest

from headgate.rights.policy_nodes import (
    boolean_of,
    did_you_mean,
    items_of,
    one_of,
    plain_of,
    record_of,
    text_of,
    word_of,
)
from headgate.rights.policy_yaml import MisreadError, Node, compose


def node(text: str) -> Node:
    root = compose(text)
    assert root is not None
    return root


@pytest.mark.parametrize(
    "text", ["no", "on", "010", "1.0", "true", "2026-01-31", "1_000", "=", "<<"]
)
def test_where_a_text_is_expected_everything_is_one(text: str) -> None:
    assert text_of(node(text), "a text") == text
    assert text_of(node(f"'{text}'"), "a text") == text


def test_nothing_is_no_text_unless_it_is_quoted() -> None:
    with pytest.raises(MisreadError, match="expected a text, found `null`"):
        text_of(node("null"), "a text")
    assert text_of(node("'null'"), "a text") == "null"
    assert text_of(node("''"), "a text") == ""


@pytest.mark.parametrize(("text", "truth"), [("true", True), ("False", False), ("TRUE", True)])
def test_true_and_false_are_truths(text: str, truth: bool) -> None:
    assert boolean_of(node(text)) is truth


@pytest.mark.parametrize("text", ["yes", "no", "on", "y", "1", "'true'", "~", "[]"])
def test_nothing_else_is_a_truth(text: str) -> None:
    with pytest.raises(MisreadError, match="expected `true` or `false`, found "):
        boolean_of(node(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("1.5", 1.5),
        ("1e5", 100000.0),
        ("true", True),
        ("~", None),
        ("'1'", "1"),
        ('"no"', "no"),
        ("y", "y"),
        ("1.2.3", "1.2.3"),
        ("abc", "abc"),
        ("[a, {b: 2}]", ["a", {"b": 2}]),
        ("{no: 1, 1: x, true: ~}", {"no": 1, "1": "x", "true": None}),
    ],
)
def test_in_an_event_a_value_is_what_json_would_say(text: str, value: Any) -> None:
    read = plain_of(node(text))
    assert read == value
    assert type(read) is type(value)


def test_a_block_is_a_text() -> None:
    assert plain_of(node("a: |\n  010\n")) == {"a": "010\n"}


def test_a_record_has_known_keys_only_and_the_needed_ones() -> None:
    assert record_of(node("{}"), "a thing", ["one"]) == {}
    with pytest.raises(MisreadError, match="a key of a thing, found `on`: did you mean `one`"):
        record_of(node("{on: 1}"), "a thing", ["one", "two"])
    with pytest.raises(MisreadError, match="expected `two` in a thing, found none"):
        record_of(node("{one: 1}"), "a thing", ["one", "two"], needed=("two",))


def test_a_list_that_may_be_empty_says_how_to_write_that() -> None:
    with pytest.raises(MisreadError, match=r"write `\[\]` for none"):
        items_of(node("~"), "a list")
    with pytest.raises(MisreadError, match=r"found `~`$"):
        items_of(node("~"), "a list", may_be_empty=False)


def test_a_word_is_one_of_a_few() -> None:
    assert word_of(node("no"), ["yes", "no"]) == "no"
    with pytest.raises(MisreadError, match=r"expected `yes` or `no`, found `maybe`$"):
        word_of(node("maybe"), ["yes", "no"])


def test_a_hint_needs_some_likeness() -> None:
    assert did_you_mean("Fitler", ["filter", "lower"]) == ": did you mean `filter`?"
    assert did_you_mean("zebra", ["filter", "lower"]) == ""
    assert one_of(["a"]) == "`a`"
    assert one_of(["a", "b", "c"]) == "`a`, `b` or `c`"
