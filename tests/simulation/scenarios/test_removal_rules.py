"""Do the schedules for the rules of removal tell what they are about, and take something away?"""

import pytest

from headgate.simulation.running import run
from headgate.simulation.scenarios import removal_rules
from headgate.simulation.scenarios.named import about, names, schedule_of

HERE = [name for name in names() if hasattr(removal_rules, name.replace("-", "_"))]


def test_there_are_some() -> None:
    assert len(HERE) > 8


@pytest.mark.parametrize("name", HERE)
def test_each_says_what_it_shows_and_is_the_same_for_the_same_seed(name: str) -> None:
    assert about(name).endswith(".")
    assert schedule_of(3, name) == schedule_of(3, name)
    assert schedule_of(3, name).seed == 3


@pytest.mark.parametrize("name", HERE)
def test_in_each_somebody_is_told_of_a_loss(name: str) -> None:
    outcome = run(1, name, trace=True)
    assert outcome.is_good, outcome.broken
    assert any(" lost after " in line for line in outcome.trace)
