"""Which entries does an event fit? Looks up each address that it has, in every segment.

The marks of the event are put where each signature (the columns of an address) finds them. A
signature is tried when its first column has a mark. What comes out of a run is copied as it is;
who needs more is sifted: who has died, who has been found already, who has further marks to bear,
whom only the filter itself can verify.
"""

from __future__ import annotations

from headgate.matching.compiled import Ints, Shorts, compiled, ints, octets, shorts
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
    HAS_SIGNATURE,
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
def settle(version: Ints, workspace: Ints, event: int, offsets: Ints) -> bool:
    """Find who fits an event; where there is no room for that, all is as it was."""
    found = workspace[FOUND_COUNT]
    candidates = workspace[CANDIDATE_COUNT]
    if not find(version, workspace, event):
        workspace[FOUND_COUNT] = found
        workspace[CANDIDATE_COUNT] = candidates
        return False
    offsets[event + 1] = workspace[FOUND_COUNT]
    return True


@compiled
def find(version: Ints, workspace: Ints, event: int) -> bool:
    """Find who fits the event whose codes and keys are in the workspace; false: no more room."""
    codes = ints(workspace[CODES])
    firsts = shorts(workspace[FIRSTS])
    counts = shorts(workspace[COUNTS])
    keys = ints(workspace[KEYS])
    line_keys = ints(workspace[LINE_KEYS])
    leads = shorts(version[LEADS])
    led = shorts(version[LED])
    absent = shorts(version[ABSENT])
    count = workspace[CODE_COUNT]
    workspace[EPOCH] += 1
    for at in range(count):
        column = codes[at] >> 32
        if counts[column] == 0:
            firsts[column] = at
        counts[column] += 1
    for at in range(workspace[KEY_COUNT]):
        line_keys[keys[2 * at]] = keys[2 * at + 1]
    borne = count
    for which in range(version[ABSENT_COUNT]):
        column = absent[which]
        if counts[column] == 0:
            codes[count] = column << 32
            count += 1
    # Only now, so that a missing attribute isn't taken for one that bears a mark.
    for at in range(borne, count):
        firsts[codes[at] >> 32] = at
        counts[codes[at] >> 32] = -1
    room = _look_up(version, workspace, event, 0)
    at = 0
    while at < count:
        column = codes[at] >> 32
        if room:
            for which in range(leads[column], leads[column + 1]):
                room = room and _look_up(version, workspace, event, led[which])
        at += max(counts[column], 1)
    for at in range(count):
        counts[codes[at] >> 32] = 0
    for at in range(workspace[KEY_COUNT]):
        line_keys[keys[2 * at]] = EMPTY_KEY
    return room


@compiled
def _look_up(version: Ints, workspace: Ints, event: int, signature: int) -> bool:
    """Look up every address of one signature that the event has."""
    codes = ints(workspace[CODES])
    firsts = shorts(workspace[FIRSTS])
    counts = shorts(workspace[COUNTS])
    row = shorts(version[SIGNATURES])[signature * SIGNATURE_WORDS :]
    length = row[0]
    state = address_hash(0, signature)
    for at in range(length - 1):
        column = row[1 + at]
        if counts[column] == 0:
            return True
        state = address_hash(state, codes[firsts[column]] & _CODE)
    if length == 0:
        return _probe(version, workspace, event, signature, row, 0, state)
    column = row[length]
    first = firsts[column]
    # Only in the last column may a value bear several marks.
    for which in range(first, first + abs(counts[column])):
        code = codes[which] & _CODE
        if not _probe(version, workspace, event, signature, row, code, address_hash(state, code)):
            return False
    return True


@compiled
def _probe(
    version: Ints, workspace: Ints, event: int, signature: int, row: Shorts, last: int, state: int
) -> bool:
    """Go through the runs at one address, in all segments."""
    tag = (state >> 32) & 0x7FFFFFFF
    for number in range(version[SEGMENTS]):
        segment = FIRST_SEGMENT + number * SEGMENT_WORDS
        if octets(version[segment + HAS_SIGNATURE])[signature] == 0:
            continue
        slots = ints(version[segment + BUCKET_SLOTS])
        mask = version[segment + BUCKET_MASK]
        slot = state & mask
        while slots[slot] >= 0:
            entry = slots[slot]
            if entry >> 32 == tag:
                bucket = shorts(version[segment + BUCKETS])[(entry & _CODE) * BUCKET_WORDS :]
                if bucket[0] == signature and _same_address(workspace, row, bucket, last):
                    begin = bucket[BUCKET_GROUPS]
                    for group in range(begin, begin + bucket[BUCKET_GROUP_COUNT]):
                        if not _take(version, segment, workspace, group, event):
                            return False
                    break
            slot = (slot + 1) & mask
    return True


