"""Do the schedules for the rules of versions tell what they are about?"""

import pytest

from headgate.simulation.scenarios import version_rules
from headgate.simulation.scenarios.named import about, names, schedule_of

HERE = [name for name in names() if hasattr(version_rules, name.replace("-", "_"))]


def test_there_are_some() -> None:
    assert len(HERE) > 9


@pytest.mark.parametrize("name", HERE)
def test_each_says_what_it_shows_and_is_the_same_for_the_same_seed(name: str) -> None:
    assert about(name).endswith(".")
    assert schedule_of(3, name) == schedule_of(3, name)
    assert schedule_of(3, name).seed == 3
