"""Which entries does an event fit? Looks up each address that it has, in every segment.

The marks of the event are put where each signature (the columns of an address) finds them. A
signature is tried when its first column has a mark. The buckets that may be meant are gathered
first and gone through later, so that the memory they lie in is fetched while others are looked up.
What comes out of a run is copied as it is; who needs more is sifted.
"""

from __future__ import annotations

from headgate.matching.compiled import (
    LINE_SHORTS,
    compiled,
    long,
    put_long,
    put_short,
    short,
    zeros_below,
)
from headgate.matching.layout import (
    ABSENT,
    ABSENT_COUNT,
    ANY_DIED,
    BLOCK_WORDS,
    BUCKET_CODES,
    BUCKET_ENTRIES,
    BUCKET_GROUPS,
    BUCKET_HEAD,
    BUCKET_MASK,
    BUCKET_SIGNATURE,
    BUCKET_SLOTS,
    CANDIDATE_COUNT,
    CODE_COUNT,
    CODES,
    COUNTS,
    EMPTY_KEY,
    EPOCH,
    FIRST_SEGMENT,
    FIRSTS,
    FLAG_BITS,
    FOUND,
    FOUND_COUNT,
    FOUND_MAX,
    GROUP_HEAD,
    GROUP_SIZE,
    GROUP_START,
    GROUP_TESTS,
    HIT_WORDS,
    HITS,
    HITS_MAX,
    KEY_COUNT,
    KEYS,
    LEAD_SIGNATURES,
    LEADS,
    LED,
    LINE_KEYS,
    MIXED,
    MORE,
    MORE_TO_DO,
    NAMES,
    NUMBERS,
    OFFSETS,
    SEGMENT_WORDS,
    SEGMENTS,
    SIFTED,
    SIGNATURE_WORDS,
    SIGNATURES,
    STREAM,
    TAG_MASK,
    TEXTS,
    UNSURE_COUNT,
    USES,
    WANTED,
)
from headgate.matching.runs import block_count, gather
from headgate.matching.sifting import CODE_MASK, NO_ROOM, sift
from headgate.matching.symbols import META, META_WORDS, NUMBERS_FROM, SEED, SIGNATURES_OF

_FACTOR = -7046029254386353131


@compiled
def address_hash(state: int, code: int) -> int:
    """The hash of an address, code by code; it starts from the seed, and the signature is first."""
    mixed = (state ^ code) * _FACTOR
    return mixed ^ ((mixed >> 29) & 0x7FFFFFFFF)


@compiled
def begin(workspace: int, first: int) -> None:
    """With the first event of a batch nothing is found yet."""
    if first == 0:
        put_long(workspace, FOUND_COUNT, 0)
        put_long(workspace, CANDIDATE_COUNT, 0)
        put_long(workspace, UNSURE_COUNT, 0)
        put_long(long(workspace, OFFSETS), 0, 0)


@compiled
def ended(workspace: int) -> int:
    """How many ids were found; more than that says that events or candidates are left over."""
    left = long(workspace, UNSURE_COUNT) + long(workspace, CANDIDATE_COUNT)
    return long(workspace, FOUND_COUNT) + (MORE_TO_DO if left > 0 else 0)


@compiled
def no_room_for(event: int) -> int:
    """Said instead of what was found when there was no room to match an event."""
    return -1 - event


@compiled
def settle(version: int, workspace: int, event: int) -> bool:
    """Find who fits an event; where there is no room for that, all is as it was."""
    found = long(workspace, FOUND_COUNT)
    candidates = long(workspace, CANDIDATE_COUNT)
    if not find(version, workspace, event):
        put_long(workspace, FOUND_COUNT, found)
        put_long(workspace, CANDIDATE_COUNT, candidates)
        return False
    put_long(long(workspace, OFFSETS), event + 1, long(workspace, FOUND_COUNT))
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
    room = _find_all(version, workspace, event, count)
    for at in range(count):
        put_short(counts, long(codes, at) >> 32, 0)
    for at in range(keyed):
        put_long(line_keys, long(keys, 2 * at), EMPTY_KEY)
    return room


@compiled
def _find_all(version: int, workspace: int, event: int, count: int) -> bool:
    """Try the signatures of each column that has a mark, and the one without any column."""
    codes = long(workspace, CODES)
    counts = long(workspace, COUNTS)
    leads = long(version, LEADS)
    led = long(version, LED)
    leading = long(version, LEAD_SIGNATURES)
    wanted = long(workspace, WANTED)
    hits = _look_up(version, workspace, event, 0, 0)
    at = 0
    while at < count:
        column = long(codes, at) >> 32
        left = long(leading, column) & wanted
        while left != 0:
            hits = _look_up(version, workspace, event, zeros_below(left), hits)
            if hits < 0:
                return False
            left &= left - 1
        for which in range(short(leads, column), short(leads, column + 1)):
            hits = _look_up(version, workspace, event, short(led, which), hits)
            if hits < 0:
                return False
        at += max(short(counts, column), 1)
    return _go_through(version, workspace, event, hits)


