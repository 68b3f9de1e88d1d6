"""Is every text read into a tree with its places, within bounds, or refused in one line?"""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headgate.rights import policy_yaml
from headgate.rights.policy_yaml import (
    DEPTH_MAX,
    FILE_BYTES_MAX,
    NODES_MAX,
    Listing,
    MisreadError,
    Place,
    Scalar,
    Table,
    compose,
    found,
)


def refused(data: bytes | str) -> str:
    with pytest.raises(MisreadError) as caught:
        compose(data)
    place = caught.value.place
    return f"{place.line}:{place.column}: {caught.value.problem}" if place else str(caught.value)


def test_every_part_has_its_place() -> None:
    root = compose("# a\nkey: [one,\n  'two']\n")
    assert root == Table(
        Place(2, 1),
        (
            (
                Scalar(Place(2, 1), "key", True),
                Listing(
                    Place(2, 6),
                    (Scalar(Place(2, 7), "one", True), Scalar(Place(3, 3), "two", False)),
                ),
            ),
        ),
    )


def test_no_text_is_taken_for_anything_else() -> None:
    root = compose("[no, 010, ~, '~']")
    assert isinstance(root, Listing)
    assert [(item.text, item.is_null) for item in root.items if isinstance(item, Scalar)] == [
        ("no", False),
        ("010", False),
        ("~", True),
        ("~", False),
    ]


@pytest.mark.parametrize("text", ["", "   \n", "# nothing\n", "\ufeff"])
def test_of_nothing_there_is_no_tree(text: str) -> None:
    assert compose(text) is None
    assert compose(text.encode()) is None


def test_a_byte_order_mark_moves_no_column() -> None:
    assert compose(b"\xef\xbb\xbfa") == Scalar(Place(1, 1), "a", True)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("a:\n\t- b\n", "2:1: expected spaces, found a tab: YAML is not indented with tabs"),
        ("\ta: 1\n", "1:1: expected spaces, found a tab: YAML is not indented with tabs"),
        ("a: @x", "1:4: expected YAML, found `@`: a text that begins so needs quotes"),
        ("a: b: c", "1:5: expected YAML, found a second `:`: a text with `: ` needs quotes"),
        ("a\n--- b\n", "2:1: expected one document, found the begin of a second one"),
        ("a: !!int 3", "1:4: expected no tag, found `tag:yaml.org,2002:int`"),
        ("!x {a: 1}", "1:1: expected no tag, found `!x`"),
        ("[*x]", "1:2: expected the name of an anchor, found `*x`"),
        (
            "a: &a [*a]",
            "1:8: expected the name of an anchor, found `*a` within what it stands for",
        ),
        ("a: 1\nb: 2\na: 3\n", "3:1: expected each key once, found `a` again (first on line 1)"),
        ("{[a]: 1}", "1:2: expected a key, found a list"),
        ("{~: 1}", "1:2: expected a key, found `~`"),
        ("a: \x01", "1:4: expected a printable character, found U+0001"),
        ("a\nb: \ud800", "2:4: expected a printable character, found U+D800"),
    ],
)
def test_what_can_be_misread_is_refused_where_it_stands(text: str, refusal: str) -> None:
    assert refused(text) == refusal


@pytest.mark.parametrize(
    "text", ["[", "a: 'x", "- a\nb: 1\n", "x: 1\ny\n", '"\\q"', "%YAML 9\n--- a"]
)
def test_what_is_no_yaml_is_refused_in_the_parsers_words(text: str) -> None:
    line, column, said = refused(text).split(":", 2)
    assert int(line) >= 1
    assert int(column) >= 1
    assert said.startswith(" expected YAML, which this is not: ")


def test_bytes_that_are_no_utf_8_are_refused_where_they_stand() -> None:
    assert refused("é\nü: ".encode() + b"\xff") == "2:4: expected UTF-8, found the byte 0xff"


def test_a_file_has_bounds() -> None:
    assert refused(b" " * (FILE_BYTES_MAX + 1)) == "a policy file has at most 1,048,576 bytes"
    assert compose("[" * (DEPTH_MAX - 1) + "a" + "]" * (DEPTH_MAX - 1)) is not None
    assert refused("[" * 100_000).endswith(f"a policy file is nested at most {DEPTH_MAX} deep")


def test_an_alias_counts_each_time_it_is_used() -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(8)]
    assert refused("\n".join(lines)).endswith(
        f"a policy file has at most {NODES_MAX:,} parts, with aliases"
    )
    chain = ["- &a0 x"] + [f"- &a{n + 1} [*a{n}]" for n in range(DEPTH_MAX)]
    assert refused("\n".join(chain)).endswith(f"nested at most {DEPTH_MAX} deep")


def test_without_the_fast_parser_the_slow_one_gives_the_same_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "a: &x [1, 'two', {b: c}]\nd: |\n  e\n  f\ng: *x\n"
    fast = compose(text)
    monkeypatch.setattr(policy_yaml, "_LOADER", yaml.SafeLoader)
    assert compose(text) == fast
    assert refused("a:\n\t- b\n").startswith("2:1: expected spaces, found a tab")


def test_what_stands_there_is_named_in_few_words() -> None:
    said = {text: compose(text) for text in ("[]", "{}", "x", "''", f"{'x' * 100}")}
    assert {text: node and found(node) for text, node in said.items()} == {
        "[]": "a list",
        "{}": "a mapping",
        "x": "`x`",
        "''": "an empty text",
        "x" * 100: f"`{'x' * 60}…`",
    }


def is_tree_or_one_line(data: bytes | str) -> bool:
    try:
        compose(data)
    except MisreadError as refusal:
        return refusal.problem.isprintable()
    return True


@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@`#,?~ \n\t\\\x07\u2028é", max_size=60))
def test_any_text_gives_a_tree_or_one_printable_line(text: str) -> None:
    assert is_tree_or_one_line(text)


@given(st.binary(max_size=40))
def test_any_bytes_give_a_tree_or_one_printable_line(data: bytes) -> None:
    assert is_tree_or_one_line(data)
