"""How do events of Python come to compiled code? As cells: a name, what the value is, the value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from headgate.filters import line
from headgate.matching import layout
from headgate.matching.bearing import (
    bear_boolean,
    bear_double,
    bear_integer,
    bear_member,
    bear_opaque,
    bear_set,
    bear_text,
    bear_timestamp,
)
from headgate.matching.compiled import (
    OCTETS_BEHIND,
    Ints,
    Octets,
    address_in,
    compiled,
    long,
    put_long,
)
from headgate.matching.finding import begin, ended, no_room_for, settle
from headgate.model.values import Value

_BOOLEAN = line.BOOLEAN
_INTEGER = line.INTEGER
_DOUBLE = line.DOUBLE
_TIMESTAMP = line.TIMESTAMP
_STRING = line.STRING
_SET = line.SET


class Cells(NamedTuple):
    """The values of a batch that filters ask about, event by event."""

    cells: Ints  # layout.CELL_WORDS in a row
    ends: Ints
    """The number of cells up to the end of each event."""
    blob: Octets

    def codes_max(self) -> int:
        """How many codes the largest event may come to: texts may have many beginnings."""
        if not len(self.ends):
            return 0
        starts = np.concatenate(([0], self.ends))
        weights = np.concatenate(([0], np.cumsum(self.cells[:, 4] + 5)))
        return int(np.diff(weights[starts]).max())


def cells_of(events: Iterable[Mapping[str, Value]], names: Mapping[str, int], known: int) -> Cells:
    """The cells of events; names that no filter has are left out, and those known only later."""
    words: list[int] = []
    ends: list[int] = []
    blob: list[bytes] = []
    used = 0
    for event in events:
        for name, value in event.items():
            number = names.get(name)
            if number is None or number >= known:
                continue
            kind = value.__class__
            held: Any = value
            if kind is str:
                text = held.encode()
                blob.append(text)
                words += (number, _STRING, 0, used, len(text))
                used += len(text)
            elif kind is int or kind is bool:
                words += (number, _INTEGER if kind is int else _BOOLEAN, held, 0, 0)
            elif kind is float:
                words += (number, _DOUBLE, line.double_rank(held), 0, 0)
            elif kind is datetime:
                words += (number, _TIMESTAMP, line.moment_rank(held), 0, 0)
            elif kind is frozenset:
                words += (number, _SET, 0, 0, 0)
                for member in held:
                    text = member.encode()
                    blob.append(text)
                    words += (number, layout.MEMBER, 0, used, len(text))
                    used += len(text)
            else:
                words += (number, line.OPAQUE, 0, 0, 0)
        ends.append(len(words) // layout.CELL_WORDS)
    return Cells(
        np.array(words, np.int64).reshape(-1, layout.CELL_WORDS),
        np.array(ends, np.int64),
        np.frombuffer(b"".join([*blob, bytes(OCTETS_BEHIND)]), np.uint8).copy(),
    )


@compiled
def match_cells(
    version: int, workspace: int, cells: Ints, ends: Ints, blob: Octets, first: int
) -> int:
    """Match the events from the first one on: see `finding.ended`; or where there is no room."""
    begin(workspace, first)
    cell, texts = address_in(cells), address_in(blob)
    for event in range(first, len(ends)):
        put_long(workspace, layout.CODE_COUNT, 0)
        put_long(workspace, layout.KEY_COUNT, 0)
        start = ends[event - 1] if event > 0 else 0
        for at in range(start, ends[event]):
            bear_cell(version, workspace, cell + 8 * layout.CELL_WORDS * at, texts)
        if not settle(version, workspace, event):
            return no_room_for(event)
    return ended(workspace)


@compiled
def bear_cell(version: int, workspace: int, cell: int, blob: int) -> None:
    name = long(cell, 0)
    place = long(cell, 1)
    if place == _STRING:
        bear_text(version, workspace, name, blob + long(cell, 3), long(cell, 4))
    elif place == _INTEGER:
        bear_integer(version, workspace, name, long(cell, 2))
    elif place == _DOUBLE:
        rank = long(cell, 2)
        magnitude: Any = np.int64(abs(rank)).view(np.float64)
        bear_double(version, workspace, name, magnitude if rank >= 0 else -magnitude)
    elif place == _BOOLEAN:
        bear_boolean(version, workspace, name, long(cell, 2))
    elif place == _TIMESTAMP:
        bear_timestamp(version, workspace, name, long(cell, 2))
    elif place == _SET:
        bear_set(version, workspace, name)
    elif place == layout.MEMBER:
        bear_member(version, workspace, name, blob + long(cell, 3), long(cell, 4))
    elif place > 0:
        bear_opaque(version, workspace, name)
