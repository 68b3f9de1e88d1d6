"""Where does compiled code put what it finds? Memory for one call at a time, used again."""

from __future__ import annotations

from sys import getrefcount

import numpy as np

from headgate.matching import layout
from headgate.matching.cells import Cells
from headgate.matching.compiled import Ints, Shorts, address_of

_EPOCH_MAX = 2**31 - 2
_COPIED_MAX = 16_384


class Workspace:
    """Memory for one call of compiled code; between calls it holds nothing of anybody."""

    def __init__(self) -> None:
        self.words: Ints = np.zeros(layout.WORKSPACE_WORDS, np.int64)
        self.found: Shorts = np.empty(0, np.int32)
        self.candidates: Shorts = np.empty(0, np.int32)
        self.unsure: Shorts = np.empty(0, np.int32)
        self._codes = self._keys = self._line_keys = np.empty(0, np.int64)
        self._firsts = self._counts = self._seen = np.empty(0, np.int32)
        self._spare: Shorts = np.empty(0, np.int32)
        self._handed_out = False
        self._extra: Cells | None = None
        self._path = np.empty(layout.PATH_OCTETS + 8 * layout.LEVELS, np.uint8)
        self._twice = np.zeros(2 * layout.TWICE_SLOTS + layout.LISTED_NAMES, np.int64)
        self.words[layout.PATH] = address_of(self._path)
        self._hits = np.empty(layout.HIT_WORDS * layout.HITS_MAX, np.int64)
        self.words[layout.TWICE] = address_of(self._twice)
        self.words[layout.HITS] = address_of(self._hits)
        self.room_for_found(4_096)
        self.room_for_candidates(256)

    def prepare(self, marks: int, lines: int, slots: int) -> None:
        """Make room for so many columns and filters."""
        words = self.words
        if marks > len(self._counts):
            self._counts = np.zeros(2 * marks, np.int32)
            self._firsts = np.zeros(2 * marks, np.int32)
            words[layout.COUNTS] = address_of(self._counts)
            words[layout.FIRSTS] = address_of(self._firsts)
        if 2 * lines > len(self._line_keys):
            self._line_keys = np.full(4 * lines, layout.EMPTY_KEY, np.int64)
            words[layout.LINE_KEYS] = address_of(self._line_keys)
        if slots > len(self._seen):
            self._seen = np.zeros(2 * slots, np.int32)
            words[layout.SEEN] = address_of(self._seen)

    def room_for_codes(self, codes: int) -> None:
        """Make room for the codes and keys of the largest event of a batch."""
        if codes > len(self._codes):
            self._codes = np.empty(2 * codes, np.int64)
            self._keys = np.empty(4 * codes, np.int64)
            self.words[layout.CODES] = address_of(self._codes)
            self.words[layout.KEYS] = address_of(self._keys)

    def room_for_events(self, events: int) -> None:
        """Make room for the numbers of events; a count of epochs that runs out starts again."""
        if events > len(self.unsure):
            self.unsure = np.empty(2 * events, np.int32)
            self.words[layout.UNSURE] = address_of(self.unsure)
        if self.words[layout.EPOCH] + 2 * events + 1_000_000 > _EPOCH_MAX:
            self._seen[:] = 0
            self._twice[:] = 0
            self.words[layout.EPOCH] = 0

    def know(self, extra: Cells | None) -> int:
        """What is known of the events of a batch besides; how many codes it may come to."""
        self._extra = extra
        if extra is None:
            self.words[layout.KNOWN_ENDS] = 0
            return 0
        self.words[layout.KNOWN_CELLS] = address_of(extra.cells)
        self.words[layout.KNOWN_ENDS] = address_of(extra.ends)
        self.words[layout.KNOWN_BLOB] = address_of(extra.blob)
        return extra.codes_max()

    def room_for_found(self, size: int) -> None:
        """Make room for so much, keeping what there is."""
        larger = np.empty(size, np.int32)
        count = self.words[layout.FOUND_COUNT]
        larger[:count] = self.found[:count]
        self._write_to(larger)

    def _write_to(self, found: Shorts) -> None:
        self.found = found
        self.words[layout.FOUND] = address_of(found)
        self.words[layout.FOUND_MAX] = len(found)

    def start(self) -> None:
        """Nothing is found yet; what was found before is left to who still holds it."""
        self.words[layout.FOUND_COUNT] = 0
        self.words[layout.CANDIDATE_COUNT] = 0
        self.words[layout.UNSURE_COUNT] = 0
        self.words[layout.WANTS_CANDIDATES] = 0
        if self._handed_out:
            self._handed_out = False
            spare, self._spare = self._spare, self.found
            self.found = np.empty(0, np.int32)
            # The one reference is the local one, the other the argument: nobody else has it.
            free = len(spare) >= len(self._spare) and getrefcount(spare) == 2
            self._write_to(spare if free else np.empty(len(self._spare), np.int32))

    def take_found(self) -> Shorts:
        """What was found; large finds aren't copied, and the memory is used again when let go."""
        found = self.found[: self.words[layout.FOUND_COUNT]]
        if len(found) < _COPIED_MAX:
            return found.copy()
        self._handed_out = True
        return found

    def room_for_candidates(self, size: int) -> None:
        larger = np.empty(2 * size, np.int32)
        count = 2 * self.words[layout.CANDIDATE_COUNT]
        larger[:count] = self.candidates[:count]
        self.candidates = larger
        self.words[layout.CANDIDATES] = address_of(larger)
        self.words[layout.CANDIDATES_MAX] = size

    @property
    def nbytes(self) -> int:
        """Without what was found, which is handed out."""
        arrays = (self._codes, self._keys, self._line_keys, self._firsts, self._counts, self._seen)
        return sum(array.nbytes for array in arrays)
