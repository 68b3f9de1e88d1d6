"""Across modules: a machine with nothing but the locked packages has a PostgreSQL to test with."""

from contextlib import closing
from pathlib import Path

import pytest

from headgate.stores.opening import open_acl_store
from tests.stores.examples import granting
from tests.stores.postgresql import (
    NoPostgresqlError,
    PostgresqlServer,
    binaries_of_the_wheel,
)


def test_the_wheels_postgresql_serves(tmp_path: Path) -> None:
    """From where only the owner may go, too: it is copied if its user is somebody else."""
    binaries = binaries_of_the_wheel()[-1]
    package = binaries.parent.parent
    for folder in (package, package.with_name(f"{package.name}.libs")):
        (tmp_path / folder.name).symlink_to(folder)
    tmp_path.chmod(0o700)
    server = PostgresqlServer([tmp_path / binaries.relative_to(package.parent)])
    with closing(server), closing(open_acl_store(server.new_database())) as store:
        assert store.apply(granting("bob")) == 1


def test_a_machine_without_postgresql_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoPostgresqlError, match=r"install Debian's `postgresql` or run `make set"):
        PostgresqlServer([tmp_path / "bin"])
