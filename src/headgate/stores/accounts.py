"""Who has an account, and which tokens were given out? A file that says it, and no secret.

Of a password it keeps the hash that it is handed, of a token the digest. Several processes may
work on one file at once, an administrator beside the broker among them; each change is on the disk
before it is reported.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import final

from headgate.model.errors import named, printable
from headgate.rights.rules import PolicyError, check_principal
from headgate.stores.acl import StoreError

FILE = "accounts.sqlite3"
FORMAT = 1
BUSY_S = 10.0
USERS_MAX = 100_000
TOKENS_MAX = 100_000
ADMINISTRATOR = "administrator"
"""The principal of the token that a broker makes for who administers it on its own machine."""
TOKENS_OF_ONE_MAX = 100
"""Of one principal; beyond this its oldest token ends."""

_SCHEMA = f"""
CREATE TABLE users (
    name TEXT PRIMARY KEY, hash TEXT NOT NULL, made_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tokens (
    digest BLOB PRIMARY KEY, principal TEXT NOT NULL, administrator INTEGER NOT NULL,
    made_us INTEGER NOT NULL, expires_us INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_principal ON tokens (principal, made_us);
PRAGMA user_version = {FORMAT};
"""


class AccountError(StoreError):
    """There is no such account, or there may not be one."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password."""

    name: str
    made_us: int


@dataclass(frozen=True, slots=True)
class KeptToken:
    """What is known of a token without knowing it."""

    principal: str
    administrator: bool
    expires_us: int | None


@final
class Accounts:
    """The accounts in a directory; any thread may ask."""

    def __init__(
        self, directory: Path, *, users_max: int = USERS_MAX, tokens_max: int = TOKENS_MAX
    ) -> None:
        self._file = directory.absolute() / FILE
        self._users_max = users_max
        self._tokens_max = tokens_max
        # Two connections: who asks doesn't wait for the disk of who writes.
        self._reader, self._reading = self._opened(), Lock()
        self._writer, self._writing = self._reader, self._reading
        try:
            with self._write() as database:
                self._make_tables(database)
            self._writer, self._writing = self._opened(), Lock()
        except BaseException:
            self._reader.close()
            raise

    def close(self) -> None:
        with self._reading, self._writing:
            self._reader.close()
            self._writer.close()

    # Users.

    def add_user(self, name: str, hashed: str, now_us: int) -> None:
        check_name(name)
        with self._write() as database:
            if _count(database, "users") >= self._users_max:
                raise AccountError(
                    f"there are {self._users_max} users, and no more may be: remove one, or raise "
                    "`limits.users`"
                )
            try:
                database.execute("INSERT INTO users VALUES (?, ?, ?)", (name, hashed, now_us))
            except sqlite3.IntegrityError:
                raise AccountError(
                    f"there is a user {named(name)} already: `headgate user password` changes the "
                    "password"
                ) from None

    def set_password(self, name: str, hashed: str) -> None:
        """Change it, and end the tokens that the old one was good for."""
        with self._write() as database:
            changed = database.execute("UPDATE users SET hash = ? WHERE name = ?", (hashed, name))
            _expect(changed, name)
            database.execute("DELETE FROM tokens WHERE principal = ?", (name,))

    def rehash(self, name: str, before: str, after: str) -> None:
        """Another hash of the same password, unless that was changed meanwhile."""
        with self._write() as database:
            database.execute(
                "UPDATE users SET hash = ? WHERE name = ? AND hash = ?", (after, name, before)
            )

    def remove_user(self, name: str) -> None:
        with self._write() as database:
            _expect(database.execute("DELETE FROM users WHERE name = ?", (name,)), name)
            database.execute("DELETE FROM tokens WHERE principal = ?", (name,))

    def users(self) -> list[User]:
        with self._read() as database:
            return [
                User(name, made_us)
                for name, made_us in database.execute("SELECT name, made_us FROM users ORDER BY 1")
            ]

    def password_hash(self, name: str) -> str | None:
        with self._read() as database:
            row = database.execute("SELECT hash FROM users WHERE name = ?", (name,)).fetchone()
            return None if row is None else str(row[0])

    # Tokens.

    def add_token(self, digest: bytes, kept: KeptToken, now_us: int) -> None:
        with self._write() as database:
            database.execute("DELETE FROM tokens WHERE expires_us <= ?", (now_us,))
            database.execute(
                "DELETE FROM tokens WHERE digest IN (SELECT digest FROM tokens WHERE principal = ?"
                " ORDER BY made_us DESC LIMIT -1 OFFSET ?)",
                (kept.principal, TOKENS_OF_ONE_MAX - 1),
            )
            if _count(database, "tokens") >= self._tokens_max:
                raise AccountError(
                    f"{self._tokens_max} tokens are given out, and no more may be until some end"
                )
            database.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?)",
                (digest, kept.principal, kept.administrator, now_us, kept.expires_us),
            )

    def token(self, digest: bytes, now_us: int) -> KeptToken | None:
        """The token of this digest, if it hasn't ended."""
        with self._read() as database:
            row = database.execute(
                "SELECT principal, administrator, expires_us FROM tokens WHERE digest = ?"
                " AND (expires_us IS NULL OR expires_us > ?)",
                (digest, now_us),
            ).fetchone()
        return None if row is None else KeptToken(row[0], bool(row[1]), row[2])

    def remove_token(self, digest: bytes) -> None:
        with self._write() as database:
            database.execute("DELETE FROM tokens WHERE digest = ?", (digest,))

    def remove_tokens_of(self, principal: str) -> None:
        with self._write() as database:
            database.execute("DELETE FROM tokens WHERE principal = ?", (principal,))

    # The file.

    def _opened(self) -> sqlite3.Connection:
        with self._explained():
            connection = sqlite3.connect(
                self._file, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._file.chmod(0o600)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA secure_delete = ON")
            except BaseException:
                connection.close()
                raise
            return connection

    def _make_tables(self, database: sqlite3.Connection) -> None:
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                database.execute(statement)
        elif found != FORMAT:
            raise StoreError(
                f"{self._name}: expected format {FORMAT}, found {found}: it was written by another "
                "version of Headgate"
            )

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._reading, self._explained():
            yield self._reader

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._writing, self._explained():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @property
    def _name(self) -> str:
        return f"the accounts in {named(str(self._file), 200)}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as problem:
            raise StoreError(
                f"{self._name}: {printable(str(problem))}: check that the file is whole, that you "
                "may write it and that the disk has room"
            ) from None


def check_name(name: str) -> None:
    """Refuse what is no principal, and what looks like another one but isn't."""
    try:
        check_principal(name)
    except PolicyError as refusal:
        raise AccountError(str(refusal)) from None
    if unicodedata.normalize("NFC", name) != name:
        raise AccountError(
            f"expected the name {named(name)} in Unicode's composed form (NFC): it would look like "
            "another one that isn't the same"
        )
    if name == ADMINISTRATOR:
        raise AccountError(f"`{name}` is kept for the token that a broker makes for itself")
    if ":" in name:
        raise AccountError(
            f"{named(name)} has a colon, which ends the name where it is sent with a password"
        )


def _count(database: sqlite3.Connection, table: str) -> int:
    return int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608


def _expect(changed: sqlite3.Cursor, name: str) -> None:
    if not changed.rowcount:
        raise AccountError(f"there is no user {named(name)}: `headgate user list` names them all")
