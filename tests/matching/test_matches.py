"""Are the ids of each event where the offsets say?"""

import numpy as np
import pytest

from headgate.filters.filter import Filter
from headgate.matching.matches import Matches, with_more, with_verified

MATCHES = Matches(np.array([0, 2, 2, 3]), np.array([5, 6, 7], np.int32))


def lists(matches: Matches) -> list[list[int]]:
    return [ids.tolist() for ids in matches]


def test_matches_are_taken_event_by_event() -> None:
    assert len(MATCHES) == 3
    assert lists(MATCHES) == [[5, 6], [], [7]]
    assert MATCHES[-1].tolist() == [7]
    with pytest.raises(IndexError, match="a batch of 3 events has no event 3"):
        MATCHES[3]


def test_further_ids_come_to_their_events() -> None:
    assert lists(with_more(MATCHES, [2, 0, 1, 1], [1, 2, 3, 4])) == [[5, 6, 2], [3, 4], [7, 1]]


def test_only_candidates_that_match_are_among_the_matches() -> None:
    filters = {0: (10, Filter.parse("a LIKE '%x%'")), 1: (11, Filter.parse("a LIKE '%y%'"))}
    candidates = np.array([1, 0, 1, 1, 2, 1], np.int32)
    found = with_verified(
        MATCHES, candidates, filters, lambda event: {"a": "xx" if event == 1 else "y"}
    )
    assert lists(found) == [[5, 6], [10], [7, 11]]
