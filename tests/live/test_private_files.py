"""Is a file of secrets whole, and nobody else's?"""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headgate.live.private_files import (
    DirectoryLock,
    FileError,
    check_unlocked,
    make_directory,
    one_at_a_time,
    read_private,
    readable_by_others,
    write_private,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_secret_is_readable_by_its_owner_alone_whatever_the_mask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_directory(tmp_path / "a" / "b")
        write_private(tmp_path / "a" / "b" / "secret", b"x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "secret") == 0o600
    assert not readable_by_others(tmp_path / "a" / "b" / "secret")


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o644)
    assert readable_by_others(file)
    # What a crashed process of the same number left behind is in nobody's way.
    (tmp_path / f".file.{os.getpid()}").write_bytes(b"half")
    write_private(file, b"new")
    assert read_private(file) == b"new"
    assert mode(file) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_can_not_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(FileError, match=r"can't be written: .*directory; check who may write"):
        write_private(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(FileError, match="can't be read"):
        read_private(tmp_path / "file")
    write_private(tmp_path / "plain", b"")
    with pytest.raises(FileError, match="can't be made: file exists"):
        make_directory(tmp_path / "plain")


def test_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    assert read_private(tmp_path / "none") is None


def test_one_process_works_at_a_time(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        with one_at_a_time(tmp_path / "place"):
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(50)))
    assert most == [1] * 50


def test_a_second_broker_on_a_directory_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    first = DirectoryLock(tmp_path, "broker `a`, process 7")
    with pytest.raises(FileError) as refused:
        DirectoryLock(tmp_path, "broker `b`")
    assert str(refused.value) == (
        f"another broker works on `{tmp_path}` (broker `a`, process 7): stop it first, or name "
        "another directory by `--data`"
    )
    with pytest.raises(FileError, match="another broker works on"):
        check_unlocked(tmp_path)
    first.release()
    check_unlocked(tmp_path)
    check_unlocked(tmp_path / "nowhere")
    DirectoryLock(tmp_path, "broker `b`").release()
