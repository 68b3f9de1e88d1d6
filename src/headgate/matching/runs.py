"""Who of a sorted run of entries passes its tests? Whole stretches are copied, not looked at.

A test says `bound <= key`. One test: the run is sorted by its bounds, so a binary search says how
many pass. Several: the run is sorted by the first bound in blocks, and each block by the second.
Of a block whose first bounds all pass, a binary search tells the rest; of the block in which the
first bounds stop passing, every entry is looked at. Bounds of blocks say which to skip.
"""

from __future__ import annotations

from headgate.matching.compiled import Ints, Shorts, compiled, ints, shorts
from headgate.matching.layout import (
    BLOCKS,
    BOUNDS,
    FOUND,
    FOUND_COUNT,
    GROUP_BLOCK,
    GROUP_BLOCKS,
    GROUP_BOUNDS,
    GROUP_SHAPE,
    GROUP_SIZE,
    GROUP_START,
    GROUP_TESTS,
    GROUP_WORDS,
    GROUPS,
    IDS,
    LINE_KEYS,
    PLAIN_SIZE_MAX,
    SHAPES,
)


@compiled
def how_many_pass(bounds: Ints, start: int, size: int, key: int) -> int:
    """Of bounds in rising order, how many are at most the key?"""
    low = 0
    while size > 0:
        half = size >> 1
        if bounds[start + low + half] <= key:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low


@compiled
def _copy(ids: Shorts, start: int, size: int, found: Shorts, at: int, places: bool) -> int:
    """Put the ids of entries behind what was found, or their places if they are to be sifted."""
    if places:
        for step in range(size):
            found[at + step] = start + step
    elif size < 8:
        for step in range(size):
            found[at + step] = ids[start + step]
    else:
        source = ids[start : start + size]
        target = found[at : at + size]
        for step in range(size):
            target[step] = source[step]
    return at + size


@compiled
def gather(version: Ints, segment: int, workspace: Ints, group: int, places: bool) -> int:
    """Put those of a group that pass behind what was found; how much there is then."""
    groups = shorts(version[segment + GROUPS])
    row = group * GROUP_WORDS
    start = groups[row + GROUP_START]
    size = groups[row + GROUP_SIZE]
    tests = groups[row + GROUP_TESTS]
    ids = shorts(version[segment + IDS])
    found = shorts(workspace[FOUND])
    at = workspace[FOUND_COUNT]
    if tests == 0:
        return _copy(ids, start, size, found, at, places)
    shapes = shorts(version[segment + SHAPES])
    shape = groups[row + GROUP_SHAPE]
    bounds = ints(version[segment + BOUNDS])
    first = groups[row + GROUP_BOUNDS]
    keys = ints(workspace[LINE_KEYS])
    key = keys[shapes[shape]]
    if tests == 1:
        if bounds[first] > key:
            return at
        return _copy(ids, start, how_many_pass(bounds, first, size, key), found, at, places)
    if size <= PLAIN_SIZE_MAX:
        if bounds[first] > key:
            return at
        return _look(
            bounds, first, size, 0, size, shapes, shape, tests, keys, ids, start, found, at, places
        )
    return _gather_blocks(version, segment, workspace, group, places)


@compiled
def _look(
    bounds: Ints, first: int, stride: int, begin: int, end: int, shapes: Shorts, shape: int,
    tests: int, keys: Ints, ids: Shorts, start: int, found: Shorts, at: int, places: bool,
) -> int:  # fmt: skip
    """Look at each entry of a stretch; written without branches, for each takes a nanosecond."""
    key = keys[shapes[shape]]
    other = keys[shapes[shape + 1]]
    second = first + stride
    if tests == 2:
        for entry in range(begin, end):
            passes = (bounds[first + entry] <= key) & (bounds[second + entry] <= other)
            found[at] = start + entry if places else ids[start + entry]
            at += passes
        return at
    for entry in range(begin, end):
        passes = (bounds[first + entry] <= key) & (bounds[second + entry] <= other)
        for test in range(2, tests):
            passes &= bounds[first + test * stride + entry] <= keys[shapes[shape + test]]
        found[at] = start + entry if places else ids[start + entry]
        at += passes
    return at


@compiled
def _gather_blocks(version: Ints, segment: int, workspace: Ints, group: int, places: bool) -> int:
    groups = shorts(version[segment + GROUPS])
    row = group * GROUP_WORDS
    start = groups[row + GROUP_START]
    size = groups[row + GROUP_SIZE]
    tests = groups[row + GROUP_TESTS]
    shapes = shorts(version[segment + SHAPES])
    shape = groups[row + GROUP_SHAPE]
    bounds = ints(version[segment + BOUNDS])
    first = groups[row + GROUP_BOUNDS]
    width = groups[row + GROUP_BLOCK]
    blocks = ints(version[segment + BLOCKS])
    block = groups[row + GROUP_BLOCKS]
    keys = ints(workspace[LINE_KEYS])
    ids = shorts(version[segment + IDS])
    found = shorts(workspace[FOUND])
    at = workspace[FOUND_COUNT]
    key = keys[shapes[shape]]
    other = keys[shapes[shape + 1]]
    for begin in range(0, size, width):
        if blocks[block] > key:
            break
        if blocks[block + 2] <= other:
            end = min(begin + width, size)
            if blocks[block + 1] > key:
                at = _look(
                    bounds, first, size, begin, end, shapes, shape, tests, keys, ids, start,
                    found, at, places,
                )  # fmt: skip
            else:
                passing = how_many_pass(bounds, first + size + begin, end - begin, other)
                if tests == 2:
                    at = _copy(ids, start + begin, passing, found, at, places)
                else:
                    at = _look(
                        bounds, first, size, begin, begin + passing, shapes, shape, tests, keys,
                        ids, start, found, at, places,
                    )  # fmt: skip
        block += 3
    return at
