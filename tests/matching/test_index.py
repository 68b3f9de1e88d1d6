"""Does an index find what a scan over its filters finds, whatever was added and removed before?"""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headgate.filters.filter import Filter
from headgate.filters.syntax import Condition
from headgate.matching.index import FilterIndex
from headgate.matching.refusals import MatchingError
from headgate.model.errors import FilterError
from headgate.model.events import Event
from headgate.model.values import Value
from tests.filters.language_strategies import conditions, events
from tests.proofs import proof_size


def event_of(values: Mapping[str, Value]) -> Event:
    """An event with these values, opaque ones too."""
    return Event(dict(values), frozenset(), {})


def filter_or_none(condition: Condition) -> Filter | None:
    try:
        return Filter(condition)
    except FilterError:
        return None


FILTERS = conditions().map(filter_or_none).filter(lambda one: one is not None)
EVENTS = events().map(event_of)


def scan(filters: Mapping[int, Filter], event: Event) -> list[int]:
    return sorted(number for number, one in filters.items() if one.matches(event))


def check(index: FilterIndex, filters: Mapping[int, Filter], some: list[Event]) -> None:
    found = index.match_events(some)
    assert [sorted(ids.tolist()) for ids in found] == [scan(filters, event) for event in some]


def index_of(*texts: str) -> FilterIndex:
    index = FilterIndex()
    index.update(add=enumerate(map(Filter.parse, texts)))
    return index


def found(index: FilterIndex, *some: Mapping[str, object]) -> list[list[int]]:
    return [sorted(ids.tolist()) for ids in index.match_events(some)]


@settings(
    max_examples=proof_size(test=150, soak=5_000), suppress_health_check=[HealthCheck.too_slow]
)
@given(st.lists(FILTERS, max_size=40), st.lists(EVENTS, min_size=1, max_size=10))
def test_it_finds_what_a_scan_finds(filters: list[Filter], some: list[Event]) -> None:
    index = FilterIndex()
    index.update(add=enumerate(filters))
    check(index, dict(enumerate(filters)), some)


class Changes(RuleBasedStateMachine):
    """Adds, removes, replaces and matches in any order, beside a dictionary that is scanned."""

    def __init__(self) -> None:
        super().__init__()
        self.index = FilterIndex()
        self.filters: dict[int, Filter] = {}
        self.snapshots: list[tuple[Callable[..., object], dict[int, Filter]]] = []

    @rule(number=st.integers(0, 12), one=FILTERS)
    def add(self, number: int, one: Filter) -> None:
        if number in self.filters:
            with pytest.raises(MatchingError):
                self.index.add(number, one)
        else:
            self.index.add(number, one)
            self.filters[number] = one

    @rule(numbers=st.lists(st.integers(0, 12), unique=True), some=st.lists(FILTERS, max_size=12))
    def replace(self, numbers: list[int], some: list[Filter]) -> None:
        removed = [number for number in numbers if number in self.filters]
        added = dict(zip(numbers, some, strict=False))
        self.index.update(add=added.items(), remove=removed)
        self.filters = {
            **{number: one for number, one in self.filters.items() if number not in removed},
            **added,
        }

    @rule(number=st.integers(0, 12))
    def remove(self, number: int) -> None:
        if number in self.filters:
            self.index.remove(number)
            del self.filters[number]
        else:
            with pytest.raises(MatchingError):
                self.index.remove(number)

    @rule(some=st.lists(EVENTS, max_size=5))
    def match(self, some: list[Event]) -> None:
        check(self.index, self.filters, some)

    @rule()
    def keep(self) -> None:
        self.snapshots.append((self.index.snapshot().match_events, dict(self.filters)))

    @rule(some=st.lists(EVENTS, min_size=1, max_size=3))
    def match_as_of_before(self, some: list[Event]) -> None:
        for match, filters in self.snapshots[-3:]:
            assert [sorted(ids.tolist()) for ids in match(some)] == [  # type: ignore[attr-defined]
                scan(filters, event) for event in some
            ]

    @invariant()
    def knows_its_filters(self) -> None:
        assert len(self.index) == len(self.filters)
        assert all(number in self.index for number in self.filters)


