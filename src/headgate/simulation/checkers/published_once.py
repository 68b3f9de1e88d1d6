"""Does each event id of a publisher stand once in a stream, within the window of repetitions?

What is removed is forgotten with the next start of its broker, and may then be published again.
"""

from __future__ import annotations

from typing import final

from headgate.log.records import Record
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine


@final
class PublishedOnce(Checker):
    """Of each stream it keeps where each event id stood last, counted in publications."""

    promise = "published_once"

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._seen: dict[tuple[str, str, str], tuple[int, int]] = {}
        self._removed: dict[str, int] = {}
        self._forgotten: dict[str, int] = {}
        """Up to where a stream was removed when its broker started."""

    def removed(self, machine: Machine, stream: str, up_to: int) -> None:
        self._removed[stream] = up_to

    def started(self, machine: Machine) -> None:
        for stream in machine.settings.streams:
            self._forgotten[stream] = self._removed.get(stream, 0)

    def logged(self, machine: Machine, record: Record) -> None:
        if record.is_marker or record.stream.startswith("$"):
            return
        number = self._counts[record.stream] = self._counts.get(record.stream, 0) + 1
        key = (record.stream, record.publisher, record.event_id)
        before = self._seen.get(key)
        if before is not None and before[1] <= self._forgotten.get(record.stream, 0):
            before = None
        if before is not None and number - before[0] < machine.settings.repeat_window:
            raise self.broken(
                f"{record.event_id} of {record.publisher}",
                f"once on {record.stream}, at {before[1]}",
                f"again at {record.offset}",
            )
        self._seen[key] = (number, record.offset)
