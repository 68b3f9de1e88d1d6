"""Which number stands for this text, or for this value? Tables that only grow, for compiled code.

Equal texts have equal numbers, and texts that no filter has ever named have none. The hash of a
text goes on from that of its beginnings, so that all beginnings are looked up in one walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headgate.matching.compiled import (
    Ints,
    Octets,
    Shorts,
    address_of,
    compiled,
    ints,
    octets,
    shorts,
)

HASH_START: Final = -3750763034362895579
_HASH_FACTOR: Final = 1099511628211
_SPREAD: Final = -7046029254386353131
NUMBERS_FROM: Final = 1 << 30
"""Numbers of texts are below this, those of other values from here on."""
UNKNOWN: Final = -1

# Where the addresses of a table of texts are, from its place in a table of addresses.
SLOTS: Final = 0
MASK: Final = 1
META: Final = 2
POOL: Final = 3
COUNT: Final = 4
TABLE_WORDS: Final = 5


@compiled
def hash_step(state: int, octet: int) -> int:
    return (state ^ octet) * _HASH_FACTOR


@compiled
def slot_of(state: int, mask: int) -> int:
    mixed = (state ^ (state >> 32)) * _SPREAD
    return (mixed ^ (mixed >> 29)) & mask


@compiled
def text_hash(data: Octets, start: int, length: int) -> int:
    state = HASH_START
    for at in range(start, start + length):
        state = (state ^ data[at]) * _HASH_FACTOR
    return state


@compiled
def find_text(
    addresses: Ints, table: int, data: Octets, start: int, length: int, state: int
) -> int:
    """The number of a text with this hash, or `UNKNOWN`."""
    slots = shorts(addresses[table + SLOTS])
    meta = ints(addresses[table + META])
    pool = octets(addresses[table + POOL])
    mask = addresses[table + MASK]
    slot = slot_of(state, mask)
    while True:
        found = slots[slot]
        if found < 0:
            return UNKNOWN
        if meta[3 * found] == state and meta[3 * found + 2] == length:
            begin = meta[3 * found + 1]
            same = True
            for at in range(length):
                if pool[begin + at] != data[start + at]:
                    same = False
                    break
            if same:
                # Who came after this version of the index is not known to it.
                return found if found < addresses[table + COUNT] else UNKNOWN
        slot = (slot + 1) & mask


@compiled
def _add_texts(
    addresses: Ints, data: Octets, ends: Ints, numbers: Shorts, count: int, used: int
) -> tuple[int, int]:
    """Number the texts; the tables are large enough for all of them."""
    slots = shorts(addresses[SLOTS])
    meta = ints(addresses[META])
    pool = octets(addresses[POOL])
    mask = addresses[MASK]
    start = 0
    for which in range(len(numbers)):
        length = ends[which] - start
        state = text_hash(data, start, length)
        addresses[COUNT] = count
        found = find_text(addresses, 0, data, start, length, state)
        if found < 0:
            found = count
            meta[3 * count] = state
            meta[3 * count + 1] = used
            meta[3 * count + 2] = length
            for at in range(length):
                pool[used + at] = data[start + at]
            used += length
            slot = slot_of(state, mask)
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = count
            count += 1
        numbers[which] = found
        start += length
    addresses[COUNT] = count
    return count, used


@compiled
def _rehash(slots: Shorts, meta: Ints, words: int, count: int) -> None:
    mask = len(slots) - 1
    for which in range(count):
        slot = slot_of(meta[words * which], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = which


def _grown(array: NDArray[np.generic], size: int) -> NDArray[np.generic]:
    larger = np.empty(size, array.dtype)
    larger[: len(array)] = array
    return larger


class Texts:
    """Texts by number; a growing table leaves the arrays of older versions as they were."""

    def __init__(self) -> None:
        self.slots: Shorts = np.full(64, -1, np.int32)
        self.meta: Ints = np.empty(3 * 32, np.int64)
        self.pool: Octets = np.empty(256, np.uint8)
        self.count = 0
        self.used = 0

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.meta.nbytes + self.pool.nbytes

    def add(self, texts: Sequence[bytes]) -> Shorts:
        """The numbers of the texts, new ones for new texts."""
        data = b"".join(texts)
        self._reserve(len(texts), len(data))
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        numbers: Shorts = np.empty(len(texts), np.int32)
        self.count, self.used = _add_texts(
            self.addresses(), np.frombuffer(data or b"\0", np.uint8).copy(), ends, numbers,
            self.count, self.used,
        )  # fmt: skip
        return numbers

    def addresses(self) -> Ints:
        slots, meta, pool = address_of(self.slots), address_of(self.meta), address_of(self.pool)
        return np.array([slots, len(self.slots) - 1, meta, pool, self.count], np.int64)

    def arrays(self) -> list[object]:
        return [self.slots, self.meta, self.pool]

    def _reserve(self, texts: int, size: int) -> None:
        if self.used + size > len(self.pool):
            self.pool = _grown(self.pool, 2 * (self.used + size))  # type: ignore[assignment]
        if 3 * (self.count + texts) > len(self.meta):
            self.meta = _grown(self.meta, 6 * (self.count + texts))  # type: ignore[assignment]
        if 2 * (self.count + texts) > len(self.slots):
            self.slots = np.full(1 << (4 * (self.count + texts)).bit_length(), -1, np.int32)
            _rehash(self.slots, self.meta, 3, self.count)


@compiled
def number_hash(place: int, rank: int) -> int:
    return (rank ^ (place << 56)) * _HASH_FACTOR


@compiled
def find_number(addresses: Ints, table: int, place: int, rank: int) -> int:
    """The number of another value than a text, or `UNKNOWN`."""
    slots = shorts(addresses[table + SLOTS])
    meta = ints(addresses[table + META])
    mask = addresses[table + MASK]
    slot = slot_of(number_hash(place, rank), mask)
    while True:
        found = slots[slot]
        if found < 0:
            return UNKNOWN
        if meta[3 * found + 1] == place and meta[3 * found + 2] == rank:
            return NUMBERS_FROM + found
        slot = (slot + 1) & mask


@compiled
def _add_numbers(addresses: Ints, places: Ints, ranks: Ints, numbers: Shorts, count: int) -> int:
    slots = shorts(addresses[SLOTS])
    meta = ints(addresses[META])
    mask = addresses[MASK]
    for which in range(len(numbers)):
        place = places[which]
        rank = ranks[which]
        found = find_number(addresses, 0, place, rank)
        if found < 0:
            state = number_hash(place, rank)
            meta[3 * count] = state
            meta[3 * count + 1] = place
            meta[3 * count + 2] = rank
            slot = slot_of(state, mask)
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = count
            found = NUMBERS_FROM + count
            count += 1
        numbers[which] = found
    return count


class Numbers:
    """Values that are no texts by number: a place on the line of values, and a rank there."""

    def __init__(self) -> None:
        self.slots: Shorts = np.full(64, -1, np.int32)
        self.meta: Ints = np.empty(3 * 32, np.int64)
        self.count = 0

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.meta.nbytes

    def add(self, values: Sequence[tuple[int, int]]) -> Shorts:
        self._reserve(len(values))
        pairs = np.array(values, np.int64).reshape(-1, 2)
        numbers: Shorts = np.empty(len(values), np.int32)
        self.count = _add_numbers(
            self.addresses(), pairs[:, 0].copy(), pairs[:, 1].copy(), numbers, self.count
        )
        return numbers

    def addresses(self) -> Ints:
        slots, meta = address_of(self.slots), address_of(self.meta)
        return np.array([slots, len(self.slots) - 1, meta, 0, self.count], np.int64)

    def arrays(self) -> list[object]:
        return [self.slots, self.meta]

    def _reserve(self, values: int) -> None:
        if 3 * (self.count + values) > len(self.meta):
            self.meta = _grown(self.meta, 6 * (self.count + values))  # type: ignore[assignment]
        if 2 * (self.count + values) > len(self.slots):
            self.slots = np.full(1 << (4 * (self.count + values)).bit_length(), -1, np.int32)
            _rehash(self.slots, self.meta, 3, self.count)
