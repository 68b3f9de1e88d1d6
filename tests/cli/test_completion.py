"""Does a shell complete what can be typed?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from headgate.cli import main
from headgate.cli.completion import VARIABLE

HEADGATE = Path(sys.executable).with_name("headgate")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert (result.exit_code, result.stderr) == (0, "")
    assert VARIABLE in result.stdout


def test_another_shell_is_refused() -> None:
    result = CliRunner().invoke(main, ["completion", "csh"])
    assert result.exit_code == 2


def test_bash_completes_a_command() -> None:
    script = CliRunner().invoke(main, ["completion", "bash"]).stdout
    asking = (
        f"{script}\nCOMP_WORDS=(headgate comp) COMP_CWORD=1\n"
        "_headgate_completion headgate\necho ${COMPREPLY[@]}\n"
    )
    path = f"{HEADGATE.parent}:{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "-c", asking], capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert found.stdout.split() == ["completion"]