Changes.TestCase.settings = settings(
    max_examples=proof_size(test=40, soak=2_000),
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestChanges = Changes.TestCase


def test_a_refused_change_leaves_the_index_as_it_was() -> None:
    index = index_of("a = 1", "a = 2")
    one = Filter.parse("a = 1")
    refused: list[tuple[list[tuple[int, Filter]], list[int], str]] = [
        ([(5, one), (1, one)], [], "the index has a filter 1 already: remove it first"),
        ([(5, one), (5, one)], [], "the index has a filter 5 already: remove it first"),
        ([(5, one)], [7], "the index has no filter 7 to remove"),
        ([(5, one)], [0, 0], "the index has no filter 0 to remove"),
        ([(5, one), (-1, one)], [0], "the id of a filter is from 0 to 2,147,483,647, not -1"),
        ([(2**31, one)], [0], "the id of a filter is from 0 to 2,147,483,647, not 2147483648"),
        ([(True, one)], [0], "the id of a filter is from 0 to 2,147,483,647, not True"),
    ]
    for add, remove, why in refused:
        with pytest.raises(MatchingError) as refusal:
            index.update(add=add, remove=remove)
        assert str(refusal.value) == why
        assert found(index, {"a": 1}, {"a": 2}) == [[0], [1]]
        assert len(index) == 2


def test_a_filter_beyond_the_memory_bound_is_refused() -> None:
    index = FilterIndex(bytes_max=100_000)

    def add_many() -> None:
        for number in range(10_000):
            index.add(number, Filter.parse(f"a = {number}"))

    with pytest.raises(MatchingError, match="the index may take 100,000 bytes"):
        add_many()
    count = len(index)
    assert 50 < count < 10_000
    assert found(index, {"a": count - 1}, {"a": count}) == [[count - 1], []]


def test_the_memory_of_an_index_is_within_what_it_was_taken_to_be() -> None:
    index = FilterIndex()
    index.update(
        add=(
            (number, Filter.parse(f"a = 't{number}' AND b LIKE 'x{number}%' AND c > {number}"))
            for number in range(3_000)
        )
    )
    taken_to_be = index.nbytes
    index.snapshot()
    assert index.nbytes <= taken_to_be


def test_long_texts_and_many_tests_are_counted() -> None:
    for one in (
        "a = '" + 5_000 * "é" + "{0}'",
        "b LIKE '" + 900 * "x" + "{0}%' AND a NOT IN ('" + 3_000 * "y" + "{0}')",
        " AND ".join(f"c{at} > {{0}}" for at in range(100)),
    ):
        index = FilterIndex()
        index.update(add=((number, Filter.parse(one.format(number))) for number in range(50)))
        taken_to_be = index.nbytes
        index.snapshot()
        assert index.nbytes <= taken_to_be


def test_what_is_removed_before_anybody_saw_it_takes_no_memory() -> None:
    index = FilterIndex(bytes_max=100_000)
    one = Filter.parse("a = 1")
    for _ in range(1_000):
        index.add(1, one)
        index.remove(1)
    assert index.nbytes == 0


def test_removing_a_filter_that_nothing_matches_removes_nothing_else() -> None:
    never = [Filter.parse("FALSE"), Filter.parse("a = 1 AND a = 2")]
    index = FilterIndex()
    index.update(add=[(10_000, never[0]), (10_001, never[1])])
    index.update(add=((number, Filter.parse(f"a = {number}")) for number in range(5_000)))
    index.snapshot()
    index.update(remove=range(4_990))
    index.snapshot()
    index.update(add=((number, Filter.parse(f"a = {number}")) for number in range(5_000, 5_010)))
    index.snapshot()
    index.update(remove=[10_000, 10_001])
    left = list(range(4_990, 5_010))
    assert found(index, *({"a": number} for number in left)) == [[number] for number in left]
    assert len(index) == 20


def test_only_an_integer_is_an_id() -> None:
    index = index_of("a = 1", "a = 2")
    for number in (True, 1.0, "1", -1, 2**31, None):
        assert number not in index
        with pytest.raises(MatchingError, match="the index has no filter"):
            index.remove(number)  # type: ignore[arg-type]
    assert len(index) == 2


def test_an_id_can_be_given_to_another_filter_in_one_step() -> None:
    index = index_of("a = 1")
    before = index.snapshot()
    index.update(add=[(0, Filter.parse("a = 2"))], remove=[0])
    assert found(index, {"a": 1}, {"a": 2}) == [[], [0]]
    assert [ids.tolist() for ids in before.match_events([{"a": 1}, {"a": 2}])] == [[0], []]


def test_a_snapshot_knows_nothing_of_names_that_come_later() -> None:
    index = index_of("a = 1")
    before = index.snapshot()
    index.update(add=((number, Filter.parse(f"x{number} = 1")) for number in range(1, 500)))
    assert found(index, {"x7": 1, "a": 1}) == [[0, 7]]
    assert before.match_events([{"x7": 1, "a": 1, "x499": 1}]).ids.tolist() == [0]


def test_filters_that_come_and_go_leave_no_memory_behind() -> None:
    index = index_of("a = 1")
    one = Filter.parse("a = 2 AND b LIKE '%x%'")
    sizes = []
    for _ in range(20):
        index.update(add=((number, one) for number in range(1, 1_000)))
        index.snapshot()
        index.update(remove=range(1, 1_000))
        index.snapshot()
        sizes.append(index.nbytes)
    assert sizes[-1] <= sizes[4]
    assert found(index, {"a": 1}, {"a": 2, "b": "x"}) == [[0], []]


def test_more_matches_than_there_was_room_for_are_all_found() -> None:
    index = FilterIndex()
    exact, verified = Filter.parse("a >= 0"), Filter.parse("b LIKE '%x%'")
    index.update(add=((number, exact) for number in range(9_000)))
    index.update(add=((number, verified) for number in range(9_000, 10_000)))
    batch = [{"a": 1, "b": "xx"}] * 3 + [{"a": -1}]
    assert found(index, *batch) == [list(range(10_000))] * 3 + [[]]


def test_a_member_that_comes_twice_is_found_once() -> None:
    index = index_of("'x' IN s", "'x' IN s AND 'y' IN s")
    expected = [0, 1]
    assert sorted(index.match_json([b'{"s": ["x", "y", "x", "y"]}']).ids.tolist()) == expected
    assert sorted(index.match_columns({"s": [["x", "y", "x", "y"]]}).ids.tolist()) == expected


def test_an_empty_batch_and_an_empty_index_have_their_answer() -> None:
    assert found(FilterIndex()) == []
    assert found(FilterIndex(), {"a": 1}) == [[]]
    assert found(index_of("TRUE")) == []


def test_large_finds_stay_as_they_are_while_more_is_matched() -> None:
    index = FilterIndex()
    index.update(add=((number, Filter.parse("a > 0")) for number in range(20_000)))
    first = index.match_events([{"a": 1}, {"a": 2}])
    kept = first.ids.copy()
    part = first[1][5:]
    del first
    for _ in range(4):
        index.match_events([{"a": 5}] * 3).ids[:] = -1
    assert part.tolist() == kept[20_005:].tolist()
