"""What may a power failure leave? Every operation is recorded, and every state made of them.

A file keeps what it had at its last sync; of what was written since, any blocks may be there, its
length may be the old or the new one, and the last block may hold anything. A directory keeps the
names it had at its last sync; of what was done since, anything may be there and anything not. So it
is assumed of the worst file system that the promises of POSIX allow.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import TypeAlias

from headgate.stores.files import RealFiles

DIRECTORY = -1
DATABASE = "kept.sqlite3"
_ALL_MAX = 6
_STATES_MAX = 1_000
_SOME = 30
_BLOCKS = 4
"""Into so many blocks a write is divided."""


@dataclass(frozen=True, slots=True)
class Create:
    path: Path
    file: int


@dataclass(frozen=True, slots=True)
class Write:
    file: int
    at: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    file: int
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    file: int


@dataclass(frozen=True, slots=True)
class SyncDirectory:
    path: Path


@dataclass(frozen=True, slots=True)
class Rename:
    old: Path
    new: Path


@dataclass(frozen=True, slots=True)
class Remove:
    path: Path


@dataclass(frozen=True, slots=True)
class StoreDatabase:
    """SQLite keeps its own word: before this it is the old one, after it the new one."""

    path: Path
    data: bytes


OnFile: TypeAlias = Write | Cut
OnDirectory: TypeAlias = Create | Rename | Remove
Operation: TypeAlias = OnFile | OnDirectory | Sync | SyncDirectory | StoreDatabase


class RecordingFiles(RealFiles):
    """The operations of the machine, written down in their order; paths are told from `root`.

    Syncs of what `forgets` matches are left out, as by a program that forgot them.
    """

    def __init__(self, root: Path, forgets: str | None = None, first_number: int = 10**6) -> None:
        self.forgets = forgets
        self._first_number = first_number
        self.operations: list[Operation] = []
        self.full = False
        self._root = root
        self._numbers: dict[tuple[int, int], int] = {}
        self._opened: dict[int, int] = {}
        self._paths: dict[int, Path] = {}

    def know(self, path: Path, file: int) -> None:
        """A file that was there before, by the number that it is recorded with."""
        self._numbers[_identity(path)] = file

    def create(self, path: Path) -> int:
        opened = super().create(path)
        self._paths[opened] = path
        number = len(self.operations) + self._first_number
        self._numbers[_identity(path)] = self._opened[opened] = number
        self.operations.append(Create(self._told(path), number))
        return opened

    def open(self, path: Path) -> int:
        opened = super().open(path)
        self._paths[opened] = path
        self._opened[opened] = self._numbers[_identity(path)]
        return opened

    def write(self, file: int, data: bytes | memoryview, at: int) -> int:
        if self.full:
            if len(data) < 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            data = data[: len(data) // 2]
        written = super().write(file, data, at)
        self.operations.append(Write(self._opened[file], at, bytes(data[:written])))
        return written

    def cut(self, file: int, size: int) -> None:
        super().cut(file, size)
        self.operations.append(Cut(self._opened[file], size))

    def sync(self, file: int) -> None:
        if not self._is_forgotten(self._paths[file]):
            self.operations.append(Sync(self._opened[file]))

    def make_directory(self, path: Path) -> None:
        super().make_directory(path)
        self.operations.append(Create(self._told(path), DIRECTORY))

    def sync_directory(self, path: Path) -> None:
        if path.is_relative_to(self._root) and not self._is_forgotten(path):
            self.operations.append(SyncDirectory(self._told(path)))

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self.operations.append(Rename(self._told(old), self._told(new)))

    def remove(self, path: Path) -> None:
        super().remove(path)
        self.operations.append(Remove(self._told(path)))

    def store_database(self, path: Path) -> None:
        self.operations.append(StoreDatabase(self._told(path), path.read_bytes()))

    def _is_forgotten(self, path: Path) -> bool:
        return self.forgets is not None and self._told(path).match(self.forgets)

    def _told(self, path: Path) -> Path:
        return path.relative_to(self._root)


@dataclass
class DiskState:
    """What is on a disk for good, and what only may be."""

    files: dict[int, bytes] = field(default_factory=dict)
    names: dict[Path, int] = field(default_factory=dict)
    on_files: dict[int, list[OnFile]] = field(default_factory=dict)
    on_directories: dict[Path, list[OnDirectory]] = field(default_factory=dict)
    databases: dict[Path, bytes] = field(default_factory=dict)

    def copy(self) -> DiskState:
        return DiskState(
            dict(self.files),
            dict(self.names),
            {file: list(some) for file, some in self.on_files.items()},
            {path: list(some) for path, some in self.on_directories.items()},
            dict(self.databases),
        )

    def apply(self, operation: Operation) -> None:
        match operation:
            case Write(file) | Cut(file):
                self.on_files.setdefault(file, []).append(operation)
            case Sync(file):
                self.files[file] = _content(self.files.get(file, b""), self.on_files.pop(file, []))
            case SyncDirectory(path):
                for one in self.on_directories.pop(path, []):
                    _name(self.names, one)
            case StoreDatabase(path, data):
                self.databases[path] = data
            case Rename(old):
                self.on_directories.setdefault(old.parent, []).append(operation)
            case Create(path) | Remove(path):
                self.on_directories.setdefault(path.parent, []).append(operation)

    def put_cached(self, recording: RecordingFiles, root: Path) -> None:
        """What the machine shows while it runs, synced or not, known to another recording."""
        names = dict(self.names)
        for some in self.on_directories.values():
            for one in some:
                _name(names, one)
        for path, file in sorted(names.items()):
            if file == DIRECTORY:
                (root / path).mkdir()
            else:
                before = self.files.get(file, b"")
                (root / path).write_bytes(_content(before, self.on_files.get(file, [])))
                recording.know(root / path, file)
        for path, data in self.databases.items():
            (root / path).write_bytes(data)

    def left(self) -> Iterator[Disk]:
        """Everything that a power failure may leave now."""
        contents = [
            [(file, content) for content in _contents(self.files.get(file, b""), some)]
            for file, some in self.on_files.items()
        ]
        ways = list(self._names_left())
        count = len(ways) * math.prod(map(len, contents))
        every: Iterator[tuple[dict[Path, int], tuple[tuple[int, bytes], ...]]]
        if count <= _STATES_MAX:
            every = ((names, chosen) for names in ways for chosen in product(*contents))
        else:
            # Only who forgets to sync gets here, and some of the states show it.
            random = Random(count)
            every = (
                (random.choice(ways), tuple(random.choice(some) for some in contents))
                for _ in range(_SOME)
            )
        for names, chosen in every:
            files = {**self.files, **dict(chosen)}
            yield Disk(
                tuple(
                    (path, None if file == DIRECTORY else files.get(file, b""))
                    for path, file in sorted(names.items())
                ),
                tuple(sorted(self.databases.items())),
            )

    def _names_left(self) -> Iterator[dict[Path, int]]:
        waiting = [one for some in self.on_directories.values() for one in some]
        waiting = waiting[-_ALL_MAX:]
        for count in range(len(waiting) + 1):
            for chosen in combinations(waiting, count):
                names = dict(self.names)
                for one in chosen:
                    _name(names, one)
                yield {path: file for path, file in names.items() if _reachable(path, names)}


@dataclass(frozen=True)
class Disk:
    """What is found when the power is back: each name with its content; `None` is a directory."""

    names: tuple[tuple[Path, bytes | None], ...]
    databases: tuple[tuple[Path, bytes], ...]

    def put(self, root: Path) -> None:
        for path, content in self.names:
            if content is None:
                (root / path).mkdir()
            else:
                (root / path).write_bytes(content)
        for path, data in self.databases:
            if (root / path).parent.is_dir():
                (root / path).write_bytes(data)

    def state(self, recording: RecordingFiles, root: Path) -> DiskState:
        """The same as the beginning of another recording, whose files it makes known."""
        state = DiskState(databases=dict(self.databases))
        for number, (path, content) in enumerate(self.names):
            state.names[path] = DIRECTORY if content is None else number
            if content is not None:
                state.files[number] = content
                recording.know(root / path, number)
        return state


def _contents(before: bytes, operations: list[OnFile]) -> list[bytes]:
    """What a file may hold of which these operations weren't synced."""
    found = [before]
    for count in range(1, len(operations) + 1):
        found.append(_content(before, operations[:count]))
    last = operations[-1]
    found.append(_content(before, [last]))
    if isinstance(last, Write):
        found += _torn(_content(before, operations), last)
    return list(dict.fromkeys(found))


