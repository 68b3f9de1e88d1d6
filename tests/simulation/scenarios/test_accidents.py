"""Does every kind of fault come up, in some runs and not in others?"""

from collections import Counter

from headgate.simulation.scenarios.accidents import roads_of
from headgate.simulation.scenarios.generated import generated
from headgate.simulation.schedules import FAULTS
from tests.simulation.small import small


def test_each_kind_of_fault_comes_up_and_some_runs_have_none() -> None:
    counts: Counter[type] = Counter()
    quiet = 0
    for seed in range(300):
        kinds = {type(step.action) for step in generated(seed).steps} & set(FAULTS)
        counts.update(kinds)
        quiet += not kinds
    assert all(20 < counts[kind] < 150 for kind in FAULTS), counts
    assert 10 < quiet < 100


def test_roads_lead_within_nodes_and_between_neighbours() -> None:
    schedule = small(length=3, nodes={"n1": ("b1", "b2"), "n2": ("b3",), "n3": ("b4",)})
    assert roads_of(schedule) == [("b1", "b2"), ("b1", "b3"), ("b2", "b3"), ("b3", "b4")]
