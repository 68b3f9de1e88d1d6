"""What is different between SQLite and PostgreSQL? All of it is here."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from headgate.model.errors import named, printable
from headgate.stores.acl import StoreError

FILE = "policy.sqlite3"
WRITERS_LOCK = 0x48656164_67617465
"""The advisory lock of the writers: `Headgate`, as a number."""

_RETRY_S = 0.01
_CONNECT_S = 10
_SILENCE_S = 60
"""After this a server ends the transaction of a writer that has gone silent."""

_TRY_AGAIN = "somebody else is writing: try again"


class Database(Protocol):
    """A database, and what it takes to write into it one after the other."""

    name: str
    engine: Engine

    def connected(self) -> Connection:
        """A connection to what is there now."""
        ...

    def begin_writing(self, connection: Connection) -> None:
        """Wait until no other writer is left, and keep the next ones out until the commit."""
        ...

    def explained(self, problem: DBAPIError) -> str:
        """What went wrong, and what to do."""
        ...


@contextmanager
def explaining(database: Database) -> Iterator[None]:
    """Say of each failure where it happened, in one line."""
    kind, said = StoreError, ""
    try:
        yield
    except StoreError as failure:
        kind, said = type(failure), str(failure)
    except DBAPIError as failure:
        said = database.explained(failure)
    except (SQLAlchemyError, OSError) as failure:
        said = one_line(failure)
    if said:
        raise kind(f"{database.name}: {said}")


def one_line(problem: object) -> str:
    return printable(" ".join(str(problem).split()))


class SqliteDatabase:
    """A file in a directory, for one machine.

    It keeps a write-ahead log, so that readers and a writer don't wait for each other, and each
    commit is on the disk before it is reported.
    """

    def __init__(self, directory: Path, busy_s: float, *, create: bool) -> None:
        self._file = directory.absolute() / FILE
        self.name = f"the policy in {named(str(self._file), 200)}"
        self._busy_s = busy_s
        self._create = create
        self._opened: tuple[int, int] | None = None
        self.engine = create_engine("sqlite://", creator=self._connect, hide_parameters=True)

    def connected(self) -> Connection:
        if self._opened is not None and self._opened != _identity(self._file):
            # Somebody took the file away or put back another one: don't go on with the old one.
            self.engine.dispose()
        return self.engine.connect()

    def begin_writing(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def explained(self, problem: DBAPIError) -> str:
        error = getattr(problem.orig, "sqlite_errorname", "")
        said = one_line(problem.orig)
        match error.removeprefix("SQLITE_").split("_")[0]:
            case "BUSY" | "LOCKED":
                return f"{said}, {_TRY_AGAIN}"
            case "CORRUPT" | "NOTADB":
                return f"it is damaged ({said}): restore it from a backup"
            case "CANTOPEN":
                return f"{said}: check that it is there, and that you may read and write it"
            case "READONLY" | "PERM" | "AUTH":
                return f"{said}: check who may write the file and its directory"
            case "FULL":
                return f"{said}: make room"
            case "IOERR":
                return f"{said}: check the disk"
            case _:
                return f"{said} ({error or type(problem.orig).__name__})"

    def _connect(self) -> sqlite3.Connection:
        if "\0" in str(self._file):
            raise StoreError("no file has such a name")
        if self._create and self._opened is None:
            _make_directory(self._file.parent)
        elif not self._file.exists():
            raise StoreError("there is none: check the directory")
        mode = "rwc" if self._create and self._opened is None else "rw"
        connection = sqlite3.connect(
            f"{self._file.as_uri()}?mode={mode}",
            uri=True,
            timeout=self._busy_s,
            isolation_level=None,  # transactions begin where `begin_writing` says so
            check_same_thread=False,
        )
        try:
            self._keep_a_log(connection)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        self._opened = _identity(self._file)
        return connection

    def _keep_a_log(self, connection: sqlite3.Connection) -> None:
        """Turn the write-ahead log on: SQLite doesn't wait if two do so at once, so we do."""
        until = time.monotonic() + self._busy_s
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as problem:
                if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                if time.monotonic() > until:
                    raise
            time.sleep(_RETRY_S)


