"""What was added to an index that no version of it has yet? Written down, and easily taken back.

Filters become plain numbers at once: millions of small objects that wait for the next version would
keep the garbage collector busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

import numpy as np

from headgate.filters.filter import Filter
from headgate.matching.compiled import Shorts
from headgate.matching.directory import Directory
from headgate.matching.entries import Entries, entries_of
from headgate.matching.raws import Raw, some_of
from headgate.matching.writing import RawWriter

_ENTRY_BYTES: Final = 320
_TEST_BYTES: Final = 24
_MARK_BYTES: Final = 64
_NAME_BYTES: Final = 256
_CHAR_BYTES: Final = 8
"""What an entry may take at most, each of its tests, each of its marks, each name in what has to be
verified, and each character of a text."""
_SPARE: Final = 1_024

Written = tuple[tuple[int, ...], int, int, int]


class Unseen:
    """Filters by id, each at a *place*: the first that was written has 0."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._writer = RawWriter(directory)
        self.numbers: list[int] = []
        """The ids by place, also of filters that are forgotten."""
        self._sizes: list[int] = []
        self._verified: list[tuple[int, Filter]] = []
        self._places: dict[int, int] = {}
        self.nbytes = 0
        """The memory that they may take in the index."""

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def write(self, number: int, one: Filter) -> int:
        """Write a filter down; it is there when its place is given to `keep`."""
        entries = entries_of(one)
        place = len(self.numbers)
        size = _bytes_of(entries)
        if any(entry.verified for entry in entries.entries):
            self._verified.append((place, one))
            # Columns are only read by numbered names, and who verifies needs all of them.
            for name in sorted(one.names):
                self._directory.name(name)
                size += _NAME_BYTES + _CHAR_BYTES * len(name)
        self._writer.add(place, entries)
        self.numbers.append(number)
        self._sizes.append(size)
        self.nbytes += size
        return place

    def written(self) -> Written:
        """How much there is, for `take_back`."""
        return self._writer.written(), len(self.numbers), len(self._verified), self.nbytes

    def take_back(self, written: Written) -> None:
        """Take back what was written since then; what has got a number in the directory keeps it:
        names, columns and signatures, but no texts and values.
        """
        entries, numbers, verified, self.nbytes = written
        self._writer.take_back(entries)
        del self.numbers[numbers:]
        del self._sizes[numbers:]
        del self._verified[verified:]

    def keep(self, places: dict[int, int]) -> None:
        """These filters are there now, by id."""
        self._places.update(places)

    def forget(self, number: int) -> bool:
        """Whether the filter was one of these; then it is gone."""
        place = self._places.pop(number, None)
        if place is not None:
            self.nbytes -= self._sizes[place]
        return place is not None

    def mostly_forgotten(self) -> bool:
        """Whether most of what is written down is of filters that are gone."""
        return len(self.numbers) > 2 * len(self._places) + _SPARE

    def raw(self) -> Raw:
        """The entries of those that are there, with their places as slots; nothing is written
        later.
        """
        raw = self._writer.raw()
        if len(self._places) == len(self.numbers):
            return raw
        there = np.zeros(len(self.numbers), np.bool_)
        there[self.places()] = True
        return some_of(raw, there[raw.slots])

    def places(self) -> Shorts:
        """The places of those that are there."""
        return np.fromiter(self._places.values(), np.int32, len(self._places))

    def verified(self) -> Iterator[tuple[int, Filter]]:
        """Those that are there and have to be verified, by place."""
        for place, one in self._verified:
            if self._places.get(self.numbers[place]) == place:
                yield place, one


def _bytes_of(some: Entries) -> int:
    size = _ENTRY_BYTES
    for address, tests, has, lacks, any_of, _ in some.entries:
        marks = address
        if has or lacks or any_of:
            marks = (*marks, *has, *lacks, *chain.from_iterable(any_of))
        for _, (_, value) in marks:
            if value.__class__ is str:
                size += _CHAR_BYTES * len(value)
        size += _ENTRY_BYTES + _TEST_BYTES * len(tests) + _MARK_BYTES * len(marks)
    return size
