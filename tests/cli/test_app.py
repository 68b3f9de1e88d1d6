"""Does the program explain itself, and refuse in one line that says why?"""

import os
import pty
import subprocess
import sys
from pathlib import Path

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


def test_an_unknown_command_is_a_usage_error() -> None:
    result = run("gate")
    assert result.returncode == 2
    assert "No such command" in result.stderr
