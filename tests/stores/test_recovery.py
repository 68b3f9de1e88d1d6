"""Is what is found when a log is opened all that was stored, without what was torn?"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from headgate.stores.damage import DamagedLogError
from headgate.stores.disk_log import DiskLog
from headgate.stores.journal import HEAD_BYTES
from headgate.stores.log_options import LogOptions
from tests.log.streams import stream_of

RECORDS = stream_of(6)


def left(directory: Path) -> Path:
    """A log whose process was killed: two segments, of which the second has two groups."""
    log = DiskLog(directory / "log")
    for number, one in enumerate(RECORDS):
        log.append([one])
        log.keep("position", b"%d" % number)
        log.sync()
        if number == 3:
            log.end_segment()
    log._journal.close()
    log._let_go()
    return directory / "log" / "journal"


def test_a_torn_tail_is_cut_off_and_counted(tmp_path: Path) -> None:
    journals = left(tmp_path)
    path = journals / "00000002.log"
    data = path.read_bytes()
    path.write_bytes(data + b"torn")
    with closing(DiskLog(tmp_path / "log")) as log:
        assert (log.recovery.torn_bytes, log.recovery.records) == (4, 6)
        assert log.read("orders", 0, 10) == RECORDS
        assert log.recovery.seconds > 0
    with closing(DiskLog(tmp_path / "log")) as log:
        assert log.recovery.torn_bytes == 0


def test_of_a_group_that_was_being_synced_a_beginning_may_be_left(tmp_path: Path) -> None:
    journals = left(tmp_path)
    path = journals / "00000002.log"
    path.write_bytes(path.read_bytes()[:-1])
    with closing(DiskLog(tmp_path / "log")) as log:
        assert log.read("orders", 0, 10) == RECORDS
        assert log.kept() == {"position": b"4"}


@pytest.mark.parametrize("size", [0, 1, HEAD_BYTES - 1])
def test_a_segment_that_was_being_begun_is_begun_again(tmp_path: Path, size: int) -> None:
    journals = left(tmp_path)
    data = (journals / "00000002.log").read_bytes()
    (journals / "00000003.log").write_bytes(data[:size])
    with closing(DiskLog(tmp_path / "log")) as log:
        assert log.recovery.torn_bytes == size
        assert log.read("orders", 0, 10) == RECORDS
        log.keep("more", b"")
        log.sync()
    with closing(DiskLog(tmp_path / "log")) as log:
        assert log.kept() == {"position": b"5", "more": b""}


@pytest.mark.parametrize(
    ("gone", "named"), [("00000001.log", "it lacks 00000001.log"), ("00000002.log", "")]
)
def test_a_missing_segment_is_named_where_another_follows(
    tmp_path: Path, gone: str, named: str
) -> None:
    journals = left(tmp_path)
    (journals / gone).unlink()
    if named:
        with pytest.raises(DamagedLogError, match=named):
            DiskLog(tmp_path / "log")
    else:
        # Nothing but the segment itself says that it was ever begun.
        DiskLog(tmp_path / "log").close()


def test_a_shortened_segment_is_named(tmp_path: Path) -> None:
    path = left(tmp_path) / "00000001.log"
    with path.open("r+b") as file:
        # At the end of a group: what is left is whole.
        data = file.read()
        file.truncate(data.rindex(b"\x93\xa6synced") - 8)
    with pytest.raises(DamagedLogError, match=r"`journal/00000001.log`: expected \d+ bytes, got"):
        DiskLog(tmp_path / "log")


def test_what_is_sealed_is_not_read_from_the_journal_again(tmp_path: Path) -> None:
    left(tmp_path)
    with closing(DiskLog(tmp_path / "log")) as log:
        log.maintain(0, {})
    with closing(DiskLog(tmp_path / "log", LogOptions())) as log:
        assert log.recovery.records == 2
        assert log.read("orders", 0, 10) == RECORDS
        assert log.last("orders") == RECORDS[-1]
        assert log.kept() == {"position": b"5"}


def test_files_that_no_manifest_names_are_taken_away(tmp_path: Path) -> None:
    left(tmp_path)
    folder = tmp_path / "log" / "sealed" / "orders"
    folder.mkdir(parents=True)
    (folder / "torn.parquet").write_bytes(b"PAR1")
    with closing(DiskLog(tmp_path / "log")) as log:
        assert list(folder.iterdir()) == []
        assert log.recovery.damaged == ()
