"""Is everything measured, under the conditions that were stated, and written down?"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from headgate.simulation.evaluating.conditions import ConditionError, Conditions
from headgate.simulation.evaluating.evaluation import Evaluation, evaluate_network
from headgate.simulation.evaluating.latencies import Start

SMALL = Conditions(records=30)


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate_network(SMALL, (3, 1, 3), runs=2)


def test_lengths_are_measured_once_each_in_ascending_order(evaluation: Evaluation) -> None:
    assert [one.hops for one in evaluation.latencies] == [1, 3]
    assert list(evaluation.steady) == list(evaluation.starts(Start.REMOTE)) == [1, 3]


def test_a_program_finds_everything_by_its_name(evaluation: Evaluation) -> None:
    told = json.loads(json.dumps(evaluation.to_json()))
    assert told["conditions"]["think_us"] == SMALL.think_us
    assert told["runs"] == 2
    assert told["filtering"]["deliveries_are_equal"] is True
    assert [one["link"] for one in told["filtering"]["in_network"]][:2] == [
        ["p", "r1"], ["r1", "s1"],
    ]  # fmt: skip
    assert len(told["access_control"]) == 4
    hop = told["access_control"][-1]["hops"][0]
    assert {"link", "conservative", "in_vain", "version_bytes", "frames", "bytes"} == set(hop)
    assert set(told["latencies"]) == {"steady delivery", *(how.value for how in Start)}
    remote = told["latencies"][Start.REMOTE.value]
    assert (remote["rights_fetched"], remote["asked_upstream"]) == (4, 4)
    assert remote["by_hops"][1] == {
        "hops": 3,
        "mean_ms": round(evaluation.starts(Start.REMOTE)[3].mean_ms, 4),
        "deviation_ms": round(evaluation.starts(Start.REMOTE)[3].deviation_ms, 4),
        "measured": 2,
    }
    assert remote["growth_per_hop_ms"] > 1


def test_who_waits_is_told_what_is_measured_next() -> None:
    said: list[str] = []
    evaluate_network(SMALL, (1, 2), 1, said.append)
    assert said == [
        "filtering in the network and at its edge", "what access control adds on each hop",
        "latencies over 1 hop", "latencies over 2 hops",
    ]  # fmt: skip


@pytest.mark.parametrize(("hops", "runs"), [((), 1), ((0, 1), 1), ((1,), 0), ((1, 99), 1)])
def test_what_cannot_be_measured_is_refused_before_anything_is(
    hops: Sequence[int], runs: int
) -> None:
    said: list[str] = []
    with pytest.raises(ConditionError):
        evaluate_network(SMALL, hops, runs, said.append)
    assert said == []
