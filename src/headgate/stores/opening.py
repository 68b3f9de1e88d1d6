"""Which ACL database does an administrator mean: a directory, or a PostgreSQL server?"""

from __future__ import annotations

from pathlib import Path

from headgate.model.errors import named
from headgate.stores.acl import AclStore, StoreError

POSTGRESQL = ("postgresql://", "postgres://")
BUSY_S = 30.0


def open_acl_store(where: str | Path, *, create: bool = True, busy_s: float = BUSY_S) -> AclStore:
    """Open the store in a directory, or behind a `postgresql://` URL.

    A store that isn't there yet is made, unless `create` is false. Whoever finds another
    administrator at work waits for up to `busy_s`.
    """
    # Only who opens a store pays for SQLAlchemy.
    from headgate.stores.databases import Database, PostgresqlDatabase, SqliteDatabase
    from headgate.stores.sql import SqlAclStore

    database: Database
    if isinstance(where, str) and "://" in where:
        if not where.startswith(POSTGRESQL):
            scheme = where.split("://")[0]
            raise StoreError(
                f"expected a directory or a URL `{POSTGRESQL[0]}…`, found {named(scheme + '://…')}"
            )
        database = PostgresqlDatabase(where, busy_s)
    else:
        database = SqliteDatabase(Path(where), busy_s, create=create)
    return SqlAclStore(database, create=create)
