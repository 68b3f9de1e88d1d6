"""Which filters match which event of a batch? Two arrays, as Arrow keeps lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from headgate.filters.filter import Filter
from headgate.matching.compiled import Ints, Shorts
from headgate.model.values import Value

Columns: TypeAlias = Any
"""A `pyarrow.Table`, a `RecordBatch`, or a mapping from names to Arrow or NumPy arrays."""
ValuesOf: TypeAlias = Callable[[int], Mapping[str, Value]]


@dataclass(slots=True, eq=False)
class Matches:
    """The ids of the filters that match event `i` are `ids[offsets[i]:offsets[i + 1]]`.

    They come in no order, each once.
    """

    offsets: Ints
    ids: Shorts

    def __len__(self) -> int:
        """The number of events."""
        return len(self.offsets) - 1

    def __getitem__(self, event: int) -> Shorts:
        if not -len(self) <= event < len(self):
            raise IndexError(f"a batch of {len(self)} events has no event {event}")
        event %= len(self)
        return self.ids[self.offsets[event] : self.offsets[event + 1]]

    def __iter__(self) -> Iterator[Shorts]:
        return (self[event] for event in range(len(self)))


def with_verified(
    found: Matches, candidates: Shorts, filters: Mapping[int, tuple[int, Filter]], values: ValuesOf
) -> Matches:
    """The matches, and those of the candidates (event and slot in turns) that really match."""
    events: list[int] = []
    ids: list[int] = []
    known: dict[int, Mapping[str, Value]] = {}
    pairs = candidates.tolist()
    for event, slot in zip(pairs[::2], pairs[1::2], strict=True):
        if event not in known:
            known[event] = values(event)
        number, one = filters[slot]
        if one.compiled()(known[event]):
            events.append(event)
            ids.append(number)
    return with_more(found, events, ids)


def with_more(found: Matches, events: list[int], ids: list[int]) -> Matches:
    """The matches, and further ids for some events."""
    if not events:
        return found
    at = np.array(events, np.int64)
    more = np.bincount(at + 1, minlength=len(found.offsets))
    return Matches(
        found.offsets + np.cumsum(more),
        np.insert(found.ids, found.offsets[at + 1], np.array(ids, np.int32)),
    )
