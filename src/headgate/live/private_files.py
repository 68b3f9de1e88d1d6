"""How is a file written that nobody else may read, and that is there whole or not at all?"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headgate.model.errors import HeadgateError, named

LOCK = "lock"
PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700


class FileError(HeadgateError):
    """A file or a directory can't be used as it is."""


def make_directory(directory: Path) -> None:
    """Make a directory, and those above it, for the own user alone; one that is there stays."""
    try:
        if directory.parent != directory and not directory.parent.exists():
            make_directory(directory.parent)
        directory.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    except (OSError, ValueError) as problem:
        raise FileError(
            f"the directory {shown(directory)} can't be made: {reason(problem)}; name another one"
        ) from None


def write_private(path: Path, content: bytes) -> None:
    """Put a file in place of what was there, so that a crash leaves the one or the other."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with suppress(FileNotFoundError):
            fresh.unlink()
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        fresh.replace(path)
        _sync_directory(path.parent)
    except OSError as problem:
        with suppress(OSError):
            fresh.unlink()
        raise FileError(
            f"{shown(path)} can't be written: {reason(problem)}; check who may write there"
        ) from None


def read_private(path: Path) -> bytes | None:
    """What a file holds, or `None` where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise FileError(
            f"{shown(path)} can't be read: {reason(problem)}; check who may read it"
        ) from None


@contextmanager
def one_at_a_time(directory: Path) -> Iterator[None]:
    """Keep the other processes out that want the same; they wait."""
    make_directory(directory)
    descriptor = _open_lock(directory / ".lock")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class DirectoryLock:
    """The one broker that works on a data directory; the system frees it when the process ends."""

    def __init__(self, directory: Path, owner: str) -> None:
        make_directory(directory)
        self._descriptor = _locked(directory)
        os.truncate(self._descriptor, 0)
        os.write(self._descriptor, f"{owner}\n".encode())

    def release(self) -> None:
        """Let the next one in; the file stays, for two may wait for it at once."""
        os.truncate(self._descriptor, 0)
        os.close(self._descriptor)


def check_unlocked(directory: Path) -> None:
    """Refuse a directory on which a broker works."""
    if (directory / LOCK).exists():
        os.close(_locked(directory))


def _locked(directory: Path) -> int:
    file = directory / LOCK
    descriptor = _open_lock(file)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        os.close(descriptor)
        if problem.errno not in (errno.EAGAIN, errno.EACCES):
            raise FileError(
                f"{shown(file)} can't be locked: {reason(problem)}; put the data where files can "
                "be locked"
            ) from None
        raise FileError(
            f"another broker works on {shown(directory)}{_by(file)}: stop it first, or name "
            "another directory by `--data`"
        ) from None
    return descriptor


def readable_by_others(path: Path) -> bool:
    """Whether anybody but its owner may read it."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def reason(problem: OSError | ValueError) -> str:
    """Why, as the system puts it."""
    said = problem.strerror if isinstance(problem, OSError) else None
    return (said or str(problem)).lower()


def shown(path: Path) -> str:
    return named(str(path), 200)


def _by(lock: Path) -> str:
    try:
        owner = lock.read_text("utf-8", "replace").strip()
    except OSError:
        owner = ""
    return f" ({owner})" if owner.isprintable() and owner else ""


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    except OSError as problem:
        raise FileError(
            f"{shown(path)} can't be opened: {reason(problem)}; check who may write there"
        ) from None


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
