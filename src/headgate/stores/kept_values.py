"""Where are the small values kept, and the ends of the streams? In SQLite, up to a segment.

The journal has what was kept since; recovery reads both. What is found is compared with a digest of
all of it, for SQLite doesn't notice a bit that was flipped in a value.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, final

import msgspec

from headgate.log.records import LogError, Record
from headgate.log.store import StoreFullError
from headgate.stores.damage import Damage, DamagedLogError, LogBrokenError
from headgate.stores.manifest import ADVICE

FILE: Final = "kept.sqlite3"

_SCHEMA: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ends (stream TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (
    id INTEGER PRIMARY KEY CHECK (id = 1), segment INTEGER NOT NULL, digest BLOB NOT NULL
);
COMMIT;
"""
"""All tables or none: who finds some of them takes the file for damaged."""

_MACHINE: Final = tuple(
    f"SQLITE_{name}" for name in ("IOERR", "FULL", "CANTOPEN", "READONLY", "PERM", "BUSY", "NOMEM")
)
"""What SQLite says when nothing is wrong with the file."""

_encode = msgspec.msgpack.Encoder().encode
_decode_record = msgspec.msgpack.Decoder(Record).decode


@final
class KeptValues:
    """What is kept after a segment of the journal; one thread at a time changes it."""

    def __init__(self, directory: Path, *, synchronous: bool = True) -> None:
        self.segment = 0
        """The journal up to and with this segment is in here."""
        self.kept: dict[str, bytes] = {}
        self.ends: dict[str, Record] = {}
        """The last record of each stream."""
        self._file = directory / FILE
        self._synchronous = synchronous
        if self._file.exists():
            self._load()

    def store(
        self, segment: int, changes: Mapping[str, bytes | None], ends: Mapping[str, Record]
    ) -> None:
        """Add what one more segment brought, all or none."""
        kept = {**self.kept, **changes}
        present = {key: value for key, value in kept.items() if value is not None}
        all_ends = {**self.ends, **ends}
        digest = _digest(segment, present, all_ends)
        with _explaining(), closing(self._connected()) as connection:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._synchronous else 'OFF'}")
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN IMMEDIATE")
            for key, value in changes.items():
                if value is None:
                    connection.execute("DELETE FROM kept WHERE key = ?", (key,))
                else:
                    connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (key, value))
            connection.executemany(
                "INSERT OR REPLACE INTO ends VALUES (?, ?)",
                [(stream, _encode(record)) for stream, record in ends.items()],
            )
            connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?)", (segment, digest))
            connection.execute("COMMIT")
            # What is in the file itself stays there; behind a damaged place SQLite drops its log.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.segment, self.kept, self.ends = segment, present, all_ends

    def check(self) -> Damage | None:
        """Read it again, and compare it with what is known of it."""
        try:
            again = KeptValues(self._file.parent)
        except DamagedLogError as damaged:
            return damaged.damages[0]
        if (again.segment, again.kept, again.ends) == (self.segment, self.kept, self.ends):
            return None
        return Damage(FILE, "it doesn't hold what was stored")

    def _load(self) -> None:
        try:
            with closing(self._connected()) as connection:
                if not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
                    return  # it was being made: nothing was ever stored in it
                self.kept = dict(connection.execute("SELECT key, value FROM kept"))
                self.ends = {
                    stream: _decode_record(record)
                    for stream, record in connection.execute("SELECT stream, record FROM ends")
                }
                state = connection.execute("SELECT segment, digest FROM state").fetchall()
            self.segment, digest = state[0] if state else (0, _digest(0, {}, {}))
            found = _digest(self.segment, self.kept, self.ends)
        except sqlite3.Error as problem:
            if _name(problem).startswith(_MACHINE):
                raise LogError(f"`{FILE}` can't be opened ({problem}): check its disk") from problem
            raise _damaged(f"it can't be read ({problem})") from None
        except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as said:
            raise _damaged(f"it can't be read ({said})") from None
        if found != digest:
            raise _damaged("it doesn't hold what was stored")

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, isolation_level=None)
        try:
            # Nobody else opens it. So it needs no file for what is shared, which a full disk has
            # no room for.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection


def _digest(segment: int, kept: Mapping[str, bytes], ends: Mapping[str, Record]) -> bytes:
    return sha256(
        _encode([segment, sorted(kept.items()), [[name, ends[name]] for name in sorted(ends)]])
    ).digest()


def _damaged(because: str) -> DamagedLogError:
    return DamagedLogError([Damage(FILE, because)], ADVICE)


@contextmanager
def _explaining() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as problem:
        raise _explained(problem) from problem


def _name(problem: sqlite3.Error) -> str:
    return str(getattr(problem, "sqlite_errorname", ""))


def _explained(problem: sqlite3.Error) -> LogError:
    name = _name(problem)
    if name.startswith("SQLITE_FULL"):
        return StoreFullError(f"the log is full: `{FILE}`: {problem}: make room on its disk")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return _damaged(f"it can't be read ({problem})")
    return LogBrokenError(f"`{FILE}` can't be written ({problem}): check the disk, start again")
