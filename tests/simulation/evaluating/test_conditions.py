"""Are conditions refused that brokers, or whoever waits, would lose their patience with?"""

import pytest

from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.simulation.evaluating.conditions import (
    DELAY_MAX_US,
    HOPS_MAX,
    RATE_MAX,
    ROUND_TRIP_MAX_US,
    THINK_MAX_US,
    ConditionError,
    Conditions,
)
from headgate.simulation.timeline import MILLISECOND


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"link_us": -1}, f"expected `link_us` to be 0 to {DELAY_MAX_US:,}, found -1"),
        ({"jitter_us": DELAY_MAX_US + 1}, "expected `jitter_us` to be 0 to 100,000, found 100,001"),
        ({"sync_us": -1}, "expected `sync_us`"),
        ({"client_us": -1}, "expected `client_us`"),
        ({"think_us": THINK_MAX_US + 1}, "expected `think_us`"),
        ({"records_per_s": 0}, "expected `records_per_s` to be 1 to 10,000, found 0"),
        ({"records_per_s": RATE_MAX + 1}, "expected `records_per_s`"),
        ({"records": 0}, "expected `records` to be 1 to 10,000,000, found 0"),
        ({"changes_per_s": 0}, "expected `changes_per_s`"),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, int], refusal: str) -> None:
    with pytest.raises(ConditionError) as raised:
        Conditions(**said)
    assert refusal in str(raised.value)


def test_the_longest_way_is_one_on_which_nobody_asks_twice() -> None:
    slow = Conditions(link_us=50 * MILLISECOND, jitter_us=0)
    slow.check_distance(10)
    with pytest.raises(ConditionError, match=r"at most 1 s, found 1\.1 s over 11 hops"):
        slow.check_distance(11)
    settings = Settings("b", Topology.alone("b"), policy_host="b")
    assert settings.ask_again_us >= ROUND_TRIP_MAX_US
    assert settings.attach_us > ROUND_TRIP_MAX_US


@pytest.mark.parametrize("hops", [0, -1, HOPS_MAX + 1])
def test_a_chain_has_a_length(hops: int) -> None:
    with pytest.raises(ConditionError, match=f"expected 1 to {HOPS_MAX} hops"):
        Conditions().check_distance(hops)


def test_chance_comes_from_the_seed_and_from_what_it_is_for() -> None:
    def drawn(seed: int, what: str) -> list[int]:
        chance = Conditions(seed=seed).chance(what)
        return [chance.randrange(1_000_000) for _ in range(5)]

    assert drawn(1, "disk") == drawn(1, "disk")
    assert drawn(1, "disk") != drawn(1, "clients")
    assert drawn(1, "disk") != drawn(2, "disk")


def test_a_rate_is_a_period() -> None:
    assert Conditions(records_per_s=500).period_us == 2 * MILLISECOND
    assert Conditions(records_per_s=RATE_MAX).period_us == 100
