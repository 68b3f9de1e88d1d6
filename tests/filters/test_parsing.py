"""Is every text read as the filter it says, or refused at the character at fault?"""

import faulthandler
import random
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.filters.filter import Filter
from headgate.filters.parsing import parse
from headgate.filters.printing import print_condition
from headgate.filters.syntax import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Contains,
    In,
    IsType,
    Like,
    Name,
    Negated,
    Not,
    Or,
    Present,
    TypeName,
    literal,
)
from headgate.filters.words import RESERVED
from headgate.model.errors import (
    FilterError,
    FilterSyntaxError,
    FilterTooComplexError,
    printable,
)
from headgate.model.limits import FilterLimits
from tests.filters.language_strategies import WORDS, conditions, mutated, soup
from tests.proofs import proof_size

CONFORMANCE = Path(__file__).parent / "conformance"
SAME = tomllib.loads((CONFORMANCE / "same.toml").read_text())
REFUSED = tomllib.loads((CONFORMANCE / "refused.toml").read_text())["cases"]
TRUTH = tomllib.loads((CONFORMANCE / "truth.toml").read_text())
VALID = [
    text for group in TRUTH.values() for truth in ("true", "false", "unknown")
    for text in group[truth]
]  # fmt: skip

A, B, C = Name("a"), Name("b"), Name("c")
LONGEST = 65_536


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    """A text that never comes to an end ends the run with a traceback."""
    faulthandler.dump_traceback_later(600, exit=True, file=sys.__stderr__ or 2)
    yield
    faulthandler.cancel_dump_traceback_later()


def check_refusal(error: FilterError, text: str) -> None:
    """A refusal is one short line, and its caret stands under the character at fault."""
    assert str(error).isprintable()
    assert len(str(error)) < 300
    if not isinstance(error, FilterSyntaxError):
        assert isinstance(error, FilterTooComplexError)
        return
    assert 0 <= error.position <= len(text)
    shown, caret = error.caret().split("\n")
    assert len(shown) <= 76
    assert shown.isprintable()
    assert caret.strip(" ") == "^"
    assert len(caret) <= 77
    if error.position < len(text) and text[error.position] != "\n":
        assert shown[len(caret) - 1] == printable(text[error.position])
    else:
        assert len(caret) == len(shown) + 1


def read_or_refused(text: str) -> Filter | None:
    refusal: FilterError
    try:
        return Filter.parse(text)
    except FilterError as error:
        refusal = error
    check_refusal(refusal, text)
    return None


@pytest.mark.parametrize(("one", "other"), SAME["pairs"])
def test_two_ways_to_write_a_filter_are_read_as_the_same_tree(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert hash(parse(one)) == hash(parse(other))


@pytest.mark.parametrize(("one", "other"), SAME["different"])
def test_what_is_not_the_same_is_read_as_different_trees(one: str, other: str) -> None:
    assert parse(one) != parse(other)


@pytest.mark.parametrize(("text", "position", "said"), REFUSED)
def test_a_text_that_is_no_filter_is_refused_where_it_goes_wrong(
    text: str, position: int, said: str
) -> None:
    with pytest.raises(FilterSyntaxError) as refusal:
        parse(text)
    assert said in str(refusal.value)
    assert refusal.value.position == position
    check_refusal(refusal.value, text)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", Comparison("=", A, literal(True))),
        ("TRUE", Constant(True)),
        ("a = 1 OR b = 2 AND NOT c = 3",
         Or((Comparison("=", A, literal(1)),
             And((Comparison("=", B, literal(2)), Not(Comparison("=", C, literal(3)))))))),
        ("-a + b * 2 > c",
         Comparison(">", Arithmetic("+", Negated(A), Arithmetic("*", B, literal(2))), C)),
        ("a IN (1, 1.0, TRUE, '1')",
         In(A, (literal(1), literal(1.0), literal(True), literal("1")))),
        ("a LIKE 'x!%' ESCAPE '!'", Like(A, "x!%", "!")),
        ("'x' NOT IN a", Not(Contains("x", A))),
        ("a IS NULL", Not(Present(A))),
        ("a IS NOT NUMBER", Not(IsType(A, TypeName.NUMBER))),
        ("(integer a < 5)", And((IsType(A, TypeName.INTEGER), Comparison("<", A, literal(5))))),
        ("a = 'it''s'", Comparison("=", A, literal("it's"))),
        ('"a""b".c = 1', Comparison("=", Name('a"b.c'), literal(1))),
    ],
)  # fmt: skip
def test_a_text_is_read_as_this_tree(text: str, tree: Condition) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_word_of_the_language_is_a_name_in_quotes_only(word: str) -> None:
    for text in (f"{word} = 1", f"a = 1 AND {word.lower()} = 1"):
        if word in ("NOT", "TRUE", "FALSE"):
            continue
        with pytest.raises(FilterSyntaxError):
            parse(text)
    assert parse(f'"{word}" = 1') == Comparison("=", Name(word), literal(1))
    assert parse(f"a.{word} = 1") == Comparison("=", Name(f"a.{word}"), literal(1))


