"""Can a schedule be written down, read back, and told to a person?"""

import pytest

from headgate.simulation.scenarios.generated import generated
from headgate.simulation.schedules import (
    FAULTS,
    Administer,
    ClientPlan,
    Fault,
    Isolate,
    Kill,
    Publish,
    Remove,
    Schedule,
    Subscribe,
    at,
    described,
)


@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_that_was_written_down_is_the_same(seed: int) -> None:
    schedule = generated(seed)
    assert Schedule.from_json(schedule.to_json()) == schedule


def test_an_action_is_told_in_a_line() -> None:
    assert described(Kill("b2", 1_500_000, silently=True)) == "kill b2 for 1.5 s silently"
    assert described(Isolate("b2", 20_000)) == "isolate b2 for 0.02 s"
    assert described(Publish("ann", "e1", "{}", "orders")) == (
        "publish ann e1 {} stream orders is json"
    )
    assert described(Subscribe("ann", "all", durable="mine")) == (
        "subscribe ann all filter TRUE durable mine"
    )
    assert described(Remove("b1", 3, forced=True)) == "remove b1 keep 3 forced"
    rule = {"principal": "ann", "action": "subscribe", "attributes": ["a", "b"]}
    changes = ({"create_group": "staff"}, {"grant": rule})
    assert described(Administer("ada", changes, serially=True)) == (
        "administer ada create_group staff; "
        "grant principal=ann action=subscribe attributes=a,b serially"
    )


def test_steps_are_written_in_seconds() -> None:
    assert at(1.25, Kill("b1", 1)).at_us == 1_250_000


def test_every_fault_is_listed() -> None:
    assert set(FAULTS) == set(Fault.__args__)


def test_brokers_that_are_not_in_the_network_are_refused() -> None:
    with pytest.raises(ValueError, match="expected brokers of the network, found b7, b9"):
        Schedule(
            seed=1,
            nodes={"n1": ("b1",)},
            policy_host="b9",
            clients={"ann": ClientPlan("ann", ("b1", "b7"))},
            steps=(),
        )
