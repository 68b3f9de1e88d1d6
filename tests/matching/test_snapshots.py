"""Does a snapshot stay what it was, whatever becomes of its index?"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from headgate.matching.refusals import MatchingError
from headgate.matching.snapshots import Snapshot
from headgate.model.errors import EventError
from headgate.model.events import Event
from tests.matching.test_index import check, index_of
from tests.matching.test_segments import EVENTS, some_filters


def test_a_snapshot_outlives_merges_and_removals() -> None:
    index = FilterIndex()
    filters = some_filters(0, 500)
    index.update(add=filters.items())
    snapshot = index.snapshot()
    expected = [sorted(ids.tolist()) for ids in snapshot.match_events(EVENTS)]
    index.update(remove=range(490))
    index.snapshot()
    index.update(add=some_filters(1_000, 2_000).items())
    index.snapshot()
    assert [sorted(ids.tolist()) for ids in snapshot.match_events(EVENTS)] == expected
    check(
        index, {n: f for n, f in filters.items() if n >= 490} | some_filters(1_000, 2_000), EVENTS
    )


def test_without_changes_the_snapshot_is_the_same() -> None:
    index = index_of("a = 1")
    assert index.snapshot() is index.snapshot()
    before = index.snapshot()
    index.add(1, Filter.parse("a = 2"))
    assert index.snapshot() is not before


def test_what_the_broker_knows_is_matched_like_any_attribute() -> None:
    index = index_of("$topic = 'x' AND a = 1", "$publisher IS NULL")
    event = Event.of({"a": 1})
    batch = [event.with_known({"$topic": "x", "$publisher": "ann"}), event]
    assert [ids.tolist() for ids in index.match_events(batch)] == [[0], [1]]


def test_what_is_known_of_an_event_goes_with_its_text() -> None:
    index = index_of("$topic = 'x' AND a = 1", "$topic LIKE '%y%'", "a = '\n'")
    texts: list[bytes | str] = ['{"a": 1}', '{"a": 1}', b'{"a": "\\n"}', "{}"]
    known: list[dict[str, object]] = [
        {"$topic": "x"},
        {"$topic": "y", "$time": 5},
        {"$topic": "xyz"},
        {},
    ]
    assert [ids.tolist() for ids in index.match_json(texts, known)] == [[0], [1], [2, 1], []]
    assert [ids.tolist() for ids in index.match_json(texts)] == [[], [], [2], []]
    with pytest.raises(MatchingError, match="what is known of 1 events doesn't go with 4 texts"):
        index.match_json(texts, known[:1])
    with pytest.raises(EventError, match="must begin with"):
        index.match_json(["{}"], [{"topic": "x"}])


def test_threads_match_as_of_their_snapshots_while_the_index_goes_on() -> None:
    index = FilterIndex()
    filters = some_filters(0, 400)
    index.update(add=filters.items())
    texts = [event.to_json() for event in EVENTS]

    def as_of(snapshot: Snapshot, expected: list[list[int]]) -> bool:
        return all(
            [sorted(ids.tolist()) for ids in matches] == expected
            for _ in range(5)
            for matches in (snapshot.match_json(texts), snapshot.match_events(EVENTS))
        )

    with ThreadPoolExecutor(8) as threads:
        answers = []
        for start in range(1_000, 9_000, 200):
            expected = [
                sorted(number for number, one in filters.items() if one.matches(event))
                for event in EVENTS
            ]
            answers += [threads.submit(as_of, index.snapshot(), expected) for _ in range(3)]
            gone = [number for number in filters if number % 3 == start // 200 % 3]
            more = some_filters(start, start + 150)
            index.update(add=more.items(), remove=gone)
            filters = {n: one for n, one in filters.items() if n not in set(gone)} | more
        assert all(answer.result() for answer in answers)
