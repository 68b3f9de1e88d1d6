"""`headgate user`: who has a password here? Also while the broker runs."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headgate.cli.output import counted, print_json, print_line, print_table
from headgate.model.errors import HeadgateError, named

if TYPE_CHECKING:
    from headgate.stores.accounts import Accounts

STDIN = "-"


class UserError(HeadgateError):
    """What was asked for can't be done with these words."""


_config_option = click.option(
    "--config", "config", metavar="FILE", type=click.Path(path_type=Path),
    envvar="HEADGATE_CONFIG", help="The broker's settings; or set HEADGATE_CONFIG.",
)  # fmt: skip
_data_option = click.option(
    "--data", metavar="DIR", help="The broker's data directory, in place of that of the settings."
)
_password_option = click.option(
    "--password-file",
    metavar="FILE",
    help="Take the password from the first line of a file, `-` for standard input.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.group(
    name="user",
    epilog="""Example:

    headgate user add jane
""",
)
def user_group() -> None:
    """Users and their passwords, in the data directory of a broker on this machine.

    What a user may do is for the policy to say. A change holds at once, also for a broker that
    runs.
    """


@user_group.command(
    epilog="""Examples:

\b
    headgate user add jane
    headgate user add jane --data /var/lib/headgate --password-file - <jane.password
""",
)
@click.argument("name")
@_password_option
@_config_option
@_data_option
def add(name: str, password_file: str | None, config: Path | None, data: str | None) -> None:
    """Let NAME log in with a password, asked for twice."""
    from headgate.live.passwords import hash_password
    from headgate.stores.accounts import check_name

    check_name(name)
    accounts = _open(config, data, create=True)
    try:
        accounts.add_user(name, hash_password(_password(password_file)), _now_us())
    finally:
        accounts.close()
    print_line(f"{named(name)} may log in; what it may do is for the policy to say")


@user_group.command(
    epilog="""Examples:

\b
    headgate user password jane
    headgate user password jane --password-file jane.password
""",
)
@click.argument("name")
@_password_option
@_config_option
@_data_option
def password(name: str, password_file: str | None, config: Path | None, data: str | None) -> None:
    """Change the password of NAME, and end the tokens that the old one was good for."""
    from headgate.live.passwords import hash_password

    accounts = _open(config, data, create=False)
    try:
        accounts.set_password(name, hash_password(_password(password_file)))
    finally:
        accounts.close()
    print_line(f"the password of {named(name)} is changed, and its tokens have ended")


@user_group.command(
    epilog="""Example:

    headgate user remove jane
""",
)
@click.argument("name")
@_config_option
@_data_option
def remove(name: str, config: Path | None, data: str | None) -> None:
    """Let NAME log in no more, and end its tokens. Its rights are for the policy to end."""
    accounts = _open(config, data, create=False)
    try:
        accounts.remove_user(name)
    finally:
        accounts.close()
    print_line(f"{named(name)} may not log in any more; its rights stay in the policy")


@user_group.command(
    name="list",
    epilog="""Examples:

\b
    headgate user list
    headgate user list --json
""",
)
@_config_option
@_data_option
@_json_option
def list_users(config: Path | None, data: str | None, as_json: bool) -> None:
    """Show who has a password."""
    accounts = _open(config, data, create=False)
    try:
        users = accounts.users()
    finally:
        accounts.close()
    if as_json:
        print_json([{"name": user.name, "since": _day(user.made_us)} for user in users])
    elif users:
        print_table([(user.name, f"since {_day(user.made_us)}") for user in users])
    else:
        print_line(f"{counted(0, 'user')}: `headgate user add NAME` adds one")


def _open(config: Path | None, data: str | None, *, create: bool) -> Accounts:
    from headgate.live.config import shared_directory
    from headgate.live.private_files import make_directory
    from headgate.stores.accounts import FILE, Accounts

    directory = shared_directory(config, os.environ, data)
    if create:
        make_directory(directory)
    try:
        there = create or (directory / FILE).exists()
    except OSError as problem:
        raise UserError(
            f"can't look for users in {named(str(directory), 200)}: {_why(problem)}; the broker's "
            "directory is its owner's alone"
        ) from None
    if not there:
        raise UserError(
            f"there are no users in {named(str(directory), 200)}: name the broker's directory by "
            "`--data`, or its settings by `--config`"
        )
    return Accounts(directory)


def _password(file: str | None) -> str:
    """Never from the command line, which others see and the shell remembers."""
    if file == STDIN:
        return _first_line(sys.stdin.readline())
    if file is not None:
        try:
            with open(file, encoding="utf-8") as lines:
                return _first_line(lines.readline())
        except (OSError, UnicodeError) as problem:
            raise UserError(
                f"the password file {named(file)} can't be read: {_why(problem)}"
            ) from None
    if not sys.stdin.isatty():
        raise UserError(
            "expected somebody to ask for the password: say `--password-file -` to give it on "
            "standard input"
        )
    said: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return said


def _why(problem: OSError | UnicodeError) -> str:
    if isinstance(problem, OSError):
        return (problem.strerror or str(problem)).lower()
    return "it is no text"


def _first_line(line: str) -> str:
    return line.rstrip("\r\n")


def _day(us: int) -> str:
    return datetime.fromtimestamp(us / 1_000_000, UTC).strftime("%Y-%m-%d")


def _now_us() -> int:
    return time.time_ns() // 1_000
