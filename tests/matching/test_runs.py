"""Does a sorted run give exactly those that pass?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.filters.filter import Filter
from headgate.matching.compiled import address_of
from headgate.matching.index import FilterIndex
from headgate.matching.runs import how_many_pass
from headgate.model.events import Event
from tests.matching.test_index import check, index_of


@given(st.lists(st.integers(-20, 20), max_size=40), st.integers(-21, 21))
def test_a_binary_search_counts_who_passes(bounds: list[int], key: int) -> None:
    rising = np.array([-99, *sorted(bounds)], np.int64)
    start = address_of(rising) + 8
    assert how_many_pass(start, len(bounds), key) == sum(bound <= key for bound in bounds)


def check_ranges(texts: list[str]) -> None:
    index = index_of(*texts)
    some = [Event.of({"a": a, "b": b}) for a in range(-2, 103, 7) for b in (-1, 0, 13, 50.5, 99)]
    some += [Event.of({"a": "x", "b": 5}), Event.of({"b": 5}), Event.of({"a": 5})]
    check(index, dict(enumerate(map(Filter.parse, texts))), some)


def test_large_groups_of_every_shape_give_who_passes() -> None:
    spread = [(37 * number) % 100 for number in range(700)]
    check_ranges([f"a > {low}" for low in spread])
    check_ranges([f"a <= {low} AND b > {low // 2}" for low in spread])
    check_ranges([f"a BETWEEN {low} AND {low + low % 9}" for low in spread])
    check_ranges([f"a BETWEEN {low} AND {low + low * low // 50}" for low in spread])
    check_ranges(
        [f"a BETWEEN {low} AND {low + 30} AND b BETWEEN {low // 3} AND {low}" for low in spread]
    )
    check_ranges([f"b > {low % 7} AND a BETWEEN {low} AND {low + 3}" for low in spread])
    check_ranges(["a > 50" for _ in spread])


def test_runs_of_the_dead_are_left_out() -> None:
    index = FilterIndex()
    filters = {number: Filter.parse(f"a > {number % 50}") for number in range(2_000)}
    index.update(add=filters.items())
    some = [Event.of({"a": a}) for a in (-1, 10, 49.5, 100)]
    check(index, filters, some)
    for number in range(0, 900, 3):
        index.remove(number)
        del filters[number]
    check(index, filters, some)
