"""Does each publication stay within a rule of its publisher, under its version?"""

from __future__ import annotations

from typing import final

from headgate.log.records import Record
from headgate.simulation.checkers.ledger import Ledger, may_publish
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.service_model import Said, attributes, rights


@final
class PublishedOnlyWithTheRight(Checker):
    """Looks at upper bounds and writable attributes; schedules use no other bounds."""

    promise = "published_only_with_the_right"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rules: dict[tuple[str, int], list[Said]] = {}

    def logged(self, machine: Machine, record: Record) -> None:
        if record.is_marker or record.stream.startswith("$"):
            return
        modelled = self._ledger.logs[record.stream].modelled[record.offset - 1]
        assert modelled is not None
        event = attributes(modelled.body, modelled.known)
        if not any(may_publish(rule, event) for rule in self._rules_of(record)):
            raise self.broken(
                f"{record.stream} {record.offset}",
                f"a right of {record.publisher} to publish it at version {record.version}",
                "none",
            )

    def _rules_of(self, record: Record) -> list[Said]:
        key = (record.publisher, record.version)
        found = self._rules.get(key)
        if found is None:
            found = rights(self._ledger.history[: record.version], record.publisher)
            self._rules[key] = found
        return found
