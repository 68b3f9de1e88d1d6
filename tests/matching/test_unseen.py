"""Is what was added since the last version counted, and taken back without a trace?"""

import gc
from collections.abc import Iterator

import pytest

from headgate.filters.filter import Filter
from headgate.matching.directory import Directory
from headgate.matching.index import FilterIndex
from headgate.matching.refusals import MatchingError
from headgate.matching.unseen import Unseen
from tests.matching.test_index import found


def test_what_is_taken_back_is_as_if_it_had_never_been_written() -> None:
    texts = ["a = 'x' AND b > 5", "c = d", "a NOT IN ('x', 'y')", "a = 5 OR b = 'z'"]
    alone, both = Unseen(Directory()), Unseen(Directory())
    for number, text in enumerate(texts):
        alone.keep({number: alone.write(number, Filter.parse(text))})
        both.keep({number: both.write(number, Filter.parse(text))})
    before = both.written()
    for number, text in enumerate(reversed(texts), 10):
        both.write(number, Filter.parse(text))
    assert both.nbytes > alone.nbytes
    both.take_back(before)
    assert (both.nbytes, both.numbers, len(both)) == (alone.nbytes, alone.numbers, len(texts))
    assert list(both.verified()) == list(alone.verified())
    one, other = alone.raw(), both.raw()
    for name in one.__slots__:
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_what_is_forgotten_is_nowhere() -> None:
    unseen = Unseen(Directory())
    for number in range(4):
        unseen.keep({number: unseen.write(number, Filter.parse("a = b OR a = 5"))})
    assert [unseen.forget(number) for number in (1, 2, 7)] == [True, True, False]
    assert [number in unseen for number in (1, 3)] == [False, True]
    assert unseen.places().tolist() == [0, 3]
    assert [place for place, _ in unseen.verified()] == [0, 3]
    assert set(unseen.raw().slots.tolist()) == {0, 3}
    assert [unseen.forget(number) for number in (0, 3)] == [True, True]
    assert unseen.nbytes == 0
    assert len(unseen.raw()) == 0


def test_a_refused_update_leaves_what_waits_as_it_was() -> None:
    index = FilterIndex(bytes_max=60_000)
    index.add(0, Filter.parse("a = 1"))
    size = index.nbytes
    long = Filter.parse("b NOT IN ('" + 20_000 * "x" + "', 'y')")
    for refused in ([(1, Filter.parse("a = 1")), (2, long)], [(1, long), (0, long)]):
        with pytest.raises(MatchingError):
            index.update(add=refused)
        assert index.nbytes == size
    assert found(index, {"a": 1}, {"b": "z"}) == [[0], []]


def test_filters_that_are_removed_before_anybody_sees_them_leave_nothing() -> None:
    index = FilterIndex()
    index.add(0, Filter.parse("a = 1"))
    for number in range(1, 5_000):
        index.add(number, Filter.parse("a = 1 AND b = c"))
        index.update(add=[(number, Filter.parse("a = 2"))], remove=[number])
        index.remove(number)
    assert len(index._unseen.numbers) < 2_000
    assert len(index._verified) == 0
    assert found(index, {"a": 1}, {"a": 2}) == [[0], []]


def test_what_is_added_may_ask_the_index_but_not_change_it() -> None:
    index = FilterIndex()
    one = Filter.parse("a = 1")
    index.add(0, one)

    def asking() -> Iterator[tuple[int, Filter]]:
        yield 1 + found(index, {"a": 1})[0][0], one

    def changing() -> Iterator[tuple[int, Filter]]:
        index.add(5, one)
        yield 6, one

    for refused in (asking(), changing()):
        with pytest.raises(MatchingError, match="the index is being changed"):
            index.update(add=refused)
    seen = index.snapshot()
    index.update(add=asking())
    assert found(index, {"a": 1}) == [[0, 1]]
    assert seen.match_events([{"a": 1}]).ids.tolist() == [0]


def test_what_waits_is_no_object_for_each_filter() -> None:
    index = FilterIndex()
    filters = [Filter.parse(f"a = 't{number}' AND b > {number}") for number in range(1_000)]
    gc.collect()
    before = len(gc.get_objects())
    index.update(add=enumerate(filters))
    gc.collect()
    assert len(gc.get_objects()) - before < 100
