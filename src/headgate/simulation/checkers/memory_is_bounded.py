"""Does no broker keep more records of a stream in memory than it was told to?"""

from __future__ import annotations

from typing import final

from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine


@final
class MemoryIsBounded(Checker):
    """Looks at those that run in the end: what is kept for good is still there then."""

    promise = "memory_is_bounded"

    def __init__(self) -> None:
        self._machines: dict[str, Machine] = {}

    def started(self, machine: Machine) -> None:
        self._machines[machine.name] = machine

    def at_rest(self) -> None:
        for machine in self._machines.values():
            if machine.core is None:
                continue
            most, came = machine.settings.cache_records, machine.core.records_held()
            if came > most:
                raise self.broken(machine.name, f"at most {most} records of a stream", f"{came}")
