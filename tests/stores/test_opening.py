"""Is the store opened that was meant?"""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headgate.stores.acl import StoreError
from headgate.stores.opening import open_acl_store
from tests.stores.examples import granting
from tests.stores.postgresql import PostgresqlServer


def test_a_directory_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    with closing(open_acl_store(tmp_path / "store")) as store:
        store.apply(granting("bob"))
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "store" / "policy.sqlite3").exists()


def test_an_empty_directory_will_do(tmp_path: Path) -> None:
    with closing(open_acl_store(str(tmp_path))) as store:
        assert store.apply(granting("bob")) == 1


def test_whoever_only_reads_makes_nothing(tmp_path: Path, postgresql: PostgresqlServer) -> None:
    with pytest.raises(StoreError, match="there is none"):
        open_acl_store(tmp_path / "misspelt", create=False)
    assert list(tmp_path.iterdir()) == []
    url = postgresql.new_database()
    for _ in range(2):
        with pytest.raises(StoreError, match="there is no policy in it"):
            open_acl_store(url, create=False)
    open_acl_store(url).close()
    open_acl_store(url, create=False).close()


@pytest.mark.parametrize("url", ["mysql://root:s3cret@host/x", "://", "s3cret@x://y", "http://x"])
def test_another_kind_of_url_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="expected a directory or a URL `postgresql://") as refusal:
        open_acl_store(url)
    assert "root" not in str(refusal.value)


@pytest.mark.parametrize("missing", ["sqlalchemy, alembic, psycopg", "psycopg"])
def test_who_needs_no_database_imports_none(missing: str, tmp_path: Path) -> None:
    """In a process of its own, in which these can't be imported."""
    code = f"""
import sys
for name in {missing.split(", ")!r}:
    sys.modules[name] = None
import headgate, headgate.cli.app
from headgate.stores.acl import AclStore, StoreError
from headgate.stores.opening import open_acl_store
if sys.modules.get("sqlalchemy", 0) is not None:
    open_acl_store({str(tmp_path)!r}).close()
    try:
        open_acl_store("postgresql://host/name")
    except StoreError as refusal:
        print(refusal)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert ("headgate[postgresql]" in done.stdout) == (missing == "psycopg")


def test_importing_headgate_brings_no_sqlalchemy() -> None:
    code = "import sys, headgate, headgate.cli.app; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
