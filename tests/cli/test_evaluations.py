"""What does `headgate evaluate network` print, and what does it refuse?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headgate.cli import evaluations, main
from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.evaluation import Evaluation, evaluate_network

HEADGATE = Path(sys.executable).with_name("headgate")
SMALL = ("--runs", "1", "--records", "20", "--hops", "2,1")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["evaluate", "network", *arguments])


@pytest.fixture(scope="module")
def printed() -> str:
    result = call(*SMALL)
    assert result.exit_code == 0
    return result.output


def test_a_person_reads_the_conditions_and_three_tables(printed: str) -> None:
    lines = printed.splitlines()
    assert lines[0] == (
        "seed 1; a link takes 1 to 1.2 ms, a disk 0 to 2 ms, client and broker 0 to 0.4 ms, "
        "brokers themselves no time"
    )
    for line in (
        "filtering in the network, and at its edge only",
        "what access control adds on each hop, while records flow",
        "latencies in ms: mean ± standard deviation of 1 run",
    ):
        assert line in lines
    assert max(map(len, lines)) <= 120


def test_every_link_policy_and_start_has_its_row(printed: str) -> None:
    begins = [line.strip() for line in printed.splitlines()]
    for words in (
        "p-r1 ", "r2-s8 ", "all ", "everybody may read everything  p-r1", "rights, at rest  ",
        "rights of others change ", "rights of subscribers change ", "steady delivery ",
        "local start ", "new principal, local start ", "new principal, remote start ",
    ):  # fmt: skip
        assert any(line.startswith(words) for line in begins), words
    assert any("1 hop " in line and " 2 hops " in line for line in begins)


def test_deliveries_that_differ_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = evaluate_network(Conditions(records=20), (1,), 1)
    object.__setattr__(found.filtering.at_edge, "received", {})
    monkeypatch.setattr(evaluations, "evaluate_network", lambda *_: found)
    result = call()
    assert "but others at edge" in result.output
    assert result.exit_code == 1


def test_a_program_reads_the_same_whatever_the_hash_seed() -> None:
    told = []
    for seed in ("0", "1", "4242"):
        done = subprocess.run(
            [HEADGATE, "evaluate", "network", *SMALL, "--json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(done.stdout)
        assert done.stderr == ""
    assert told[0] == told[1] == told[2]
    assert told[0].count("\n") == 1
    assert json.loads(told[0])["filtering"]["deliveries_are_equal"] is True


def test_options_become_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def evaluate(conditions: Conditions, hops: object, runs: object, _: object) -> Evaluation:
        asked.append((conditions, hops, runs))
        return evaluate_network(Conditions(records=1), (1,), 1)

    monkeypatch.setattr(evaluations, "evaluate_network", evaluate)
    words = (
        "--hops 8,2,8 --runs 3 --seed 7 --link-ms 2.5 --jitter-ms 0 --sync-ms 0.1 --client-ms 1 "
        "--think-ms 40 --rate 100 --records 9 --changes 2 --json"
    )
    assert call(*words.split()).exit_code == 0
    assert asked == [
        (
            Conditions(
                seed=7, link_us=2_500, jitter_us=0, sync_us=100, client_us=1_000, think_us=40_000,
                records_per_s=100, records=9, changes_per_s=2,
            ),
            (2, 8),
            3,
        )
    ]  # fmt: skip


def test_a_figure_is_drawn_beside_what_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "latencies.png"
    result = call(*SMALL, "--figure", str(path))
    assert result.exit_code == 0
    assert "latencies in ms" in result.output
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--hops 1,x", "expected numbers such as `1,4,7`, found `1,x`"),
        ("--hops ,", "expected numbers such as `1,4,7`, found `,`"),
        ("--hops 0,1", "expected numbers from 1 to 64, found `0,1`"),
        ("--hops 1,99999999999999", "expected numbers from 1 to 64"),
        ("--runs 0", "invalid value for '--runs'"),
        ("--link-ms -1", "invalid value for '--link-ms'"),
        ("--link-ms nan", "invalid value for '--link-ms'"),
        ("--hops 8 --link-ms 70", "expected a round trip of at most 1 s, found 1.1232 s"),
        ("--figure latencies.gif", "expected a figure that ends in .png or .svg"),
        ("--figure no/such/folder.png", "expected a folder for the figure, found no `no/such`"),
    ],
)
def test_what_cannot_be_measured_or_drawn_is_refused_in_one_line(words: str, said: str) -> None:
    done = subprocess.run(
        [HEADGATE, "evaluate", "network", *words.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
