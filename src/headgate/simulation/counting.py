"""What happened how often? Faults, branches and answers, summed over seeds: none may be missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, final

FLOOR: Final = 5
"""Fewer than this over all seeds counts as hardly taken."""

Named: TypeAlias = Mapping[str, int]


@final
class Counts(Counter[str]):
    """How often each thing happened, by its name."""

    def add(self, others: Named) -> None:
        self.update(others)


def hardly_taken(counts: Named, expected: Iterable[str], floor: int = FLOOR) -> list[str]:
    """The names that were expected more often, each with how often it came."""
    return [f"{name} ({counts.get(name, 0)})" for name in expected if counts.get(name, 0) < floor]


def in_words(counts: Named) -> str:
    """`1,024 deliveries, 7 killed brokers`, the most frequent first."""
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{many:,} {name}" for name, many in order)
