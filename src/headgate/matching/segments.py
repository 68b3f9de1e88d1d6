"""How do entries lie in memory, so that an event finds its own? A segment is written once.

Entries with one address are a bucket. Within it those with the same tests (a *shape*) are a group,
and a large group of two-sided ranges is parted by their width, so that the narrow ones lie close
together. An open-addressing table leads from an address to its bucket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headgate.matching import layout
from headgate.matching.compiled import LINE_SHORTS, Ints, Shorts, address_of, compiled
from headgate.matching.finding import address_hash

CODES: Final = 5
_PARTED_SIZE: Final = 128
_TAG = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Raw:
    """Entries in the order in which their filters came: what a segment is sorted from."""

    slots: Shorts
    signatures: Shorts
    codes: Shorts  # CODES in a row
    flags: Shorts
    test_ends: Ints
    test_lines: Shorts
    test_bounds: Ints
    check_ends: Ints
    checks: Shorts

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    def __len__(self) -> int:
        return len(self.slots)


def joined(raws: list[Raw], kept: list[NDArray[np.bool_]]) -> Raw:
    """Those entries of several segments that are kept, in their order."""
    parts = [_kept(raw, mask) for raw, mask in zip(raws, kept, strict=True)]
    if len(parts) == 1:
        return parts[0]
    plain = ("slots", "signatures", "codes", "flags", "test_lines", "test_bounds", "checks")
    values: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in plain
    }
    for name in ("test_ends", "check_ends"):
        ends = [getattr(part, name) for part in parts]
        before = np.cumsum([0, *(end[-1] if len(end) else 0 for end in ends[:-1])])
        values[name] = np.concatenate([end + add for end, add in zip(ends, before, strict=True)])
    return Raw(**values)


def _kept(raw: Raw, mask: NDArray[np.bool_]) -> Raw:
    if mask.all():
        return raw
    tests, checks = (np.diff(ends, prepend=0) for ends in (raw.test_ends, raw.check_ends))
    some_tests, some_checks = np.repeat(mask, tests), np.repeat(mask, checks)
    return Raw(
        raw.slots[mask],
        raw.signatures[mask],
        raw.codes[mask],
        raw.flags[mask],
        np.cumsum(tests[mask]),
        raw.test_lines[some_tests],
        raw.test_bounds[some_tests],
        np.cumsum(checks[mask]),
        raw.checks[some_checks],
    )


@dataclass(slots=True, eq=False)
class Segment:
    """Sorted entries; only deaths are written to it, and a count of them."""

    raw: Raw
    ids: Shorts
    slots: Shorts
    died: Shorts
    places: Shorts
    """Where each entry of `raw` has gone."""
    checks_from: Shorts
    buckets: Shorts
    bucket_slots: Ints
    groups: Shorts
    bounds: Ints
    shapes: Shorts
    blocks: Ints
    dead: int = field(default=0)

    @property
    def nbytes(self) -> int:
        arrays = [getattr(self, name) for name in self.__slots__ if name not in ("raw", "dead")]
        return self.raw.nbytes + sum(array.nbytes for array in arrays)

    def write(self, version: Ints, number: int) -> None:
        start = layout.FIRST_SEGMENT + number * layout.SEGMENT_WORDS
        words: dict[int, NDArray[Any]] = {
            layout.BUCKET_SLOTS: self.bucket_slots,
            layout.BUCKETS: self.buckets,
            layout.GROUPS: self.groups,
            layout.BOUNDS: self.bounds,
            layout.IDS: self.ids,
            layout.ENTRY_SLOTS: self.slots,
            layout.DIED: self.died,
            layout.CHECKS_FROM: self.checks_from,
            layout.CHECKS: self.raw.checks,
            layout.SHAPES: self.shapes,
            layout.BLOCKS: self.blocks,
        }
        for word, array in words.items():
            version[start + word] = address_of(array)
        version[start + layout.BUCKET_MASK] = len(self.bucket_slots) - 1
        version[start + layout.ANY_DIED] = self.dead

    def alive(self) -> NDArray[np.bool_]:
        """Which entries of `raw` are alive."""
        alive: NDArray[np.bool_] = self.died[self.places] == layout.NEVER
        return alive


def build(raw: Raw, slot_ids: Shorts) -> Segment:
    """Sort the entries."""
    size = len(raw)
    slots = np.full(1 << (2 * size + 1).bit_length(), -1, np.int64)
    buckets = np.full((size, layout.BUCKET_WORDS), -1, np.int32)
    bucket_of = np.empty(size, np.int32)
    count = _number_buckets(raw.signatures, raw.codes, slots, buckets, bucket_of)
    buckets = buckets[:count].copy()
    shape_of, shapes, shape_rows = _shapes(raw)
    keys = bucket_of.astype(np.int64) * (len(shape_rows) * 8) + shape_of * 8 + raw.flags
    widths = _widths(raw, keys, shape_of, shape_rows)
    by_key = np.argsort(keys, kind="stable") if widths is None else np.lexsort((widths, keys))
    order: Shorts = by_key.astype(np.int32)
    sorted_keys = keys[order]
    change = np.flatnonzero(sorted_keys[1:] != sorted_keys[:-1]) + 1
    if widths is not None:
        wide = widths[order]
        change = np.union1d(change, np.flatnonzero(wide[1:] != wide[:-1]) + 1)
    starts = np.concatenate(([0], change)).astype(np.int64)
    groups = np.zeros((len(starts), layout.GROUP_WORDS), np.int32)
    groups[:, layout.GROUP_START] = starts
    groups[:, layout.GROUP_SIZE] = np.diff(starts, append=size)
    rows = shape_rows[shape_of[order[starts]]]
    groups[:, layout.GROUP_SHAPE] = rows[:, 0]
    groups[:, layout.GROUP_TESTS] = rows[:, 1]
    groups[:, layout.GROUP_FLAGS] = raw.flags[order[starts]]
    blocks = _block_sizes(groups)
    bounds = np.empty(max(1, int(raw.test_ends[-1])), np.int64)
    _sort_groups(groups, order, raw.test_ends, raw.test_bounds, bounds, blocks)
    bucket = bucket_of[order[starts]]
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    buckets[bucket[first], layout.BUCKET_GROUPS] = first
    buckets[bucket[first], layout.BUCKET_GROUP_COUNT] = np.diff(first, append=len(starts))
    sorted_slots = raw.slots[order]
    places = np.empty(size, np.int32)
    places[order] = np.arange(size, dtype=np.int32)
    checks = np.diff(raw.check_ends, prepend=0)
    return Segment(
        raw,
        _with_room_behind(slot_ids[sorted_slots]),
        sorted_slots,
        np.full(size, layout.NEVER, np.int32),
        places,
        (raw.check_ends - checks).astype(np.int32)[order],
        buckets,
        slots,
        groups,
        bounds,
        shapes,
        blocks,
    )


def _with_room_behind(ids: Shorts) -> Shorts:
    return np.concatenate((ids, np.zeros(LINE_SHORTS, np.int32)))


def _shapes(raw: Raw) -> tuple[Ints, Shorts, Shorts]:
    """The shape of each entry, the lines of all shapes, and where each shape's begin and end."""
    shape_of = np.empty(len(raw), np.int64)
    pool = np.empty(max(1, len(raw.test_lines)), np.int32)
    rows = np.empty((len(raw), 2), np.int32)
    slots = np.full(1 << (2 * len(raw) + 1).bit_length(), -1, np.int32)
    count, used = _number_shapes(raw.test_ends, raw.test_lines, slots, shape_of, pool, rows)
    return shape_of, pool[: max(1, used)].copy(), rows[:count].copy()


