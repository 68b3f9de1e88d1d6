"""Does the log on disk keep what any log store promises, on real directories?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant, rule

from headgate.log.records import LogError
from headgate.log.store import LogStore, StoreFullError
from headgate.stores.disk_log import DiskLog
from headgate.stores.log_options import LogOptions
from tests.log.store_checks import StoreChecks, StoreMachine, synced
from tests.log.streams import following, stream_of
from tests.proofs import proof_size
from tests.stores.log_disks import LogDisk

TINY = LogOptions(segment_bytes=600)
"""So that a few records make many segments."""


class SealingLog:
    """A log that makes Parquet of each segment as soon as it can."""

    def __init__(self, log: DiskLog) -> None:
        self.log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)

    def sync(self) -> None:
        try:
            self.log.sync()
        finally:
            self.log.maintain(0, {})


class SealingDisk(LogDisk):
    def open(self) -> LogStore:
        return cast(LogStore, SealingLog(cast(DiskLog, super().open())))


DISKS: dict[str, Callable[[Path], LogDisk]] = {
    "one segment": LogDisk,
    "many segments": lambda path: LogDisk(path, TINY),
    "sealed segments": lambda path: SealingDisk(path, TINY),
}


@pytest.fixture(params=DISKS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LogDisk]:
    disk = DISKS[request.param](tmp_path)
    yield disk
    disk.close()


class TestDiskLog(StoreChecks):
    """The promises of every store."""


class LogMachine(StoreMachine):
    new_disk: ClassVar[Callable[[], LogDisk]] = LogDisk
    disk: LogDisk

    def teardown(self) -> None:
        self.disk.close()


class SegmentsMachine(LogMachine):
    new_disk = staticmethod(partial(LogDisk, None, TINY))

    @rule()
    def maintain(self) -> None:
        assert self.disk.log is not None
        problem = self.disk.log.maintain(0, {}).problem
        assert problem is None or "the log is full" in problem
        assert problem is None or self.full

    @rule()
    def end_segment(self) -> None:
        assert self.disk.log is not None
        with contextlib.suppress(StoreFullError):
            self.disk.log.end_segment()

    @invariant()
    def nothing_is_damaged(self) -> None:
        if not self.full:
            assert self.disk.log is not None
            assert self.disk.log.verify() == ()


_SIZE = settings(max_examples=proof_size(test=30, soak=3_000), stateful_step_count=30)
TestLogMachine = pytest.mark.proof(LogMachine.TestCase)
TestLogMachine.settings = _SIZE
TestSegmentsMachine = pytest.mark.proof(SegmentsMachine.TestCase)
TestSegmentsMachine.settings = _SIZE


def test_another_process_is_kept_out(tmp_path: Path) -> None:
    log = DiskLog(tmp_path / "log")
    with pytest.raises(LogError, match="is used by another process: end that first"):
        DiskLog(tmp_path / "log")
    log.close()
    DiskLog(tmp_path / "log").close()


def test_what_is_closed_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    records = stream_of(100)
    log = DiskLog(tmp_path / "log", TINY)
    log.keep("key", b"value")
    for one in records:
        synced(log, [one])
    log.append([following(records[-1])])
    log.close()
    with pytest.raises(LogError, match="the log was closed"):
        log.sync()
    log = DiskLog(tmp_path / "log", TINY)
    assert log.read("orders", 0, 1_000) == records
    assert log.kept() == {"key": b"value"}
    assert log.recovery.records == 100
    assert log.recovery.torn_bytes == 0
    log.close()
