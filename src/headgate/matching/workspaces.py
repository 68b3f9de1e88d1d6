"""Where does compiled code put what it finds? Memory for one call at a time, used again."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount

import numpy as np

from headgate.matching import layout
from headgate.matching.cells import Cells
from headgate.matching.compiled import Ints, Shorts, address_of

_EPOCHS = 2**31 - 2
_SPARE_EPOCHS = 1_000_000
"""An event that there was no room for is matched again."""
_COPIED_MAX = 16_384


class Workspace:
    """Memory for one call of compiled code; between calls it holds nothing of anybody."""

    def __init__(self) -> None:
        self.words: Ints = np.zeros(layout.WORKSPACE_WORDS, np.int64)
        self.address = address_of(self.words)
        self.found: Shorts = np.empty(0, np.int32)
        self.candidates: Shorts = np.empty(0, np.int32)
        self.unsure: Shorts = np.empty(0, np.int32)
        self.offsets: Ints = np.empty(0, np.int64)
        self._ends: Ints = np.empty(0, np.int64)
        self._codes = self._keys = self._line_keys = np.empty(0, np.int64)
        self._firsts = self._counts = self._seen = np.empty(0, np.int32)
        self._spare: Shorts = np.empty(0, np.int32)
        self._handed_out = False
        self._extra: Cells | None = None
        self._epochs = _EPOCHS
        self._room = (-1, -1, -1, -1, -1)
        self._path = np.empty(layout.PATH_OCTETS + 8 * layout.LEVELS, np.uint8)
        self._twice = np.zeros(2 * layout.TWICE_SLOTS + layout.LISTED_NAMES, np.int64)
        self._hits = np.empty(layout.HIT_WORDS * (layout.HITS_MAX + 1), np.int64)
        self.words[layout.PATH] = address_of(self._path)
        self.words[layout.TWICE] = address_of(self._twice)
        self.words[layout.HITS] = address_of(self._hits)
        self.room_for_found(4_096)
        self.room_for_candidates(256)

    def prepare(self, marks: int, lines: int, slots: int, events: int, codes: int) -> None:
        """Make room for so many columns and filters, events, and codes of the largest event."""
        self._epochs -= 2 * events
        if self._epochs < _SPARE_EPOCHS:
            self._start_epochs_again(2 * events)
        room = self._room
        if (
            marks > room[0] or lines > room[1] or slots > room[2]
            or events > room[3] or codes > room[4]
        ):  # fmt: skip
            self._grow((marks, lines, slots, events, codes))
        if self._handed_out:
            self._take_spare()

    def _start_epochs_again(self, taken: int) -> None:
        self._seen[:] = 0
        self._twice[:] = 0
        self.words[layout.EPOCH] = 0
        self._epochs = _EPOCHS - taken

    def _grow(self, asked: tuple[int, ...]) -> None:
        """Twice what is asked for, where there is less than is asked for."""
        sizes = [
            2 * more if more > room else room for more, room in zip(asked, self._room, strict=True)
        ]
        marks, lines, slots, events, codes = sizes
        words = self.words
        if marks > self._room[0]:
            self._counts = np.zeros(marks + 1, np.int32)
            self._firsts = np.zeros(marks + 1, np.int32)
            words[layout.COUNTS] = address_of(self._counts)
            words[layout.FIRSTS] = address_of(self._firsts)
        if lines > self._room[1]:
            self._line_keys = np.full(2 * lines + 2, layout.EMPTY_KEY, np.int64)
            words[layout.LINE_KEYS] = address_of(self._line_keys)
        if slots > self._room[2]:
            # Epochs go on: what they were is not known of the new memory, but it is before them.
            self._seen = np.zeros(slots + 1, np.int32)
            words[layout.SEEN] = address_of(self._seen)
        if events > self._room[3]:
            self.unsure = np.empty(events + 1, np.int32)
            self.offsets = np.empty(events + 1, np.int64)
            self._ends = np.empty(events + 1, np.int64)
            words[layout.UNSURE] = address_of(self.unsure)
            words[layout.OFFSETS] = address_of(self.offsets)
            words[layout.ENDS] = address_of(self._ends)
        if codes > self._room[4]:
            self._codes = np.empty(codes + 1, np.int64)
            self._keys = np.empty(2 * codes + 1, np.int64)
            words[layout.CODES] = address_of(self._codes)
            words[layout.KEYS] = address_of(self._keys)
        self._room = marks, lines, slots, events, codes

    def end_at(self, octets: Sequence[bytes]) -> None:
        """Write where each text of a batch ends, one behind the other."""
        if len(octets) == 1:
            self._ends[0] = len(octets[0])
        else:
            sizes = np.fromiter(map(len, octets), np.int64, len(octets))
            np.cumsum(sizes, out=self._ends[: len(octets)])

    def know(self, extra: Cells | None) -> None:
        """What is known of the events of a batch besides their texts."""
        if extra is not self._extra:
            self._extra = extra
            words = self.words
            words[layout.KNOWN_CELLS] = address_of(extra.cells) if extra else 0
            words[layout.KNOWN_ENDS] = address_of(extra.ends) if extra else 0
            words[layout.KNOWN_BLOB] = address_of(extra.blob) if extra else 0

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

    def _take_spare(self) -> None:
        """What was found before is left to who still holds it."""
        self._handed_out = False
        spare, self._spare = self._spare, self.found
        self.found = np.empty(0, np.int32)
        # The one reference is the local one, the other the argument: nobody else has it.
        free = len(spare) >= len(self._spare) and getrefcount(spare) == 2
        self._write_to(spare if free else np.empty(len(self._spare), np.int32))

    def take_found(self, count: int) -> Shorts:
        """What was found; large finds aren't copied, and the memory is used again when let go."""
        found = self.found[:count]
        if count < _COPIED_MAX:
            return found.copy()
        self._handed_out = True
        return found

    def take_offsets(self, events: int) -> Ints:
        """Where what was found for each event ends."""
        return self.offsets[: events + 1].copy()

    def room_for_candidates(self, size: int) -> None:
        larger = np.empty(2 * size, np.int32)
        count = 2 * self.words[layout.CANDIDATE_COUNT]
        larger[:count] = self.candidates[:count]
        self.candidates = larger
        self.words[layout.CANDIDATES] = address_of(larger)
        self.words[layout.CANDIDATES_MAX] = size
        self.words[layout.WANTS_CANDIDATES] = 0

    @property
    def nbytes(self) -> int:
        """Without what was found, which is handed out."""
        arrays = (self._codes, self._keys, self._line_keys, self._firsts, self._counts, self._seen)
        return sum(array.nbytes for array in arrays)
