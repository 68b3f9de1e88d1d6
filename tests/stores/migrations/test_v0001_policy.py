"""Does the first migration make what it made when it was written?"""

from collections.abc import Callable

from sqlalchemy import create_engine, inspect

from headgate.stores.acl import AclStore
from headgate.stores.migrations import v0001_policy
from tests.stores.examples import url_of


def test_it_makes_the_tables_of_the_first_schema(
    opened: Callable[[], AclStore], where: str
) -> None:
    assert (v0001_policy.revision, v0001_policy.down_revision) == ("0001", None)
    opened()
    engine = create_engine(url_of(where))
    found = inspect(engine)
    assert set(found.get_table_names()) == {"acl_schema", "batches", "starting_points"}
    assert found.get_pk_constraint("batches")["constrained_columns"] == ["version"]
    points = found.get_pk_constraint("starting_points")["constrained_columns"]
    assert points == ["version", "stream"]
    for table in ("batches", "starting_points"):
        assert not any(column["nullable"] for column in found.get_columns(table))
    engine.dispose()
