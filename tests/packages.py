"""Where does a test get a Debian package from? It is installed, where that may be."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

import pytest

INSTALL_S = 480


def needed(program: str, *packages: str) -> str:
    """The path of a program; without it, and without a way to get it, the test is skipped."""
    found = shutil.which(program)
    if found is None and _installed(packages):
        found = shutil.which(program)
    if found is None:
        pytest.skip(
            f"`{program}` is missing and can't be installed here: it needs the Debian package "
            f"`{packages[0]}`"
        )
    return found


@cache
def _installed(packages: tuple[str, ...]) -> bool:
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = [apt, "-q", "-o", "DPkg::Lock::Timeout=300", "install", "-y"]
    for first in ([], [apt, "-q", "update"]):
        if first:
            subprocess.run(first, env=environment, timeout=INSTALL_S, check=False)
        done = subprocess.run(
            [*command, "--no-install-recommends", *packages],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=INSTALL_S,
            check=False,
        )
        if done.returncode == 0:
            return True
    return False