def _identity(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except FileNotFoundError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _make_directory(directory: Path) -> None:
    """Make a directory that only its owner may look into, and keep it through a crash."""
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        return
    except OSError as problem:
        hint = (
            ": make the directory above it first" if isinstance(problem, FileNotFoundError) else ""
        )
        where = named(str(directory), 200)
        raise StoreError(f"can't make {where}: {problem.strerror}{hint}") from None
    if os.name == "posix":
        above = os.open(directory.parent, os.O_RDONLY)
        try:
            os.fsync(above)
        finally:
            os.close(above)


class PostgresqlDatabase:
    """A database on a server, for several brokers."""

    def __init__(self, url: str, busy_s: float) -> None:
        self._wanted = _read_url(url)
        host, port = self._wanted.get("host", "the default host"), self._wanted.get("port", 5432)
        database = self._wanted.get("dbname", self._wanted.get("user", "default"))
        self.name = (
            f"the policy in the database {named(str(database))} at {named(f'{host}:{port}')}"
        )
        self._busy_s = busy_s
        self.engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            # A later statement has to see what was committed while the first waited for the lock.
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            hide_parameters=True,
        )

    def connected(self) -> Connection:
        return self.engine.connect()

    def begin_writing(self, connection: Connection) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, int(self._busy_s * 1000))}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS_LOCK})")

    def explained(self, problem: DBAPIError) -> str:
        code = getattr(problem.orig, "sqlstate", None) or ""
        said = one_line(problem.orig)
        match code:
            case "55P03" | "40001" | "40P01":
                return f"{said}, {_TRY_AGAIN}"
            case "XX001" | "XX002":
                return f"it is damaged ({said}): restore it from a backup"
            case "25006":
                return f"{said}: name the server that may be written"
            case "42501" | "28000" | "28P01":
                return f"{said}: check the user, the password and the rights"
            case _ if code[:2] in ("", "08", "57"):
                return f"{said}: check that the server runs and can be reached, then try again"
            case _ if code[:2] == "53":
                return f"{said}: give the server more room"
            case _:
                return f"{said} ({code})"

    def _connect(self) -> Any:
        import psycopg

        # Ask the machine for news of a server that has gone silent, unless the URL says how.
        patience = {
            "connect_timeout": _CONNECT_S,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "application_name": "headgate",
        }
        # No prepared statements: they don't outlive a transaction behind a connection pooler.
        connection = psycopg.connect(
            **{**patience, **self._wanted}, autocommit=True, prepare_threshold=None
        )
        try:
            connection.execute(f"SET idle_in_transaction_session_timeout = {_SILENCE_S * 1000}")
            connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
            connection.autocommit = False
        except BaseException:
            connection.close()
            raise
        return connection


_URL = re.compile(
    r"postgres(?:ql)?://(?:[^@/?\s]*@)?(?:[\w.,:%-]|\[[0-9A-Fa-f:.]+\])*(?:/[^@/?\s]*)?(?:\?[^@\s]*)?"
)
_UNREADABLE_URL = (
    "the URL of the database can't be read: it looks like `postgresql://user@host:5432/name`, and "
    "in a password whatever is no letter or digit is written like `%40`"
)


def _read_url(url: str) -> dict[str, Any]:
    """What a URL says; a refusal repeats nothing of it, for any part may be a password."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise StoreError(
            "PostgreSQL needs its driver: `pip install 'headgate[postgresql]'`"
        ) from None
    said: dict[str, Any] | None = None
    if _URL.fullmatch(url):
        try:
            said = dict(conninfo_to_dict(url))
        except (psycopg.Error, UnicodeError):
            said = None
    if said is None or not re.fullmatch(r"[\d,]*", str(said.get("port", ""))):
        raise StoreError(_UNREADABLE_URL)
    return said
