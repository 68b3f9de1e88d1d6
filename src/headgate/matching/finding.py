"""Which entries does an event fit? Looks up each address that it has, in every segment.

The marks of the event are put where each signature (the columns of an address) finds them. A
signature is tried when its first column has a mark. What comes out of a run is copied as it is;
who needs more is sifted: who has died, who has been found already, who has further marks to bear,
whom only the filter itself can verify.
"""

from __future__ import annotations

from headgate.matching.compiled import LINE_SHORTS, compiled, long, put_long, put_short, short
from headgate.matching.layout import (
    ABSENT,
    ABSENT_CODE,
    ABSENT_COUNT,
    ANY_DIED,
    ANY_OF,
    BUCKET_GROUP_COUNT,
    BUCKET_GROUPS,
    BUCKET_MASK,
    BUCKET_SLOTS,
    BUCKET_WORDS,
    BUCKETS,
    CANDIDATE_COUNT,
    CANDIDATES,
    CANDIDATES_MAX,
    CHECKED,
    CHECKS,
    CHECKS_FROM,
    CODE_COUNT,
    CODES,
    COUNTS,
    DIED,
    EMPTY_KEY,
    ENTRY_SLOTS,
    EPOCH,
    FIRST_SEGMENT,
    FIRSTS,
    FOUND,
    FOUND_COUNT,
    FOUND_MAX,
    GROUP_FLAGS,
    GROUP_SIZE,
    GROUP_WORDS,
    GROUPS,
    IDS,
    KEY_COUNT,
    KEYS,
    LEADS,
    LED,
    LINE_KEYS,
    OVERLAPPING,
    SEEN,
    SEGMENT_WORDS,
    SEGMENTS,
    SIGNATURE_WORDS,
    SIGNATURES,
    VERIFIED,
    VERSION,
    WANTS_CANDIDATES,
)
from headgate.matching.runs import gather

_CODE = 0xFFFFFFFF
_FACTOR = -7046029254386353131


@compiled
def address_hash(state: int, code: int) -> int:
    mixed = (state ^ code) * _FACTOR
    return mixed ^ ((mixed >> 29) & 0x7FFFFFFFF)


@compiled
def settle(version: int, workspace: int, event: int, offsets: int) -> bool:
    """Find who fits an event; where there is no room for that, all is as it was."""
    found = long(workspace, FOUND_COUNT)
    candidates = long(workspace, CANDIDATE_COUNT)
    if not find(version, workspace, event):
        put_long(workspace, FOUND_COUNT, found)
        put_long(workspace, CANDIDATE_COUNT, candidates)
        return False
    put_long(offsets, event + 1, long(workspace, FOUND_COUNT))
    return True


@compiled
def find(version: int, workspace: int, event: int) -> bool:
    """Find who fits the event whose codes and keys are in the workspace; false: no more room."""
    codes = long(workspace, CODES)
    counts = long(workspace, COUNTS)
    keys = long(workspace, KEYS)
    line_keys = long(workspace, LINE_KEYS)
    keyed = long(workspace, KEY_COUNT)
    put_long(workspace, EPOCH, long(workspace, EPOCH) + 1)
    count = _put_marks(version, workspace)
    for at in range(keyed):
        put_long(line_keys, long(keys, 2 * at), long(keys, 2 * at + 1))
    leads = long(version, LEADS)
    led = long(version, LED)
    room = _look_up(version, workspace, event, 0)
    at = 0
    while room and at < count:
        column = long(codes, at) >> 32
        for which in range(short(leads, column), short(leads, column + 1)):
            room = room and _look_up(version, workspace, event, short(led, which))
        at += max(short(counts, column), 1)
    for at in range(count):
        put_short(counts, long(codes, at) >> 32, 0)
    for at in range(keyed):
        put_long(line_keys, long(keys, 2 * at), EMPTY_KEY)
    return room


@compiled
def _put_marks(version: int, workspace: int) -> int:
    """Put the marks where signatures find them: which come first in a column, and how many."""
    codes = long(workspace, CODES)
    firsts = long(workspace, FIRSTS)
    counts = long(workspace, COUNTS)
    count = long(workspace, CODE_COUNT)
    for at in range(count):
        column = long(codes, at) >> 32
        borne = short(counts, column)
        if borne == 0:
            put_short(firsts, column, at)
        put_short(counts, column, borne + 1)
    absent = long(version, ABSENT)
    for which in range(long(version, ABSENT_COUNT)):
        column = short(absent, which)
        if short(counts, column) == 0:
            put_long(codes, count, column << 32)
            put_short(firsts, column, count)
            # So that a missing attribute isn't taken for one that bears a mark.
            put_short(counts, column, -1)
            count += 1
    return count


@compiled
def _look_up(version: int, workspace: int, event: int, signature: int) -> bool:
    """Look up every address of one signature that the event has."""
    codes = long(workspace, CODES)
    firsts = long(workspace, FIRSTS)
    counts = long(workspace, COUNTS)
    row = long(version, SIGNATURES) + 4 * SIGNATURE_WORDS * signature
    length = short(row, 0)
    state = address_hash(0, signature)
    for at in range(1, length):
        column = short(row, at)
        if short(counts, column) == 0:
            return True
        state = address_hash(state, long(codes, short(firsts, column)) & _CODE)
    if length == 0:
        return _probe(version, workspace, event, signature, row, 0, state)
    column = short(row, length)
    first = short(firsts, column)
    # Only in the last column may a value bear several marks.
    for which in range(first, first + abs(short(counts, column))):
        code = long(codes, which) & _CODE
        if not _probe(version, workspace, event, signature, row, code, address_hash(state, code)):
            return False
    return True


