"""Who of a sorted run of entries passes its tests? Whole stretches are copied, not looked at.

A test says `bound <= key`. One test: the run is sorted by its bounds, so a binary search says how
many pass. Several: the run is sorted by the first bound in blocks, and each block by the second.
Of a block whose first bounds all pass, a binary search tells the rest; of the block in which the
first bounds stop passing, every entry is looked at. Bounds of blocks say which to skip.

What a group says lies in one stretch of memory: its lines, its bounds, its ids.
"""

from __future__ import annotations

from headgate.matching.compiled import (
    LINE_SHORTS,
    compiled,
    copy_shorts,
    lanes_up_to,
    long,
    pack_counted,
    pack_shorts,
    put_short,
    short,
    zeros_below,
)
from headgate.matching.layout import BLOCK_WORDS, PLAIN_SIZE_MAX


@compiled
def how_many_pass(bounds: int, size: int, key: int) -> int:
    """Of bounds in rising order, how many are at most the key?"""
    low = 0
    while size > LINE_SHORTS:
        half = size >> 1
        low += half if long(bounds, low + half - 1) <= key else 0
        size -= half
    # The last few at once: those that pass are the first ones of them.
    lanes = lanes_up_to(bounds + 8 * low, key) & ((1 << size) - 1)
    return low + zeros_below(~lanes)


@compiled
def block_width(size: int) -> int:
    """How many entries of a large group make a block: near the root of its size."""
    width = 32
    while width < 2_048 and width * width < size:
        width *= 2
    return width


@compiled
def block_count(tests: int, size: int) -> int:
    """How many blocks a group has; small ones, and those with one test, have none."""
    if tests < 2 or size <= PLAIN_SIZE_MAX:
        return 0
    width = block_width(size)
    return (size + width - 1) // width


@compiled
def _copy(ids: int, start: int, size: int, found: int, places: bool) -> int:
    """Put the ids of entries where the next find goes, or their places if they are to be sifted."""
    if places:
        for step in range(size):
            put_short(found, step, start + step)
    else:
        copy_shorts(found, ids, size)
    return size


@compiled
def gather(
    lines: int, size: int, tests: int, mixed: bool, start: int, keys: int, found: int, places: bool
) -> int:
    """Put those of a group that pass where the next find goes; how many pass."""
    bounds = lines + 4 * tests
    if tests == 0:
        return _copy(bounds, start, size, found, places)
    if mixed or (tests > 1 and size <= PLAIN_SIZE_MAX):
        ids = bounds + 8 * tests * size
        return _look(bounds, ids, size, 0, size, lines, tests, keys, start, found, places)
    if tests == 1:
        passing = how_many_pass(bounds, size, long(keys, short(lines, 0)))
        return _copy(bounds + 8 * size, start, passing, found, places)
    return _gather_blocks(lines, size, tests, start, keys, found, places)


@compiled
def _look(
    bounds: int, ids: int, stride: int, begin: int, end: int, lines: int, tests: int,
    keys: int, start: int, found: int, places: bool,
) -> int:  # fmt: skip
    """Look at each entry of a stretch, eight at a time and without branches."""
    key = long(keys, short(lines, 0))
    second = bounds + 8 * stride
    other = key
    if tests > 1:
        other = long(keys, short(lines, 1))
    else:
        second = bounds
    at = 0
    for entry in range(begin, end, LINE_SHORTS):
        lanes = lanes_up_to(bounds + 8 * entry, key) & lanes_up_to(second + 8 * entry, other)
        for test in range(2, tests):
            most = long(keys, short(lines, test))
            lanes &= lanes_up_to(bounds + 8 * (test * stride + entry), most)
        if end - entry < LINE_SHORTS:
            lanes &= (1 << (end - entry)) - 1
        if places:
            at += pack_counted(found + 4 * at, start + entry, lanes)
        else:
            at += pack_shorts(found + 4 * at, ids + 4 * entry, lanes)
    return at


@compiled
def _gather_blocks(
    lines: int, size: int, tests: int, start: int, keys: int, found: int, places: bool
) -> int:
    width = block_width(size)
    block = lines + 4 * tests
    bounds = block + 4 * BLOCK_WORDS * block_count(tests, size)
    ids = bounds + 8 * tests * size
    key = long(keys, short(lines, 0))
    other = long(keys, short(lines, 1))
    at = 0
    for begin in range(0, size, width):
        if long(block, 0) > key:
            break
        if long(block, 2) <= other:
            end = min(begin + width, size)
            whole = long(block, 1) <= key
            if whole:
                end = begin + how_many_pass(bounds + 8 * (size + begin), end - begin, other)
            if whole and tests == 2:
                at += _copy(ids + 4 * begin, start + begin, end - begin, found + 4 * at, places)
            else:
                at += _look(
                    bounds, ids, size, begin, end, lines, tests, keys, start,
                    found + 4 * at, places,
                )  # fmt: skip
        block += 4 * BLOCK_WORDS
    return at
