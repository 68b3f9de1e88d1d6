"""Is memory ever ahead of the database, and is a database believed that was tampered with?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, insert, text

from headgate.rights.changes import Revoke
from headgate.rights.history import PolicyHistory
from headgate.rights.rules import PolicyError
from headgate.stores.acl import AclStore, StoreError, UnknownOutcomeError
from headgate.stores.chain import START, Record
from headgate.stores.opening import open_acl_store
from headgate.stores.schema import batches
from headgate.stores.sql import _ROWS_AT_ONCE, SqlAclStore
from tests.stores.examples import batch, granting, rule, said, url_of
from tests.stores.postgresql import PostgresqlServer

Opening = Callable[[], AclStore]


def test_a_commit_that_fails_leaves_memory_where_the_database_is(store: AclStore) -> None:
    store.apply(granting("bob"))
    history = store.history()
    with (
        _at_commit(store, _break),
        pytest.raises(UnknownOutcomeError, match=r"commit failed.*look at the newest version"),
    ):
        store.apply(granting("carol"))
    assert history.version == 1
    assert store.history().version == 1
    assert store.apply(granting("dave"), expected=1) == 2
    assert said(store.history()) == said(PolicyHistory.of([granting("bob"), granting("dave")]))


def test_a_commit_whose_answer_is_lost_is_found_out_by_the_next_call(store: AclStore) -> None:
    history = store.history()
    with _at_commit(store, _commit_and_break), pytest.raises(UnknownOutcomeError):
        store.apply(granting("bob"))
    assert history.version == 0
    with pytest.raises(PolicyError, match=r"expected version 0, but the current one is 1"):
        store.apply(granting("carol"), expected=0)
    assert said(store.history()) == said(PolicyHistory.of([granting("bob")]))


def test_a_server_killed_before_the_commit_has_nothing(postgresql: PostgresqlServer) -> None:
    with closing(open_acl_store(postgresql.new_database())) as store:
        store.apply(granting("bob"))
        history = store.history()
        with (
            _at_commit(store, lambda _: postgresql.kill()),
            pytest.raises(UnknownOutcomeError, match="it is not known whether the batch"),
        ):
            store.apply(granting("carol"))
        assert history.version == 1
        with pytest.raises(StoreError, match="check that the server runs"):
            store.history()
        postgresql.start()
        assert store.history().version == 1
        assert store.apply(granting("carol")) == 2


def test_an_insert_that_fails_leaves_nothing(store: AclStore) -> None:
    history = store.history()

    def fail(_1: object, _2: object, statement: str, *_3: object) -> None:
        if statement.startswith("INSERT"):
            raise StoreError("the insert failed")

    event.listen(_engine(store), "after_cursor_execute", fail)
    with pytest.raises(StoreError, match="the insert failed"):
        store.apply(granting("bob"))
    event.remove(_engine(store), "after_cursor_execute", fail)
    assert (history.version, store.history().version) == (0, 0)
    assert store.apply(granting("bob")) == 1


def test_an_unknown_starting_point_may_be_reported_again(store: AclStore) -> None:
    store.apply(granting("bob"))
    for at_commit in (_break, _commit_and_break):
        with (
            _at_commit(store, at_commit),
            pytest.raises(UnknownOutcomeError, match="report it again"),
        ):
            store.record_starting_point(1, "q", 5)
    store.record_starting_point(1, "q", 5)
    assert store.starting_points().of_version(1) == {"q": 5}


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        ("UPDATE batches SET author = 'mallory' WHERE version = 2", "version 2 is not what was"),
        ("UPDATE batches SET changes = '[]' WHERE version = 2", "version 2 is not what was"),
        ("UPDATE batches SET digest = 'x' WHERE version = 3", "version 3 is not what was"),
        ("DELETE FROM batches WHERE version = 2", "version 2 is missing before 3"),
        ("DELETE FROM batches WHERE version = 1", "version 1 is missing before 2"),
        ("UPDATE batches SET version = 0 WHERE version = 1", "version 1 is missing before 0"),
    ],
)
def test_a_changed_version_is_named_by_every_call(
    opened: Opening, where: str, tampering: str, found: str
) -> None:
    first = opened()
    for name in "abc":
        first.apply(granting(name))
    _execute(where, tampering)
    second = opened()
    for call in (
        second.history,
        second.history,
        second.starting_points,
        lambda: second.apply(granting("d")),
        lambda: second.record_starting_point(1, "q", 0),
    ):
        with pytest.raises(StoreError, match=f"^the policy in .*: {found}") as refusal:
            call()
        assert "\n" not in str(refusal.value)


def test_a_version_that_was_forged_whole_is_still_checked(opened: Opening, where: str) -> None:
    """Whoever can compute digests can't make a policy that no administrator could have made."""
    opened()
    forged = [Record.of(granting("bob"), 1, START)]
    forged.append(Record.of(granting("bob"), 2, forged[0].digest))
    for one in forged:
        _execute(
            where,
            "INSERT INTO batches VALUES (:version, :author, :time, :why, :changes, :digest)",
            **asdict(one),
        )
    with pytest.raises(StoreError, match=r"version 2 can't be applied: change 1 .* already"):
        opened().history()


