"""Across modules: real brokers on real sockets deliver what simulated ones would, to the message.

What each subscription received is judged by the simulation's checkers and its service model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from headgate.live.storing import GroupCommit, Write
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.scenarios.named import names, schedule_of
from headgate.simulation.schedules import FAULTS, Schedule
from tests.live.link_certificates import Authority
from tests.live.replaying import replay
from tests.proofs import COUNTED, proof_size

SEEDS = range(1, 1 + proof_size(test=12, soak=200))
SCENARIOS = names() if proof_size(test=0, soak=1) else names()[::5]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def without_faults(schedule: Schedule) -> Schedule:
    steps = tuple(step for step in schedule.steps if not isinstance(step.action, FAULTS))
    return replace(schedule, steps=steps)


@pytest.mark.proof
def test_generated_runs_keep_every_promise(
    authority: Authority, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    total = Counter[str]()
    for seed in SEEDS:
        total.update(replay(without_faults(schedule_of(seed)), tmp_path / str(seed), authority))
    record_property(COUNTED, said(total, "deliveries", "records", "versions"))
    assert total["deliveries"] > 10 * len(SEEDS)
    assert total["records"] > 50 * len(SEEDS)


@pytest.mark.proof
def test_generated_runs_with_accidents_keep_every_promise(
    authority: Authority, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    total = Counter[str]()
    for seed in SEEDS:
        total.update(replay(schedule_of(10_000 + seed), tmp_path / str(seed), authority))
    counted = ("fault: kill", "killed midway", "killed with unsynced writes", "fault: fill disk")
    record_property(COUNTED, said(total, "deliveries", *counted, "link cut", "connection"))
    assert total["deliveries"] > 10 * len(SEEDS)
    assert total["fault: kill"] + total["killed midway"] >= len(SEEDS) // 2
    assert total["link cut"] + total["link lost in a partition"] >= len(SEEDS) // 6


@pytest.mark.proof
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_keep_every_promise(name: str, authority: Authority, tmp_path: Path) -> None:
    assert replay(schedule_of(1, name), tmp_path, authority)["records"]


def test_a_disk_that_is_not_synced_would_be_seen(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(disk: GroupCommit, writes: list[Write]) -> None:
        """It says that all is stored."""

    monkeypatch.setattr(GroupCommit, "_store", forgetful)
    with pytest.raises(PromiseBroken, match=r"stored|on disk|written down|begin"):
        replay(without_faults(schedule_of(3)), tmp_path, authority)


def said(counts: Counter[str], *wanted: str) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in wanted)
