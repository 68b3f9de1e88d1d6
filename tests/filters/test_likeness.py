"""Does LIKE fit what it should, in linear time, and are texts found wherever there are any?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from random import Random
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.filters import likeness
from headgate.filters.likeness import Effort, Pattern, after_prefix, find_text
from headgate.model.errors import FilterTooComplexError, HeadgateError
from tests.filters.oracle import fits
from tests.proofs import COUNTED, proof_size

patterns = st.text(alphabet="ab%_", max_size=7)
texts = st.text(alphabet="abc", max_size=9)


@pytest.mark.proof
@settings(max_examples=proof_size(test=600, soak=50_000))
@given(pattern=patterns, text=texts)
def test_a_text_fits_as_the_table_of_prefixes_says(pattern: str, text: str) -> None:
    assert Pattern.read(pattern).matches(text) is fits(pattern, text)


def test_every_short_pattern_fits_every_short_text_as_the_table_of_prefixes_says() -> None:
    short_texts = _all_texts("ab", 4)
    for pattern in _all_texts("a%_", 4):
        read = Pattern.read(pattern)
        expected = [text for text in short_texts if fits(pattern, text)]
        assert [text for text in short_texts if read.matches(text)] == expected, pattern
        _, quickly = read.short_texts
        assert [text for text in short_texts if quickly(text) is not None] == expected, pattern


@pytest.mark.proof
@settings(max_examples=proof_size(test=300, soak=20_000))
@given(pattern=patterns, text=texts)
def test_the_automaton_and_the_stepping_search_fit_what_the_pattern_fits(
    pattern: str, text: str
) -> None:
    read = Pattern.read(pattern)
    automaton = read.automaton
    state = automaton.start
    for char in text:
        state = automaton.step(state, char)
    assert automaton.accepts(state) is fits(pattern, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_PLAIN_SEARCH_STEPS_MAX", -1)
        assert read.matches(text) is fits(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "escape", "text", "fitting"),
    [
        ("100!%", "!", "100%", True),
        ("100!%", "!", "1000", False),
        ("a!_b", "!", "a_b", True),
        ("a!_b", "!", "acb", False),
        ("a!!b", "!", "a!b", True),
        ("!%%", "!", "% off", True),
        ("%%abc", "%", "%abc", True),
        ("%%", "%", "%", True),
        ("____", "_", "__", True),
        ("a.b", None, "axb", False),
        ("a\\%", None, "a\\xyz", True),
        ("_", None, "\n", True),
        ("%b", None, "a\nb", True),
        ("_", None, "😀", True),
        ("__", None, "😀", False),
    ],
)
def test_escapes_and_odd_characters(
    pattern: str, escape: str | None, text: str, fitting: bool
) -> None:
    assert Pattern.read(pattern, escape).matches(text) is fitting


@pytest.mark.parametrize(("pattern", "escape"), [("a!b", "!"), ("a!", "!"), ("a", "!!"), ("a", "")])
def test_a_wrong_escape_is_refused(pattern: str, escape: str) -> None:
    with pytest.raises(HeadgateError):
        Pattern.read(pattern, escape)


def test_patterns_that_say_the_same_are_equal() -> None:
    for one, other in [("a%%b", "a%b"), ("%_", "_%"), ("a%_%_", "a__%"), ("%%%", "%")]:
        assert Pattern.read(one) == Pattern.read(other)
    assert Pattern.read("_") != Pattern.read("!_", "!")


@given(pattern=patterns)
def test_a_pattern_printed_is_the_same_pattern(pattern: str) -> None:
    read = Pattern.read(pattern)
    assert Pattern.read(str(read), "\\") == read


@given(pattern=st.text(alphabet="ab%_", max_size=3))
def test_an_interval_holds_exactly_the_texts_that_fit(pattern: str) -> None:
    interval = Pattern.read(pattern).interval()
    if interval is None:
        return
    low, high = interval
    for text in _all_texts("\0Aabc", 4):
        assert (low <= text and (high is None or text < high)) is fits(pattern, text)


def test_after_a_prefix_come_texts_of_whole_characters() -> None:
    assert after_prefix("ab") == "ac"
    assert after_prefix("a\U0010ffff") == "b"
    assert after_prefix("\U0010ffff") is None
    assert after_prefix("") is None
    assert after_prefix("\ud7ff") == "\ue000"


# Finding texts.


@cache
def _all_texts(alphabet: str, length: int) -> list[str]:
    return [
        "".join(chars) for size in range(length + 1) for chars in product(alphabet, repeat=size)
    ]


@pytest.mark.proof
def test_a_text_is_found_exactly_where_trying_all_short_texts_finds_one(
    record_property: Callable[[str, object], None],
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    candidates = sorted(_all_texts("Aabc", 6), key=len)
    ends = ["", "a", "ab", "a\0", "b", "ba", "bb", "\0", "aab", "abb"]
    found = none = 0
    for _ in range(proof_size(test=400, soak=20_000)):
        low = random.choice(ends)
        high = random.choice([None, *(end for end in ends if end > low)])
        chosen = [
            "".join(random.choices("ab%_", weights=(3, 3, 3, 1), k=random.randrange(5)))
            for _ in range(random.randrange(5))
        ]
        cut = random.randrange(len(chosen) + 1)
        wanted, unwanted = chosen[:cut], chosen[cut:]

        def fitting(text: str, low: str = low, high: str | None = high) -> bool:
            return (
                low <= text
                and (high is None or text < high)
                and all(fits(pattern, text) for pattern in wanted)  # noqa: B023
                and not any(fits(pattern, text) for pattern in unwanted)  # noqa: B023
            )

        shortest = next(filter(fitting, candidates), None)
        text = find_text(
            low,
            high,
            frozenset(map(Pattern.read, wanted)),
            frozenset(map(Pattern.read, unwanted)),
            Effort(),
        )
        case = f"{low!r} {high!r} {wanted} {unwanted} (seed {seed})"
        if text is None:
            none += 1
            assert shortest is None, f"{shortest!r} is not found: {case}"
        else:
            found += 1
            assert fitting(text), f"{text!r} doesn't fit: {case}"
            assert shortest is None or len(text) <= len(shortest), f"{text!r} is long: {case}"
    record_property(COUNTED, f"{found:,} found, {none:,} shown not to be")
    assert min(found, none) * 10 > found + none


def test_a_text_found_between_two_ends_may_need_any_character() -> None:
    assert find_text("a", "a\0", frozenset(), frozenset(), Effort()) == "a"
    assert (
        find_text("a\0", "a\1", frozenset(), frozenset({Pattern.read("__")}), Effort()) == "a\0\0"
    )
    anything = frozenset({Pattern.read("_")})
    assert find_text("\ud7ff\0", "\ue000", anything, frozenset(), Effort()) is None
    assert find_text("\U0010ffff", None, anything, frozenset(), Effort()) == "\U0010ffff"


ENTANGLED = frozenset(Pattern.read(f"%{char}{'_' * 8}") for char in "ab")
"""Whether a text fits both takes every subset of the positions to find out."""


def test_a_search_past_its_bound_is_an_error_and_no_guess() -> None:
    with pytest.raises(FilterTooComplexError, match="too entangled"):
        find_text("", None, ENTANGLED, frozenset(), Effort())


# Work, counted in lines run and never in seconds. A search inside of `str` and `re` is one line, so
# that it is kept out where the steps are counted, and its own cost is bounded by what it is given.


def _lines_run(function: Callable[[], object]) -> int:
    count = 0
    of_interest: set[CodeType] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename == likeness.__file__:
            of_interest.add(frame.f_code)
            count += event == "line"
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    assert of_interest
    return count


class _CountedText(str):
    """A text that counts how many characters were looked at by searches from it."""

    __slots__ = ()
    looked_at = 0

    def find(self, part: Any, start: Any = 0, end: Any = None, /) -> int:
        found = super().find(part, start, end)
        _CountedText.looked_at += (len(self) if found < 0 else found + len(part)) - start
        return found


HOSTILE = [
    "%" + "a_%" * 10 + "b",
    "%" + "_a" * 50 + "b%",
    "%a%a%a%a%a%a%a%a%b",
    "%" + "a" * 100 + "b%",
    "_" * 50 + "%" + "_a" * 30 + "%z",
    "%a_b%" * 20,
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_like_takes_time_in_proportion_to_the_text(pattern: str) -> None:
    read = Pattern.read(pattern)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_PLAIN_SEARCH_STEPS_MAX", -1)  # every step in the open
        small, large = (_lines_run(partial(read.matches, "a" * size)) for size in (2_000, 16_000))
    assert large <= 9 * small + 200
    assert large <= 10 * 16_000


@pytest.mark.parametrize("pattern", [*HOSTILE, "%" + "_a%" * 300 + "b_c"])
def test_the_quick_answer_for_short_texts_takes_nothing_back(pattern: str) -> None:
    """If it did, some of these would take for ever."""
    read = Pattern.read(pattern)
    length, quickly = read.short_texts
    assert length * max(map(len, read.parts)) <= likeness._PLAIN_SEARCH_STEPS_MAX
    for text in ("a" * length, "ab" * (length // 2), "ba" * (length // 2) + "c"):
        assert (quickly(text) is not None) is read.matches(text)


@pytest.mark.parametrize("pattern", HOSTILE)
def test_like_looks_at_each_character_once_between_its_percent_signs(pattern: str) -> None:
    _CountedText.looked_at = 0
    Pattern.read(pattern).matches(_CountedText("a" * 10_000))
    assert _CountedText.looked_at <= 10_000


def test_the_plain_search_with_wildcards_is_never_given_more_than_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_work: list[int] = []

    class Counting:
        def __init__(self, length: int) -> None:
            self.length = length

        def match(self, text: str, at: int = 0) -> None:
            given_work.append(self.length)

        def search(self, text: str, start: int, end: int) -> None:
            given_work.append((end - start) * self.length)

    for size in (500, 1_000, 100_000):
        search = likeness._Search((None, "b") * 200)
        monkeypatch.setattr(search, "_regex", Counting(search.length))
        search.find("a" * size, 0, size)
    assert 0 < max(given_work) <= likeness._PLAIN_SEARCH_STEPS_MAX


def test_text_finding_takes_no_more_steps_than_its_bound() -> None:
    def search(steps_max: int) -> None:
        with pytest.raises(FilterTooComplexError):
            find_text("", None, ENTANGLED, frozenset(), Effort(steps_max))

    small, large = (_lines_run(partial(search, steps_max)) for steps_max in (500, 4_000))
    assert large <= 9 * small + 200
