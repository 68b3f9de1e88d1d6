"""Do the entries of a filter say what the filter says?"""

from collections.abc import Mapping
from datetime import UTC, datetime

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.filters.filter import Filter
from headgate.filters.syntax import Condition
from headgate.matching.entries import ENTRIES_MAX, Entry, entries_of
from headgate.matching.pieces import Role, State
from headgate.model.errors import FilterError
from headgate.model.values import Value
from tests.filters.language_strategies import conditions, events
from tests.matching.slow_entries import fits
from tests.proofs import proof_size


def entries(text: str) -> tuple[Entry, ...]:
    return entries_of(Filter.parse(text)).entries


def check(one: Filter, event: Mapping[str, Value]) -> None:
    found = entries_of(one)
    fitting = [entry for entry in found.entries if fits(entry, event)]
    certain = [entry for entry in fitting if not entry.verified]
    matches = one.compiled()(event)
    if certain:
        assert matches
    if matches:
        assert fitting
    if not found.overlapping:
        assert len(fitting) < 2


@settings(max_examples=proof_size(test=400, soak=20_000))
@given(conditions(), st.lists(events(), min_size=1, max_size=8))
def test_who_fits_an_entry_matches_and_who_matches_fits_one(
    condition: Condition, some: list[dict[str, Value]]
) -> None:
    try:
        one = Filter(condition)
    except FilterError:
        return
    for event in some:
        check(one, event)


EDGES: list[Value | None] = [
    None, 0, 1, 5, -5, 5.0, 5.5, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2.0**63, 1e300,
    -1e300, "", "a", "ab", "abc", "abcdefg", "abcdefgh", "abcdefgi", "a\0", True, False,
    frozenset(), frozenset({"a"}), frozenset({"a", "b"}), datetime(1, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 31, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]  # fmt: skip
TEXTS = [
    "a = 5", "a <> 5", "a > 5", "a >= 9007199254740993", "a = 9007199254740993", "a IN (1, 2, 5)",
    "a < 9223372036854775807", "a NOT IN (1, 5)", "a BETWEEN 5.2 AND 5.8", "a IS INTEGER AND a > 3",
    "a IS DOUBLE AND a = 5", "a IS INTEGER", "a IS NUMBER", "a IS NULL OR a > 5", "a = TRUE",
    "a <> 'abc'", "a > 'abcdefgh'", "a <= 'abcdefgh'", "a > 'ab'", "a <= 'ab'", "a LIKE 'ab%'",
    "a NOT LIKE 'ab%'", "a LIKE '%b'", "a LIKE 'a%c'", "'a' IN a", "'a' IN a AND 'b' NOT IN a",
    "'a' IN a OR 'b' IN a", "a IS NOT STRING", "a IN ('a', 'ab')", "a NOT IN ('a', 'ab')", "TRUE",
    "a > 1e308", "a > 5 OR a = 'a'", "a = ''", "a < ''", "a >= ''", "a > 1e20",
    "NOT (a BETWEEN TIMESTAMP '2026-01-31' AND 0)", "NOT (a BETWEEN 'ab' AND 0)",
    "NOT (a BETWEEN 'ab' AND TIMESTAMP '2026-01-31')", "a > 0 OR a IS TIMESTAMP",
    "a > 0 OR a IS NOT NUMBER", "a >= TIMESTAMP '2026-01-31' OR a IS STRING", "a IS NOT INTEGER",
    "NOT (a BETWEEN 0 AND TIMESTAMP '2026-01-31')", "a < 5 OR a IS BOOLEAN", "a IS NOT BOOLEAN",
]  # fmt: skip


def test_every_shape_of_test_is_said_exactly_at_its_edges() -> None:
    for text in TEXTS:
        one = Filter.parse(text)
        for value in EDGES:
            check(one, {} if value is None else {"a": value})


def test_an_entry_is_addressed_by_what_it_equals_before_anything_else() -> None:
    (entry,) = entries("a = 'x' AND b LIKE 'p%' AND c > 5 AND d IS STRING AND 'm' IN e")
    assert entry.address == (
        ("a", (Role.EQUALS, "x")),
        ("b", (Role.BEGINS, "p")),
    )
    assert set(entry.has) == {("d", (Role.STATE, State.STRING)), ("e", (Role.HAS_MEMBER, "m"))}
    assert [name for name, _ in entry.tests] == ["c"]


def test_only_what_no_entry_can_say_is_verified() -> None:
    assert [text for text in TEXTS if any(entry.verified for entry in entries(text))] == [
        "a > 'abcdefgh'",
        "a <= 'abcdefgh'",
        "a LIKE '%b'",
        "a LIKE 'a%c'",
    ]


def test_alternatives_are_multiplied_out_within_a_bound() -> None:
    numbers = ", ".join(str(number) for number in range(0, 200, 2))
    assert len(entries(f"a IN ({numbers})")) == 100
    (*found,) = entries(f"a IN ({numbers}) AND b IN ({numbers})")
    assert len(found) == 100
    assert len(found) <= ENTRIES_MAX
    assert len(found[0].any_of) == 1
    assert not found[0].verified


def test_a_range_alone_is_only_asked_of_events_with_the_attribute() -> None:
    (entry,) = entries("a > 5")
    assert entry.address == (("a", (Role.STATE, State.PRESENT)),)


@example(1).via("the least list")
@given(st.integers(1, 30))
def test_a_list_has_an_entry_for_each_value(length: int) -> None:
    listed = ", ".join(f"'{number}'" for number in range(length))
    assert len(entries(f"a IN ({listed})")) == length
