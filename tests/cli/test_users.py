"""Do users come and go by the command line, and does no password stand in it?"""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from headgate.live.passwords import HASHER
from headgate.stores.accounts import Accounts, KeptToken

HEADGATE = Path(sys.executable).with_name("headgate")
User = Callable[..., Result]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.chdir(tmp_path)

    def run(*words: str, given: str = "") -> Result:
        return CliRunner().invoke(main, ["user", *words], input=given)

    return run


def kept(directory: Path) -> dict[str, str | None]:
    accounts = Accounts(directory)
    try:
        return {one.name: accounts.password_hash(one.name) for one in accounts.users()}
    finally:
        accounts.close()


def test_a_user_is_added_with_a_password_from_standard_input(user: User, tmp_path: Path) -> None:
    done = user("add", "jane", "--password-file", "-", given="correct horse\n")
    assert done.output == "`jane` may log in; what it may do is for the policy to say\n"
    hashed = kept(tmp_path / "headgate-data")["jane"]
    assert hashed is not None
    assert HASHER.verify(hashed, "correct horse")


def test_a_password_may_stand_in_a_file(user: User, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("correct horse\r\nmore\n")
    assert user("add", "jane", "--password-file", "secret").exit_code == 0
    hashed = kept(tmp_path / "headgate-data")["jane"]
    assert hashed is not None
    assert HASHER.verify(hashed, "correct horse")
    refused = user("add", "ann", "--password-file", "none")
    assert refused.exit_code == 2
    assert "the password file `none` can't be read: no such file or directory" in refused.output


def test_the_users_of_a_directory_of_somebody_else_are_not_looked_for(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exists(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", exists)
    refused = user("list")
    assert refused.exit_code == 2
    assert "can't look for users in `headgate-data`: permission denied" in refused.output


def test_there_is_no_password_on_the_command_line(user: User) -> None:
    refused = user("add", "jane", "--password", "correct horse")
    assert refused.exit_code == 2
    assert "no such option" in refused.output.lower()
    refused = user("add", "jane")
    assert refused.exit_code == 2
    assert "expected somebody to ask for the password" in refused.output


def test_a_person_is_asked_twice_and_sees_nothing(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [HEADGATE, "user", "add", "jane", "--data", tmp_path / "data"],
        stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    for _ in range(2):
        while not seen.endswith(b": "):
            seen += os.read(ours, 1_024)
        os.write(ours, b"correct horse\n")
        seen += b"|"
    said, _ = asked.communicate(timeout=60)
    os.close(ours)
    assert asked.returncode == 0, seen
    assert b"may log in" in said
    assert b"correct" not in seen
    assert list(kept(tmp_path / "data")) == ["jane"]


def test_users_are_listed_for_people_and_for_programs(user: User) -> None:
    assert "there are no users in `headgate-data`" in user("list").output
    for name in ("jane", "ann"):
        user("add", name, "--password-file", "-", given="correct horse\n")
    assert [line.split()[0] for line in user("list").output.splitlines()] == ["ann", "jane"]
    assert [one["name"] for one in json.loads(user("list", "--json").output)] == ["ann", "jane"]
    user("remove", "ann")
    user("remove", "jane")
    assert user("list").output == "0 users: `headgate user add NAME` adds one\n"


def test_a_changed_password_ends_tokens(user: User, tmp_path: Path) -> None:
    user("add", "jane", "--password-file", "-", given="correct horse\n")
    accounts = Accounts(tmp_path / "headgate-data")
    accounts.add_token(b"digest", KeptToken("jane", False, None), 1)
    done = user("password", "jane", "--password-file", "-", given="battery staple\n")
    assert done.output == "the password of `jane` is changed, and its tokens have ended\n"
    assert accounts.token(b"digest", 2) is None
    accounts.close()


def test_a_user_that_is_removed_is_gone(user: User, tmp_path: Path) -> None:
    user("add", "jane", "--password-file", "-", given="correct horse\n")
    done = user("remove", "jane")
    assert done.output == "`jane` may not log in any more; its rights stay in the policy\n"
    assert kept(tmp_path / "headgate-data") == {}
    refused = user("remove", "jane")
    assert (refused.exit_code, "there is no user `jane`" in refused.output) == (2, True)


def test_the_settings_say_where_the_users_are(user: User, tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text(
        'data = "kept"\n[network]\npolicy_host = "b1"\n[network.nodes]\na = ["b1"]\n'
        "[network.brokers.b1]\n"
    )
    done = user(
        "add", "jane", "--config", "network.toml", "--password-file", "-", given="correct horse\n"
    )
    assert done.exit_code == 0, done.output
    assert list(kept(tmp_path / "kept")) == ["jane"]
    done = user("add", "ann", "--data", "other", "--password-file", "-", given="correct horse\n")
    assert list(kept(tmp_path / "other")) == ["ann"]


@pytest.mark.parametrize(
    ("name", "given", "because"),
    [
        ("jane", "short\n", "expected a password of 8 or more characters"),
        ("jane", "", "expected a password of 8 or more characters"),
        ("a:b", "correct horse\n", "has a colon"),
        ("administrator", "correct horse\n", "is kept for the token"),
    ],
)
def test_what_is_no_name_or_no_password_is_refused(
    user: User, name: str, given: str, because: str
) -> None:
    refused = user("add", name, "--password-file", "-", given=given)
    assert refused.exit_code == 2
    assert because in refused.output
    assert "horse" not in refused.output
