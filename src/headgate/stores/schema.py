"""In which tables is a policy kept, and which version of them does a database have?"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, Index, MetaData, Table, Text, inspect, select

SCHEMA = "0001"
"""The newest migration."""

SCHEMA_TABLE = "acl_schema"

metadata = MetaData()

batches = Table(
    "batches",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("author", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("digest", Text, nullable=False),
)

starting_points = Table(
    "starting_points",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("stream", Text, primary_key=True),
    Column("offset", BigInteger, nullable=False),
    Index("starting_points_by_stream", "stream", "version"),
)

_schema = Table(SCHEMA_TABLE, MetaData(), Column("version_num", Text, nullable=False))


def schema_of(connection: Connection) -> str | None:
    """The last migration that a database went through, or `None` for one without a policy."""
    if not inspect(connection).has_table(SCHEMA_TABLE):
        return None
    return connection.execute(select(_schema.c.version_num)).scalar()
