"""Across modules: does the log keep its word when the disk fails, is full, or the process dies?"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from headgate.log.records import LogError
from headgate.log.store import StoreFullError
from headgate.stores.damage import LogBrokenError
from headgate.stores.disk_log import DiskLog
from headgate.stores.files import RealFiles
from tests.log.streams import chain_of, following, stream_of
from tests.proofs import COUNTED, proof_size
from tests.stores.log_writer import SMALL

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60
DISK_BYTES = 4 * 2**20


def writer(
    directory: Path, *more: str, before: Sequence[str] = (), limit_bytes: int | None = None
) -> subprocess.Popen[str]:
    def limited() -> None:
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return subprocess.Popen(
        [*before, sys.executable, "-m", "tests.stores.log_writer", str(directory), *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=limited,
    )


def told(lines: str, word: str) -> int:
    """The last number that was said with a word."""
    numbers = [int(line.split()[1]) for line in lines.splitlines() if line.startswith(word)]
    return numbers[-1] if numbers else 0


def check_left(directory: Path, said: str) -> int:
    """What was told is there, and of what was being written a beginning; how much that is."""
    with closing(DiskLog(directory, SMALL)) as log:
        records = log.read("orders", log.first("orders") - 1, 10**9)
        last = log.last("orders")
        found = last.offset if last is not None else 0
        assert told(said, "stored") <= found <= max(told(said, "writing"), told(said, "stored"))
        assert len(records) == found
        assert chain_of(*records) == records
        assert int(log.kept().get("position", b"0")) <= found
        assert int(log.kept().get("position", b"0")) >= told(said, "stored")
        assert log.verify() == ()
        return found


@pytest.mark.proof
def test_a_process_killed_at_any_moment_loses_nothing_that_it_told(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    random = Random(time.time_ns())
    kills = proof_size(test=8, soak=300)
    found = in_flight = 0
    for _ in range(kills):
        process = writer(tmp_path / "log")
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        for _ in range(random.randrange(200)):
            lines.append(process.stdout.readline())
        process.kill()
        lines += process.stdout.readlines()
        process.wait(TIMEOUT_S)
        process.stdout.close()
        said = "".join(line for line in lines if line.endswith("\n"))
        in_flight += told(said, "writing") > told(said, "stored")
        now = check_left(tmp_path / "log", said)
        assert now >= found
        found = now
    assert in_flight > 0, "no process was killed while it wrote"
    record_property(COUNTED, f"{kills} kills, {in_flight} in the middle of a sync, {found} records")


@pytest.fixture(scope="session")
def strace() -> str:
    """The program that makes a system call fail; it comes with Debian's package `strace`."""
    if shutil.which("strace") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(
            ["apt-get", "install", "-y", "-q", "strace"], check=False, capture_output=True
        )
    found = shutil.which("strace")
    if found is None:
        pytest.skip("`strace` is missing: install Debian's package of that name")
    return found


@pytest.mark.parametrize("when", [2, 3, 7, 20, 41, 60])
def test_after_a_failed_fdatasync_nothing_goes_on(strace: str, tmp_path: Path, when: int) -> None:
    failing = f"inject=fdatasync:error=EIO:when={when}"
    process = writer(tmp_path / "log", before=[strace, "-f", "-o", os.devnull, "-e", failing])
    said, _ = process.communicate(timeout=TIMEOUT_S)
    if process.returncode != 0 and "broken" not in said:
        # It came while the log was being opened: nothing was told, and it is opened again below.
        assert told(said, "stored") == 0
        assert when < 7
    else:
        assert process.returncode == 3, said
        assert "the disk of the log failed" in said or "can't be written" in said
    check_left(tmp_path / "log", said)


