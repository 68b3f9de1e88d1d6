"""Do entries keep what they demand when segments are sorted and merged?"""

from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from headgate.model.events import Event
from tests.matching.test_index import check

EVENTS = [Event.of({"a": a, "b": f"t{a}", "c": a / 2}) for a in range(0, 60, 7)]


def some_filters(start: int, end: int) -> dict[int, Filter]:
    shapes = [
        "a > {0}", "b = 't{0}' AND a < 50", "b <> 't{0}' AND c > 3", "a IN ({0}, 5) OR c < {0}",
        "b LIKE '%{0}%'", "a BETWEEN {0} AND 40",
    ]  # fmt: skip
    return {
        number: Filter.parse(shapes[number % len(shapes)].format(number % 60))
        for number in range(start, end)
    }


def test_small_segments_are_merged_into_larger_ones() -> None:
    index = FilterIndex()
    filters: dict[int, Filter] = {}
    for start in range(0, 600, 20):
        more = some_filters(start, start + 20)
        index.update(add=more.items())
        filters |= more
        check(index, filters, EVENTS)
    assert len(index._segments) < 6


def test_a_segment_of_mostly_dead_entries_is_written_anew() -> None:
    index = FilterIndex()
    filters = some_filters(0, 3_000)
    index.update(add=filters.items())
    check(index, filters, EVENTS)
    before = index.nbytes
    for number in range(2_900):
        index.remove(number)
        del filters[number]
    check(index, filters, EVENTS)
    assert sum(len(segment) for segment in index._segments) < 300
    assert index.nbytes < before / 2
    index.update(add=some_filters(0, 50).items())
    check(index, filters | some_filters(0, 50), EVENTS)
