"""Do the tables that we speak of agree with those that the migrations make?"""

from collections.abc import Callable
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine

from headgate.stores.acl import AclStore
from headgate.stores.migrating import migrations
from headgate.stores.schema import SCHEMA, SCHEMA_TABLE, metadata, schema_of
from tests.stores.examples import url_of


def test_the_newest_migration_is_the_schema() -> None:
    assert migrations().get_heads() == [SCHEMA]


def test_the_migrations_make_the_tables_of_the_schema(
    opened: Callable[[], AclStore], where: str
) -> None:
    opened()
    engine = create_engine(url_of(where))
    with engine.connect() as connection:
        assert schema_of(connection) == SCHEMA
        context = MigrationContext.configure(connection, opts={"version_table": SCHEMA_TABLE})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_database_without_a_policy_has_no_schema(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/empty")
    with engine.connect() as connection:
        assert schema_of(connection) is None
    engine.dispose()
