"""Which number stands for this text, or for this value? Tables that only grow, for compiled code.

Equal texts have equal numbers, and texts that no filter has ever named have none. The hash of a
text takes eight octets at a step and can be ended anywhere, so that all beginnings of a text are
looked up in one walk. It starts from a seed: who knows it could make texts with one hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headgate.matching.compiled import (
    OCTETS_BEHIND,
    Ints,
    Octets,
    Shorts,
    address_in,
    address_of,
    compiled,
    eight_octets,
    folded,
    long,
    octet,
    put_long,
    put_octet,
    put_short,
    short,
)

_FACTOR_ONE: Final = -6884282663029611473
_FACTOR_OTHER: Final = -1800455987208640293
NUMBERS_FROM: Final = 1 << 30
"""Numbers of texts are below this, those of other values from here on."""
UNKNOWN: Final = -1

# Where the addresses of a table of texts are, from its place in a table of addresses.
SLOTS: Final = 0
MASK: Final = 1
META: Final = 2
POOL: Final = 3
COUNT: Final = 4
SEED: Final = 5
TABLE_WORDS: Final = 6

META_WORDS: Final = 4
"""What a table says of each: the hash, where a text starts and how long it is (or the place and the
rank of another value), and in which signatures it is looked up."""
SIGNATURES_OF: Final = 3


@compiled
def hash_word(state: int, word: int) -> int:
    return folded(state ^ word, _FACTOR_ONE)


@compiled
def hash_end(state: int, at: int, rest: int, length: int) -> int:
    """The hash of a text whose last `rest` octets, fewer than eight, begin at an address."""
    tail = eight_octets(at) & ((1 << (8 * rest)) - 1)
    return folded(state ^ tail, _FACTOR_OTHER ^ length)


@compiled
def text_hash(seed: int, start: int, length: int) -> int:
    state = seed
    at = start
    end = start + length
    while at + 8 <= end:
        state = hash_word(state, eight_octets(at))
        at += 8
    return hash_end(state, at, end - at, length)


@compiled
def _same(one: int, other: int, length: int) -> bool:
    at = 0
    while at + 8 <= length:
        if eight_octets(one + at) != eight_octets(other + at):
            return False
        at += 8
    different = eight_octets(one + at) ^ eight_octets(other + at)
    return different & ((1 << (8 * (length - at))) - 1) == 0


@compiled
def find_text(table: int, start: int, length: int, state: int) -> int:
    """The number of a text with this hash, or `UNKNOWN`."""
    slots = long(table, SLOTS)
    meta = long(table, META)
    mask = long(table, MASK)
    slot = state & mask
    count = long(table, COUNT)
    found = short(slots, slot)
    while found >= 0:
        row = meta + 8 * META_WORDS * found
        # Who came after this version of the index is not known to it, and may lie beyond its end.
        if (
            found < count
            and long(row, 0) == state
            and long(row, 2) == length
            and _same(long(table, POOL) + long(row, 1), start, length)
        ):
            return found
        slot = (slot + 1) & mask
        found = short(slots, slot)
    return UNKNOWN


@compiled
def _add_texts(
    table: Ints, data: Octets, ends: Ints, numbers: Shorts, count: int, used: int
) -> tuple[int, int]:
    """Number the texts; the tables are large enough for all of them."""
    address = address_in(table)
    start = address_in(data)
    slots = table[SLOTS]
    meta = table[META]
    mask = table[MASK]
    end = 0
    for which in range(len(numbers)):
        length = ends[which] - end
        state = text_hash(table[SEED], start, length)
        table[COUNT] = count
        found = find_text(address, start, length, state)
        if found < 0:
            found = count
            put_long(meta, META_WORDS * count, state)
            put_long(meta, META_WORDS * count + 1, used)
            put_long(meta, META_WORDS * count + 2, length)
            put_long(meta, META_WORDS * count + SIGNATURES_OF, 0)
            for at in range(length):
                put_octet(table[POOL] + used, at, octet(start, at))
            used += length
            slot = state & mask
            while short(slots, slot) >= 0:
                slot = (slot + 1) & mask
            put_short(slots, slot, count)
            count += 1
        numbers[which] = found
        start += length
        end += length
    return count, used


@compiled
def _rehash(slots: Shorts, meta: Ints, count: int) -> None:
    mask = len(slots) - 1
    for which in range(count):
        slot = meta[META_WORDS * which] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = which


def _grown(array: NDArray[np.generic], size: int) -> NDArray[np.generic]:
    larger = np.empty(size, array.dtype)
    larger[: len(array)] = array
    return larger


class Texts:
    """Texts by number; a growing table leaves the arrays of older versions as they were."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.slots: Shorts = np.full(64, -1, np.int32)
        self.meta: Ints = np.zeros(META_WORDS * 32, np.int64)
        self.pool: Octets = np.empty(256, np.uint8)
        self.count = 0
        self.used = 0
        self._table: Ints = np.empty(TABLE_WORDS, np.int64)
        self._note_addresses()

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.meta.nbytes + self.pool.nbytes

    def add(self, texts: Sequence[bytes]) -> Shorts:
        """The numbers of the texts, new ones for new texts."""
        distinct = dict.fromkeys(texts, 0)
        if len(distinct) < len(texts):
            # So that no room is made for what comes again.
            distinct.update(zip(distinct, self.add(list(distinct)).tolist(), strict=True))
            return np.fromiter(map(distinct.__getitem__, texts), np.int32, len(texts))
        data = b"".join([*texts, bytes(OCTETS_BEHIND)])
        self._reserve(len(texts), len(data))
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        numbers: Shorts = np.empty(len(texts), np.int32)
        self.count, self.used = _add_texts(
            self.addresses(), np.frombuffer(data, np.uint8).copy(), ends, numbers,
            self.count, self.used,
        )  # fmt: skip
        return numbers

    def text(self, number: int) -> bytes:
        """The text that has a number."""
        start, length = self.meta[META_WORDS * number + 1 : META_WORDS * number + 3].tolist()
        return self.pool[start : start + length].tobytes()

    def lengths(self, numbers: Shorts) -> Ints:
        """How long the texts are that have these numbers."""
        return self.meta[META_WORDS * numbers.astype(np.int64) + 2]

    def addresses(self) -> Ints:
        self._table[COUNT] = self.count
        return self._table.copy()

    def _note_addresses(self) -> None:
        slots, meta, pool = address_of(self.slots), address_of(self.meta), address_of(self.pool)
        self._table[:] = [slots, len(self.slots) - 1, meta, pool, self.count, self._seed]

    def arrays(self) -> list[object]:
        return [self.slots, self.meta, self.pool]

    def _reserve(self, texts: int, size: int) -> None:
        if self.used + size > len(self.pool):
            self.pool = _grown(self.pool, 2 * (self.used + size))  # type: ignore[assignment]
            self._note_addresses()
        if META_WORDS * (self.count + texts) > len(self.meta):
            self.meta = _grown(self.meta, 2 * META_WORDS * (self.count + texts))  # type: ignore[assignment]
            self._note_addresses()
        if 2 * (self.count + texts) > len(self.slots):
            self.slots = np.full(1 << (4 * (self.count + texts)).bit_length(), -1, np.int32)
            _rehash(self.slots, self.meta, self.count)
            self._note_addresses()


