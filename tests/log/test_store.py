"""Does a stream go on only with the record that comes next?"""

import pytest

from headgate.log.records import LogError, Record
from headgate.log.store import StoreFullError, check_next
from tests.log.streams import following, marker, record, stream_of

LAST = stream_of(3, version=5)[-1]


@pytest.mark.parametrize(
    "good",
    [
        following(LAST),
        following(LAST, version=9),
        following(LAST, version=6, body=None),
        following(LAST, time_us=0),
    ],
)
def test_what_comes_next_is_taken(good: Record) -> None:
    check_next(LAST, good)


def test_a_stream_begins_with_offset_1_in_any_version_and_incarnation() -> None:
    check_next(None, following(None, version=7, incarnation="any"))
    with pytest.raises(LogError, match="expected offset 1 of `orders`, got 0"):
        check_next(None, record(0))
    with pytest.raises(LogError, match="expected offset 1 of `orders`, got 2"):
        check_next(None, marker(2, version=1))


@pytest.mark.parametrize(
    ("wrong", "because"),
    [
        (LAST, "expected offset 4 of `orders`, got 3"),
        (following(LAST, offset=5), "expected offset 4 of `orders`, got 5"),
        (
            following(LAST, incarnation="b"),
            "expected the incarnation `boot-1` of `orders`, got `b`",
        ),
        (following(LAST, version=4), "expected version 5 or later at offset 4 of `orders`, got 4"),
        (record(4, version=5), "offset 4 of `orders` doesn't continue the chain"),
    ],
)
def test_what_does_not_come_next_is_refused_with_what_was_expected(
    wrong: Record, because: str
) -> None:
    with pytest.raises(LogError, match=because):
        check_next(LAST, wrong)


def test_a_full_store_is_told_from_a_wrong_record() -> None:
    assert issubclass(StoreFullError, LogError)
