"""Where do compiled functions find things? The words of the two tables that they are handed.

One table is a version of the index: it is written once and then only read. The other is a
workspace: what one call of compiled code writes, and nobody else at the same time.
"""

from __future__ import annotations

from typing import Final

from headgate.matching.symbols import TABLE_WORDS

# A version of the index.
SEGMENTS: Final = 0
VERSION: Final = 1
NAMES: Final = 2
TEXTS: Final = NAMES + TABLE_WORDS
NUMBERS: Final = TEXTS + TABLE_WORDS
NAME_COLUMNS: Final = 27
LENGTHS: Final = 28
ABSENT: Final = 29
ABSENT_COUNT: Final = 30
LEADS: Final = 31
LED: Final = 32
SIGNATURES: Final = 33
SLOT_IDS: Final = 34
"""The id of the filter in each slot."""
USES: Final = 35
"""For each column of marks, which signatures look something up in it."""
LEAD_SIGNATURES: Final = 36
"""For each column of marks, which signatures it is the first one of."""
FIRST_SEGMENT: Final = 40

# A segment of it.
SEGMENT_WORDS: Final = 8
BUCKET_SLOTS: Final = 0
BUCKET_MASK: Final = 1
STREAM: Final = 2
ENTRY_SLOTS: Final = 3
DIED: Final = 4
ANY_DIED: Final = 5
CHECK_ENDS: Final = 6
CHECKS: Final = 7

# The columns that a name has: -1 where no filter asks.
NAME_WORDS: Final = 12
LINE_COLUMNS: Final = 4
LENGTHS_FROM: Final = 9
LENGTHS_COUNT: Final = 10
STATES_ASKED: Final = 11
"""A bit for each state."""

# A signature.
SIGNATURE_WORDS: Final = 6

SIGNATURE_BITS: Final = 63
"""Signatures numbered below this have a bit, by which an event knows that it needn't look."""

# A bucket in the stream of a segment; its codes follow, then its groups.
BUCKET_SIGNATURE: Final = 0
BUCKET_ENTRIES: Final = 1
BUCKET_GROUPS: Final = 2
BUCKET_CODES: Final = 3
BUCKET_HEAD: Final = 4
"""How many codes there are is in `BUCKET_CODES`; they begin here."""

# A group in a bucket: its lines follow, of large ones the blocks, then bounds, then ids.
GROUP_SIZE: Final = 0
GROUP_TESTS: Final = 1
"""The number of tests, shifted by `FLAG_BITS`, and the flags."""
GROUP_START: Final = 2
"""The place of its first entry."""
GROUP_HEAD: Final = 3
FLAG_BITS: Final = 4
PLAIN_SIZE_MAX: Final = 32
"""Groups up to this size are simply gone through."""
BLOCK_WORDS: Final = 6
"""The first and the last of a block's first bounds, and the first of its second ones."""
CHECKED: Final = 1
OVERLAPPING: Final = 2
VERIFIED: Final = 4
SIFTED: Final = CHECKED | OVERLAPPING | VERIFIED
"""With one of these flags an entry that passes its tests isn't found yet."""
MIXED: Final = 8
"""The entries of a group have different tests: where one has none, its bound is `NO_BOUND`."""
NO_BOUND: Final = -(2**63)
ANY_OF: Final = 1
NONE_OF: Final = 2
ABSENT_CODE: Final = -2
NEVER: Final = 2**31 - 1
"""The version at which what is alive dies."""

# A workspace.
OFFSETS: Final = 0
FOUND: Final = 1
FOUND_MAX: Final = 2
CANDIDATES: Final = 3
CANDIDATES_MAX: Final = 4
CODES: Final = 5
KEYS: Final = 6
FIRSTS: Final = 7
COUNTS: Final = 8
LINE_KEYS: Final = 9
SEEN: Final = 10
EPOCH: Final = 11
FOUND_COUNT: Final = 12
CANDIDATE_COUNT: Final = 13
CODE_COUNT: Final = 14
KEY_COUNT: Final = 15
PATH: Final = 16
TWICE: Final = 17
UNSURE: Final = 18
UNSURE_COUNT: Final = 19
WANTS_CANDIDATES: Final = 20
KNOWN_CELLS: Final = 21
KNOWN_ENDS: Final = 22
KNOWN_BLOB: Final = 23
HITS: Final = 24
ENDS: Final = 25
WANTED: Final = 26
"""The signatures that the marks of the event leave."""
WORKSPACE_WORDS: Final = 27

MORE_TO_DO: Final = 1 << 40
"""Added to what was found when there are unsure events, or candidates to verify."""

HITS_MAX: Final = 256
"""So many buckets are gathered before they are gone through."""
HIT_WORDS: Final = 3

# A slot of the table of buckets: a tag, then where the bucket begins in the stream.
NO_BUCKET: Final = -(2**63)
MORE: Final = 1 << 62
"""Set where a bucket that belongs here, or before, had to go to a later slot."""
TAG_MASK: Final = (1 << 30) - 1

PATH_OCTETS: Final = 1024
LISTED_NAMES: Final = 24
"""So many names are compared with each other; with more, a table says which have come already."""
TWICE_SLOTS: Final = 4096
"""More than four times the names that an event may have before it is left to the careful path."""
LEVELS: Final = 16
CELL_WORDS: Final = 5
"""The number of the name, what it is, a rank or an integer, and where a text starts and ends."""
COLUMN_WORDS: Final = 9
"""What `columns.ColumnBatch` says of a column: see `rows`."""
MEMBER: Final = 8
"""What a cell is that goes with the set before it; the others are places of `line`."""
EMPTY_KEY: Final = -(2**63)
"""The key of what is missing, as in `pieces`."""