@compiled
def _put_marks(version: int, workspace: int) -> int:
    """Put the marks where signatures find them: which come first in a column, and how many.

    Of the signatures that use a column those are wanted in which one of its marks occurs.
    """
    codes = long(workspace, CODES)
    firsts = long(workspace, FIRSTS)
    counts = long(workspace, COUNTS)
    count = long(workspace, CODE_COUNT)
    uses = long(version, USES)
    texts = long(version, TEXTS + META)
    numbers = long(version, NUMBERS + META)
    wanted = -1
    occurs = -1
    unused = -1
    for at in range(count):
        column = long(codes, at) >> 32
        code = long(codes, at) & CODE_MASK
        borne = short(counts, column)
        if borne == 0:
            put_short(firsts, column, at)
            wanted &= occurs | unused
            occurs = 0
            unused = ~long(uses, column)
        put_short(counts, column, borne + 1)
        # A state is no text, but where nothing is used it says nothing, and the table has a few.
        meta = texts if code < NUMBERS_FROM else numbers
        occurs |= long(meta, META_WORDS * (code & (NUMBERS_FROM - 1)) + SIGNATURES_OF)
    put_long(workspace, WANTED, wanted & (occurs | unused))
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
def _look_up(version: int, workspace: int, event: int, signature: int, hits: int) -> int:
    """Look up every address of one signature that the event has; how many hits there are then."""
    codes = long(workspace, CODES)
    firsts = long(workspace, FIRSTS)
    counts = long(workspace, COUNTS)
    row = long(version, SIGNATURES) + 4 * SIGNATURE_WORDS * signature
    length = short(row, 0)
    state = address_hash(long(version, NAMES + SEED), signature)
    for at in range(1, length):
        column = short(row, at)
        if short(counts, column) == 0:
            return hits
        state = address_hash(state, long(codes, short(firsts, column)) & CODE_MASK)
    if length == 0:
        return _hit(version, workspace, event, signature << 32, state, hits)
    column = short(row, length)
    first = short(firsts, column)
    # Only in the last column may a value bear several marks.
    for which in range(first, first + abs(short(counts, column))):
        code = long(codes, which) & CODE_MASK
        meant = (signature << 32) | code
        hits = _hit(version, workspace, event, meant, address_hash(state, code), hits)
        if hits < 0:
            return hits
    return hits


@compiled
def _hit(version: int, workspace: int, event: int, meant: int, state: int, hits: int) -> int:
    """Note the buckets that may be meant, of all segments; which it is will be seen in them."""
    tag = (state >> 32) & TAG_MASK
    segment = version + 8 * FIRST_SEGMENT
    for _ in range(long(version, SEGMENTS)):
        slots = long(segment, BUCKET_SLOTS)
        mask = long(segment, BUCKET_MASK)
        slot = state & mask
        more = True
        while more:
            entry = long(slots, slot)
            # Written in any case, and counted if it is one: that can't be foretold.
            hit = long(workspace, HITS) + 8 * HIT_WORDS * hits
            put_long(hit, 0, segment)
            put_long(hit, 1, long(segment, STREAM) + 4 * (entry & CODE_MASK))
            put_long(hit, 2, meant)
            hits += ((entry & ~MORE) >> 32) == tag
            if hits == HITS_MAX:
                if not _go_through(version, workspace, event, hits):
                    return NO_ROOM
                hits = 0
            more = entry & MORE != 0
            slot = (slot + 1) & mask
        segment += 8 * SEGMENT_WORDS
    return hits


@compiled
def _go_through(version: int, workspace: int, event: int, hits: int) -> bool:
    """Take what fits from each bucket that was hit; false where there is no more room."""
    hit = long(workspace, HITS)
    for _ in range(hits):
        bucket = long(hit, 1)
        if _is_meant(version, workspace, bucket, long(hit, 2)) and not _take(
            version, workspace, long(hit, 0), bucket, event
        ):
            return False
        hit += 8 * HIT_WORDS
    return True


@compiled
def _is_meant(version: int, workspace: int, bucket: int, meant: int) -> bool:
    """Whether a bucket is the one that was looked up: its signature, and its codes."""
    if short(bucket, BUCKET_SIGNATURE) != meant >> 32:
        return False
    length = short(bucket, BUCKET_CODES)
    if length == 0:
        return True
    row = long(version, SIGNATURES) + 4 * SIGNATURE_WORDS * (meant >> 32)
    codes = long(workspace, CODES)
    firsts = long(workspace, FIRSTS)
    for at in range(1, length):
        borne = long(codes, short(firsts, short(row, at))) & CODE_MASK
        if short(bucket, BUCKET_HEAD + at - 1) != borne:
            return False
    return short(bucket, BUCKET_HEAD + length - 1) == meant & CODE_MASK


@compiled
def _take(version: int, workspace: int, segment: int, bucket: int, event: int) -> bool:
    """Put who passes the tests of a bucket's groups with what was found; false: no more room."""
    count = long(workspace, FOUND_COUNT)
    if count + short(bucket, BUCKET_ENTRIES) + LINE_SHORTS > long(workspace, FOUND_MAX):
        return False
    found = long(workspace, FOUND)
    keys = long(workspace, LINE_KEYS)
    any_died = long(segment, ANY_DIED) != 0
    group = bucket + 4 * (BUCKET_HEAD + short(bucket, BUCKET_CODES))
    for _ in range(short(bucket, BUCKET_GROUPS)):
        size = short(group, GROUP_SIZE)
        tests = short(group, GROUP_TESTS) >> FLAG_BITS
        mixed = short(group, GROUP_TESTS) & MIXED != 0
        flags = short(group, GROUP_TESTS) & SIFTED
        start = short(group, GROUP_START)
        lines = group + 4 * GROUP_HEAD
        goal = found + 4 * count
        if flags == 0 and not any_died:
            count += gather(lines, size, tests, mixed, start, keys, goal, False)
        else:
            passing = gather(lines, size, tests, mixed, start, keys, goal, True)
            kept = sift(version, segment, workspace, flags, goal, passing, event)
            if kept < 0:
                return False
            count += kept
        blocks = 0 if mixed else block_count(tests, size)
        group = lines + 4 * (tests + size + 2 * tests * size + BLOCK_WORDS * blocks)
    put_long(workspace, FOUND_COUNT, count)
    return True
