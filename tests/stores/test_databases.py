"""Does a failure say where it happened and what to do, in one line and without a password?"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from headgate.stores.acl import AclStore, StoreError
from headgate.stores.databases import (
    FILE,
    WRITERS_LOCK,
    PostgresqlDatabase,
    SqliteDatabase,
)
from headgate.stores.opening import open_acl_store
from tests.stores.administrators import at_once, connect_many, race
from tests.stores.examples import granting
from tests.stores.postgresql import PASSWORD, PostgresqlServer


@contextmanager
def refused(sentence: str) -> Iterator[None]:
    with pytest.raises(StoreError, match=sentence) as refusal:
        yield
    said = str(refusal.value)
    assert said.isprintable()
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "s3cret"):
        assert secret not in said
        assert secret not in repr(refusal.value.__cause__)


def stored(directory: Path, count: int = 1) -> Path:
    with closing(open_acl_store(directory)) as store:
        for number in range(count):
            store.apply(granting(f"p{number}"))
    return directory / FILE


def test_a_locked_file_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(stored(tmp_path))) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(open_acl_store(tmp_path, busy_s=0.05)) as store:
            assert store.history().version == 1  # whoever reads doesn't wait
            with refused(rf"^the policy in `.*{FILE}`: .*locked, somebody else is wri"):
                store.apply(granting("bob"))
            other.rollback()
            assert store.apply(granting("bob")) == 2


def test_a_locked_server_is_waited_for_and_then_refused(postgresql: PostgresqlServer) -> None:
    url = postgresql.new_database()
    with (
        closing(open_acl_store(url, busy_s=0.05)) as store,
        psycopg.connect(url) as other,
    ):
        other.execute(f"SELECT pg_advisory_xact_lock({WRITERS_LOCK})".encode())
        assert store.history().version == 0
        with refused("lock timeout, somebody else is writing: try again"):
            store.apply(granting("bob"))
        other.rollback()
        assert store.apply(granting("bob")) == 1


def test_processes_that_make_a_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """SQLite doesn't wait where two turn on the write-ahead log at once: one would be refused."""
    assert at_once("abcd", connect_many, str(tmp_path), 60) == [60] * 4


def test_a_new_file_that_stays_locked_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with refused("locked, somebody else is writing: try again"):
            open_acl_store(tmp_path, busy_s=0.05)


def test_whoever_writes_waits_as_long_as_was_said(
    tmp_path: Path, postgresql: PostgresqlServer
) -> None:
    for database, question, said in (
        (SqliteDatabase(tmp_path, 0.05, create=True), "PRAGMA busy_timeout", 50),
        (PostgresqlDatabase(postgresql.new_database(), 0.05), "SHOW lock_timeout", "50ms"),
    ):
        with database.connected() as connection:
            database.begin_writing(connection)
            assert connection.exec_driver_sql(question).scalar() == said
        database.engine.dispose()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database, and longer than a header" * 100)
    with refused("it is damaged .*: restore it from a backup"):
        open_acl_store(tmp_path)


def test_a_damaged_page_is_refused(tmp_path: Path) -> None:
    file = stored(tmp_path, 100)
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with refused("it is damaged"), closing(open_acl_store(tmp_path)) as store:
        store.history()


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(stored(tmp_path))) as other, other:
        other.execute("UPDATE batches SET author = CAST(x'ff' AS TEXT)")
    with closing(open_acl_store(tmp_path)) as store, refused("decode"):
        store.history()


def test_a_number_where_text_belongs_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(stored(tmp_path))) as other, other:
        other.execute("UPDATE batches SET changes = x'ff'")
    with closing(open_acl_store(tmp_path)) as store, refused("version 1 is not what was stored"):
        store.history()


def test_a_place_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file", "file/below", "missing/below", "bell\a/below", "nul\0"):
        with refused("^the policy in "):
            open_acl_store(tmp_path / place)
    with refused("can't make `.*missing/below`: .*: make the directory above it first$"):
        open_acl_store(tmp_path / "missing" / "below")
    (tmp_path / FILE).mkdir()
    with refused("check that it is there"):
        open_acl_store(tmp_path)


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    stored(tmp_path)
    with closing(open_acl_store(tmp_path)) as store:
        with store._database.connected() as connection:  # type: ignore[attr-defined]
            connection.exec_driver_sql("PRAGMA max_page_count = 1")
        with refused("full: make room"):
            store.apply(granting(*(f"p{number}" for number in range(1, 2_000))))
        assert store.history().version == 1


def test_a_file_that_may_only_be_read_is_named(tmp_path: Path) -> None:
    stored(tmp_path)
    with closing(open_acl_store(tmp_path)) as store:
        with store._database.connected() as connection:  # type: ignore[attr-defined]
            connection.exec_driver_sql("PRAGMA query_only = 1")
        with refused("readonly database: check who may write"):
            store.apply(granting("bob"))


