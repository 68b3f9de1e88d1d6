"""Which filters match, as of one version of an index?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

import numpy as np

from headgate.filters.filter import AnyEvent, Filter, values_of
from headgate.matching import layout
from headgate.matching.cells import Cells, cells_of, match_cells
from headgate.matching.compiled import OCTETS_BEHIND, Ints
from headgate.matching.directory import Directory
from headgate.matching.matches import Columns, Matches, ValuesOf, with_more, with_verified
from headgate.matching.refusals import MatchingError
from headgate.matching.scanning import match_json
from headgate.matching.workspaces import Workspace
from headgate.model.errors import EventError
from headgate.model.events import Event
from headgate.model.values import Value


@final
class Snapshot:
    """One version of a `FilterIndex`; it doesn't change."""

    def __init__(
        self,
        words: Ints,
        kept: object,
        directory: Directory,
        slots: int,
        verified: Mapping[int, tuple[int, Filter]],
        workspaces: list[Workspace],
    ) -> None:
        self._words = words
        self._kept = kept  # the arrays behind the addresses
        self._names = directory.name_numbers
        self._known = len(self._names)
        self._sizes = directory.marks, directory.lines, slots
        self._absent = directory.absent
        self._verified = verified
        self._workspaces = workspaces

    def match_events(self, events: Sequence[AnyEvent]) -> Matches:
        """The filters that match each event."""
        values = [values_of(event) for event in events]
        return self._match_cells(cells_of(values, self._names, self._known), values.__getitem__)

    def match_json(
        self,
        texts: Sequence[bytes | str],
        known: Sequence[Mapping[str, object]] | None = None,
        refused: dict[int, EventError] | None = None,
    ) -> Matches:
        """The filters that match each event, read from JSON text as `Event.from_json` reads it.

        `known` is what the broker itself knows of each event, as in `Event.with_known`. Where a
        text is no event its refusal is raised; given a dictionary, refusals are kept in it by the
        place of the event, which matches nothing.
        """

        def event_at(place: int) -> Event:
            event = Event.from_json(texts[place])
            return event.with_known(known[place]) if known is not None else event

        extra = None if known is None else self._known_cells(known, len(texts))
        octets = [text if text.__class__ is bytes else _octets(text) for text in texts]
        ends = np.cumsum(np.fromiter(map(len, octets), np.int64, len(octets)))
        data = b"".join([*octets, bytes(OCTETS_BEHIND)])
        largest = max(map(len, octets), default=0)
        workspace = self._workspace()
        try:
            workspace.room_for_events(len(octets))
            more = workspace.know(extra)
            workspace.room_for_codes(2 * largest + more + self._absent + 16)
            offsets = np.zeros(len(octets) + 1, np.int64)

            def step(first: int) -> int:
                return match_json(self._words, workspace.words, data, ends, offsets, first)

            def values(event: int) -> Mapping[str, Value]:
                return event_at(event).attributes

            found = self._matched(workspace, len(octets), offsets, step, values)
            count = int(workspace.words[layout.UNSURE_COUNT])
            unsure = workspace.unsure[:count].tolist()
        finally:
            self._workspaces.append(workspace)
        return self._with_unsure(found, unsure, event_at, refused) if unsure else found

    def _with_unsure(
        self,
        found: Matches,
        unsure: list[int],
        event_at: Callable[[int], Event],
        refused: dict[int, EventError] | None,
    ) -> Matches:
        """The matches with those of the events that the quick way was unsure of."""
        places: list[int] = []
        events: list[Event] = []
        for place in unsure:
            try:
                events.append(event_at(place))
                places.append(place)
            except EventError as refusal:
                if refused is None:
                    raise
                refused[place] = refusal
        more = self.match_events(events)
        sizes = np.diff(more.offsets)
        return with_more(found, np.repeat(places, sizes).tolist(), more.ids.tolist())

    def _known_cells(self, known: Sequence[Mapping[str, object]], events: int) -> Cells:
        if len(known) != events:
            raise MatchingError(
                f"what is known of {len(known)} events doesn't go with {events} texts"
            )
        empty = Event.of({})
        values = [empty.with_known(one).attributes for one in known]
        return cells_of(values, self._names, self._known)

    def match_columns(self, columns: Columns) -> Matches:
        """The filters that match each row of a table, or of columns by name.

        Nulls and NaN are missing values, and nested columns have dotted names.
        """
        # Arrow takes a while to load, and who has no columns needs none of it.
        from headgate.matching.columns import ColumnBatch

        batch = ColumnBatch(columns, self._names, self._known)
        return self._match_cells(batch.cells(), batch.values)

    def _match_cells(self, cells: Cells, values: ValuesOf) -> Matches:
        workspace = self._workspace()
        try:
            workspace.room_for_events(len(cells.ends))
            workspace.room_for_codes(cells.codes_max() + self._absent + 16)
            offsets = np.zeros(len(cells.ends) + 1, np.int64)

            def step(first: int) -> int:
                return match_cells(self._words, workspace.words, *cells, offsets, first)

            return self._matched(workspace, len(cells.ends), offsets, step, values)
        finally:
            self._workspaces.append(workspace)

    def _workspace(self) -> Workspace:
        workspace = self._workspaces.pop() if self._workspaces else Workspace()
        workspace.prepare(*self._sizes)
        workspace.start()
        return workspace

    def _matched(
        self,
        workspace: Workspace,
        events: int,
        offsets: Ints,
        step: Callable[[int], int],
        values: ValuesOf,
    ) -> Matches:
        """Take steps through the batch, with more room each time it is too little."""
        done = step(0)
        while done < events:
            if workspace.words[layout.WANTS_CANDIDATES]:
                workspace.words[layout.WANTS_CANDIDATES] = 0
                workspace.room_for_candidates(len(workspace.candidates))
            else:
                workspace.room_for_found(2 * len(workspace.found))
            done = step(done)
        found = Matches(offsets, workspace.take_found())
        count = int(workspace.words[layout.CANDIDATE_COUNT])
        if not count:
            return found
        return with_verified(found, workspace.candidates[: 2 * count], self._verified, values)


def _octets(text: object) -> bytes:
    """The octets of a text; half a character is left as it is, to be refused with the event."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    assert isinstance(text, bytes | bytearray | memoryview)
    return bytes(text)