@pytest.mark.parametrize("name", ["ıs", "lıke", "ſtring", "Ｎot", "iſ", "Ｎull"])
def test_a_name_that_only_looks_like_a_word_of_the_language_is_a_name(name: str) -> None:
    assert parse(name) == Comparison("=", Name(name), literal(True))


@pytest.mark.parametrize("word", [*TypeName.__members__, "EXISTS", "ANY"])
def test_a_word_for_a_type_is_a_name_where_a_name_stands(word: str) -> None:
    for name in (word, word.lower(), word.title()):
        assert parse(name) == Comparison("=", Name(name), literal(True))
        assert parse(f"({name} = 1)") == Comparison("=", Name(name), literal(1))
        assert parse(f"EXISTS({name})") == Present(Name(name))
        assert parse(f"(string {name} any)") == IsType(Name(name), TypeName.STRING)
        assert parse(f"'x' IN {name}") == Contains("x", Name(name))


@pytest.mark.parametrize(
    "text",
    ["a = '\ud800'", '"\udfff" = 1', "a LIKE '\ud800%'", "'\udc00' IN a", "a \ud800",
     "a = TIMESTAMP '\ud800'"],
)  # fmt: skip
def test_half_a_character_is_refused_wherever_it_stands(text: str) -> None:
    with pytest.raises(FilterSyntaxError, match="half a character") as refusal:
        parse(text)
    assert "\ud800" <= text[refusal.value.position] <= "\udfff"
    check_refusal(refusal.value, text)


def test_a_filter_measures_at_most_what_is_stated() -> None:
    parse("a = '" + "x" * (LONGEST - 6) + "'")
    too_long = "a = '" + "x" * (LONGEST - 5) + "'"
    for text, said in [
        (too_long, "at most 65,536 characters"),
        ("NOT " * 63 + "a = 1", "nested at most 64 deep"),
        (" AND ".join(["a = 1"] * 3_334), "at most 10,000 parts"),
        ("a LIKE '" + "x" * 1_025 + "'", "at most 1,024 characters"),
    ]:
        with pytest.raises(FilterTooComplexError, match=said):
            parse(text)
    parse("NOT " * 62 + "a = 1")
    parse(" AND ".join(["a = 1"] * 3_333))
    parse("a LIKE '" + "x" * 1_024 + "'")
    parse("(" * 5_000 + "a" + ")" * 5_000)
    parse("a IN (1, 2, 3)", FilterLimits(nodes=5))
    with pytest.raises(FilterTooComplexError, match="at most 4 parts"):
        parse("a IN (1, 2, 3)", FilterLimits(nodes=4))
    small = FilterLimits(text_chars=6, nodes=5, depth=3, pattern_chars=1)
    parse("a OR b"[:6], FilterLimits(text_chars=6))
    for text in ("a = 123", "NOT NOT a"):
        with pytest.raises(FilterTooComplexError):
            parse(text, small)


def nested(opening: str, inner: str, closing: str, size: int) -> str:
    count = size // len(opening + closing)
    return opening * count + inner + closing * count


