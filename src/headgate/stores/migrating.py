"""How does a database of an older Headgate get today's tables?"""

from __future__ import annotations

from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from headgate.model.errors import named
from headgate.stores.acl import StoreError
from headgate.stores.schema import SCHEMA_TABLE, schema_of

MIGRATIONS = Path(__file__).parent / "migrations"


def migrations() -> ScriptDirectory:
    return ScriptDirectory(MIGRATIONS, version_locations=[MIGRATIONS])


def migrate(connection: Connection) -> None:
    """Take a database through the migrations it lacks, in the transaction that is open."""
    scripts = migrations()
    found = schema_of(connection)
    known = {script.revision for script in scripts.walk_revisions()}
    if found is not None and found not in known:
        raise StoreError(
            f"it has the schema {named(found)}, and this Headgate knows none newer than "
            f"`{scripts.get_current_head()}`: use a newer Headgate"
        )
    context = MigrationContext.configure(
        connection,
        opts={
            "version_table": SCHEMA_TABLE,
            "fn": lambda at, _: scripts._upgrade_revs("head", at),
        },
    )
    with Operations.context(context):
        context.run_migrations()
