"""How do entries lie in memory, so that an event finds its own? A segment is written once.

An open-addressing table leads from an address to its bucket. What a bucket says lies in one
stretch of a *stream*, in the order in which it is read: whose bucket it is, then group by group
the lines of the tests, the bounds, and the ids of the filters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headgate.matching import layout
from headgate.matching.compiled import (
    LINE_SHORTS,
    Ints,
    Shorts,
    address_in,
    address_of,
    compiled,
    long,
    put_long,
)
from headgate.matching.raws import CODES, Raw
from headgate.matching.runs import block_count, block_width
from headgate.matching.sorting import ALONE_MAX, alone, entry_hash, grouped

_SHORTS_BEHIND: Final = 2 * LINE_SHORTS
"""Eight bounds, or eight ids, are read at a time."""


@dataclass(slots=True, eq=False)
class Segment:
    """Sorted entries; only deaths are written to it, and a count of them.

    The place of an entry is its place in the order of the stream.
    """

    stream: Shorts
    bucket_slots: Ints
    slots: Shorts
    """The slot of each entry's filter."""
    died: Shorts
    by_slot: Shorts
    """The places in the order of their slots."""
    check_ends: Shorts
    """Where what is to be checked ends in `checks`; empty when nothing is."""
    checks: Shorts
    tests: int
    dead: int = field(default=0)
    nbytes: int = field(init=False)
    _words: Ints = field(init=False)

    def __post_init__(self) -> None:
        arrays: dict[int, NDArray[Any]] = {
            layout.BUCKET_SLOTS: self.bucket_slots,
            layout.STREAM: self.stream,
            layout.ENTRY_SLOTS: self.slots,
            layout.DIED: self.died,
            layout.CHECK_ENDS: self.check_ends,
            layout.CHECKS: self.checks,
        }
        self.nbytes = self.by_slot.nbytes + sum(array.nbytes for array in arrays.values())
        self._words = np.empty(layout.SEGMENT_WORDS, np.int64)
        for word, array in arrays.items():
            self._words[word] = address_of(array)
        self._words[layout.BUCKET_MASK] = len(self.bucket_slots) - 1

    def __len__(self) -> int:
        return len(self.slots)

    def write(self, version: Ints, number: int) -> None:
        """Put the addresses of the arrays into a version; who has the version keeps the segment."""
        start = layout.FIRST_SEGMENT + number * layout.SEGMENT_WORDS
        self._words[layout.ANY_DIED] = self.dead
        version[start : start + layout.SEGMENT_WORDS] = self._words

    def bury(self, slots: Shorts, version: int) -> None:
        """Write the version at which they die to all entries of these slots, which are sorted."""
        self.dead += _bury(self.slots, self.by_slot, self.died, slots, version)

    def alive(self) -> NDArray[np.bool_]:
        """Which entries are alive, by their places."""
        alive: NDArray[np.bool_] = self.died == layout.NEVER
        return alive

    def raw(self) -> Raw:
        """The entries as they were before they were sorted, but for their order."""
        size = len(self)
        raw = Raw(
            self.slots,
            np.empty(size, np.int32),
            np.full((size, CODES), -1, np.int32),
            np.empty(size, np.int32),
            np.empty(size, np.int64),
            np.empty(self.tests, np.int32),
            np.empty(self.tests, np.int64),
            self.check_ends.astype(np.int64) if len(self.check_ends) else np.zeros(size, np.int64),
            self.checks,
        )
        _read(
            self.stream, raw.signatures, raw.codes, raw.flags, raw.test_ends, raw.test_lines,
            raw.test_bounds,
        )  # fmt: skip
        return raw


@compiled
def _bury(slots: Shorts, by_slot: Shorts, died: Shorts, dead: Shorts, version: int) -> int:
    """Write a version to all entries of the slots that are dead; how many there are."""
    count = 0
    for slot in dead:
        low = 0
        high = len(by_slot)
        while low < high:
            middle = (low + high) >> 1
            if slots[by_slot[middle]] < slot:
                low = middle + 1
            else:
                high = middle
        while low < len(by_slot) and slots[by_slot[low]] == slot:
            died[by_slot[low]] = version
            low += 1
            count += 1
    return count


