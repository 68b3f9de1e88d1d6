"""Are the files of a stream where anybody would look for them, and only whole records in them?"""

from pathlib import Path

import pytest

from headgate.log.digests import START
from headgate.log.entries import Kept, Write, entry
from headgate.log.records import LogError
from headgate.stores.damage import DamagedLogError
from headgate.stores.files import RealFiles
from headgate.stores.journal import Journal
from headgate.stores.sealing import (
    DIRECTORY,
    chain_before,
    folder_name,
    orphans,
    read_segment,
    seal_stream,
)
from tests.log.streams import stream_of

ODD = ["$deliveries/é", "..", ".", "", "_hidden", "a=b", "a/b", "a%2Fb", "A", "é" * 256, "é" * 255]


def test_each_stream_has_a_folder_of_its_own_that_any_file_system_takes() -> None:
    names = [folder_name(stream) for stream in [*ODD, "orders", "a"]]
    assert len(set(names)) == len(names)
    for name in names:
        assert len(name) < 256
        assert not set(name) & set("/\0=.")
        assert name
        assert not name.startswith("_")
    assert folder_name("orders") == "orders"


@pytest.mark.parametrize("stream", ODD)
def test_a_stream_of_any_name_is_sealed(tmp_path: Path, stream: str) -> None:
    (tmp_path / DIRECTORY).mkdir()
    records = stream_of(3, stream=stream)
    sealed = seal_stream(tmp_path, RealFiles(), records, START, 2)
    path = tmp_path / sealed.path
    assert path.parent.parent == tmp_path / DIRECTORY
    assert path.name == f"{1:019}-{3:019}.parquet"
    assert path.stat().st_size == sealed.bytes
    assert sealed.newest_us == records[-1].time_us
    assert orphans(tmp_path, [sealed]) == []
    assert orphans(tmp_path, []) == [path]


def test_an_attempt_that_was_broken_off_is_done_again(tmp_path: Path) -> None:
    folder = tmp_path / DIRECTORY / "orders"
    folder.mkdir(parents=True)
    (folder / f"{1:019}-{3:019}.parquet").write_bytes(b"torn")
    sealed = seal_stream(tmp_path, RealFiles(), stream_of(3), START, 2)
    assert (tmp_path / sealed.path).stat().st_size == sealed.bytes


def test_a_segment_is_read_by_stream_and_damage_keeps_it_from_being_sealed(tmp_path: Path) -> None:
    orders, trades = stream_of(2), stream_of(1, stream="trades")
    journal = Journal.begin(tmp_path, RealFiles(), 1, 0)
    first: list[Write] = [orders[0], *trades, Kept("a", b"1"), orders[1]]
    journal.store([entry(one) for one in first])
    journal.store([entry(one) for one in (Kept("a", None), Kept("b", b"2"))])
    journal.close()
    segment = read_segment(tmp_path, 1)
    assert segment.streams == {"orders": list(orders), "trades": list(trades)}
    assert segment.ends == {"orders": orders[1], "trades": trades[0]}
    assert segment.kept == {"a": None, "b": b"2"}
    path = tmp_path / "00000001.log"
    data = path.read_bytes()
    for place in (3, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:place] + b"?" + data[place + 1 :])
        with pytest.raises(DamagedLogError, match="it stays in the journal"):
            read_segment(tmp_path, 1)


def test_what_stands_before_a_file_is_known_or_it_is_not_written(tmp_path: Path) -> None:
    records = stream_of(3)
    assert chain_before(records[0], None) == START
    assert chain_before(records[2], records[1]) == records[1].chain
    for end in (None, records[0]):
        with pytest.raises(LogError, match="what stands before offset 3 of `orders` isn't known"):
            chain_before(records[2], end)
    with pytest.raises(LogError, match="doesn't continue the chain"):
        seal_stream(tmp_path, RealFiles(), records[1:], START, 2)