GROWING: dict[str, Callable[[int], str]] = {
    "opened": lambda size: "(" * size,
    "opened and gone wrong": lambda size: "(" * (size - 3) + "a b",
    "closed": lambda size: nested("(", "a", ")", size),
    "closed once too often": lambda size: nested("(", "a", ")", size) + ")",
    "NOT": lambda size: "NOT " * (size // 4) + "a",
    "NOT alone": lambda size: "NOT " * (size // 4),
    "NOT (": lambda size: nested("NOT (", "a", ")", size),
    "minus before a number": lambda size: "a = " + "-" * size + "5",
    "minus before a name": lambda size: "a = " + "-" * size + "b",
    "minus alone": lambda size: "-" * size,
    "minus (": lambda size: "a = " + nested("-(", "b", ")", size),
    "sum": lambda size: "a = " + "+".join("b" * (size // 2)),
    "sum of constants": lambda size: "a = " + "+".join("1" * (size // 2)),
    "sum from the right": lambda size: "a = " + nested("1+(", "b", ")", size),
    "product": lambda size: "a = " + "*".join("b" * (size // 2)),
    "ORs": lambda size: " OR ".join(f"a{at} = 1" for at in range(size // 13)),
    "ANDs": lambda size: " AND ".join(f"a{at} = 1" for at in range(size // 14)),
    "ORs of one name": lambda size: " OR ".join(f"a = {at}" for at in range(size // 13)),
    "ANDs of unequals": lambda size: " AND ".join(f"a <> {at}" for at in range(size // 16)),
    "ORs of ANDs": lambda size: " OR ".join(
        f"(a{at} = 1 AND b{at} = 1)" for at in range(size // 30)
    ),
    "ANDs of ORs": lambda size: " AND ".join(
        f"(a{at} = 1 OR b{at} = 1)" for at in range(size // 30)
    ),
    "OR nested in AND": lambda size: nested("a OR (b AND (", "c", "))", size),
    "constraints": lambda size: "(" + ", ".join(["string a b"] * (size // 12)) + ")",
    "LIKE": lambda size: "a LIKE '" + "%_" * (size // 2) + "'",
    "LIKEs": lambda size: " AND ".join(["a LIKE '%x%_y%'"] * (size // 20)),
    "IN": lambda size: "a IN (" + ",".join(map(str, range(size // 6))) + ")",
    "IN never closed": lambda size: "a IN (" + "1," * (size // 2),
    "text": lambda size: "a = '" + "x" * size + "'",
    "text never closed": lambda size: "a = '" + "x" * size,
    "quotes": lambda size: "a = " + "'" * size,
    "double quotes": lambda size: '"' * size,
    "quoted parts": lambda size: ".".join(['"a"'] * (size // 4)),
    "name": lambda size: "a" * size,
    "parts of a name": lambda size: ".".join("a" * (size // 2)),
    "digits": lambda size: "a = " + "1" * size,
    "digits of a fraction": lambda size: "a = 0." + "1" * size,
    "digits of an exponent": lambda size: "a = 1e" + "1" * size,
    "digits of a negative exponent": lambda size: "a = 1e-" + "1" * size,
    "blanks": lambda size: " " * size,
    "newlines": lambda size: "a\n" + "\n" * size + "b",
    "names in a row": lambda size: "a " * (size // 2),
    "comparisons in a row": lambda size: "a=" * (size // 2),
    "dots": lambda size: "a" + "." * size,
    "signs": lambda size: "<" * size,
}


@pytest.mark.parametrize("shape", GROWING)
def test_a_text_of_any_shape_up_to_the_bound_is_read_or_refused(shape: str) -> None:
    for size in (1, 100, 5_000, LONGEST - 4, LONGEST):
        read = read_or_refused(GROWING[shape](size))
        if read is not None:
            assert read.matches({"a": "x", "b": 1}) is (read.evaluate({"a": "x", "b": 1}) is True)
            # Printed, it may be a little longer than it was written.
            assert parse(str(read), FilterLimits(text_chars=2 * LONGEST)) == read.condition


@pytest.mark.parametrize("shape", GROWING)
def test_a_text_twice_as_long_is_read_with_little_more_than_twice_the_calls(shape: str) -> None:
    small, large = (calls_to_read(GROWING[shape](size)) for size in (4_000, 8_000))
    assert large <= 2.5 * small + 500


def calls_to_read(text: str) -> int:
    """How many functions are called, Python's own among them, to read the text."""
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        parse(text)
    except FilterError:
        pass
    finally:
        sys.setprofile(before)
    return counted


ANY_TEXT = st.text(st.characters(codec=None), max_size=30)


@settings(max_examples=proof_size(test=1_000, soak=40_000))
@pytest.mark.proof
@given(ANY_TEXT | st.lists(ANY_TEXT | st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_text_gives_a_filter_or_a_refusal(text: str) -> None:
    read = read_or_refused(text)
    if read is not None:
        check_print_is_stable(text)


def check_print_is_stable(text: str) -> None:
    node = parse(text)
    printed = print_condition(node)
    assert parse(printed) == node
    assert print_condition(parse(printed)) == printed


@pytest.mark.proof
def test_words_in_any_order_give_a_filter_or_a_refusal() -> None:
    chance = random.Random(1)
    read = 0
    for _ in range(proof_size(test=8_000, soak=300_000)):
        text = soup(chance)
        if read_or_refused(text) is not None:
            check_print_is_stable(text)
            read += 1
    assert read > 0


@pytest.mark.proof
def test_a_filter_with_a_few_words_changed_gives_a_filter_or_a_refusal() -> None:
    chance = random.Random(2)
    read = 0
    for _ in range(proof_size(test=8_000, soak=300_000)):
        text = mutated(chance.choice(VALID), chance)
        if read_or_refused(text) is not None:
            check_print_is_stable(text)
            read += 1
    assert read > 100


@given(conditions(), st.randoms(use_true_random=False))
def test_a_printed_filter_with_a_few_words_changed_gives_a_filter_or_a_refusal(
    node: Condition, chance: random.Random
) -> None:
    text = mutated(print_condition(node), chance)
    if read_or_refused(text) is not None:
        check_print_is_stable(text)


def test_every_prefix_of_a_filter_gives_a_filter_or_a_refusal() -> None:
    for text in VALID:
        for end in range(len(text)):
            refusal: FilterError | None = None
            try:
                parse(text[:end])
            except FilterError as error:
                refusal = error
            if refusal is not None:
                check_refusal(refusal, text[:end])
