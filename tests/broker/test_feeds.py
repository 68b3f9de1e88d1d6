"""Is everybody who is served from a stream given what it is owed, once and in order?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.broker.feeds import HostedFeed
from headgate.broker.outbox import Outbox
from tests.broker.parts import NOW, Disk, Reader, record, settings, wishes


class Stream:
    """A hosted stream whose disk answers at once."""

    def __init__(self, **said: int) -> None:
        self.outbox = Outbox()
        self.disk = Disk(self.outbox)
        self.feed = HostedFeed("orders", "boot", settings(**said), self.outbox, 0, 0)

    def publish(self, *values: int | None) -> None:
        for a in values:
            self.disk.records.append(record(len(self.disk.records) + 1, a))
            self.feed.extend(self.disk.records[-1], NOW)
            self.disk.store()

    def add(self, reader: Reader) -> Reader:
        self.feed.add(reader, NOW)
        self.disk.store()
        return reader

    def serve(self, reader: Reader) -> None:
        self.feed.serve(reader, NOW)
        self.disk.store()


def test_who_comes_is_vouched_for_where_the_stream_stands_and_gets_what_follows() -> None:
    stream = Stream()
    stream.publish(1, 2)
    reader = stream.add(Reader(wishes("a = 1")))
    stream.publish(1, 2, 1)
    assert reader.said == [
        "vouched 0 after 2", "record 3", "reached 4", "record 5"
    ]  # fmt: skip


def test_who_comes_with_an_offset_gets_what_follows_it_first() -> None:
    stream = Stream()
    stream.publish(1, 2, 1)
    reader = stream.add(Reader(wishes("TRUE"), at=1))
    stream.publish(2)
    assert reader.said[0] == "vouched 0 after 1"
    assert reader.records() == [2, 3, 4]


def test_another_set_holds_from_where_it_is_vouched_for() -> None:
    stream = Stream()
    reader = stream.add(Reader(wishes("a = 1")))
    stream.publish(2)
    stream.feed.want(reader, wishes("a = 2"), 1, NOW)
    stream.publish(1, 2)
    assert reader.said == [
        "vouched 0 after 0", "reached 1", "vouched 1 after 1", "reached 2", "record 3"
    ]  # fmt: skip


def test_who_can_not_take_more_gets_the_rest_later_and_stops_nobody() -> None:
    stream = Stream(cache_records=2, read_records=2)
    slow, quick = stream.add(Reader(wishes("TRUE"))), stream.add(Reader(wishes("TRUE")))
    stream.publish(1)
    slow.blocked = True
    stream.publish(*range(9))
    assert slow.records() == [1]
    assert quick.records() == list(range(1, 11))
    slow.blocked = False
    stream.serve(slow)
    stream.publish(1)
    assert slow.records() == list(range(1, 12))
    assert stream.outbox.counts["read from the log"] > 1


def test_what_is_in_memory_stays_within_its_bounds() -> None:
    few, small = Stream(cache_records=3), Stream(cache_bytes=1_000)
    for stream in (few, small):
        stream.publish(*range(50))
    assert len(few.feed._cache) == 3
    assert 1 <= len(small.feed._cache) <= 5
    assert few.feed.floor == 47


def test_who_is_ahead_of_the_stream_waits_for_it() -> None:
    stream = Stream()
    reader = stream.add(Reader(wishes("TRUE"), at=2))
    stream.publish(1, 1, 1)
    assert reader.records() == [3]


def test_a_marker_is_no_record_and_yet_passes() -> None:
    stream = Stream()
    reader = stream.add(Reader(wishes("TRUE")))
    stream.publish(None, 1)
    assert reader.said[1:] == ["reached 1", "record 2"]


def test_who_leaves_gets_nothing_more() -> None:
    stream = Stream()
    reader = stream.add(Reader(wishes("TRUE")))
    stream.feed.remove(reader, NOW)
    stream.feed.remove(reader, NOW)
    stream.publish(1)
    assert reader.records() == []
    assert not stream.feed.wishes


def test_the_wishes_are_those_of_all_who_are_here() -> None:
    stream = Stream()
    first = stream.add(Reader(wishes("a = 1", known=5)))
    second = stream.add(Reader(wishes("a = 1", "a = 2", known=3)))
    assert stream.feed.wishes == wishes("a = 1", "a = 2", known=3)
    stream.feed.remove(second, NOW)
    assert stream.feed.wishes == wishes("a = 1", known=5)
    stream.feed.want(first, wishes("a = 3"), 1, NOW)
    assert stream.feed.wishes == wishes("a = 3")


actions = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["block", "unblock", "narrow", "widen"]), st.integers(0, 2)),
    ),
    max_size=40,
)


@pytest.mark.parametrize("cache", [1, 3, 100])
@given(actions)
def test_whoever_is_blocked_when_gets_exactly_what_its_sets_say(
    cache: int, happens: Sequence[tuple[str, int]]
) -> None:
    """A set holds from its vouch on: up to there the one before it does."""
    stream = Stream(cache_records=cache, read_records=2)
    readers = [stream.add(Reader(wishes("TRUE"))) for _ in range(3)]
    for what, number in happens:
        reader = readers[number]
        match what:
            case "publish":
                stream.publish(number)
            case "block":
                reader.blocked = True
            case "unblock":
                reader.blocked = False
                stream.serve(reader)
            case "narrow" | "widen":
                wanted = wishes("a = 1") if what == "narrow" else wishes("TRUE")
                stream.feed.want(reader, wanted, reader.epoch + 1, NOW)
                stream.disk.store()
                reader.said.append(f"now {what}")
    for reader in readers:
        reader.blocked = False
        stream.serve(reader)
        given = reader.records()
        assert given == sorted(set(given))
        assert set(given) >= {one.offset for one in stream.disk.records if one.body == b'{"a":1}'}
        if "now narrow" not in reader.said:
            assert given == [one.offset for one in stream.disk.records]
