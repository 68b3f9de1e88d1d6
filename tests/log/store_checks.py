"""What must any log store keep its word on? Each store runs these checks on its own disk.

A store's tests subclass `StoreChecks` with a fixture `disk`, and `StoreMachine` with a `new_disk`:
the first say the promises one by one, the second compares long lives with a plain list.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, ClassVar, Protocol

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headgate.log.digests import START, with_chain
from headgate.log.entries import Kept, Write
from headgate.log.records import LogError, Record
from headgate.log.store import LogStore, StoreFullError
from tests.log.streams import chain_of, following, marker, record, stream_of


class Disk(Protocol):
    """Where one store is kept: its power can go, and it can be full."""

    def open(self) -> LogStore:
        """The store, opened for the first time."""

    def crash(self, random: Random) -> LogStore:
        """The power goes; the store as it is found when it is opened again."""

    def fill(self, full: bool) -> None:
        """From now on there is no room for more, or again there is."""


WRONG_NEXT: list[tuple[dict[str, Any], str]] = [
    ({"offset": 3}, "expected offset 4 of `orders`, got 3"),
    ({"offset": 5}, "expected offset 4 of `orders`, got 5"),
    ({"offset": 1}, "expected offset 4 of `orders`, got 1"),
    ({"incarnation": "boot-2"}, "expected the incarnation `boot-1` of `orders`, got `boot-2`"),
    ({"version": 4}, "expected version 5 or later at offset 4 of `orders`, got 4"),
    ({"event_id": "x" * 257}, "offset 4 of `orders` is no record"),
]


def synced(store: LogStore, records: Iterable[Record]) -> None:
    store.append(tuple(records))
    store.sync()


def everything(store: LogStore) -> list[object]:
    """All that can be seen of a store."""
    return [
        store.kept(),
        {stream: (incarnation, store.last(stream), store.read(stream, 0, 10_000))
         for stream, incarnation in sorted(store.streams().items())},
    ]  # fmt: skip


class StoreChecks:
    """The promises of `LogStore`, one by one."""

    def test_a_new_store_is_empty(self, disk: Disk) -> None:
        store = disk.open()
        assert everything(store) == [{}, {}]
        assert store.last("orders") is None
        assert store.read("orders", 0, 10) == ()
        assert store.recent("orders", 10) == ()

    def test_nothing_is_seen_before_it_is_synced(self, disk: Disk) -> None:
        store = disk.open()
        records = stream_of(3)
        store.append(records)
        store.keep("key", b"value")
        assert everything(store) == [{}, {}]
        assert store.last("orders") is None
        assert store.recent("orders", 10) == ()
        store.sync()
        assert store.last("orders") == records[-1]
        assert everything(store) == [
            {"key": b"value"},
            {"orders": ("boot-1", records[-1], records)},
        ]

    def test_what_was_synced_is_there_after_any_crash(self, disk: Disk) -> None:
        store = disk.open()
        records = stream_of(3)
        store.keep("key", b"value")
        synced(store, records)
        for seed in range(20):
            store.append([following(store.last("orders"))])
            store = disk.crash(Random(seed))
            assert store.read("orders", 0, 3) == records
            assert store.kept() == {"key": b"value"}

    def test_a_crash_leaves_of_the_unsynced_what_was_written_first(self, disk: Disk) -> None:
        store = disk.open()
        synced(store, stream_of(1))
        left = set()
        for seed in range(60):
            before = store.last("orders")
            assert before is not None
            first = following(before)
            store.append([first, following(first)])
            store.keep("key", b"%d" % seed)
            store = disk.crash(Random(seed))
            last = store.last("orders")
            assert last is not None
            left.add((last.offset - before.offset, store.kept().get("key") == b"%d" % seed))
        # All four come up: nothing, one record, both, and both with what was kept after them.
        assert left == {(0, False), (1, False), (2, False), (2, True)}

    def test_after_a_crash_streams_go_on_after_what_is_left(self, disk: Disk) -> None:
        store = disk.open()
        for seed in range(20):
            last = store.last("orders")
            store.append([first := following(last), following(first)])
            store = disk.crash(Random(seed))
            synced(store, [following(store.last("orders"), event_id=f"after {seed}")])
        records = store.read("orders", 0, 1_000)
        assert [one.offset for one in records] == list(range(1, len(records) + 1))
        assert chain_of(*records) == records

    def test_what_is_removed_is_gone_and_the_rest_is_not(self, disk: Disk) -> None:
        store = disk.open()
        synced(store, records := stream_of(9))
        assert store.first("orders") == 1
        for up_to in (0, 4, 2, 99):
            before = store.first("orders")
            store.remove("orders", up_to)
            first = store.first("orders")
            # It may keep more than it has to, and never less.
            assert before <= first <= max(before, min(up_to + 1, 9))
            assert store.read("orders", 0, 99) == records[first - 1 :]
            assert store.read("orders", first, 2) == records[first : first + 2]
        assert store.first("none") == 1
        store.remove("none", 3)
        store = disk.crash(Random(1))
        assert store.first("orders") == first
        synced(store, [following(store.last("orders"))])
        assert store.read("orders", 0, 99)[-1].offset == 10

    def test_a_stream_that_left_nothing_may_come_back_as_another(self, disk: Disk) -> None:
        store = disk.open()
        seed = 0
        while not store.streams():
            store.append(stream_of(1, incarnation=f"boot-{seed}"))
            store = disk.crash(Random(seed))
            seed += 1
        assert store.streams() == {"orders": f"boot-{seed - 1}"}
        assert seed > 1

    def test_records_are_read_in_order_after_an_offset_and_no_more_than_asked(
        self, disk: Disk
    ) -> None:
        store = disk.open()
        records = stream_of(9)
        for one in records:
            synced(store, [one])
        for after in range(11):
            for count in range(11):
                assert store.read("orders", after, count) == records[after : after + count]
        for wrong in ((-1, 5), (0, -1)):
            with pytest.raises(LogError, match="expected an offset and a number from 0 on"):
                store.read("orders", *wrong)

    def test_streams_are_apart(self, disk: Disk) -> None:
        store = disk.open()
        orders, trades = stream_of(3), stream_of(2, stream="trades", incarnation="boot-9")
        store.append([orders[0], trades[0], orders[1]])
        synced(store, [trades[1], orders[2]])
        assert store.streams() == {"orders": "boot-1", "trades": "boot-9"}
        assert store.read("orders", 1, 9) == orders[1:]
        assert store.read("trades", 0, 9) == trades
        assert store.last("trades") == trades[-1]

    @pytest.mark.parametrize(("wrong", "because"), WRONG_NEXT)
    @pytest.mark.parametrize("is_synced", [True, False])
    def test_a_record_that_does_not_come_next_is_refused_with_all_beside_it(
        self, disk: Disk, wrong: dict[str, Any], because: str, is_synced: bool
    ) -> None:
        store = disk.open()
        records = stream_of(3, version=5)
        store.append(records)
        if is_synced:
            store.sync()
        beside = stream_of(1, stream="beside")
        forged = with_chain(records[-1].chain, record(**{"offset": 4, "version": 5, **wrong}))
        with pytest.raises(LogError, match=because):
            store.append([*beside, forged])
        synced(store, [following(records[-1])])
        assert store.streams() == {"orders": "boot-1"}
        assert store.read("orders", 0, 9) == (*records, following(records[-1]))

    @pytest.mark.parametrize("chain", [START, b"\x01" * 32, "before"])
    def test_a_digest_that_does_not_continue_the_chain_is_refused(
        self, disk: Disk, chain: bytes | str
    ) -> None:
        store = disk.open()
        records = stream_of(3)
        synced(store, records[:2])
        wrong = records[1].chain if isinstance(chain, str) else chain
        with pytest.raises(LogError, match="offset 3 of `orders` doesn't continue the chain"):
            store.append([msgspec.structs.replace(records[2], chain=wrong)])
        synced(store, [records[2]])
        assert store.last("orders") == records[2]

    def test_the_first_offset_is_1(self, disk: Disk) -> None:
        store = disk.open()
        for offset in (0, 2):
            with pytest.raises(LogError, match=f"expected offset 1 of `orders`, got {offset}"):
                store.append(chain_of(record(offset)))

    def test_markers_are_records_and_no_publications(self, disk: Disk) -> None:
        store = disk.open()
        records = chain_of(record(1), marker(2, version=1), record(3, version=1), marker(4, 2))
        synced(store, records)
        assert store.read("orders", 0, 9) == records
        assert store.last("orders") == records[-1]
        assert store.recent("orders", 9) == (("ann", "event-1", 1, 0), ("ann", "event-3", 3, 1))

    def test_the_recent_publications_are_the_last_ones_in_order(self, disk: Disk) -> None:
        store = disk.open()
        synced(store, stream_of(9))
        expected = tuple(("ann", f"event-{offset}", offset, 0) for offset in range(1, 10))
        for count in range(1, 12):
            assert store.recent("orders", count) == expected[-count:]
        assert store.recent("orders", 0) == ()
        assert disk.crash(Random(1)).recent("orders", 3) == expected[-3:]

    def test_what_is_kept_last_under_a_key_counts(self, disk: Disk) -> None:
        store = disk.open()
        for key, value in (("a", b"1"), ("b", b""), ("a", b"2"), ("c", b"3"), ("c", None)):
            store.keep(key, value)
        store.sync()
        assert store.kept() == {"a": b"2", "b": b""}
        store.keep("a", None)
        store.keep("never there", None)
        assert store.kept() == {"a": b"2", "b": b""}
        store.sync()
        assert store.kept() == {"b": b""}
        assert disk.crash(Random(1)).kept() == {"b": b""}

    def test_what_was_handed_out_does_not_change_later(self, disk: Disk) -> None:
        store = disk.open()
        store.keep("a", b"1")
        synced(store, stream_of(1))
        kept, streams = store.kept(), store.streams()
        store.keep("a", b"2")
        synced(store, stream_of(1, stream="trades"))
        assert kept == {"a": b"1"}
        assert streams == {"orders": "boot-1"}

    def test_a_full_disk_refuses_all_that_was_not_synced_and_keeps_the_rest(
        self, disk: Disk
    ) -> None:
        store = disk.open()
        records = stream_of(3)
        store.keep("key", b"value")
        synced(store, records[:2])
        seen = everything(store)
        disk.fill(True)
        for _ in range(2):
            store.append(records[2:])
            store.keep("key", b"other")
            with pytest.raises(StoreFullError, match="the log is full"):
                store.sync()
            assert everything(store) == seen
        store.sync()  # nothing waits: nothing can be refused
        disk.fill(False)
        store.sync()
        assert everything(store) == seen
        synced(store, [following(records[1], event_id="another")])
        assert store.read("orders", 2, 9) == (following(records[1], event_id="another"),)

    def test_what_a_full_disk_refused_does_not_come_back_in_a_crash(self, disk: Disk) -> None:
        store = disk.open()
        for seed in range(20):
            seen = everything(store)
            disk.fill(True)
            store.append(stream_of(2, stream=f"stream {seed}"))
            with pytest.raises(StoreFullError):
                store.sync()
            disk.fill(False)
            store = disk.crash(Random(seed))
            assert everything(store) == seen

    def test_an_empty_append_and_a_sync_of_nothing_change_nothing(self, disk: Disk) -> None:
        store = disk.open()
        synced(store, stream_of(1))
        seen = everything(store)
        synced(store, ())
        assert everything(store) == seen


class Seen:
    """What a plain list of writes comes to."""

    def __init__(self, writes: Iterable[Write]) -> None:
        self.streams: dict[str, list[Record]] = {}
        self.kept: dict[str, bytes] = {}
        for write in writes:
            if isinstance(write, Record):
                self.streams.setdefault(write.stream, []).append(write)
            elif write.value is None:
                self.kept.pop(write.key, None)
            else:
                self.kept[write.key] = write.value

    def is_what(self, store: LogStore) -> bool:
        return (
            store.kept() == self.kept
            and store.streams() == {name: one[0].incarnation for name, one in self.streams.items()}
            and all(
                store.read(name, 0, 10_000) == tuple(one) and store.last(name) == one[-1]
                for name, one in self.streams.items()
            )
        )


class StoreMachine(RuleBasedStateMachine):
    """A long life of a store beside a plain list of what was synced, and one of what was not."""

    new_disk: ClassVar[Callable[[], Disk]]

    @initialize()
    def open(self) -> None:
        self.disk = type(self).new_disk()
        self.store = self.disk.open()
        self.synced: list[Write] = []
        self.waiting: list[Write] = []
        self.ever_seen: dict[tuple[str, str, int], Record] = {}
        self.boot = 1
        self.full = False

    @rule(
        streams=st.lists(st.sampled_from(["orders", "trades", "$deliveries/é"]), max_size=4),
        newer=st.integers(0, 1),
        is_marker=st.booleans(),
    )
    def append(self, streams: list[str], newer: int, is_marker: bool) -> None:
        records: list[Record] = []
        for stream in streams:
            last = self._last(stream, records)
            said: dict[str, Any] = {"body": None} if is_marker else {}
            if last is None:
                said |= {"stream": stream, "incarnation": f"boot-{self.boot}"}
            else:
                said["version"] = last.version + newer
            records.append(following(last, event_id=f"boot {self.boot}", **said))
        self.store.append(records)
        self.waiting += records

    @rule(
        stream=st.sampled_from(["orders", "trades"]),
        wrong=st.sampled_from(["offset", "gap", "incarnation", "version", "chain"]),
        before=st.integers(0, 2),
    )
    def append_wrongly(self, stream: str, wrong: str, before: int) -> None:
        last = self._last(stream, ())
        records = []
        for _ in range(before):
            last = following(last, stream=stream) if last is None else following(last)
            records.append(last)
        said: dict[str, Any] = {"stream": stream}
        if wrong in ("offset", "gap"):
            said["offset"] = (last.offset if last else 0) + (2 if wrong == "gap" else 0)
        elif wrong in ("incarnation", "version") and last is not None:
            said[wrong] = "other" if wrong == "incarnation" else last.version - 1
        forged = following(last, **{"version": 0, **said})
        if wrong == "chain" or last is None or forged.version < 0:
            forged = msgspec.structs.replace(forged, chain=bytes(32))
        with pytest.raises(LogError):
            self.store.append([*records, forged])

    @rule(key=st.sampled_from("ab"), value=st.none() | st.binary(max_size=5))
    def keep(self, key: str, value: bytes | None) -> None:
        self.store.keep(key, value)
        self.waiting.append(Kept(key, value))

    @rule()
    def sync(self) -> None:
        if self.full and self.waiting:
            with pytest.raises(StoreFullError):
                self.store.sync()
        else:
            self.store.sync()
            self.synced += self.waiting
        self.waiting = []

    @rule(full=st.booleans())
    def fill(self, full: bool) -> None:
        self.full = full
        self.disk.fill(full)

    @rule(seed=st.integers(0, 2**16))
    def crash(self, seed: int) -> None:
        self.fill(False)
        self.store = self.disk.crash(Random(seed))
        self.boot += 1
        possible = (
            [*self.synced, *self.waiting[:count]] for count in range(len(self.waiting), -1, -1)
        )
        left = next((writes for writes in possible if Seen(writes).is_what(self.store)), None)
        assert left is not None, "expected what was synced and some of the first writes after it"
        self.synced, self.waiting = left, []

    @invariant()
    def shows_what_was_synced_and_nothing_else(self) -> None:
        seen = Seen(self.synced)
        assert seen.is_what(self.store)
        for name, records in seen.streams.items():
            publications = [
                (one.publisher, one.event_id, one.offset, one.version)
                for one in records
                if not one.is_marker
            ]
            assert self.store.recent(name, 3) == tuple(publications[-3:])

    @invariant()
    def never_shows_another_record_at_an_offset_that_was_seen(self) -> None:
        for name in self.store.streams():
            for one in self.store.read(name, 0, 10_000):
                place = (one.stream, one.incarnation, one.offset)
                assert self.ever_seen.setdefault(place, one) == one

    def _last(self, stream: str, more: Sequence[Record]) -> Record | None:
        writes = [*self.synced, *self.waiting, *more]
        return next(
            (one for one in reversed(writes) if isinstance(one, Record) and one.stream == stream),
            None,
        )