def _torn(whole: bytes, last: Write) -> Iterator[bytes]:
    """The last write cut off anywhere, and with its length there, but not all of its blocks."""
    end = last.at + len(last.data)
    step = max(1, len(last.data) // 40)
    for size in {*range(last.at, end, step), end - 1}:
        yield whole[:size]
    block = -(-len(last.data) // _BLOCKS)
    for there in product((True, False), repeat=_BLOCKS):
        content = bytearray(whole)
        for number in range(_BLOCKS):
            start = min(last.at + number * block, end)
            until = min(start + block, end)
            if not there[number]:
                content[start:until] = bytes(until - start)
        yield bytes(content)
        # What was on the disk before shows up in the last block, or a bit in it is another one.
        yield bytes(content[: end - block]) + b"\xa5" * min(block, end) + whole[end:]
        content[end - 1 - block // 2] ^= 4
        yield bytes(content)


def _content(before: bytes, operations: list[OnFile]) -> bytes:
    content = bytearray(before)
    for one in operations:
        if isinstance(one, Write):
            content += bytes(max(0, one.at - len(content)))
            content[one.at : one.at + len(one.data)] = one.data
        else:
            del content[one.size :]
            content += bytes(one.size - len(content))
    return bytes(content)


def _name(names: dict[Path, int], one: OnDirectory) -> None:
    match one:
        case Create(path, file):
            names[path] = file
        case Rename(old, new):
            if old in names:
                names[new] = names.pop(old)
        case Remove(path):
            names.pop(path, None)


def _reachable(path: Path, names: dict[Path, int]) -> bool:
    return all(names.get(parent) == DIRECTORY for parent in path.parents if parent != Path())


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
