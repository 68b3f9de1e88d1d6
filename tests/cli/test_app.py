"""Does the program explain itself, and refuse in one line that says why?"""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

HEADGATE = Path(sys.executable).with_name("headgate")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HEADGATE, *words], capture_output=True, text=True, check=False)


def test_help_lists_the_commands_and_the_exit_codes() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "filter" in result.stdout
    assert "Exit codes" in result.stdout
    assert run("-h").stdout == result.stdout


def test_the_version_is_that_of_the_project() -> None:
    pyproject = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    version = run("--version").stdout.split()[1]
    assert f'version = "{version}"' in pyproject


def test_a_refusal_is_one_line_on_standard_error_and_exit_code_2() -> None:
    result = run("filter", "explain", "price >")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "headgate: expected an attribute or a value, found the end (filter, column 8)\n"
    )


def test_a_bad_event_is_refused_naming_the_attribute() -> None:
    result = run("filter", "explain", "a = 1", "--event", '{"a": 9223372036854775808}')
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "`a` is an integer beyond 64 bits" in result.stderr


def test_a_person_at_a_terminal_also_sees_the_caret() -> None:
    ours, theirs = pty.openpty()
    try:
        result = subprocess.run(
            [HEADGATE, "filter", "explain", "price => 5"],
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=False,
        )
        lines = os.read(ours, 10_000).decode().splitlines()
    finally:
        os.close(theirs)
        os.close(ours)
    assert (result.returncode, result.stdout) == (2, b"")
    assert len(lines) == 3
    assert lines[1] == "price => 5"
    assert lines[2].index("^") == lines[1].index("=")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gate", "no such command 'gate' (see `headgate --help`)"),
        ("--gate", "no such option '--gate' (see `headgate --help`)"),
        ("filter explain", "missing argument 'FILTER' (see `headgate filter explain --help`)"),
        (
            "policy apply x --exepct 3",
            "no such option '--exepct'. Did you mean '--expect'? "
            "(see `headgate policy apply --help`)",
        ),
        (
            "policy show --version now",
            "invalid value for '--version': 'now' is not a valid integer "
            "(see `headgate policy show --help`)",
        ),
        ("policy apply x --as", "option '--as' requires an argument (see `headgate --help`)"),
    ],
)
def test_who_mistypes_a_command_is_told_so_in_one_line(words: str, said: str) -> None:
    result = run(*words.split())
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"headgate: {said}\n"


def test_nothing_that_was_typed_makes_a_second_line() -> None:
    assert run("policy", "a\nb\x1b[2J\u2028c").stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["", "filter", "policy"])
def test_who_types_no_command_is_shown_them_all(words: str) -> None:
    result = run(*words.split())
    assert result.returncode == 2
    assert "Commands:" in result.stderr


def test_help_waits_for_nothing_that_only_brokers_and_their_clients_need() -> None:
    code = (
        "import sys, headgate.cli; sys.exit(any(name in sys.modules for name in "
        "('aiohttp', 'headgate.client', 'headgate.live.node', 'sqlalchemy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