@compiled
def _probe(
    version: int, workspace: int, event: int, signature: int, row: int, last: int, state: int
) -> bool:
    """Go through the runs at one address, in all segments."""
    tag = (state >> 32) & 0x7FFFFFFF
    segment = version + 8 * FIRST_SEGMENT
    for _ in range(long(version, SEGMENTS)):
        slots = long(segment, BUCKET_SLOTS)
        mask = long(segment, BUCKET_MASK)
        slot = state & mask
        entry = long(slots, slot)
        while entry >= 0:
            if entry >> 32 == tag:
                bucket = long(segment, BUCKETS) + 4 * BUCKET_WORDS * (entry & _CODE)
                if short(bucket, 0) == signature and _same_address(workspace, row, bucket, last):
                    group = long(segment, GROUPS) + 4 * GROUP_WORDS * short(bucket, BUCKET_GROUPS)
                    for _ in range(short(bucket, BUCKET_GROUP_COUNT)):
                        if not _take(version, segment, workspace, group, event):
                            return False
                        group += 4 * GROUP_WORDS
                    break
            slot = (slot + 1) & mask
            entry = long(slots, slot)
        segment += 8 * SEGMENT_WORDS
    return True


@compiled
def _same_address(workspace: int, row: int, bucket: int, last: int) -> bool:
    length = short(row, 0)
    if length == 0:
        return True
    codes = long(workspace, CODES)
    firsts = long(workspace, FIRSTS)
    for at in range(1, length):
        if short(bucket, at) != long(codes, short(firsts, short(row, at))) & _CODE:
            return False
    return short(bucket, length) == last


@compiled
def _take(version: int, segment: int, workspace: int, group: int, event: int) -> bool:
    """Put who passes the tests of a group with what was found; false where there is no room."""
    count = long(workspace, FOUND_COUNT)
    if count + short(group, GROUP_SIZE) + LINE_SHORTS > long(workspace, FOUND_MAX):
        return False
    found = long(workspace, FOUND) + 4 * count
    flags = short(group, GROUP_FLAGS)
    if flags == 0 and long(segment, ANY_DIED) == 0:
        passing = gather(segment, workspace, group, found, False)
        put_long(workspace, FOUND_COUNT, count + passing)
        return True
    passing = gather(segment, workspace, group, found, True)
    return _sift(version, segment, workspace, flags, found, passing, event)


@compiled
def _sift(
    version: int, segment: int, workspace: int, flags: int, found: int, passing: int, event: int
) -> bool:
    """Replace the places of entries by the ids of those that really fit."""
    ids = long(segment, IDS)
    died = long(segment, DIED)
    slots = long(segment, ENTRY_SLOTS)
    seen = long(workspace, SEEN)
    now = long(version, VERSION)
    epoch = long(workspace, EPOCH)
    kept = 0
    for at in range(passing):
        place = short(found, at)
        if short(died, place) <= now:
            continue
        if flags & CHECKED and not _bears(segment, workspace, place):
            continue
        if flags & (OVERLAPPING | VERIFIED):
            slot = short(slots, place)
            if short(seen, slot) == epoch:
                continue
            put_short(seen, slot, epoch)
        if flags & VERIFIED:
            count = long(workspace, CANDIDATE_COUNT)
            if count >= long(workspace, CANDIDATES_MAX):
                put_long(workspace, WANTS_CANDIDATES, 1)
                return False
            candidates = long(workspace, CANDIDATES)
            put_short(candidates, 2 * count, event)
            put_short(candidates, 2 * count + 1, short(slots, place))
            put_long(workspace, CANDIDATE_COUNT, count + 1)
        else:
            put_short(found, kept, short(ids, place))
            kept += 1
    put_long(workspace, FOUND_COUNT, long(workspace, FOUND_COUNT) + kept)
    return True


@compiled
def _bears(segment: int, workspace: int, place: int) -> bool:
    """Whether the event bears what an entry demands beyond its address and its tests."""
    word = long(segment, CHECKS) + 4 * short(long(segment, CHECKS_FROM), place)
    sign = short(word, 0)
    while sign > 0:
        if sign == ANY_OF:
            lists = short(word, 1)
            word += 8
            borne = False
            for _ in range(lists):
                borne = borne or _bears_one(workspace, word)
                word += 8 + 4 * short(word, 1)
            if not borne:
                return False
        else:
            if _bears_one(workspace, word + 4):
                return False
            word += 12 + 4 * short(word, 2)
        sign = short(word, 0)
    return True


@compiled
def _bears_one(workspace: int, listed: int) -> bool:
    """Whether the event bears one of a list: a column, a size, and codes in rising order."""
    column = short(listed, 0)
    size = short(listed, 1)
    listed += 8
    count = short(long(workspace, COUNTS), column)
    if count <= 0:
        return short(listed, 0) == ABSENT_CODE
    codes = long(workspace, CODES)
    first = short(long(workspace, FIRSTS), column)
    for which in range(first, first + count):
        code = long(codes, which) & _CODE
        low = 0
        high = size
        while low < high:
            middle = (low + high) >> 1
            if short(listed, middle) < code:
                low = middle + 1
            else:
                high = middle
        if low < size and short(listed, low) == code:
            return True
    return False
