"""Are records read from sealed files by offset, cheaply, and never damaged ones?"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate.log.digests import START
from headgate.stores.damage import DamagedLogError
from headgate.stores.files import RealFiles
from headgate.stores.manifest import Sealed
from headgate.stores.sealed_files import SealedFiles
from headgate.stores.sealing import DIRECTORY, seal_stream
from tests.log.streams import stream_of

RECORDS = stream_of(50)


@pytest.fixture
def sealed(tmp_path: Path) -> Sealed:
    (tmp_path / DIRECTORY).mkdir()
    return seal_stream(tmp_path, RealFiles(), RECORDS, START, 8)


def test_any_range_is_read(tmp_path: Path, sealed: Sealed) -> None:
    files = SealedFiles(tmp_path)
    for first in range(1, 51):
        for last in range(first, 51, 7):
            assert files.read(sealed, first, last) == list(RECORDS[first - 1 : last])


def test_only_the_row_groups_that_are_asked_for_are_decoded_and_once(
    tmp_path: Path, sealed: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []

    def counted(table: Any) -> Any:
        decoded.append(table.num_rows)
        return records_of(table)

    from headgate.stores.parquet import records_of

    monkeypatch.setattr("headgate.stores.sealed_files.records_of", counted)
    files = SealedFiles(tmp_path)
    files.read(sealed, 10, 17)
    assert decoded == [8, 8]
    files.read(sealed, 9, 24)
    assert decoded == [8, 8]


def test_no_more_is_kept_in_memory_than_a_few_row_groups(
    tmp_path: Path, sealed: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.stores.sealed_files._GROUPS_MAX", 2)
    files = SealedFiles(tmp_path)
    for _ in range(2):
        assert files.read(sealed, 1, 50) == list(RECORDS)
        assert [number for _, number in files._groups] == [5, 6]


def test_another_file_in_its_place_is_named(tmp_path: Path, sealed: Sealed) -> None:
    other = msgspec.structs.replace(sealed, sha256="0" * 64)
    files = SealedFiles(tmp_path)
    with pytest.raises(DamagedLogError, match="`orders` offset 1 to 50: its SHA-256 isn't that"):
        files.read(other, 1, 1)
    assert files.check(sealed) is None


def test_damage_that_comes_after_it_was_checked_is_found_by_its_page(
    tmp_path: Path, sealed: Sealed
) -> None:
    files = SealedFiles(tmp_path)
    assert files.read(sealed, 1, 8) == list(RECORDS[:8])
    path = tmp_path / sealed.path
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle - 2_000 : middle] = bytes(2_000)
    path.write_bytes(data)
    with pytest.raises(DamagedLogError, match=r"it can't be read|its offsets don't follow"):
        files.read(sealed, 9, 50)
    found = files.check(sealed)
    assert found is not None
    assert "SHA-256" in found.because


def test_a_file_that_went_away_is_no_damage_to_a_reader(tmp_path: Path, sealed: Sealed) -> None:
    (tmp_path / sealed.path).unlink()
    with pytest.raises(FileNotFoundError):
        SealedFiles(tmp_path).read(sealed, 1, 1)
    found = SealedFiles(tmp_path).check(sealed)
    assert found is not None
    assert found.because == "it is missing"


def test_a_chain_that_begins_elsewhere_is_named(tmp_path: Path, sealed: Sealed) -> None:
    found = SealedFiles(tmp_path).check(msgspec.structs.replace(sealed, before="00" * 32))
    assert found is not None
    assert "doesn't continue the chain" in found.because
