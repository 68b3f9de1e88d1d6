"""Who of those that pass the tests really fits? Looks at entries one by one.

Left out are those that have died, that were found already, that lack a mark or bear one that they
must not; and whom only the filter itself can verify is put down as a candidate.
"""

from __future__ import annotations

from headgate.matching.compiled import compiled, long, put_long, put_short, short
from headgate.matching.layout import (
    ABSENT_CODE,
    ANY_OF,
    CANDIDATE_COUNT,
    CANDIDATES,
    CANDIDATES_MAX,
    CHECK_ENDS,
    CHECKED,
    CHECKS,
    CODES,
    COUNTS,
    DIED,
    ENTRY_SLOTS,
    EPOCH,
    FIRSTS,
    OVERLAPPING,
    SEEN,
    SLOT_IDS,
    VERIFIED,
    VERSION,
    WANTS_CANDIDATES,
)

CODE_MASK = 0xFFFFFFFF
NO_ROOM = -1


@compiled
def sift(
    version: int, segment: int, workspace: int, flags: int, found: int, passing: int, event: int
) -> int:
    """Replace the places of entries by the ids of those that really fit; how many do."""
    ids = long(version, SLOT_IDS)
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
                return NO_ROOM
            candidates = long(workspace, CANDIDATES)
            put_short(candidates, 2 * count, event)
            put_short(candidates, 2 * count + 1, short(slots, place))
            put_long(workspace, CANDIDATE_COUNT, count + 1)
        else:
            put_short(found, kept, short(ids, short(slots, place)))
            kept += 1
    return kept


@compiled
def _bears(segment: int, workspace: int, place: int) -> bool:
    """Whether the event bears what an entry demands beyond its address and its tests."""
    start = short(long(segment, CHECK_ENDS), place - 1) if place > 0 else 0
    word = long(segment, CHECKS) + 4 * start
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
        code = long(codes, which) & CODE_MASK
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