@compiled
def number_hash(seed: int, place: int, rank: int) -> int:
    return folded(folded(seed ^ rank, _FACTOR_ONE) ^ place, _FACTOR_OTHER)


@compiled
def find_number(table: int, place: int, rank: int) -> int:
    """The number of another value than a text, or `UNKNOWN`."""
    slots = long(table, SLOTS)
    meta = long(table, META)
    mask = long(table, MASK)
    count = long(table, COUNT)
    slot = number_hash(long(table, SEED), place, rank) & mask
    found = short(slots, slot)
    while found >= 0:
        row = meta + 8 * META_WORDS * found
        if found < count and long(row, 1) == place and long(row, 2) == rank:
            return NUMBERS_FROM + found
        slot = (slot + 1) & mask
        found = short(slots, slot)
    return UNKNOWN


@compiled
def _add_numbers(table: Ints, places: Ints, ranks: Ints, numbers: Shorts, count: int) -> int:
    address = address_in(table)
    slots = table[SLOTS]
    meta = table[META]
    mask = table[MASK]
    for which in range(len(numbers)):
        place = places[which]
        rank = ranks[which]
        table[COUNT] = count
        found = find_number(address, place, rank)
        if found < 0:
            state = number_hash(table[SEED], place, rank)
            put_long(meta, META_WORDS * count, state)
            put_long(meta, META_WORDS * count + 1, place)
            put_long(meta, META_WORDS * count + 2, rank)
            put_long(meta, META_WORDS * count + SIGNATURES_OF, 0)
            slot = state & mask
            while short(slots, slot) >= 0:
                slot = (slot + 1) & mask
            put_short(slots, slot, count)
            found = NUMBERS_FROM + count
            count += 1
        numbers[which] = found
    return count


class Numbers:
    """Values that are no texts by number: a place on the line of values, and a rank there."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.slots: Shorts = np.full(64, -1, np.int32)
        self.meta: Ints = np.zeros(META_WORDS * 32, np.int64)
        self.count = 0
        self._table: Ints = np.empty(TABLE_WORDS, np.int64)
        self._note_addresses()

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.meta.nbytes

    def add(self, values: Sequence[tuple[int, int]]) -> Shorts:
        distinct = dict.fromkeys(values, 0)
        if len(distinct) < len(values):
            distinct.update(zip(distinct, self.add(list(distinct)).tolist(), strict=True))
            return np.fromiter(map(distinct.__getitem__, values), np.int32, len(values))
        self._reserve(len(values))
        pairs = np.array(values, np.int64).reshape(-1, 2)
        numbers: Shorts = np.empty(len(values), np.int32)
        self.count = _add_numbers(
            self.addresses(), pairs[:, 0].copy(), pairs[:, 1].copy(), numbers, self.count
        )
        return numbers

    def value(self, number: int) -> tuple[int, int]:
        """The value that has a number, counted from 0: its place and its rank."""
        place, rank = self.meta[META_WORDS * number + 1 : META_WORDS * number + 3].tolist()
        return place, rank

    def addresses(self) -> Ints:
        self._table[COUNT] = self.count
        return self._table.copy()

    def _note_addresses(self) -> None:
        slots, meta = address_of(self.slots), address_of(self.meta)
        self._table[:] = [slots, len(self.slots) - 1, meta, 0, self.count, self._seed]

    def arrays(self) -> list[object]:
        return [self.slots, self.meta]

    def _reserve(self, values: int) -> None:
        if META_WORDS * (self.count + values) > len(self.meta):
            self.meta = _grown(self.meta, 2 * META_WORDS * (self.count + values))  # type: ignore[assignment]
            self._note_addresses()
        if 2 * (self.count + values) > len(self.slots):
            self.slots = np.full(1 << (4 * (self.count + values)).bit_length(), -1, np.int32)
            _rehash(self.slots, self.meta, self.count)
            self._note_addresses()
