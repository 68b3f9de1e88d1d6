"""How is a policy kept in a database? One row for each version, sealed with all before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import final

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import SQLAlchemyError

from headgate.model.limits import INTEGER_MAX
from headgate.rights.changes import Batch
from headgate.rights.history import PolicyHistory, UnknownVersionError
from headgate.rights.rules import PolicyError
from headgate.rights.starting_points import StartingPoints
from headgate.stores.acl import StoreError, UnknownOutcomeError
from headgate.stores.chain import START, Record, check_writable
from headgate.stores.databases import Database, explaining, one_line
from headgate.stores.schema import SCHEMA, batches, schema_of, starting_points

_ROWS_AT_ONCE = 1_000


@final
class SqlAclStore:
    """An `AclStore` in SQLite or PostgreSQL.

    The history in memory only ever follows the database: a version is put into it after its
    commit. The lock is for threads of this process, the database's own for everybody else.
    """

    def __init__(self, database: Database, *, create: bool = True) -> None:
        self._database = database
        self._lock = RLock()
        self._closed = False
        self._history = PolicyHistory()
        self._digests = {0: START}
        try:
            self._open(create=create)
        except BaseException:
            self.close()
            raise

    def history(self) -> PolicyHistory:
        with self._using():
            self._catch_up()
            return self._history

    def apply(self, batch: Batch, expected: int | None = None) -> int:
        with self._using():
            self._catch_up()  # so that less is left to do while the others wait
            with self._writing(
                "it is not known whether the batch was stored: look at the newest version before "
                "you submit it again"
            ) as connection:
                self._bring_in(connection)
                record = Record.of(batch, self._history.version + 1, self._digest)
                # What everybody else is going to read, to the letter.
                stored = record.batch()
                self._history.check(stored, expected)
                connection.execute(insert(batches).values(_columns(record)))
            self._follow(record, stored)
            return record.version

    def record_starting_point(self, version: int, stream: str, offset: int) -> None:
        with self._using():
            check_writable("the name of the stream", stream)
            if not 0 <= offset <= INTEGER_MAX:
                raise PolicyError(f"expected an offset from 0 to {INTEGER_MAX}, found {offset}")
            self._catch_up()
            with self._writing(
                "it is not known whether the starting point was stored: report it again"
            ) as connection:
                self._bring_in(connection)
                if not 0 <= version <= self._history.version:
                    raise UnknownVersionError(
                        f"expected a version from 0 to {self._history.version}, found {version}"
                    )
                _begin(connection, version, stream, offset)

    def starting_points(self) -> StartingPoints:
        with self._using():
            rows = (
                select(starting_points)
                .order_by(starting_points.c.stream, starting_points.c.version)
                .execution_options(yield_per=_ROWS_AT_ONCE)
            )
            found = StartingPoints()
            newest = 0
            with self._database.connected() as connection, connection.execute(rows) as result:
                for version, stream, offset in result:
                    try:
                        found.begin(version, stream, offset)
                    except PolicyError as problem:
                        raise StoreError(f"{problem}: restore it from a backup") from None
                    newest = max(newest, version)
            self._catch_up()
            if newest > self._history.version:
                raise StoreError(
                    f"version {newest} began, and the versions end with {self._history.version}: "
                    "restore it from a backup"
                )
            return found

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._database.engine.dispose()

    def _open(self, *, create: bool) -> None:
        with self._using():
            with self._database.connected() as connection:
                found = schema_of(connection)
            if found == SCHEMA:
                return
            if found is None and not create:
                raise StoreError("it is empty, there is no policy in it")
            # Only who has to migrate pays for Alembic.
            from headgate.stores.migrating import migrate

            with self._writing("it is not known whether the tables were made") as connection:
                migrate(connection)  # from where it is by now: somebody may have been quicker

    @contextmanager
    def _using(self) -> Iterator[None]:
        with self._lock, explaining(self._database):
            if self._closed:
                raise StoreError("it was closed")
            yield

    @contextmanager
    def _writing(self, unknown: str) -> Iterator[Connection]:
        """A transaction that keeps other writers out; refused or broken off, it leaves nothing."""
        with self._database.connected() as connection:
            self._database.begin_writing(connection)
            yield connection
            try:
                connection.commit()
            except SQLAlchemyError as problem:
                failed = one_line(getattr(problem, "orig", None) or problem)
                raise UnknownOutcomeError(f"the commit failed ({failed}), and {unknown}") from None

    @property
    def _digest(self) -> str:
        """The digest of the version that we have."""
        return self._digests[self._history.version]

    def _catch_up(self) -> None:
        with self._database.connected() as connection:
            if not self._is_newest(connection):
                self._bring_in(connection)

    def _is_newest(self, connection: Connection) -> bool:
        """Whether we have what there is: a broker asks so again and again, and reads no batch."""
        newest = select(batches.c.version, batches.c.digest).order_by(batches.c.version.desc())
        found = connection.execute(newest.limit(1)).first()
        return found is not None and tuple(found) == (self._history.version, self._digest)

    def _bring_in(self, connection: Connection) -> None:
        """Follow what was stored after the version that we have."""
        while True:
            rows = _records(connection, self._history.version)
            if self._history.version:
                self._check_newest(rows.pop(0) if rows else None)
            for record in rows:
                self._follow(record, self._read(record))
            if len(rows) < _ROWS_AT_ONCE - 1:
                return

    def _check_newest(self, found: Record | None) -> None:
        """Refuse to go on where the database went back, or went another way."""
        known = self._history.version
        if found is None:
            raise StoreError(
                f"version {known} was there and is gone: was an older copy put in its place? "
                "Start again if that is meant to be"
            )
        if (found.version, found.digest) != (known, self._digest):
            raise StoreError(
                f"version {known} is not the one it was: was another database put in its place? "
                "Start again if that is meant to be"
            )

    def _read(self, record: Record) -> Batch:
        due = self._history.version + 1
        if record.version != due:
            raise StoreError(
                f"version {due} is missing before {record.version}: restore it from a backup"
            )
        if not record.follows(self._digest):
            raise StoreError(
                f"version {due} is not what was stored (it doesn't agree with its digest and with "
                "the versions before it): restore it from a backup"
            )
        return record.batch()

    def _follow(self, record: Record, batch: Batch) -> None:
        """Make a stored version the current one; an interrupt leaves us at one of the two."""
        self._digests[record.version] = record.digest
        try:
            self._history.apply(batch)
        except PolicyError as problem:
            raise StoreError(f"version {record.version} can't be applied: {problem}") from None


def _begin(connection: Connection, version: int, stream: str, offset: int) -> None:
    table = starting_points.c
    of_stream = select(table.version, table.offset).where(table.stream == stream)
    if connection.execute(of_stream.where(table.version == version)).first() == (version, offset):
        return
    points = StartingPoints()
    latest = connection.execute(of_stream.order_by(table.version.desc()).limit(1)).first()
    if latest is not None:
        points.begin(latest.version, stream, latest.offset)
    points.begin(version, stream, offset)
    connection.execute(
        insert(starting_points).values(version=version, stream=stream, offset=offset)
    )


def _columns(record: Record) -> dict[str, object]:
    return {column.name: getattr(record, column.name) for column in batches.c}


def _records(connection: Connection, since: int) -> list[Record]:
    """Some versions from one on."""
    rows = select(batches).where(batches.c.version >= since).order_by(batches.c.version)
    return [Record(*row) for row in connection.execute(rows.limit(_ROWS_AT_ONCE))]
