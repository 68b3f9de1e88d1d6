"""Are all addresses looked up that an event has, and no others taken for them?"""

from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from headgate.model.events import Event
from tests.matching.test_index import check, found, index_of


def test_every_beginning_and_member_of_a_value_is_looked_up() -> None:
    index = index_of(
        "a LIKE 'x%'", "a LIKE 'xy%'", "a LIKE 'é%'", "'p' IN s", "'q' IN s AND a = 'x'"
    )
    assert found(index, {"a": "xyz"}, {"a": "é"}, {"a": "x", "s": ["p", "q"]}, {"s": []}) == [
        [0, 1], [2], [0, 3, 4], [],
    ]  # fmt: skip


def test_absence_is_looked_up_and_checked() -> None:
    index = index_of(
        "a IS NULL", "a IS NULL AND b = 1", "a IS NULL OR a = 5", "b IS NULL AND a > 1"
    )
    assert found(index, {}, {"b": 1}, {"a": 5}, {"a": 6, "b": 1}) == [
        [0, 2], [0, 1, 2], [2, 3], [],
    ]  # fmt: skip


def test_a_filter_with_overlapping_boxes_is_found_once() -> None:
    index = index_of("a > 1 OR b > 1 OR c = 'x'", "'p' IN s OR 'q' IN s", "a > 1 OR d LIKE '%x%'")
    event = {"a": 2, "b": 2, "c": "x", "s": ["p", "q"], "d": "x"}
    assert found(index, event, {"d": "ax"}, event) == [[0, 1, 2], [2], [0, 1, 2]]


def test_further_marks_are_checked() -> None:
    listed = ", ".join(f"'v{number}'" for number in range(300))
    texts = [
        "a <> 'x'", "a NOT IN ('x', 'y')", "a NOT LIKE 'x%'",
        "a = 'x' AND b LIKE 'p%' AND 'm' IN s",
        f"a IN ({listed})", f"a NOT IN ({listed})", "a = 'z' AND b IS STRING",
        "a = '1' AND b = '2' AND c = '3' AND d = '4' AND e = '5' AND f = 6",
    ]  # fmt: skip
    some = [{"a": value, "b": "pq", "s": ["m"]} for value in ("x", "y", "xx", "v7", "v300", 5, "z")]
    some += [{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": six} for six in (6, 7, "6")]
    check(
        index_of(*texts),
        dict(enumerate(map(Filter.parse, texts))),
        [Event.of(event) for event in some],
    )


def test_many_signatures_find_the_same() -> None:
    filters = {
        number: Filter.parse(f"a{number % 40} = 'x' AND b{number % 37} = 'y' AND c > {number % 5}")
        for number in range(1_300)
    }
    index = FilterIndex()
    index.update(add=filters.items())
    event = {f"a{number}": "x" for number in range(0, 40, 3)}
    event |= {f"b{number}": "y" for number in range(0, 37, 2)}
    check(index, filters, [Event.of({**event, "c": c}) for c in (0, 3, 9)])
