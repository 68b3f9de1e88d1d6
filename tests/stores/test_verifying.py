"""Is whatever was changed behind the back of an open log found when everything is read?"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from headgate.stores.disk_log import DiskLog
from headgate.stores.log_options import LogOptions
from tests.log.streams import stream_of

RECORDS = stream_of(9)


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("journal/*.log", "`orders` offset 7 to 9: a segment is missing"),
        ("sealed/*/*1-*.parquet", "`orders` offset 1 to 3: it is missing"),
        ("kept.sqlite3", "`kept.sqlite3`: it doesn't hold what was stored"),
        ("manifest.json", "`manifest.json`: it doesn't say what was written"),
    ],
)
def test_what_goes_away_under_an_open_log_is_named(
    tmp_path: Path, pattern: str, named: str
) -> None:
    with closing(DiskLog(tmp_path / "log", LogOptions(row_group_rows=2))) as log:
        for at in (0, 3, 6):
            log.append(RECORDS[at : at + 3])
            log.keep("at", b"%d" % at)
            log.sync()
            if at < 6:
                log.end_segment()
        log.maintain(0, {})
        assert log.verify() == ()
        (path,) = (tmp_path / "log").glob(pattern)
        path.unlink()
        assert [str(damage).endswith(named) for damage in log.verify()] == [True]


def test_a_record_of_the_journal_that_was_changed_is_named(tmp_path: Path) -> None:
    with closing(DiskLog(tmp_path / "log")) as log:
        log.append(RECORDS)
        log.sync()
        (path,) = (tmp_path / "log" / "journal").iterdir()
        data = path.read_bytes()
        path.write_bytes(data.replace(b"event-4", b"event-5"))
        assert [(one.stream, one.first) for one in log.verify()] == [("orders", 4)]