def test_a_file_put_in_the_place_of_another_is_seen(tmp_path: Path) -> None:
    """SQLite itself would go on with the one that was there."""
    file, other = stored(tmp_path / "one", 2), stored(tmp_path / "other", 1)
    with closing(open_acl_store(tmp_path / "one")) as store:
        assert store.history().version == 2
        kept = shutil.copy(file, tmp_path / "kept")
        os.replace(other, file)
        for call in calls(store):
            with refused("version 2 was there and is gone"):
                call()
        os.replace(kept, file)
        assert store.apply(granting("bob")) == 3
        file.unlink()
        for call in calls(store):
            with refused("there is none"):
                call()
        assert not file.exists()


def calls(store: AclStore) -> list[Callable[[], object]]:
    return [
        store.history,
        store.starting_points,
        lambda: store.apply(granting("zoe")),
        lambda: store.record_starting_point(1, "q", 1),
    ]


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as taken:  # nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with refused(
            rf"^the policy in the database `name` at `127\.0\.0\.1:{port}`: .*refused.*: check that"
        ):
            open_acl_store(f"postgresql://bob:s3cret@127.0.0.1:{port}/name")


def test_a_wrong_password_is_named_but_not_shown(postgresql: PostgresqlServer) -> None:
    with refused("authentication failed"):
        open_acl_store(postgresql.url("postgres", password="s3cret wrong"))


def test_a_database_that_is_not_there_is_named(postgresql: PostgresqlServer) -> None:
    with refused("`nowhere` at .* does not exist"):
        open_acl_store(postgresql.url("nowhere"))


def test_a_user_without_rights_is_told_so(postgresql: PostgresqlServer) -> None:
    url = postgresql.new_database()
    open_acl_store(url).close()
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS guest")
        owner.execute("CREATE ROLE guest LOGIN PASSWORD 's3cret'")
        guest = url.replace(f"headgate:{quote(PASSWORD, safe='')}", "guest:s3cret")
        with refused("permission denied.*: check the user, the password and the rights"):
            open_acl_store(guest)
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
        with closing(open_acl_store(guest)) as store:
            assert store.history().version == 0
            with refused("permission denied"):
                store.apply(granting("bob"))
        owner.execute("DROP OWNED BY guest")
        owner.execute("DROP ROLE guest")


def test_a_server_that_may_only_be_read_is_named(postgresql: PostgresqlServer) -> None:
    url = postgresql.new_database()
    open_acl_store(url).close()
    read_only = f"{url}?options=-cdefault_transaction_read_only%3Don"
    with (
        closing(open_acl_store(read_only)) as store,
        refused("name the server that may be written"),
    ):
        store.apply(granting("bob"))


def test_a_stricter_isolation_of_the_server_makes_no_stale_reads(
    postgresql: PostgresqlServer,
) -> None:
    """What others commit while one waits for the lock is seen, whatever the server's default."""
    url = f"{postgresql.new_database()}?options=-cdefault_transaction_isolation%3Dserializable"
    open_acl_store(url).close()
    told = at_once("ab", race, url, 20)
    assert sum(len(won) for _, won in told) == 20


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://bob:s3cret%zz@host/name",
        "postgresql://bob:s3cret/x@host/name",
        "postgresql://bob:s3cret@x@host/name",
        "postgresql://bob:s3cret?x@host/name",
        "postgresql://bob:s3cret:x/name",
        "postgresql://bob:s3cret/name",
        "postgresql://host:port/name?password=s3cret",
        "postgresql://host/name?s3cret=x",
        "postgresql://host/name?port=s3cret",
        "postgresql://bob:s3cret @host/name",
        "postgresql://bob:s3\0cret@host/name",
        "postgresql://bob:s3cret\n@host/name",
        "postgresql://[s3cret/name",
        "postgresql://bob:s3cret%00@host/name",
        "postgresql://bob:\ud800s3cret@host/name",
    ],
)
def test_a_url_that_cannot_be_read_is_not_shown(url: str) -> None:
    with refused("the URL of the database can't be read: it looks like"):
        open_acl_store(url)


def test_a_url_may_say_what_libpq_understands(postgresql: PostgresqlServer) -> None:
    url = postgresql.new_database()
    assert "@127.0.0.1:" in url
    for form in (
        url.replace("postgresql://", "postgres://"),
        f"{url}?connect_timeout=3&application_name=x",
        f"{url}?sslmode=disable",
        url.replace("@127.0.0.1", "@localhost"),
    ):
        open_acl_store(form).close()
