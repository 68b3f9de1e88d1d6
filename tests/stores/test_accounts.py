"""Are accounts and tokens kept, bounded, and ended when they are to end?"""

import multiprocessing
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.stores import accounts as module
from headgate.stores.accounts import (
    ADMINISTRATOR,
    TOKENS_OF_ONE_MAX,
    AccountError,
    Accounts,
    KeptToken,
    User,
)
from headgate.stores.acl import StoreError


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[Accounts]:
    opened = Accounts(tmp_path, users_max=3, tokens_max=TOKENS_OF_ONE_MAX + 2)
    yield opened
    opened.close()


def of(principal: str, expires_us: int | None = 100) -> KeptToken:
    return KeptToken(principal, False, expires_us)


def test_users_come_change_and_go(accounts: Accounts) -> None:
    accounts.add_user("jane", "hash", 1)
    accounts.add_user("ann", "other", 2)
    assert accounts.users() == [User("ann", 2), User("jane", 1)]
    assert accounts.password_hash("jane") == "hash"
    accounts.set_password("jane", "new")
    assert accounts.password_hash("jane") == "new"
    accounts.remove_user("jane")
    assert accounts.password_hash("jane") is None
    assert accounts.users() == [User("ann", 2)]


def test_what_is_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    first = Accounts(tmp_path)
    first.add_user("jane", "hash", 1)
    first.add_token(b"digest", of("jane"), 1)
    first.close()
    second = Accounts(tmp_path)
    assert second.password_hash("jane") == "hash"
    assert second.token(b"digest", 2) == of("jane")
    second.close()


def test_a_name_is_given_once_and_has_to_be_there_to_be_changed(accounts: Accounts) -> None:
    accounts.add_user("jane", "hash", 1)
    with pytest.raises(AccountError, match="there is a user `jane` already"):
        accounts.add_user("jane", "hash", 1)
    with pytest.raises(AccountError, match="there is no user `x`: `headgate user list`"):
        accounts.set_password("x", "hash")
    with pytest.raises(AccountError, match="there is no user `x`: `headgate user list`"):
        accounts.remove_user("x")


@pytest.mark.parametrize(
    "name", ["", " jane", "ja\nne", "$broker", "a" * 257, "jane:doe", "Zoe\u0301", ADMINISTRATOR]
)
def test_a_name_that_can_not_be_a_principal_or_looks_like_another_is_refused(
    accounts: Accounts, name: str
) -> None:
    with pytest.raises(AccountError):
        accounts.add_user(name, "hash", 1)
    assert accounts.users() == []


def test_names_of_all_scripts_are_kept_to_the_letter(accounts: Accounts) -> None:
    for name in ("Zo\u00e9", "李雷", "Ⅷ"):
        accounts.add_user(name, name, 1)
        assert accounts.password_hash(name) == name
    assert accounts.password_hash("VIII") is None


def test_there_are_only_so_many_users(accounts: Accounts) -> None:
    for name in "abc":
        accounts.add_user(name, "hash", 1)
    with pytest.raises(AccountError, match="there are 3 users, and no more may be"):
        accounts.add_user("d", "hash", 1)


def test_a_token_ends_at_its_time(accounts: Accounts) -> None:
    accounts.add_token(b"digest", of("jane", 100), 1)
    accounts.add_token(b"for ever", of("jane", None), 1)
    assert accounts.token(b"digest", 99) == of("jane", 100)
    assert accounts.token(b"digest", 100) is None
    assert accounts.token(b"for ever", 10**18) == of("jane", None)
    assert accounts.token(b"unknown", 1) is None


def test_tokens_end_with_the_password_and_with_the_user(accounts: Accounts) -> None:
    accounts.add_user("jane", "hash", 1)
    accounts.add_token(b"1", of("jane"), 1)
    accounts.set_password("jane", "new")
    assert accounts.token(b"1", 2) is None
    accounts.add_token(b"2", of("jane"), 1)
    accounts.add_token(b"3", of("ann"), 1)
    accounts.remove_user("jane")
    assert accounts.token(b"2", 2) is None
    assert accounts.token(b"3", 2) == of("ann")
    accounts.remove_token(b"3")
    assert accounts.token(b"3", 2) is None


def test_of_one_principal_the_newest_tokens_stay(accounts: Accounts) -> None:
    for number in range(TOKENS_OF_ONE_MAX + 1):
        accounts.add_token(b"%d" % number, of("jane", 10_000), number)
    assert accounts.token(b"0", 1) is None
    assert accounts.token(b"1", 1) is not None


def test_there_are_only_so_many_tokens_and_those_that_ended_make_room(accounts: Accounts) -> None:
    for number in range(TOKENS_OF_ONE_MAX + 2):
        accounts.add_token(b"%d" % number, of(f"p{number}", 100), 1)
    with pytest.raises(AccountError, match="tokens are given out, and no more may be"):
        accounts.add_token(b"more", of("jane", 200), 99)
    accounts.add_token(b"more", of("jane", 200), 100)


def test_another_hash_of_a_changed_password_is_not_kept(accounts: Accounts) -> None:
    accounts.add_user("jane", "new", 1)
    accounts.rehash("jane", "old", "of old")
    assert accounts.password_hash("jane") == "new"
    accounts.rehash("jane", "new", "better")
    assert accounts.password_hash("jane") == "better"


def test_the_file_is_its_owners_alone_and_synced(tmp_path: Path) -> None:
    opened = Accounts(tmp_path)
    opened.add_user("jane", "hash", 1)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    for connection in (opened._reader, opened._writer):
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    opened.close()


def add_one(directory: Path, number: int) -> None:
    opened = Accounts(directory)
    opened.add_user(f"user {number}", "hash", number)
    opened.close()


def test_processes_may_start_on_one_file_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        pool.starmap(add_one, [(tmp_path, number) for number in range(12)])
    opened = Accounts(tmp_path)
    assert len(opened.users()) == 12
    opened.close()


def test_what_another_process_changes_is_seen_at_once(tmp_path: Path, accounts: Accounts) -> None:
    other = Accounts(tmp_path)
    accounts.add_user("jane", "hash", 1)
    assert other.password_hash("jane") == "hash"
    other.remove_user("jane")
    assert accounts.password_hash("jane") is None
    other.close()


def test_a_damaged_or_a_foreign_file_is_named(tmp_path: Path) -> None:
    (tmp_path / module.FILE).write_bytes(b"no database at all, but long enough to be one" * 100)
    with pytest.raises(StoreError, match=r"the accounts in .* file is not a database"):
        Accounts(tmp_path)
    (tmp_path / module.FILE).unlink()
    connection = sqlite3.connect(tmp_path / module.FILE)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(StoreError, match="expected format 1, found 9"):
        Accounts(tmp_path)
    with pytest.raises(StoreError, match="unable to open"):
        Accounts(tmp_path / "nowhere")
