"""Disks for logs in tests: real directories whose power can go, and that can be full."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path
from random import Random

from headgate.log.store import LogStore
from headgate.stores.disk_log import DiskLog
from headgate.stores.files import RealFiles
from headgate.stores.log_options import LogOptions

_MEMORY = Path("/dev/shm")


def memory() -> Path | None:
    """Where files are in memory: for lives whose syncs would take too long on a disk."""
    return _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK) else None


class PowerCutError(Exception):
    """The machine is off: nothing happens any more."""


class FaultyFiles(RealFiles):
    """Files that are full, or whose power goes at the next sync."""

    def __init__(self) -> None:
        self.full = False
        self.power_goes = False
        self.power_is_gone = False

    def write(self, file: int, data: bytes | memoryview, at: int) -> int:
        self._check()
        if self.full:
            # The first half still fits: as on a disk, a call is told of the rest at the next one.
            if len(data) > 1:
                return super().write(file, data[: len(data) // 2], at)
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(file, data, at)

    def sync(self, file: int) -> None:
        self._check()
        if self.power_goes:
            self.power_is_gone = True
        self._check()
        super().sync(file)

    def _check(self) -> None:
        if self.power_is_gone:
            raise PowerCutError


class LogDisk:
    """A log on a real directory, as the checks of every store want it.

    The power goes before what waits is written or while it is being synced; of the last write some
    first bytes are left then, once in four times with one of them damaged.
    """

    def __init__(self, directory: Path | None = None, options: LogOptions | None = None) -> None:
        self._made = None
        if directory is None:
            directory = self._made = Path(tempfile.mkdtemp(prefix="headgate-log-", dir=memory()))
        self.directory = directory / "log"
        self.options = options or LogOptions()
        self.files = FaultyFiles()
        self.log: DiskLog | None = None

    def open(self) -> LogStore:
        self.log = DiskLog(self.directory, self.options, self.files)
        return self.log

    def crash(self, random: Random) -> LogStore:
        assert self.log is not None
        how = random.randrange(4)
        before = self._journal()
        synced_bytes = before.stat().st_size
        if how:
            self.files.power_goes = True
            with contextlib.suppress(PowerCutError):
                self.log.sync()
        self.files.power_is_gone = True
        with contextlib.suppress(PowerCutError):
            self.log.close()
        self.files.power_goes = self.files.power_is_gone = False
        if how > 1:
            torn = self._journal()
            self._tear(torn, synced_bytes if torn == before else 0, random, damaged=how == 3)
        return self.open()

    def close(self) -> None:
        if self.log is not None:
            self.log.close()
        if self._made is not None:
            shutil.rmtree(self._made)

    def fill(self, full: bool) -> None:
        self.files.full = full

    def _journal(self) -> Path:
        return max((self.directory / "journal").iterdir())

    def _tear(self, path: Path, synced_bytes: int, random: Random, *, damaged: bool) -> None:
        data = bytearray(path.read_bytes())
        lost_bytes = random.randrange(len(data) - synced_bytes + 1)
        if random.randrange(2):
            lost_bytes = min(lost_bytes, random.randrange(40))  # often no more than its very end
        del data[len(data) - lost_bytes :]
        if damaged and len(data) > synced_bytes:
            data[random.randrange(synced_bytes, len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(data)
