"""Is everything written, however little a call takes, and is what must be on the disk synced?"""

import errno
from pathlib import Path

import pytest

from headgate.stores.files import (
    FilesWithoutSync,
    RealFiles,
    ensure_directory,
    write_all,
    write_new,
)
from tests.stores.power import RecordingFiles, Sync, SyncDirectory


class SlowFiles(RealFiles):
    """Each call writes three bytes at most, and none when it is full."""

    full = False

    def write(self, file: int, data: bytes | memoryview, at: int) -> int:
        return 0 if self.full else super().write(file, data[:3], at)


def test_what_takes_many_calls_is_written_whole(tmp_path: Path) -> None:
    files = SlowFiles()
    write_new(files, tmp_path / "new", b"0123456789")
    assert (tmp_path / "new").read_bytes() == b"0123456789"
    file = files.open(tmp_path / "new")
    write_all(files, file, b"abcde", 8)
    files.cut(file, 12)
    assert (tmp_path / "new").read_bytes() == b"01234567abcd"
    files.full = True
    with pytest.raises(OSError, match="nothing was written") as raised:
        write_all(files, file, b"abc", 0)
    assert raised.value.errno == errno.ENOSPC
    files.close(file)


def test_a_new_file_is_synced_and_never_one_that_is_there(tmp_path: Path) -> None:
    files = RecordingFiles(tmp_path)
    write_new(files, tmp_path / "new", b"content")
    assert isinstance(files.operations[-1], Sync)
    with pytest.raises(FileExistsError):
        write_new(files, tmp_path / "new", b"content")


def test_the_name_of_a_directory_is_synced_even_if_it_was_there(tmp_path: Path) -> None:
    files = RecordingFiles(tmp_path)
    for _ in range(2):
        ensure_directory(files, tmp_path / "made")
        assert files.operations[-1] == SyncDirectory(Path())


def test_a_file_is_renamed_in_place_of_another_and_removed(tmp_path: Path) -> None:
    files = FilesWithoutSync()
    write_new(files, tmp_path / "a", b"a")
    write_new(files, tmp_path / "b", b"b")
    files.rename(tmp_path / "a", tmp_path / "b")
    files.sync_directory(tmp_path)
    assert (tmp_path / "b").read_bytes() == b"a"
    files.remove(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_without_syncs_the_machine_is_not_asked_for_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fsync", "fdatasync"):
        monkeypatch.delattr(f"os.{name}")
    write_new(FilesWithoutSync(), tmp_path / "new", b"content")
    FilesWithoutSync().sync_directory(tmp_path)
    with pytest.raises(AttributeError):
        write_new(RealFiles(), tmp_path / "other", b"content")