def build(raw: Raw, slot_ids: Shorts, seed: int) -> Segment:
    """Sort the entries unless they are few, and write them one behind the other."""
    groups = alone(raw) if len(raw) <= ALONE_MAX else grouped(raw, seed)
    slots: Shorts = raw.slots[groups.order]
    words = _stream_words(*groups, raw.codes)
    stream: Shorts = np.zeros(words + _SHORTS_BEHIND, np.int32)
    buckets = int(groups.buckets[-1]) + 1
    bucket_slots = np.full(1 << (2 * buckets).bit_length(), layout.NO_BUCKET, np.int64)
    _write(
        stream, bucket_slots, seed, *groups, slot_ids[slots],
        raw.signatures, raw.codes, raw.test_ends, raw.test_lines, raw.test_bounds,
    )  # fmt: skip
    check_ends, checks = _checks(raw, groups.order)
    return Segment(
        stream,
        bucket_slots,
        slots,
        np.full(len(raw), layout.NEVER, np.int32),
        np.argsort(slots, kind="stable").astype(np.int32),
        check_ends,
        checks,
        len(raw.test_lines),
    )


def _checks(raw: Raw, order: Shorts) -> tuple[Shorts, Shorts]:
    """What is to be checked, in the order of places, and where it ends for each."""
    if not len(raw.checks):
        return np.empty(0, np.int32), raw.checks
    sizes = np.diff(raw.check_ends, prepend=0)
    taken = sizes[order]
    ends = np.cumsum(taken)
    words = np.repeat((raw.check_ends - sizes)[order] - (ends - taken), taken)
    return ends.astype(np.int32), raw.checks[words + np.arange(len(words))]


@compiled
def _stream_words(
    order: Shorts, starts: Ints, buckets: Shorts, flags: Shorts, line_ends: Ints, lines: Shorts,
    codes: Shorts,
) -> int:  # fmt: skip
    """How long the stream of these groups is."""
    words = 0
    for group in range(len(buckets)):
        if group == 0 or buckets[group] != buckets[group - 1]:
            words += layout.BUCKET_HEAD
            for at in range(CODES):
                words += codes[order[starts[group]], at] >= 0
        size = starts[group + 1] - starts[group]
        tests = line_ends[group + 1] - line_ends[group]
        words += layout.GROUP_HEAD + tests + 2 * tests * size + size
        if flags[group] & layout.MIXED == 0:
            words += layout.BLOCK_WORDS * block_count(tests, size)
    return words


@compiled
def _write(
    stream: Shorts, slots: Ints, seed: int,
    order: Shorts, starts: Ints, buckets: Shorts, flags: Shorts, line_ends: Ints, lines: Shorts,
    ids: Shorts, signatures: Shorts, codes: Shorts, test_ends: Ints, test_lines: Shorts,
    test_bounds: Ints,
) -> None:  # fmt: skip
    """Write all buckets to the stream, and to the table where they are."""
    word = 0
    bucket = 0
    for group in range(len(buckets)):
        start = starts[group]
        size = starts[group + 1] - start
        if group == 0 or buckets[group] != buckets[group - 1]:
            entry = order[start]
            _put_bucket(slots, entry_hash(seed, signatures, codes, entry), word)
            bucket = word
            stream[bucket + layout.BUCKET_SIGNATURE] = signatures[entry]
            word += layout.BUCKET_HEAD
            for at in range(CODES):
                if codes[entry, at] >= 0:
                    stream[word] = codes[entry, at]
                    word += 1
            stream[bucket + layout.BUCKET_CODES] = word - bucket - layout.BUCKET_HEAD
        stream[bucket + layout.BUCKET_GROUPS] += 1
        stream[bucket + layout.BUCKET_ENTRIES] += size
        first = line_ends[group]
        tests = line_ends[group + 1] - first
        stream[word + layout.GROUP_SIZE] = size
        stream[word + layout.GROUP_TESTS] = (tests << layout.FLAG_BITS) | flags[group]
        stream[word + layout.GROUP_START] = start
        word += layout.GROUP_HEAD
        for test in range(tests):
            stream[word + test] = lines[first + test]
        blocks = 0 if flags[group] & layout.MIXED else block_count(tests, size)
        bounds = word + tests + layout.BLOCK_WORDS * blocks
        to = address_in(stream) + 4 * bounds
        for at in range(size):
            _put_bounds(to, at, size, stream, word, tests, order[start + at],
                        test_ends, test_lines, test_bounds)  # fmt: skip
        _put_blocks(to - 4 * layout.BLOCK_WORDS * blocks, blocks, to, size)
        word = bounds + 2 * tests * size
        for at in range(size):
            stream[word + at] = ids[start + at]
        word += size