@pytest.mark.parametrize(
    ("torn", "found"),
    [
        ("DELETE FROM batches WHERE version = 3", "version 3 was there and is gone"),
        ("DELETE FROM batches", "version 3 was there and is gone"),
        ("UPDATE batches SET digest = 'x' WHERE version = 3", "version 3 is not the one it was"),
    ],
)
def test_a_database_that_went_back_is_not_followed(
    opened: Opening, where: str, torn: str, found: str
) -> None:
    store = opened()
    for name in "abc":
        store.apply(granting(name))
    _execute(where, torn)
    for call in (store.history, lambda: store.apply(granting("d"))):
        with pytest.raises(StoreError, match=found):
            call()


def test_starting_points_that_versions_lack_are_found(opened: Opening, where: str) -> None:
    store = opened()
    for name in "abc":
        store.apply(granting(name))
    store.record_starting_point(3, "q", 7)
    _execute(where, "DELETE FROM batches WHERE version = 3")
    with pytest.raises(StoreError, match="version 3 began, and the versions end with 2"):
        opened().starting_points()


def test_starting_points_that_shrink_are_found(opened: Opening, where: str) -> None:
    store = opened()
    for version in (1, 2):
        store.apply(granting(f"p{version}"))
        store.record_starting_point(version, "q", version)
    _execute(where, 'UPDATE starting_points SET "offset" = 9 WHERE version = 1')
    with pytest.raises(StoreError, match=r"only grow: restore it"):
        store.starting_points()


def test_to_see_that_nothing_is_new_no_batch_is_read(store: AclStore) -> None:
    store.apply(granting("bob"))
    said = list[str]()
    engine = _engine(store)

    def hear(_: object, __: object, statement: str, *___: object) -> None:
        said.append(statement)

    event.listen(engine, "before_cursor_execute", hear)
    assert store.history().version == 1
    event.remove(engine, "before_cursor_execute", hear)
    reading = [statement for statement in said if "batches" in statement]
    assert len(reading) == 1
    assert "changes" not in reading[0]


def test_many_versions_come_in_part_by_part(opened: Opening) -> None:
    """Around the number of rows that are read at once."""
    writer, reader = opened(), opened()
    expected = 0
    for more in (_ROWS_AT_ONCE - 1, 1, 1, 2 * _ROWS_AT_ONCE):
        _store_quickly(writer, expected, more)
        expected += more
        assert reader.history().version == expected
        assert opened().history().version == expected


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("_commit", 0),  # before the history has taken anything in
        ("_with_members", 0),  # when it has taken in the rules, but not yet the batch
        ("current", 0),  # when it has taken in all
    ],
)
def test_an_interrupt_after_the_commit_leaves_no_half_version(
    store: AclStore, monkeypatch: pytest.MonkeyPatch, method: str, call: int
) -> None:
    store.apply(granting("alice"))
    real, calls = getattr(PolicyHistory, method), count()

    def interrupted(*arguments: object) -> object:
        if next(calls) == call:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(PolicyHistory, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.apply(granting("bob"))
    assert said(store.history()) == said(PolicyHistory.of([granting("alice"), granting("bob")]))
    assert store.apply(batch(Revoke(rule("bob")))) == 3


def test_threads_may_share_a_store(store: AclStore) -> None:
    def work(name: str) -> None:
        for number in range(10):
            store.apply(granting(f"{name}.{number}"))

    threads = [Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.history().version == 40


def test_a_writer_from_another_program_is_noticed(tmp_path: Path) -> None:
    """A table without the columns we know is no reason for a stack of calls."""
    open_acl_store(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "policy.sqlite3")) as other, other:
        other.execute("ALTER TABLE batches DROP COLUMN why")
    with (
        closing(open_acl_store(tmp_path)) as store,
        pytest.raises(StoreError, match=r"no such column: batches\.why"),
    ):
        store.history()


def test_each_commit_waits_for_the_disk(tmp_path: Path, postgresql: PostgresqlServer) -> None:
    with closing(open_acl_store(tmp_path)) as store, _engine(store).connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    url = f"{postgresql.new_database()}?options=-csynchronous_commit%3Doff"
    with closing(open_acl_store(url)) as store, _engine(store).connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


def _engine(store: AclStore) -> Engine:
    assert isinstance(store, SqlAclStore)
    return store._database.engine


@contextmanager
def _at_commit(store: AclStore, happens: Callable[[Connection], None]) -> Iterator[None]:
    """Something happens when the store is about to commit."""
    event.listen(_engine(store), "commit", happens)
    yield
    event.remove(_engine(store), "commit", happens)


def _break(connection: Connection) -> None:
    driver = connection.connection.dbapi_connection
    assert driver is not None
    driver.close()


def _commit_and_break(connection: Connection) -> None:
    driver = connection.connection.dbapi_connection
    assert driver is not None
    driver.commit()
    driver.close()


def _execute(where: str, statement: str, **values: object) -> None:
    engine = create_engine(url_of(where))
    with engine.begin() as connection:
        connection.execute(text(statement), values)
    engine.dispose()


def _store_quickly(store: AclStore, after: int, count: int) -> None:
    """Versions in one transaction, as no administrator would."""
    assert isinstance(store, SqlAclStore)
    assert store.history().version == after
    digest, rows = store._digest, []
    for version in range(after + 1, after + count + 1):
        record = Record.of(granting(f"p{version}"), version, digest)
        digest = record.digest
        rows.append(asdict(record))
    with store._writing("unknown") as connection:
        connection.execute(insert(batches), rows)