def _widths(raw: Raw, keys: Ints, shape_of: Ints, rows: Shorts) -> Shorts | None:
    """For large groups that begin with a two-sided range: how wide each is, by powers of four."""
    tests = rows[shape_of, 1]
    if len(raw) < _PARTED_SIZE or not (tests > 1).any():
        return None
    _, inverse, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    parted = np.flatnonzero((sizes[inverse] >= _PARTED_SIZE) & (tests > 1))
    starts = (raw.test_ends - tests)[parted]
    low, high = raw.test_lines[starts], raw.test_lines[starts + 1]
    parted, starts = parted[low + 1 == high], starts[low + 1 == high]
    if not len(parted):
        return None
    widths = np.zeros(len(raw), np.int32)
    width = _as_number(~raw.test_bounds[starts + 1]) - _as_number(raw.test_bounds[starts])
    with np.errstate(all="ignore"):
        widths[parted] = np.frexp(np.abs(width))[1] // 2 + 2_000
    return widths


def _as_number(ranks: Ints) -> NDArray[np.float64]:
    """Ranks of doubles as doubles; ranks of other lines as something that rises with them."""
    numbers: NDArray[np.float64] = np.abs(ranks).view(np.float64)
    sane = np.where(np.isfinite(numbers), numbers, 0.0)
    return np.where(ranks < 0, -sane, sane)


