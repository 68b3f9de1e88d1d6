"""Are the kept values all there after a segment, or as they were before it?"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headgate.log.records import LogError
from headgate.stores.damage import DamagedLogError
from headgate.stores.kept_values import FILE, KeptValues
from tests.log.streams import stream_of

ENDS = {"orders": stream_of(3)[-1]}


def stored(directory: Path) -> KeptValues:
    values = KeptValues(directory)
    values.store(1, {"a": b"1", "b": b"", "é\0": b"2"}, ENDS)
    values.store(2, {"a": None, "c": b"3"}, {})
    return values


def test_what_is_stored_is_there_again(tmp_path: Path) -> None:
    values = stored(tmp_path)
    again = KeptValues(tmp_path)
    for one in (values, again):
        assert (one.segment, one.ends) == (2, ENDS)
        assert one.kept == {"b": b"", "é\0": b"2", "c": b"3"}
        assert one.check() is None
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_file_in_which_nothing_was_stored_yet_is_empty(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    values = KeptValues(tmp_path)
    assert (values.segment, values.kept, values.ends) == (0, {}, {})


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE kept SET value = x'34' WHERE key = 'c'",
        "DELETE FROM kept WHERE key = 'c'",
        "UPDATE state SET segment = 1",
        "UPDATE ends SET stream = 'trades'",
        "DELETE FROM state",
        "DROP TABLE ends",
    ],
)
def test_what_was_changed_is_found(tmp_path: Path, statement: str) -> None:
    values = stored(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute(statement)
    assert values.check() is not None
    with pytest.raises(DamagedLogError, match=r"`kept.sqlite3`: it (doesn't hold|can't be read)"):
        KeptValues(tmp_path)


def test_what_can_not_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(LogError, match="can't be opened") as raised:
        KeptValues(tmp_path)
    assert not isinstance(raised.value, DamagedLogError)


def test_it_says_how_it_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    connect = sqlite3.connect

    def traced(*given: object, **more: object) -> sqlite3.Connection:
        connection = connect(*given, **more)  # type: ignore[call-overload]
        connection.set_trace_callback(said.append)
        return connection  # type: ignore[no-any-return]

    monkeypatch.setattr("sqlite3.connect", traced)
    KeptValues(tmp_path).store(1, {}, {})
    assert "PRAGMA journal_mode = WAL" in said
    assert "PRAGMA synchronous = FULL" in said
    said.clear()
    KeptValues(tmp_path, synchronous=False).store(2, {}, {})
    assert "PRAGMA synchronous = OFF" in said