@compiled
def _put_bucket(slots: Ints, state: int, word: int) -> None:
    """Note in the table where a bucket begins, and on the way there that there is more."""
    mask = len(slots) - 1
    slot = state & mask
    while slots[slot] != layout.NO_BUCKET:
        slots[slot] |= layout.MORE
        slot = (slot + 1) & mask
    slots[slot] = (((state >> 32) & layout.TAG_MASK) << 32) | word


@compiled
def _put_bounds(
    to: int, at: int, size: int, stream: Shorts, lines: int, tests: int, entry: int,
    test_ends: Ints, test_lines: Shorts, test_bounds: Ints,
) -> None:  # fmt: skip
    """Write the bounds of one entry, each where those of its line are."""
    first = test_ends[entry - 1] if entry > 0 else 0
    for test in range(tests):
        bound = layout.NO_BOUND
        for own in range(first, test_ends[entry]):
            if test_lines[own] == stream[lines + test]:
                bound = test_bounds[own]
        put_long(to, test * size + at, bound)


@compiled
def _put_blocks(block: int, blocks: int, bounds: int, size: int) -> None:
    """Write what is said of each block: between what its first bounds are, the least second one."""
    width = block_width(size)
    for which in range(blocks):
        begin = which * width
        least = long(bounds, begin)
        most = least
        for at in range(begin, min(begin + width, size)):
            least = min(least, long(bounds, at))
            most = max(most, long(bounds, at))
        put_long(block, 0, least)
        put_long(block, 1, most)
        put_long(block, 2, long(bounds, size + begin))
        block += 4 * layout.BLOCK_WORDS


@compiled
def _read(
    stream: Shorts, signatures: Shorts, codes: Shorts, flags: Shorts, test_ends: Ints,
    test_lines: Shorts, test_bounds: Ints,
) -> None:  # fmt: skip
    """Read back what was written."""
    start = address_in(stream)
    word = 0
    place = 0
    used = 0
    while place < len(signatures):
        signature = stream[word + layout.BUCKET_SIGNATURE]
        groups = stream[word + layout.BUCKET_GROUPS]
        count = stream[word + layout.BUCKET_CODES]
        address = word + layout.BUCKET_HEAD
        word = address + count
        for _ in range(groups):
            size = stream[word + layout.GROUP_SIZE]
            said = stream[word + layout.GROUP_TESTS]
            tests = said >> layout.FLAG_BITS
            lines = word + layout.GROUP_HEAD
            blocks = 0 if said & layout.MIXED else block_count(tests, size)
            bounds = lines + tests + layout.BLOCK_WORDS * blocks
            for at in range(size):
                signatures[place] = signature
                for code in range(count):
                    codes[place, code] = stream[address + code]
                flags[place] = said & layout.SIFTED
                for test in range(tests):
                    bound = long(start + 4 * bounds, test * size + at)
                    if bound != layout.NO_BOUND:
                        test_lines[used] = stream[lines + test]
                        test_bounds[used] = bound
                        used += 1
                test_ends[place] = used
                place += 1
            word = bounds + 2 * tests * size + size
