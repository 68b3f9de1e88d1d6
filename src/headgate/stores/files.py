"""What is asked of a file system? The few operations whose order decides what a crash leaves."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final, Protocol

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a file system says when there is no room."""


class Files(Protocol):
    """Everything that changes the disk; what only reads it goes past this."""

    def create(self, path: Path) -> int:
        """A new file, open to read and write."""

    def open(self, path: Path) -> int: ...

    def write(self, file: int, data: bytes | memoryview, at: int) -> int:
        """Write at a place, and say how much was written: it may be less."""

    def cut(self, file: int, size: int) -> None: ...

    def sync(self, file: int) -> None:
        """Return when the content of the file and its length are on the disk."""

    def close(self, file: int) -> None: ...
    def make_directory(self, path: Path) -> None: ...

    def sync_directory(self, path: Path) -> None:
        """Return when the names in the directory are on the disk."""

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, in place of whatever had it."""

    def remove(self, path: Path) -> None: ...


class RealFiles:
    """The operations of the machine."""

    def create(self, path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def open(self, path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def write(self, file: int, data: bytes | memoryview, at: int) -> int:
        return os.pwrite(file, data, at)

    def cut(self, file: int, size: int) -> None:
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        os.fdatasync(file)

    def close(self, file: int) -> None:
        os.close(file)

    def make_directory(self, path: Path) -> None:
        path.mkdir(mode=0o700)

    def sync_directory(self, path: Path) -> None:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def remove(self, path: Path) -> None:
        path.unlink()


class FilesWithoutSync(RealFiles):
    """For `unsafe_no_fsync`: a crash of the machine may lose or damage whatever was written."""

    def sync(self, file: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


def write_all(files: Files, file: int, data: bytes, at: int) -> None:
    """Write everything, however little each call takes."""
    written, left = at, memoryview(data)
    while left:
        count = files.write(file, left, written)
        if count <= 0:
            raise OSError(errno.ENOSPC, "nothing was written")
        written, left = written + count, left[count:]


def write_new(files: Files, path: Path, data: bytes) -> None:
    """A new file with this content, on the disk; its name is there once the directory is synced."""
    file = files.create(path)
    try:
        write_all(files, file, data, 0)
        files.sync(file)
    finally:
        files.close(file)


def ensure_directory(files: Files, path: Path) -> None:
    """See that a directory is there, and that no crash takes it away."""
    if not path.is_dir():
        files.make_directory(path)
    files.sync_directory(path.parent)
