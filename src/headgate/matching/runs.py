"""Who of a sorted run of entries passes its tests? Whole stretches are copied, not looked at.

A test says `bound <= key`. One test: the run is sorted by its bounds, so a binary search says how
many pass. Several: the run is sorted by the first bound in blocks, and each block by the second.
Of a block whose first bounds all pass, a binary search tells the rest; of the block in which the
first bounds stop passing, every entry is looked at. Bounds of blocks say which to skip.
"""

from __future__ import annotations

from headgate.matching.compiled import compiled, copy_shorts, long, put_short, short
from headgate.matching.layout import (
    BLOCKS,
    BOUNDS,
    GROUP_BLOCK,
    GROUP_BLOCKS,
    GROUP_BOUNDS,
    GROUP_SHAPE,
    GROUP_SIZE,
    GROUP_START,
    GROUP_TESTS,
    IDS,
    LINE_KEYS,
    PLAIN_SIZE_MAX,
    SHAPES,
)

_COUNTED_MAX = 8


@compiled
def how_many_pass(bounds: int, size: int, key: int) -> int:
    """Of bounds in rising order, how many are at most the key?"""
    low = 0
    while size > _COUNTED_MAX:
        half = size >> 1
        low += half if long(bounds, low + half - 1) <= key else 0
        size -= half
    passing = 0
    for at in range(size):
        passing += long(bounds, low + at) <= key
    return low + passing


@compiled
def _copy(segment: int, start: int, size: int, found: int, places: bool) -> int:
    """Put the ids of entries where the next find goes, or their places if they are to be sifted."""
    if places:
        for step in range(size):
            put_short(found, step, start + step)
    else:
        copy_shorts(found, long(segment, IDS) + 4 * start, size)
    return size


@compiled
def gather(segment: int, workspace: int, group: int, found: int, places: bool) -> int:
    """Put those of a group that pass where the next find goes; how many pass."""
    start = short(group, GROUP_START)
    size = short(group, GROUP_SIZE)
    tests = short(group, GROUP_TESTS)
    if tests == 0:
        return _copy(segment, start, size, found, places)
    shape = long(segment, SHAPES) + 4 * short(group, GROUP_SHAPE)
    bounds = long(segment, BOUNDS) + 8 * short(group, GROUP_BOUNDS)
    keys = long(workspace, LINE_KEYS)
    key = long(keys, short(shape, 0))
    if tests == 1:
        return _copy(segment, start, how_many_pass(bounds, size, key), found, places)
    if size <= PLAIN_SIZE_MAX:
        return _look(segment, bounds, size, 0, size, shape, tests, keys, start, found, places)
    return _gather_blocks(segment, group, bounds, shape, keys, found, places)


@compiled
def _look(
    segment: int, bounds: int, stride: int, begin: int, end: int, shape: int, tests: int,
    keys: int, start: int, found: int, places: bool,
) -> int:  # fmt: skip
    """Look at each entry of a stretch; written without branches, for each takes a nanosecond."""
    key = long(keys, short(shape, 0))
    other = long(keys, short(shape, 1))
    second = bounds + 8 * stride
    ids = long(segment, IDS) + 4 * start
    at = 0
    if tests == 2:
        for entry in range(begin, end):
            passes = (long(bounds, entry) <= key) & (long(second, entry) <= other)
            put_short(found, at, start + entry if places else short(ids, entry))
            at += passes
        return at
    for entry in range(begin, end):
        passes = (long(bounds, entry) <= key) & (long(second, entry) <= other)
        for test in range(2, tests):
            passes &= long(bounds, test * stride + entry) <= long(keys, short(shape, test))
        put_short(found, at, start + entry if places else short(ids, entry))
        at += passes
    return at


@compiled
def _gather_blocks(
    segment: int, group: int, bounds: int, shape: int, keys: int, found: int, places: bool
) -> int:
    start = short(group, GROUP_START)
    size = short(group, GROUP_SIZE)
    tests = short(group, GROUP_TESTS)
    width = short(group, GROUP_BLOCK)
    block = long(segment, BLOCKS) + 8 * short(group, GROUP_BLOCKS)
    key = long(keys, short(shape, 0))
    other = long(keys, short(shape, 1))
    at = 0
    for begin in range(0, size, width):
        if long(block, 0) > key:
            break
        if long(block, 2) <= other:
            end = min(begin + width, size)
            if long(block, 1) <= key:
                end = begin + how_many_pass(bounds + 8 * (size + begin), end - begin, other)
            if long(block, 1) <= key and tests == 2:
                at += _copy(segment, start + begin, end - begin, found + 4 * at, places)
            else:
                at += _look(
                    segment, bounds, size, begin, end, shape, tests, keys, start,
                    found + 4 * at, places,
                )  # fmt: skip
        block += 24
    return at
