"""Does a database of any age get today's tables, once?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from sqlalchemy import create_engine, text

from headgate.stores.acl import AclStore, StoreError
from headgate.stores.opening import open_acl_store
from tests.stores.administrators import at_once, open_and_apply
from tests.stores.examples import granting, url_of


def test_a_newer_schema_is_refused_and_left_alone(
    opened: Callable[[], AclStore], where: str
) -> None:
    opened().apply(granting("bob"))
    engine = create_engine(url_of(where))
    with engine.begin() as connection:
        connection.execute(text("UPDATE acl_schema SET version_num = '9000'"))
    for _ in range(2):
        with pytest.raises(StoreError, match=r"schema `9000`.*none newer than `0001`: use a newer"):
            opened()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM acl_schema")).scalar() == "9000"
    engine.dispose()


def test_a_migration_that_fails_leaves_nothing(opened: Callable[[], AclStore], where: str) -> None:
    """Here the index of the first schema is in the way."""
    engine = create_engine(url_of(where))
    with closing(open_acl_store(where)), engine.begin() as connection:
        for table in ("batches", "starting_points", "acl_schema"):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("CREATE TABLE other (x INTEGER)"))
        connection.execute(text("CREATE INDEX starting_points_by_stream ON other (x)"))
    with pytest.raises(StoreError, match="already exists"):
        opened()
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE other"))
    engine.dispose()
    assert opened().apply(granting("bob")) == 1


def test_processes_that_open_a_new_store_at_once_make_its_tables_once(where: str) -> None:
    assert sorted(at_once("abcd", open_and_apply, where)) == [1, 2, 3, 4]
