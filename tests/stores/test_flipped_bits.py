"""Across modules: a bit flipped anywhere in a closed log is found and named, or harmless."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from headgate.log.entries import whole
from headgate.log.records import Record
from headgate.stores.damage import DamagedLogError
from headgate.stores.disk_log import DiskLog
from headgate.stores.journal import HEAD_BYTES
from headgate.stores.log_options import LogOptions
from tests.log.streams import following
from tests.proofs import COUNTED, proof_size
from tests.stores.log_disks import memory

pytestmark = pytest.mark.proof

OPTIONS = LogOptions(segment_bytes=1_500, row_group_rows=3)
FILES = ["manifest.json", "kept.sqlite3", "journal/*.log", "sealed/*/*.parquet"]


@pytest.fixture(scope="module")
def closed() -> Iterator[Path]:
    """A log with sealed files, values, and two segments of the journal."""
    place = Path(tempfile.mkdtemp(prefix="headgate-bits-", dir=memory()))
    with closing(DiskLog(place / "log", OPTIONS)) as log:
        for number in range(24):
            for stream in ("orders", "trades")[: 1 + number % 2]:
                said = {} if log.last(stream) is not None else {"stream": stream}
                log.append([following(log.last(stream), known={"$n": number}, **said)])
            log.keep("position", b"%d" % number)
            log.sync()
            if number == 16:
                log.maintain(0, {})
        assert len(log._maintainer.manifest.files) > 2
    assert len(list((place / "log" / "journal").iterdir())) > 1
    yield place / "log"
    shutil.rmtree(place)


@pytest.fixture
def restore(closed: Path) -> Iterator[Callable[[], None]]:
    """Makes the log again what it was, whatever was done to it."""
    before = {path: path.read_bytes() for path in closed.rglob("*") if path.is_file()}

    def restore() -> None:
        for path in set(closed.rglob("*")) - set(before):
            if path.is_file():
                path.unlink()
        for path, data in before.items():
            path.write_bytes(data)

    yield restore
    restore()


def everything(log: DiskLog) -> object:
    return log.kept(), {
        stream: (log.last(stream), log.read(stream, 0, 10_000)) for stream in log.streams()
    }


def flipped_places(size: int, count: int) -> list[tuple[int, int]]:
    random = Random(size)
    places = range(size) if size <= count else sorted(random.sample(range(size), count))
    return [(place, random.randrange(8)) for place in places]


@pytest.mark.parametrize("pattern", FILES)
def test_a_flipped_bit_is_named_or_harmless(
    closed: Path,
    pattern: str,
    restore: Callable[[], None],
    record_property: Callable[[str, object], None],
) -> None:
    with closing(DiskLog(closed, OPTIONS)) as log:
        expected = everything(log)
    restore()
    paths = sorted(closed.glob(pattern))
    per_file = proof_size(test=400, soak=100_000) // len(paths)
    found = harmless = 0
    for path in paths:
        data = path.read_bytes()
        for place, bit in flipped_places(len(data), per_file):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            named = named_of(closed, expected)
            assert named <= {str(path.relative_to(closed))}, (path, place, bit)
            found += bool(named)
            harmless += not named
            restore()
    assert found > 0
    record_property(COUNTED, f"{found} named, {harmless} harmless")


def named_of(closed: Path, expected: object) -> set[str]:
    """The files that are named as damaged; if the log can be read all is as it was."""
    try:
        with closing(DiskLog(closed, OPTIONS)) as log:
            named = {one.file for one in log.verify()}
            assert everything(log) == expected
            return named
    except DamagedLogError as damaged:
        return {one.file for one in damaged.damages}


def test_each_record_of_the_journal_is_named_by_its_stream_and_offset(
    closed: Path, restore: Callable[[], None]
) -> None:
    with closing(DiskLog(closed, OPTIONS)) as log:
        last = [log.last(stream) for stream in log.streams()]
        ends = {(one.stream, one.offset) for one in last if one is not None}
    restore()
    for path in sorted((closed / "journal").iterdir()):
        data = path.read_bytes()
        for start, end, one in whole(data, HEAD_BYTES):
            if not isinstance(one, Record):
                continue
            for place in (start, start + 5, (start + end) // 2, end - 1):
                damaged = bytearray(data)
                damaged[place] ^= 0x10
                path.write_bytes(damaged)
                with pytest.raises(DamagedLogError) as raised:
                    DiskLog(closed, OPTIONS)
                # Behind the last one nothing says which it was, if it can't be read at all.
                is_last = (one.stream, one.offset) in ends
                assert any(
                    (
                        (damage.stream, damage.file) == (one.stream, f"journal/{path.name}")
                        and (damage.first or 0) <= one.offset <= (damage.last or 0)
                    )
                    or (is_last and damage.file == f"journal/{path.name}")
                    for damage in raised.value.damages
                ), (one.offset, place - start, raised.value.damages)
                assert is_last or f"`{one.stream}` offset" in str(raised.value)
        path.write_bytes(data)


def test_a_damaged_sealed_file_keeps_its_own_records_from_being_read_and_no_others(
    closed: Path, restore: Callable[[], None]
) -> None:
    with closing(DiskLog(closed, OPTIONS)) as log:
        orders = log.read("orders", 0, 1_000)
        first = next(one for one in log._maintainer.manifest.files if one.stream == "orders")
    path = closed / first.path
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"?" + data[len(data) // 2 + 1 :])
    with closing(DiskLog(closed, OPTIONS)) as log:
        with pytest.raises(DamagedLogError, match=f"`orders` offset {first.first} to {first.last}"):
            log.read("orders", 0, 10)
        assert log.read("orders", first.last, 1_000) == orders[first.last :]
        assert log.recent("orders", 1_000)[0][2] > first.last
    path.write_bytes(data[:-1])
    with closing(DiskLog(closed, OPTIONS)) as log:
        assert [one.file for one in log.recovery.damaged] == [first.path]
    path.unlink()
    with closing(DiskLog(closed, OPTIONS)) as log:
        assert "it is missing" in str(log.recovery.damaged[0])
        with pytest.raises(DamagedLogError, match="it is missing"):
            log.read("orders", 0, 10)
        assert "it is missing" in str(log.verify()[0])
    path.write_bytes(data)


@pytest.mark.parametrize("gone", ["manifest.json", "kept.sqlite3", "journal"])
def test_a_file_that_is_gone_is_named(closed: Path, tmp_path: Path, gone: str) -> None:
    copy = tmp_path / "log"
    shutil.copytree(closed, copy)
    missing = min((copy / "journal").iterdir()) if gone == "journal" else copy / gone
    missing.unlink()
    with pytest.raises(DamagedLogError, match=f"`{gone}`"):
        DiskLog(copy, OPTIONS)
