"""How fast is it? Each module is a measurement that prints a table; here is what they share.

The machines this runs on are shared and noisy, so what belongs together is timed in turns, round
by round, and the least time of each counts: a ratio of two such times holds, a time alone hardly.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import timeit
from collections.abc import Callable, Mapping

QUICK = "--quick" in sys.argv[1:]
"""Only see that everything still runs: the figures are worth nothing."""
_ROUNDS = 2 if QUICK else 9
_TURN_SECONDS = 0.0002 if QUICK else 0.01
_UNROLLED = 10


def seconds_each(
    statements: Mapping[str, str], scope: Mapping[str, object], turn_seconds: float = _TURN_SECONDS
) -> dict[str, float]:
    """The least seconds that each statement takes, all of them timed in turns.

    Statements are written several times over, so that the loop around them doesn't count.
    """
    timers = {
        name: timeit.Timer("\n".join([statement] * _UNROLLED), globals=dict(scope))
        for name, statement in statements.items()
    }
    turns = {
        name: max(1, round(turn_seconds / max(timer.timeit(1), 1e-9)))
        for name, timer in timers.items()
    }
    least = dict.fromkeys(timers, float("inf"))
    for _ in range(_ROUNDS):
        for name, timer in timers.items():
            seconds = timer.timeit(turns[name]) / (turns[name] * _UNROLLED)
            least[name] = min(least[name], seconds)
    return least


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def table(head: list[str], rows: list[list[str]]) -> None:
    """The first column goes to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, *rows]:
        first, *others = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        print("  ".join(cells).rstrip())


def times(ratio: float) -> str:
    return f"{ratio:.1f} ×"


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f}"


def nano(seconds: float) -> str:
    return f"{seconds * 1e9:,.0f}"


def profile(work: Callable[[], object], shown: int = 8) -> None:
    """Where the time of some work goes, by function: its own time, without what it calls."""
    profiler = cProfile.Profile()
    profiler.runcall(work)
    entries = pstats.Stats(profiler).stats.items()  # type: ignore[attr-defined]
    own = {
        f"{file.rpartition('/')[2]}:{line} {name}" if line else name: figures[2]
        for (file, line, name), figures in entries
    }
    total = sum(own.values()) or 1.0
    rows = [
        [name, f"{100 * seconds / total:.0f} %"]
        for name, seconds in sorted(own.items(), key=lambda item: -item[1])[:shown]
    ]
    table(["own time of", "share"], rows)
