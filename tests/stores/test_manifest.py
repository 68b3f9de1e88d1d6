"""Is a manifest read as it was written, and another one never taken for it?"""

from pathlib import Path

import pytest

from headgate.log.records import LogError
from headgate.stores.damage import DamagedLogError
from headgate.stores.files import RealFiles
from headgate.stores.manifest import FILE, Manifest, Sealed, read_manifest, write_manifest

ONE = Sealed("orders", "boot-1", 1, 9, "sealed/orders/1.parquet", "ab" * 32, 100, 5, "")


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    for manifest in (Manifest(), Manifest(sealed_through=3, files=(ONE, ONE))):
        write_manifest(tmp_path, RealFiles(), manifest)
        assert read_manifest(tmp_path) == manifest.checked()
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_one_that_was_being_written_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / f"{FILE}.new").write_bytes(b"torn")
    write_manifest(tmp_path, RealFiles(), Manifest())
    assert read_manifest(tmp_path) == Manifest().checked()


@pytest.mark.parametrize(
    ("old", "new"), [(b'"first": 1', b'"first": 2'), (b"{", b""), (b"sealed_through", b"other")]
)
def test_another_one_is_not_taken_for_it(tmp_path: Path, old: bytes, new: bytes) -> None:
    data = Manifest(files=(ONE,)).packed()
    assert old in data
    (tmp_path / FILE).write_bytes(data.replace(old, new, 1))
    with pytest.raises(DamagedLogError, match=r"`manifest.json`: it (doesn't say|can't be read)"):
        read_manifest(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(Manifest(format=2).packed())
    with pytest.raises(LogError, match="the log has format 2, this Headgate reads 1"):
        read_manifest(tmp_path)
