"""Which slot has the filter with this id? A table of two dozen octets a filter, for any ids."""

from __future__ import annotations

from typing import Final

import numpy as np

from headgate.matching.compiled import Shorts, compiled

ID_MAX: Final = 2**31 - 1
UNKNOWN: Final = -1
_EMPTY = -1
_GONE = -2
_FACTOR = -7046029254386353131
_LEAST_SIZE = 64


@compiled
def _place(keys: Shorts, number: int) -> int:
    """Where an id is, or the empty place at which the search for it ends."""
    mask = len(keys) - 1
    place = ((number * _FACTOR) >> 32) & mask
    while keys[place] != number and keys[place] != _EMPTY:
        place = (place + 1) & mask
    return place


@compiled
def _slot(keys: Shorts, slots: Shorts, number: int) -> int:
    place = _place(keys, number)
    return slots[place] if keys[place] == number else UNKNOWN


@compiled
def _put(keys: Shorts, slots: Shorts, numbers: Shorts, new_slots: Shorts) -> None:
    for at in range(len(numbers)):
        place = _place(keys, numbers[at])
        keys[place] = numbers[at]
        slots[place] = new_slots[at]


@compiled
def _take(keys: Shorts, slots: Shorts, numbers: Shorts, taken: Shorts) -> None:
    for at in range(len(numbers)):
        place = _place(keys, numbers[at])
        keys[place] = _GONE
        taken[at] = slots[place]


class Ids:
    """The slots of filters by their ids."""

    def __init__(self) -> None:
        self._keys: Shorts = np.full(_LEAST_SIZE, _EMPTY, np.int32)
        self._slots: Shorts = np.empty(_LEAST_SIZE, np.int32)
        self._count = 0
        self._used = 0
        """Places that aren't empty: an id that is gone leaves its place taken."""

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._slots.nbytes

    def slot(self, number: int) -> int:
        """The slot of an id, or `UNKNOWN`."""
        slot: int = _slot(self._keys, self._slots, number)
        return slot

    def put(self, numbers: Shorts, slots: Shorts) -> None:
        """Give new ids their slots."""
        if 2 * (self._used + len(numbers)) > len(self._keys):
            self._grow(len(numbers))
        self._count += len(numbers)
        self._used += len(numbers)
        _put(self._keys, self._slots, numbers, slots)

    def take(self, numbers: Shorts) -> Shorts:
        """Take ids out that there are; the slots that they had."""
        taken: Shorts = np.empty(len(numbers), np.int32)
        _take(self._keys, self._slots, numbers, taken)
        self._count -= len(numbers)
        return taken

    def slots(self) -> Shorts:
        """All slots that filters have, in rising order."""
        return np.sort(self._slots[self._keys >= 0])

    def renumber(self, new_slots: Shorts) -> None:
        """Give the ids new slots, by their old ones."""
        there = self._keys >= 0
        self._slots[there] = new_slots[self._slots[there]]

    def _grow(self, more: int) -> None:
        there = self._keys >= 0
        keys, slots = self._keys[there], self._slots[there]
        size = max(_LEAST_SIZE, 1 << (2 * (self._count + more)).bit_length())
        self._keys, self._slots = np.full(size, _EMPTY, np.int32), np.empty(size, np.int32)
        self._used = self._count
        _put(self._keys, self._slots, keys, slots)
