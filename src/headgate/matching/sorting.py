"""In which order do entries lie in a segment? By address, by shape, by width, then by bounds.

Entries with one address are a bucket. Within it those with the same tests (a *shape*) are a group,
and a large group of two-sided ranges is parted by their width, so that the narrow ones lie close
together.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.matching.compiled import Ints, Shorts, compiled
from headgate.matching.finding import address_hash
from headgate.matching.layout import FLAG_BITS, MIXED, TAG_MASK
from headgate.matching.raws import CODES, Raw
from headgate.matching.runs import block_count, block_width

ALONE_MAX: Final = 8
"""So few entries aren't worth sorting: each has a bucket to itself."""
_PARTED_SIZE: Final = 128
_SMALL_MAX = 32
_MIXED_MAX = 256
_MIXED_LINES_MAX = 6
_NUMBER = 0xFFFFFFFF


class Groups(NamedTuple):
    """The order of entries, and the groups in it."""

    order: Shorts
    starts: Ints
    """Where each group begins in the order; the number of entries is last."""
    buckets: Shorts
    """The bucket of each group: they are numbered in their order."""
    flags: Shorts
    line_ends: Ints
    """Where the lines of each group begin; the number of lines is last."""
    lines: Shorts


def grouped(raw: Raw, seed: int) -> Groups:
    """Sort the entries into groups."""
    bucket_of = _buckets(raw, seed)
    tests = np.diff(raw.test_ends, prepend=0)
    shape_of, shapes = _shapes(raw, tests)
    kinds = (bucket_of << FLAG_BITS) | raw.flags
    keys = kinds * shapes + shape_of
    widths = _widths(raw, keys, tests)
    by_key = np.argsort(keys, kind="stable") if widths is None else np.lexsort((widths, keys))
    order: Shorts = by_key.astype(np.int32)
    sorted_keys = keys[order]
    changes = sorted_keys[1:] != sorted_keys[:-1]
    if widths is not None:
        wide = widths[order]
        changes |= wide[1:] != wide[:-1]
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1, [len(raw)])).astype(np.int64)
    _sort_groups(starts, order, raw.test_ends, raw.test_bounds)
    return _mixed(raw, order, starts, kinds[order[starts[:-1]]])


def alone(raw: Raw) -> Groups:
    """Give each entry a bucket to itself, in the order in which they come."""
    places = np.arange(len(raw) + 1)
    order = places[:-1].astype(np.int32)
    ends = np.zeros(len(raw) + 1, np.int64)
    ends[1:] = raw.test_ends
    return Groups(order, places, order, raw.flags, ends, raw.test_lines)


def _mixed(raw: Raw, order: Shorts, starts: Ints, kinds: Ints) -> Groups:
    """Mix small groups of one bucket, and say of each group which lines it is about."""
    groups = len(kinds)
    line_ends = np.zeros(groups + 1, np.int64)
    lines = np.empty(max(1, len(raw.test_lines)), np.int32)
    flags = np.empty(groups, np.int32)
    buckets = np.empty(groups, np.int32)
    new_order = np.empty_like(order)
    new_starts = np.empty(groups + 1, np.int64)
    count = _mix(
        order, starts, kinds, raw.test_ends, raw.test_lines,
        new_order, new_starts, buckets, flags, line_ends, lines,
    )  # fmt: skip
    return Groups(
        new_order,
        new_starts[: count + 1].copy(),
        buckets[:count].copy(),
        flags[:count].copy(),
        line_ends[: count + 1].copy(),
        lines,
    )


@compiled
def _mix(
    order: Shorts, starts: Ints, kinds: Ints, test_ends: Ints, test_lines: Shorts,
    new_order: Shorts, new_starts: Ints, buckets: Shorts, flags: Shorts, line_ends: Ints,
    lines: Shorts,
) -> int:  # fmt: skip
    """Large groups of each bucket first, as they are, then the small ones, mixed."""
    count = 0
    done = 0
    first = 0
    while first < len(kinds):
        last = first
        while last < len(kinds) and kinds[last] == kinds[first]:
            last += 1
        for small in range(2):
            mixing = False
            for group in range(first, last):
                start = starts[group]
                size = starts[group + 1] - start
                if (size <= _SMALL_MAX) != (small == 1):
                    continue
                entry = order[start]
                begin = test_ends[entry - 1] if entry > 0 else 0
                own = test_lines[begin : test_ends[entry]]
                used = line_ends[count]
                if mixing and (
                    done + size - new_starts[count - 1] <= _MIXED_MAX
                    and _lines_with(lines, line_ends[count - 1], used, own, False)
                    <= _MIXED_LINES_MAX
                ):
                    line_ends[count] = line_ends[count - 1] + _lines_with(
                        lines, line_ends[count - 1], used, own, True
                    )
                    flags[count - 1] |= MIXED
                else:
                    new_starts[count] = done
                    buckets[count] = kinds[first] >> FLAG_BITS
                    flags[count] = kinds[first] & ((1 << FLAG_BITS) - 1)
                    lines[used : used + len(own)] = own
                    count += 1
                    line_ends[count] = used + len(own)
                mixing = small == 1
                new_order[done : done + size] = order[start : start + size]
                done += size
        first = last
    new_starts[count] = done
    return count


