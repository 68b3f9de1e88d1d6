"""Which runs have a name? Schedules written by hand, each for what may go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from headgate.model.errors import HeadgateError
from headgate.simulation.scenarios.generated import generated
from headgate.simulation.schedules import Schedule

Scenario: TypeAlias = Callable[[int], Schedule]
"""Makes a schedule from a seed: what is not said by hand comes from it."""

GENERATED = "generated"

_SCENARIOS: dict[str, Scenario] = {}


class UnknownScenarioError(HeadgateError):
    """There is no scenario of this name."""


def scenario(make: Scenario) -> Scenario:
    """Register a scenario under its function's name: `a_slow_path` is `a-slow-path`."""
    name = make.__name__.replace("_", "-")
    assert name not in _SCENARIOS
    _SCENARIOS[name] = make
    return make


def names() -> list[str]:
    return sorted(_SCENARIOS)


def schedule_of(seed: int, name: str | None = None) -> Schedule:
    """What a seed stands for, in a scenario or by chance."""
    if name is None or name == GENERATED:
        return generated(seed)
    make = _SCENARIOS.get(name)
    if make is None:
        raise UnknownScenarioError(
            f"expected a scenario ({', '.join((GENERATED, *names()))}), found `{name}`"
        )
    return make(seed)


def about(name: str) -> str:
    """What a scenario shows, in a line."""
    text = _SCENARIOS[name].__doc__ or ""
    return text.strip().partition("\n")[0]