@compiled
def _same_address(workspace: Ints, row: Shorts, bucket: Shorts, last: int) -> bool:
    length = row[0]
    if length == 0:
        return True
    codes = ints(workspace[CODES])
    firsts = shorts(workspace[FIRSTS])
    for at in range(length - 1):
        if bucket[1 + at] != codes[firsts[row[1 + at]]] & _CODE:
            return False
    return bucket[length] == last


@compiled
def _take(version: Ints, segment: int, workspace: Ints, group: int, event: int) -> bool:
    """Put who passes the tests of a group with what was found; false where there is no room."""
    row = group * GROUP_WORDS
    groups = shorts(version[segment + GROUPS])
    if workspace[FOUND_COUNT] + groups[row + GROUP_SIZE] >= workspace[FOUND_MAX]:
        return False
    flags = groups[row + GROUP_FLAGS]
    if flags == 0 and version[segment + ANY_DIED] == 0:
        workspace[FOUND_COUNT] = gather(version, segment, workspace, group, False)
        return True
    end = gather(version, segment, workspace, group, True)
    return _sift(version, segment, workspace, flags, end, event)


@compiled
def _sift(version: Ints, segment: int, workspace: Ints, flags: int, end: int, event: int) -> bool:
    """Replace the places of entries by the ids of those that really fit."""
    found = shorts(workspace[FOUND])
    ids = shorts(version[segment + IDS])
    died = shorts(version[segment + DIED])
    slots = shorts(version[segment + ENTRY_SLOTS])
    seen = shorts(workspace[SEEN])
    now = version[VERSION]
    epoch = workspace[EPOCH]
    kept = workspace[FOUND_COUNT]
    for at in range(kept, end):
        place = found[at]
        if died[place] <= now:
            continue
        if flags & CHECKED and not _bears(version, segment, workspace, place):
            continue
        slot = slots[place]
        if flags & (OVERLAPPING | VERIFIED):
            if seen[slot] == epoch:
                continue
            seen[slot] = epoch
        if flags & VERIFIED:
            count = workspace[CANDIDATE_COUNT]
            if count >= workspace[CANDIDATES_MAX]:
                workspace[WANTS_CANDIDATES] = 1
                return False
            candidates = shorts(workspace[CANDIDATES])
            candidates[2 * count] = event
            candidates[2 * count + 1] = slot
            workspace[CANDIDATE_COUNT] = count + 1
        else:
            found[kept] = ids[place]
            kept += 1
    workspace[FOUND_COUNT] = kept
    return True


@compiled
def _bears(version: Ints, segment: int, workspace: Ints, place: int) -> bool:
    """Whether the event bears what an entry demands beyond its address and its tests."""
    words = shorts(version[segment + CHECKS])
    at = shorts(version[segment + CHECKS_FROM])[place]
    while True:
        sign = words[at]
        if sign == ANY_OF:
            lists = words[at + 1]
            at += 2
            borne = False
            for _ in range(lists):
                size = words[at + 1]
                borne = borne or _bears_one(workspace, words[at], words, at + 2, size)
                at += 2 + size
            if not borne:
                return False
        elif sign > ANY_OF:
            size = words[at + 2]
            if _bears_one(workspace, words[at + 1], words, at + 3, size):
                return False
            at += 3 + size
        else:
            return True


@compiled
def _bears_one(workspace: Ints, column: int, words: Shorts, start: int, size: int) -> bool:
    """Whether the event bears one of the codes of a list in rising order in this column."""
    codes = ints(workspace[CODES])
    count = shorts(workspace[COUNTS])[column]
    if count <= 0:
        return words[start] == ABSENT_CODE
    first = shorts(workspace[FIRSTS])[column]
    for which in range(first, first + count):
        code = codes[which] & _CODE
        low = 0
        high = size
        while low < high:
            middle = (low + high) >> 1
            if words[start + middle] < code:
                low = middle + 1
            else:
                high = middle
        if low < size and words[start + low] == code:
            return True
    return False