def _block_sizes(groups: Shorts) -> Ints:
    """Choose the size of blocks near the root of the group's size; the memory for their bounds."""
    sizes = groups[:, layout.GROUP_SIZE].astype(np.int64)
    large = (sizes > layout.PLAIN_SIZE_MAX) & (groups[:, layout.GROUP_TESTS] > 1)
    root = np.ceil(np.log2(np.maximum(sizes, 1)) / 2).astype(np.int64)
    width = np.clip(1 << root, 32, 2_048)
    number = np.where(large, -(-sizes // width), 0)
    groups[:, layout.GROUP_BLOCK] = width
    groups[:, layout.GROUP_BLOCKS] = 3 * (np.cumsum(number) - number)
    return np.empty(max(1, 3 * int(number.sum())), np.int64)


@compiled
def _number_buckets(
    signatures: Shorts, codes: Shorts, slots: Ints, buckets: Shorts, bucket_of: Shorts
) -> int:
    count = 0
    mask = len(slots) - 1
    for entry in range(len(signatures)):
        state = address_hash(0, signatures[entry])
        for at in range(CODES):
            if codes[entry, at] >= 0:
                state = address_hash(state, codes[entry, at])
        tag = (state >> 32) & _TAG
        slot = state & mask
        found = -1
        while slots[slot] >= 0 and found < 0:
            bucket = slots[slot] & 0xFFFFFFFF
            same = slots[slot] >> 32 == tag and buckets[bucket, 0] == signatures[entry]
            for at in range(CODES):
                same = same and buckets[bucket, 1 + at] == codes[entry, at]
            if same:
                found = bucket
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            buckets[count, 0] = signatures[entry]
            for at in range(CODES):
                buckets[count, 1 + at] = codes[entry, at]
            slots[slot] = (tag << 32) | count
            count += 1
        bucket_of[entry] = found
    return count


@compiled
def _number_shapes(
    ends: Ints, lines: Shorts, slots: Shorts, shape_of: Ints, pool: Shorts, rows: Shorts
) -> tuple[int, int]:
    count = 0
    used = 0
    mask = len(slots) - 1
    start = 0
    for entry in range(len(ends)):
        size = ends[entry] - start
        state = address_hash(0, size)
        for at in range(start, start + size):
            state = address_hash(state, lines[at])
        slot = state & mask
        found = -1
        while slots[slot] >= 0 and found < 0:
            shape = slots[slot]
            same = rows[shape, 1] == size
            for at in range(size):
                same = same and pool[rows[shape, 0] + at] == lines[start + at]
            if same:
                found = shape
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            rows[count, 0] = used
            rows[count, 1] = size
            for at in range(size):
                pool[used + at] = lines[start + at]
            used += size
            slots[slot] = count
            count += 1
        shape_of[entry] = found
        start += size
    return count, used


@compiled
def _sort_groups(
    groups: Shorts, order: Shorts, test_ends: Ints, test_bounds: Ints, bounds: Ints, blocks: Ints
) -> None:
    """Sort each group by its first bounds, blocks of it by the second ones, and copy the bounds."""
    used = 0
    for group in range(len(groups)):
        start = groups[group, layout.GROUP_START]
        size = groups[group, layout.GROUP_SIZE]
        tests = groups[group, layout.GROUP_TESTS]
        groups[group, layout.GROUP_BOUNDS] = used
        if tests == 0:
            continue
        _sort(order, start, size, test_ends, test_bounds, tests)
        blocked = tests > 1 and size > layout.PLAIN_SIZE_MAX
        if blocked:
            width = groups[group, layout.GROUP_BLOCK]
            block = groups[group, layout.GROUP_BLOCKS]
            for begin in range(start, start + size, width):
                end = min(begin + width, start + size)
                blocks[block] = test_bounds[test_ends[order[begin]] - tests]
                blocks[block + 1] = test_bounds[test_ends[order[end - 1]] - tests]
                _sort(order, begin, end - begin, test_ends, test_bounds, tests - 1)
                blocks[block + 2] = test_bounds[test_ends[order[begin]] - tests + 1]
                block += 3
        for test in range(tests):
            for at in range(size):
                entry = order[start + at]
                bounds[used] = test_bounds[test_ends[entry] - tests + test]
                used += 1


@compiled
def _sort(
    order: Shorts, start: int, size: int, test_ends: Ints, test_bounds: Ints, back: int
) -> None:
    """Sort a stretch of the order by the bound that stands so far back from each entry's end."""
    if size < 2:
        return
    if size <= 16:
        for at in range(start + 1, start + size):
            entry = order[at]
            bound = test_bounds[test_ends[entry] - back]
            to = at
            while to > start and test_bounds[test_ends[order[to - 1]] - back] > bound:
                order[to] = order[to - 1]
                to -= 1
            order[to] = entry
        return
    some = np.empty(size, np.int64)
    entries = np.empty(size, np.int32)
    for at in range(size):
        entries[at] = order[start + at]
        some[at] = test_bounds[test_ends[entries[at]] - back]
    sorted_places = np.argsort(some, kind="mergesort")
    for at in range(size):
        order[start + at] = entries[sorted_places[at]]
