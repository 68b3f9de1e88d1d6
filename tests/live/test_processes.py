"""Are our own processes found again, and no others taken for them?"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from headgate.live import processes
from headgate.live.private_files import FileError
from headgate.live.processes import (
    LOG_FILE,
    PROCESS_FILE,
    Process,
    began,
    running,
    start,
    tell_to_stop,
    wait_until_gone,
)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    yield child
    child.kill()
    child.wait()


def noted(directory: Path, process: Process) -> None:
    (directory / PROCESS_FILE).write_bytes(msgspec.json.encode(process))


def process_of(child: subprocess.Popen[bytes]) -> Process:
    return Process(child.pid, began(child.pid) or "")


def test_a_process_is_known_by_its_number_and_its_beginning(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    assert running(tmp_path) is None
    noted(tmp_path, process_of(sleeper))
    assert running(tmp_path) == process_of(sleeper)
    noted(tmp_path, Process(sleeper.pid, "another moment"))
    assert running(tmp_path) is None
    noted(tmp_path, Process(sleeper.pid, ""))
    assert running(tmp_path) is None
    (tmp_path / PROCESS_FILE).write_text("nothing")
    with pytest.raises(FileError, match=r"process\.json` can't be read"):
        running(tmp_path)


def test_our_own_process_is_ended_and_seen_to_end(sleeper: subprocess.Popen[bytes]) -> None:
    process = process_of(sleeper)
    assert not wait_until_gone(process, 0)
    assert tell_to_stop(process)
    # Before somebody waits for it, it is still in the table of processes: gone all the same.
    assert wait_until_gone(process, 60)
    assert sleeper.wait() == -signal.SIGTERM
    assert not tell_to_stop(process)


def test_another_process_of_that_number_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    assert not tell_to_stop(Process(sleeper.pid, "another moment"))
    assert sleeper.poll() is None


def test_without_a_handle_the_beginning_is_still_looked_at(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert not tell_to_stop(Process(sleeper.pid, "another moment"))
    assert tell_to_stop(process_of(sleeper))
    assert sleeper.wait() == -signal.SIGTERM


def test_where_there_is_no_proc_ps_tells_when_a_process_began(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = processes._began_by_ps(sleeper.pid)
    assert said is not None
    assert said == processes._began_by_ps(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert processes._began_by_ps(sleeper.pid) is None
    assert began(sleeper.pid) is None


def test_what_was_started_has_a_log_and_a_note_of_its_own(tmp_path: Path) -> None:
    started = start(tmp_path / "b1", ["no-such-command"], os.environ)
    assert os.read(started.ready, 100) == b""  # it ended, and was never ready
    os.close(started.ready)
    assert started.child.wait() == 2
    assert "no such command" in (tmp_path / "b1" / LOG_FILE).read_text().lower()
    kept = msgspec.json.decode((tmp_path / "b1" / PROCESS_FILE).read_bytes(), type=Process)
    assert kept.pid == started.child.pid
    assert running(tmp_path / "b1") is None
