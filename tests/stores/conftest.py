"""Which databases are the promises checked on?"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headgate.stores.acl import AclStore
from headgate.stores.opening import open_acl_store
from tests.stores.postgresql import (
    PostgresqlServer,
    binaries_of_the_machine,
    binaries_of_the_wheel,
)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """A server for the tests of this process; killed by its process number at the end."""
    server = PostgresqlServer([*binaries_of_the_machine(), *binaries_of_the_wheel()])
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a new store."""
    if request.param == "sqlite":
        return str(tmp_path / "store")
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_database()


@pytest.fixture
def opened(where: str) -> Iterator[Callable[[], AclStore]]:
    """Opens the store as often as one likes."""
    stores = []

    def one() -> AclStore:
        stores.append(open_acl_store(where, busy_s=5))
        return stores[-1]

    yield one
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[[], AclStore]) -> AclStore:
    return opened()
