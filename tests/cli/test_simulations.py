"""What does `headgate simulate` print, and with which exit code does it end?"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headgate.cli import main
from headgate.simulation import running
from tests.simulation.small import busy
from tests.simulation.test_shrinking import Rude


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments])


@pytest.fixture
def broken_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "the_core", lambda: Rude)


def test_a_seed_that_keeps_every_promise_says_so_and_what_happened() -> None:
    result = call("--seed", "7")
    assert result.exit_code == 0
    assert "seed 7 kept every promise in" in result.output
    assert "deliveries" in result.output


def test_a_trace_comes_line_by_line() -> None:
    lines = call("--seed", "7", "--trace").output.splitlines()
    assert len(lines) > 50
    assert "b1        starts" in lines[0]


def test_many_seeds_are_summed_up() -> None:
    result = call("--seeds", "1..20", "--workers", "1")
    assert result.exit_code == 0
    assert "20 runs kept every promise" in result.output


@pytest.mark.usefixtures("broken_core")
def test_the_first_seed_that_fails_is_named_with_what_is_left_of_it() -> None:
    result = call("--seeds", "1..100", "--workers", "1")
    assert result.exit_code == 1
    assert "headgate: broken: seed" in result.output
    assert "breaks a promise: no_core_fails" in result.output
    assert result.output.count(" publish ") == 2  # in the schedule, and in the trace


@pytest.mark.usefixtures("broken_core")
def test_a_program_reads_it_as_json(tmp_path: Path) -> None:
    seed = str(next(one for one in range(100) if not running.run(one).is_good))
    result = call("--seed", seed, "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["promise"] == "no_core_fails"
    path = tmp_path / "schedule.json"
    path.write_text(told["schedule"])
    again = call("--schedule", str(path))
    assert again.exit_code == 1
    assert "breaks a promise: no_core_fails" in again.output


def test_a_schedule_may_be_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_bytes(busy().to_json())
    result = call("--schedule", str(path), "--json")
    told: Any = json.loads(result.stdout)
    assert (result.exit_code, told["counts"]["deliveries"]) == (0, 5)


def test_scenarios_are_listed() -> None:
    assert "generated" in call("--scenarios").output
    assert "generated" in json.loads(call("--scenarios", "--json").stdout)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "say one of --seed, --seeds"),
        (["--seed", "1", "--seeds", "1..2"], "say one of --seed, --seeds"),
        (["--seeds", "2..1"], "expected two seeds such as `1..1000`, found `2..1`"),
        (["--seeds", "many"], "found `many`"),
        (["--seed", "1", "--scenario", "no-such"], "expected a scenario"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], expected: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert expected in result.output


def test_a_schedule_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_text("{}")
    result = call("--schedule", str(path))
    assert result.exit_code == 2
    assert "is no schedule" in result.output
