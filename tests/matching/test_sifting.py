"""Is who passes the tests left out when something else is amiss?"""

from headgate.filters.filter import Filter
from headgate.model.events import Event
from tests.matching.test_index import check, found, index_of


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


def test_absence_may_be_one_of_many_alternatives() -> None:
    listed = ", ".join(f"'v{number}'" for number in range(300))
    texts = [f"(a IN ({listed}) OR a IS NULL) AND b = 1", f"a IN ({listed}) OR a IS NULL"]
    some: list[dict[str, object]] = [
        {"b": 1}, {"a": "v7", "b": 1}, {"a": "v300", "b": 1}, {"a": 5, "b": 1}, {"a": "v299"},
    ]  # fmt: skip
    check(
        index_of(*texts),
        dict(enumerate(map(Filter.parse, texts))),
        [Event.of(event) for event in some],
    )