@pytest.mark.parametrize("limit_bytes", [1_000, 5_000, 17_000])
def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path: Path, limit_bytes: int) -> None:
    process = writer(tmp_path / "log", limit_bytes=limit_bytes)
    said, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 4, said
    assert "the log is full: File too large: make room on its disk" in said
    assert check_left(tmp_path / "log", said) == told(said, "stored")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with little room."""
    image, place = tmp_path / "image", tmp_path / "small"
    place.mkdir()
    image.write_bytes(bytes(DISK_BYTES))
    made = shutil.which("mkfs.ext4") is not None and os.geteuid() == 0
    commands: tuple[list[str | Path], ...] = (
        ["mkfs.ext4", "-q", image],
        ["mount", "-o", "loop", image, place],
    )
    if not made or any(subprocess.run(one, check=False).returncode for one in commands):
        pytest.skip("no file system can be mounted here: that needs root and `mkfs.ext4`")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(small_disk: Path) -> None:
    (ballast := small_disk / "ballast").write_bytes(bytes(DISK_BYTES // 2))
    with closing(DiskLog(small_disk / "log", SMALL)) as log:
        stored = list(stream_of(1))
        log.append(stored)
        log.sync()
        for _ in range(2):
            with contextlib.suppress(StoreFullError):
                while True:
                    new = following(stored[-1], body=os.urandom(3_000), is_json=False)
                    log.append([new])
                    log.sync()
                    stored.append(new)
            assert log.last("orders") == stored[-1]
            log.append([new])
            with pytest.raises(StoreFullError, match="the log is full: No space left on device"):
                log.sync()
            assert "the log is full" in (log.maintain(0, {}).problem or "the log is full")
            assert log.read("orders", 0, 10_000) == tuple(stored)
            if ballast.exists():
                ballast.unlink()
                assert log.maintain(0, {}).problem is None
        assert log.read("orders", 0, 10_000) == tuple(stored)
    with closing(DiskLog(small_disk / "log", SMALL)) as log:
        assert log.read("orders", 0, 10_000) == tuple(stored)
        assert log.verify() == ()


class FailingFiles(RealFiles):
    """Files of which some operations fail, in a way."""

    def __init__(self) -> None:
        self.failing: dict[str, int] = {}

    def __getattribute__(self, name: str) -> object:
        error = object.__getattribute__(self, "__dict__").get("failing", {}).get(name)
        if error is not None:
            raise OSError(error, os.strerror(error))
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    "failing",
    [
        {"write": errno.EIO},
        {"sync": errno.EIO},
        {"sync": errno.ENOSPC},
        {"write": errno.ENOSPC, "cut": errno.EIO},
        {"write": errno.ENOSPC, "sync": errno.EIO},
    ],
)
def test_a_disk_that_fails_is_not_asked_again(tmp_path: Path, failing: dict[str, int]) -> None:
    files = FailingFiles()
    records = stream_of(3)
    with closing(DiskLog(tmp_path / "log", SMALL, files)) as log:
        log.append(records[:1])
        log.sync()
        log.append(records[1:2])
        files.failing = failing
        check_broken(log, log.sync)
        files.failing = {}
        check_broken(log, log.sync, lambda: log.append(records[1:2]), lambda: log.maintain(0, {}))
        assert log.read("orders", 0, 10) == records[:1]
    with closing(DiskLog(tmp_path / "log", SMALL)) as log:
        assert log.read("orders", 0, 10) in (records[:1], records[:2])


@pytest.mark.parametrize("failing", [{"create": errno.EIO}, {"sync_directory": errno.EIO}])
def test_a_new_segment_that_fails_ends_everything(tmp_path: Path, failing: dict[str, int]) -> None:
    files = FailingFiles()
    with closing(DiskLog(tmp_path / "log", SMALL, files)) as log:
        log.append(stream_of(1))
        log.sync()
        files.failing = failing
        check_broken(log, log.end_segment)
        files.failing = {}
        check_broken(log, log.end_segment, log.sync)


def check_broken(log: DiskLog, *acts: Callable[[], object]) -> None:
    for act in acts:
        with pytest.raises(LogBrokenError, match="the disk of the log failed"):
            act()


def test_a_sealing_that_fails_is_named_and_the_journal_stays(tmp_path: Path) -> None:
    files = FailingFiles()
    with closing(DiskLog(tmp_path / "log", SMALL, files)) as log:
        records = stream_of(3)
        log.append(records)
        log.sync()
        log.end_segment()
        files.failing = {"make_directory": errno.ENOSPC}
        assert log.maintain(0, {}).problem == (
            "the log is full: No space left on device: make room on its disk"
        )
        assert log.read("orders", 0, 10) == records
        files.failing = {}
        assert [one.last for one in log.maintain(0, {}).sealed] == [3]
        assert log.read("orders", 0, 10) == records


def test_a_directory_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"")
    with pytest.raises(LogError, match="can't be opened"):
        DiskLog(tmp_path / "log")
