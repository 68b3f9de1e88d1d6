"""Do readers see every record exactly once while it is sealed, and what is left when some goes?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from headgate.log.records import Record
from headgate.log.store import StoreFullError
from headgate.stores.disk_log import DiskLog
from headgate.stores.log_options import LogOptions
from headgate.stores.retention import Retention
from tests.log.streams import following, stream_of

HOUR_US = 3_600 * 1_000_000
BEGIN_US = 1_790_000_000_000_000
OPTIONS = LogOptions(segment_bytes=1_000, row_group_rows=4)
SEGMENT_RECORDS = 5


def filled(directory: Path, options: LogOptions, count: int = 30) -> tuple[DiskLog, list[Record]]:
    """A log with segments of five records each, none of which is sealed."""
    log = DiskLog(directory / "log", options)
    records = list(stream_of(count))
    for at in range(0, count, SEGMENT_RECORDS):
        log.append(records[at : at + SEGMENT_RECORDS])
        log.sync()
        log.end_segment()
    return log, records


@pytest.fixture
def log(tmp_path: Path) -> Iterator[DiskLog]:
    log, _ = filled(tmp_path, OPTIONS)
    yield log
    log.close()


def test_full_segments_become_files_and_leave_the_journal(log: DiskLog, tmp_path: Path) -> None:
    before = log.read("orders", 0, 100)
    done = log.maintain(0, {})
    assert [(one.first, one.last) for one in done.sealed] == [
        (first, first + 4) for first in range(1, 31, 5)
    ]
    assert len(list((tmp_path / "log" / "journal").iterdir())) == 1
    assert len(list((tmp_path / "log" / "sealed" / "orders").iterdir())) == 6
    for after in range(32):
        assert log.read("orders", after, 7) == before[after : after + 7]
    assert log.maintain(0, {}).sealed == ()


def test_a_segment_that_is_not_full_ends_after_its_time(tmp_path: Path) -> None:
    with closing(DiskLog(tmp_path / "log")) as log:
        log.append(stream_of(1))
        log.sync()
        for later_us in (0, HOUR_US - 1):
            assert log.maintain(BEGIN_US + later_us, {}).sealed == ()
        assert len(log.maintain(BEGIN_US + HOUR_US, {}).sealed) == 1
        # An empty one isn't ended.
        assert log.maintain(BEGIN_US + 9 * HOUR_US, {}).sealed == ()
        log.append([following(log.last("orders"))])
        log.sync()
        assert log.maintain(BEGIN_US + 9 * HOUR_US, {}).sealed == ()


def test_what_is_too_old_goes_and_the_stream_begins_later(tmp_path: Path) -> None:
    log, records = filled(tmp_path, LogOptions(retention=Retention(seconds=60)))
    log.maintain(BEGIN_US, {})
    assert log.first("orders") == 1
    done = log.maintain(BEGIN_US + HOUR_US, {"orders": 17})
    assert [one.first for one in done.may_go] == [1, 6, 11]
    assert done.cuts == {"orders": 15}
    assert log.first("orders") == 1, "nothing goes before everybody was told"
    log.remove("orders", 15)
    assert [one.first for one in done.held_back] == [16]
    assert log.first("orders") == 16
    for _ in range(2):
        # What follows an offset that is gone begins with what is there.
        assert log.read("orders", 0, 3) == tuple(records[15:18])
        assert log.read("orders", 15, 100) == tuple(records[15:])
        assert log.recent("orders", 100)[0][2] == 16
        assert log.streams() == {"orders": "boot-1"}
        assert log.verify() == ()
        log.close()
        log = DiskLog(tmp_path / "log")
    assert log.first("orders") == 16
    log.append([following(log.last("orders"))])
    log.close()


def test_what_is_taken_though_it_was_owed_is_told(tmp_path: Path) -> None:
    bounds = Retention(bytes=1, removes_owed=True)
    log, _ = filled(tmp_path, LogOptions(retention=bounds))
    log.maintain(0, {})
    done = log.maintain(0, {"orders": 12})
    assert [one.first for one in done.taken_though_owed] == [11, 16, 21]
    assert done.cuts == {"orders": 25}
    log.close()


@pytest.mark.parametrize(("up_to", "first"), [(0, 1), (4, 1), (5, 6), (12, 11), (99, 26)])
def test_only_whole_files_are_removed_and_never_the_last(
    log: DiskLog, up_to: int, first: int
) -> None:
    log.maintain(0, {})
    log.remove("orders", up_to)
    log.remove("never there", up_to)
    assert log.first("orders") == first
    assert log.read("orders", 0, 1)[0].offset == first


def test_what_is_too_old_may_go_though_there_is_no_room_to_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, _ = filled(tmp_path, LogOptions(retention=Retention(seconds=60)))
    log.maintain(BEGIN_US, {})
    log.append([following(log.last("orders"))])
    log.sync()
    log.end_segment()

    def full(*said: object) -> None:
        raise StoreFullError("the log is full")

    monkeypatch.setattr("headgate.stores.maintenance.seal_stream", full)
    done = log.maintain(BEGIN_US + HOUR_US, {})
    assert done.problem == "the log is full"
    assert done.cuts == {"orders": 25}
    log.close()


def test_readers_see_every_record_once_whatever_is_sealed_meanwhile(tmp_path: Path) -> None:
    log, records = filled(tmp_path, OPTIONS, 200)
    done = Event()
    wrong: list[object] = []
    rounds = [0, 0]

    def read(number: int) -> None:
        while not done.is_set() or rounds[number] == 0:
            seen: list[int] = []
            while len(seen) < len(records):
                some = log.read("orders", len(seen), 64)
                if not some:
                    break
                seen += [one.offset for one in some]
            if seen != list(range(1, len(records) + 1)):
                wrong.append(seen)
                return
            rounds[number] += 1

    readers = [Thread(target=read, args=(number,)) for number in range(2)]
    for reader in readers:
        reader.start()
    sealed = log.maintain(0, {}).sealed
    done.set()
    for reader in readers:
        reader.join()
    assert len(sealed) == 40
    assert wrong == []
    log.close()


def test_readers_go_on_while_old_files_are_removed(tmp_path: Path) -> None:
    log, records = filled(tmp_path, LogOptions(retention=Retention(bytes=1)), 200)
    log.maintain(0, {})
    done = Event()
    wrong: list[object] = []

    def read() -> None:
        while not done.is_set():
            some = log.read("orders", 0, 1_000)
            begin = some[0].offset - 1
            if tuple(some) != tuple(records[begin : begin + len(some)]):
                wrong.append(some)

    reader = Thread(target=read)
    reader.start()
    for offset in range(0, 190, 10):
        for stream, up_to in log.maintain(0, {"orders": offset}).cuts.items():
            log.remove(stream, up_to)
    done.set()
    reader.join()
    assert wrong == []
    assert log.first("orders") == 181
    log.close()