@compiled
def _lines_with(lines: Shorts, start: int, end: int, own: Shorts, put: bool) -> int:
    """How many lines there are with these ones; they are put there, or only counted."""
    count = end - start
    for line in own:
        known = False
        for at in range(start, end):
            known |= lines[at] == line
        if not known:
            if put:
                lines[start + count] = line
            count += 1
    return count


def _buckets(raw: Raw, seed: int) -> Ints:
    """The bucket of each entry: equal addresses have one."""
    bucket_of = np.empty(len(raw), np.int64)
    slots = np.full(1 << (2 * len(raw)).bit_length(), -1, np.int64)
    first = np.empty(len(raw), np.int32)
    _number_buckets(raw.signatures, raw.codes, seed, slots, first, bucket_of)
    return bucket_of


def _shapes(raw: Raw, tests: Ints) -> tuple[Ints, int]:
    """The shape of each entry: those with few tests come first. And how many shapes there are."""
    shape_of = np.empty(len(raw), np.int64)
    slots = np.full(1 << (2 * len(raw)).bit_length(), -1, np.int32)
    first = np.empty(len(raw), np.int32)
    count = _number_shapes(raw.test_ends, raw.test_lines, slots, first, shape_of)
    ranks = np.empty(count, np.int64)
    ranks[np.argsort(tests[first[:count]], kind="stable")] = np.arange(count)
    return ranks[shape_of], count


def _widths(raw: Raw, keys: Ints, tests: Ints) -> Shorts | None:
    """For large groups that begin with a two-sided range: how wide each is, by powers of four."""
    if len(raw) < _PARTED_SIZE or not (tests > 1).any():
        return None
    _, inverse, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    parted = np.flatnonzero((sizes[inverse] >= _PARTED_SIZE) & (tests > 1))
    starts = (raw.test_ends - tests)[parted]
    low, high = raw.test_lines[starts], raw.test_lines[starts + 1]
    two_sided = (low + 1 == high) & (low % 2 == 0)
    parted, starts = parted[two_sided], starts[two_sided]
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


@compiled
def _number_buckets(
    signatures: Shorts, codes: Shorts, seed: int, slots: Ints, firsts: Shorts, bucket_of: Ints
) -> int:
    """Give entries with equal addresses one number; how many there are."""
    count = 0
    mask = len(slots) - 1
    for entry in range(len(signatures)):
        state = entry_hash(seed, signatures, codes, entry)
        tag = (state >> 32) & TAG_MASK
        slot = state & mask
        found = -1
        while slots[slot] >= 0 and found < 0:
            first = firsts[slots[slot] & _NUMBER]
            same = slots[slot] >> 32 == tag and signatures[first] == signatures[entry]
            for at in range(CODES):
                same = same and codes[first, at] == codes[entry, at]
            if same:
                found = slots[slot] & _NUMBER
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            firsts[count] = entry
            slots[slot] = (tag << 32) | count
            count += 1
        bucket_of[entry] = found
    return count


@compiled
def entry_hash(seed: int, signatures: Shorts, codes: Shorts, entry: int) -> int:
    """The hash of the address of an entry, as who looks it up comes to it."""
    state = address_hash(seed, signatures[entry])
    for at in range(CODES):
        if codes[entry, at] >= 0:
            state = address_hash(state, codes[entry, at])
    return state


@compiled
def _number_shapes(ends: Ints, lines: Shorts, slots: Shorts, firsts: Shorts, shape_of: Ints) -> int:
    """Give entries with tests on the same lines one number; how many there are."""
    count = 0
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
            first = firsts[slots[slot]]
            begin = ends[first - 1] if first > 0 else 0
            same = ends[first] - begin == size
            if same:
                for at in range(size):
                    same = same and lines[begin + at] == lines[start + at]
            if same:
                found = slots[slot]
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            firsts[count] = entry
            slots[slot] = count
            count += 1
        shape_of[entry] = found
        start += size
    return count


@compiled
def _sort_groups(starts: Ints, order: Shorts, test_ends: Ints, test_bounds: Ints) -> None:
    """Sort each group by its first bounds, and blocks of large ones by the second ones."""
    for group in range(len(starts) - 1):
        start = starts[group]
        size = starts[group + 1] - start
        entry = order[start]
        tests = test_ends[entry] - (test_ends[entry - 1] if entry > 0 else 0)
        if tests == 0:
            continue
        _sort(order, start, size, test_ends, test_bounds, tests)
        if block_count(tests, size) > 0:
            width = block_width(size)
            for begin in range(start, start + size, width):
                stretch = min(width, start + size - begin)
                _sort(order, begin, stretch, test_ends, test_bounds, tests - 1)


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
