"""Do latencies behave as in Figure 4 of Zhao & Sturman?"""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest

from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.latencies import (
    DELIVERIES_PER_RUN,
    Latencies,
    Start,
    measure_latencies,
)
from headgate.simulation.evaluating.samples import growth_per_hop_ms
from headgate.simulation.timeline import MILLISECOND

HOPS = (1, 4, 7)
RUNS = 6
USUAL = Conditions()
LINK_MS = (USUAL.link_us + USUAL.jitter_us / 2) / MILLISECOND


@pytest.fixture(scope="module")
def figure() -> dict[int, Latencies]:
    return {hops: measure_latencies(USUAL, hops, RUNS) for hops in HOPS}


def means(figure: dict[int, Latencies], how: Start) -> list[float]:
    return [one.starts[how].latency.mean_ms for one in figure.values()]


def test_each_start_begins_as_it_is_called(figure: dict[int, Latencies]) -> None:
    """What is fetched and asked for is what makes the difference, so that is counted."""
    for one in figure.values():
        counted = {how: (it.rights_fetched, it.asked_upstream) for how, it in one.starts.items()}
        assert counted == {
            Start.LOCAL: (0, 0), Start.PRINCIPAL: (RUNS, 0), Start.REMOTE: (RUNS, RUNS),
        }  # fmt: skip
        assert len(one.steady.values) == DELIVERIES_PER_RUN * RUNS
        assert all(len(it.latency.values) == RUNS for it in one.starts.values())


def test_a_delivery_takes_one_link_more_for_each_hop(figure: dict[int, Latencies]) -> None:
    growth = growth_per_hop_ms({hops: one.steady for hops, one in figure.items()})
    assert growth == pytest.approx(LINK_MS, rel=0.1)


def test_a_local_start_does_not_grow_with_the_hops(figure: dict[int, Latencies]) -> None:
    found = means(figure, Start.LOCAL)
    assert max(found) - min(found) < LINK_MS


def test_a_new_principal_starts_like_a_known_one_until_its_rights_come_late(
    figure: dict[int, Latencies],
) -> None:
    """They are fetched while its client thinks; over seven hops that is not long enough."""
    near, middle, far = means(figure, Start.PRINCIPAL)
    assert abs(near - middle) < LINK_MS
    assert far > middle + 4 * LINK_MS


def test_a_remote_start_takes_a_round_trip_more(figure: dict[int, Latencies]) -> None:
    found = means(figure, Start.REMOTE)
    assert all(low + 2 * LINK_MS < high for low, high in pairwise(found))
    local = means(figure, Start.PRINCIPAL)
    for hops, remote, without in zip(HOPS, found, local, strict=True):
        assert remote - without == pytest.approx(2 * hops * LINK_MS, abs=1.5)


def test_after_a_long_thought_rights_are_there_however_far_their_host_is() -> None:
    patient = dataclasses.replace(USUAL, think_us=60 * MILLISECOND)
    near, far = (measure_latencies(patient, hops, RUNS) for hops in (1, 7))
    grown = [far.starts[how].latency.mean_ms - near.starts[how].latency.mean_ms for how in Start]
    assert max(map(abs, grown[:2])) < LINK_MS
    assert grown[2] == pytest.approx(12 * LINK_MS, abs=1.5)


def test_without_a_thought_each_start_of_a_new_principal_waits_for_its_rights() -> None:
    hasty = dataclasses.replace(USUAL, think_us=0)
    near, far = (measure_latencies(hasty, hops, RUNS) for hops in (1, 4))
    growth = [
        (far.starts[how].latency.mean_ms - near.starts[how].latency.mean_ms) / 3 for how in Start
    ]
    assert growth[0] == pytest.approx(0, abs=LINK_MS / 2)
    assert growth[1] > 1.5 * LINK_MS
    assert growth[2] == pytest.approx(growth[1] + 2 * LINK_MS, abs=LINK_MS / 2)


def test_chance_makes_latencies_deviate_and_the_seed_makes_chance() -> None:
    one = measure_latencies(USUAL, 2, 3)
    assert one == measure_latencies(USUAL, 2, 3)
    assert one.steady.deviation_ms > 0.1
    assert one != measure_latencies(dataclasses.replace(USUAL, seed=2), 2, 3)
