"""Can a scenario be found by its name, and does each keep every promise?"""

import pytest

from headgate.simulation.running import run
from headgate.simulation.scenarios import named
from headgate.simulation.scenarios.generated import generated
from headgate.simulation.scenarios.named import UnknownScenarioError, about, names, schedule_of
from headgate.simulation.schedules import Schedule
from tests.simulation.small import small


def test_no_name_is_the_generator() -> None:
    assert schedule_of(3) == schedule_of(3, "generated") == generated(3)


def test_a_name_that_nobody_registered_is_refused() -> None:
    with pytest.raises(UnknownScenarioError, match=r"expected a scenario .*, found `no-such`"):
        schedule_of(1, "no-such")


def test_a_scenario_is_called_as_its_function_and_says_what_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named, "_SCENARIOS", {})

    @named.scenario
    def a_quiet_day(seed: int) -> Schedule:
        """Nothing happens."""
        return small(seed=seed)

    assert names() == ["a-quiet-day"]
    assert about("a-quiet-day") == "Nothing happens."
    assert schedule_of(4, "a-quiet-day").seed == 4


@pytest.mark.parametrize("name", names())
def test_every_scenario_keeps_every_promise(name: str) -> None:
    for seed in range(10):
        outcome = run(seed, name)
        assert outcome.is_good, outcome.broken
