"""Which processes of this machine are our brokers? Only those are ended that were started here.

A number alone would not do: the system gives it to another process once ours has ended. So the
moment at which the process began is kept with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headgate.live.private_files import (
    PRIVATE_FILE,
    FileError,
    make_directory,
    read_private,
    shown,
    write_private,
)

PROCESS_FILE = "process.json"
LOG_FILE = "broker.log"
_HEADGATE = ("-c", "from headgate.cli import main; main(prog_name='headgate')")
_LOOK_S = 0.05


class Process(msgspec.Struct, frozen=True):
    """One process, told from a later one of the same number."""

    pid: int
    began: str


@dataclass(frozen=True)
class Started:
    """A broker that was just started, and where it says that it is ready."""

    child: subprocess.Popen[bytes]
    ready: int
    """A pipe: a line when it is ready, its end when the process ends before that."""


def start(directory: Path, words: Sequence[str], environ: Mapping[str, str]) -> Started:
    """Run `headgate` with these words, with a log and a note of its process in a directory."""
    make_directory(directory)
    ready, theirs = os.pipe()
    log = os.open(directory / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
    try:
        child = subprocess.Popen(  # noqa: S603  its words are our own
            [sys.executable, *_HEADGATE, *words, "--ready-fd", str(theirs)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(theirs,),
            env=dict(environ),
            # Ctrl-C is for whoever started it, who then stops them all in good order.
            start_new_session=True,
        )
    except BaseException:
        os.close(ready)
        raise
    finally:
        os.close(theirs)
        os.close(log)
    process = Process(child.pid, began(child.pid) or "")
    write_private(directory / PROCESS_FILE, msgspec.json.encode(process))
    return Started(child, ready)


def running(directory: Path) -> Process | None:
    """The process that was started for a directory, if it is still there."""
    path = directory / PROCESS_FILE
    kept = read_private(path)
    if kept is None:
        return None
    try:
        process = msgspec.json.decode(kept, type=Process)
    except msgspec.MsgspecError:
        raise FileError(
            f"{shown(path)} can't be read: see which process works on its directory, then remove it"
        ) from None
    return process if process.began and began(process.pid) == process.began else None


def tell_to_stop(process: Process, number: int = signal.SIGTERM) -> bool:
    """Send a signal to a process, and to no other one; whether it was still there."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):
        handle = -1  # not on this system
    try:
        # With the handle in hand, the number can't go to another one meanwhile.
        if began(process.pid) != process.began:
            return False
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)
    return True


def wait_until_gone(process: Process, bound_s: float) -> bool:
    """Whether it ended within a while."""
    until = time.monotonic() + bound_s
    while began(process.pid) == process.began:
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_S)
    return True


def began(pid: int) -> str | None:
    """When a process began, as the system tells it; `None` where there is none that runs."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _began_by_ps(pid)
    except (ProcessLookupError, PermissionError):
        return None
    # The name of the program stands in parentheses, and may have any of them within.
    fields = said.rpartition(")")[2].split()
    state, ticks = fields[0], fields[19]
    return None if state in "ZX" else ticks


def _began_by_ps(pid: int) -> str | None:
    asked = subprocess.run(  # noqa: S603  a number is no danger
        ["ps", "-o", "lstart=", "-p", str(pid)],  # noqa: S607
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return asked.stdout.strip() or None
