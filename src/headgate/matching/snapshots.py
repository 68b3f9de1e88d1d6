"""Which filters match, as of one version of an index?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

from headgate.filters.filter import AnyEvent, Filter, values_of
from headgate.matching import layout
from headgate.matching.cells import Cells, cells_of, match_cells
from headgate.matching.compiled import OCTETS_BEHIND, Ints, address_of
from headgate.matching.directory import Directory
from headgate.matching.matches import Columns, Matches, ValuesOf, with_more, with_verified
from headgate.matching.refusals import MatchingError
from headgate.matching.rows import REFUSED_MAX, match_rows
from headgate.matching.scanning import match_json
from headgate.matching.workspaces import Workspace
from headgate.model.errors import EventError
from headgate.model.events import Event

_BEHIND = bytes(OCTETS_BEHIND)


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
        self._address = address_of(words)
        self._kept = kept  # the arrays behind the addresses
        self._names = directory.name_numbers
        self._known = len(self._names)
        self._sizes = directory.marks, directory.lines, slots
        self._absent = directory.absent
        self._lengths = directory.lengths
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

        octets = [text if text.__class__ is bytes else _octets(text) for text in texts]
        events = len(octets)
        extra = None if known is None else self._known_cells(known, events)
        data = b"".join([*octets, _BEHIND])
        codes = 2 * max(map(len, octets), default=0) + self._absent + 16
        workspace = self._workspace(events, codes + (extra.codes_max() if extra else 0))
        try:
            workspace.know(extra)
            workspace.end_at(octets)
            version, memory = self._address, workspace.address
            found = match_json(version, memory, data, events, 0)
            if 0 <= found < layout.MORE_TO_DO:
                return Matches(workspace.take_offsets(events), workspace.take_found(found))

            def event_at(place: int) -> Event:
                event = Event.from_json(texts[place])
                return event.with_known(known[place]) if known is not None else event

            matches = self._matched(
                workspace, events, found,
                lambda first: match_json(version, memory, data, events, first),
                lambda event: event_at(event).attributes,
            )  # fmt: skip
            count = int(workspace.words[layout.UNSURE_COUNT])
            unsure = workspace.unsure[:count].tolist()
        finally:
            self._workspaces.append(workspace)
        return self._with_unsure(matches, unsure, event_at, refused) if unsure else matches

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
        at = [place for place, ids in zip(places, more, strict=True) for _ in ids]
        return with_more(found, at, more.ids.tolist())

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
        rows, words = batch.rows, batch.words
        workspace = self._workspace(
            rows, batch.members_max + 5 * len(words) + self._lengths + self._absent
        )

        def step(first: int) -> int:
            done: int = match_rows(self._address, workspace.address, words, rows, first)
            if done <= REFUSED_MAX:
                raise batch.refusal(done)
            return done

        try:
            return self._matched(workspace, rows, step(0), step, batch.values)
        finally:
            self._workspaces.append(workspace)

    def _match_cells(self, cells: Cells, values: ValuesOf) -> Matches:
        events = len(cells.ends)
        workspace = self._workspace(events, cells.codes_max() + self._absent + 16)

        def step(first: int) -> int:
            done: int = match_cells(self._address, workspace.address, *cells, first)
            return done

        try:
            return self._matched(workspace, events, step(0), step, values)
        finally:
            self._workspaces.append(workspace)

    def _workspace(self, events: int, codes: int) -> Workspace:
        try:
            workspace = self._workspaces.pop()
        except IndexError:  # asked for first, another thread could take the last one meanwhile
            workspace = Workspace()
        workspace.prepare(*self._sizes, events, codes)
        return workspace

    def _matched(
        self,
        workspace: Workspace,
        events: int,
        done: int,
        step: Callable[[int], int],
        values: ValuesOf,
    ) -> Matches:
        """Take steps through the batch, with more room each time it is too little."""
        while done < 0:
            if workspace.words[layout.WANTS_CANDIDATES]:
                workspace.room_for_candidates(len(workspace.candidates))
            else:
                workspace.room_for_found(2 * len(workspace.found))
            done = step(-1 - done)
        ids = workspace.take_found(done & (layout.MORE_TO_DO - 1))
        found = Matches(workspace.take_offsets(events), ids)
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
