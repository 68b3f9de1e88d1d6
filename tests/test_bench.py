"""Does every measurement still run? Its figures are worth something in `make bench` only."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHES = sorted(path.stem for path in (ROOT / "bench").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", BENCHES)
def test_a_measurement_runs(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", f"bench.{name}", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,  # compiling what is compiled, the first time, is a part of it
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
