"""What happens next? Everything that is going to happen, in simulated microseconds, in order."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, final

SECOND = 1_000_000
MILLISECOND = 1_000


class TooMuchError(Exception):
    """More happens than a run may hold: something goes round in circles."""


@final
class Timeline:
    """True time, and what is planned for when. What is planned for one moment keeps its order."""

    __slots__ = ("_count", "_planned", "count_max", "now")

    def __init__(self, count_max: int) -> None:
        self.now = 0
        self.count_max = count_max
        self._count = 0
        self._planned: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []

    @property
    def count(self) -> int:
        """How many things were planned so far."""
        return self._count

    def at(self, moment: int, act: Callable[..., None], *arguments: Any) -> None:
        """Plan something for a moment; what lies in the past happens now."""
        self._count += 1
        heappush(self._planned, (max(moment, self.now), self._count, act, arguments))

    def after(self, delay: int, act: Callable[..., None], *arguments: Any) -> None:
        self._count += 1
        heappush(self._planned, (self.now + delay, self._count, act, arguments))

    def run_until(self, moment: int) -> None:
        """Let everything happen up to and with a moment."""
        planned = self._planned
        while planned and planned[0][0] <= moment:
            if self._count > self.count_max:
                raise TooMuchError(
                    f"expected at most {self.count_max:,} things to happen, found more, at last "
                    f"`{_name(planned[0][2])}`"
                )
            self.now, _, act, arguments = heappop(planned)
            act(*arguments)
        self.now = max(self.now, moment)


def _name(act: Callable[..., None]) -> str:
    """Of what is planned, with whose it is."""
    owner = getattr(getattr(act, "__self__", None), "name", "")
    return f"{owner}.{act.__name__}" if owner else act.__name__
