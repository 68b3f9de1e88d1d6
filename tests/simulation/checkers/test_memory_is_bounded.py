"""Is a broker seen that keeps more in memory than it was told to?"""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.simulation.checkers.memory_is_bounded import MemoryIsBounded
from headgate.simulation.checkers.promises import PromiseBroken
from tests.simulation.scenes import AMachine, Scene


class ACore:
    """As much of a core as the checker looks at."""

    def __init__(self, held: int) -> None:
        self._held = held

    def records_held(self) -> int:
        return self._held


@pytest.fixture
def rest() -> Callable[[int | None], None]:
    def rest(held: int | None) -> None:
        scene = Scene(lambda ledger, timeline: MemoryIsBounded())
        machine: Any = AMachine(cache_records=4)
        machine.core = None if held is None else ACore(held)
        scene.see("started", machine)
        scene.see("at_rest")

    return rest


def test_as_much_as_it_was_told_to_is_fine(rest: Callable[[int | None], None]) -> None:
    rest(4)
    rest(None)


def test_one_more_breaks_the_promise(rest: Callable[[int | None], None]) -> None:
    with pytest.raises(PromiseBroken, match="at most 4 records of a stream, came 5"):
        rest(5)
