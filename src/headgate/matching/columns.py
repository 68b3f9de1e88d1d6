"""How do columns of Arrow and NumPy come to compiled code? As cells, without an object per value.

A row is an event, a null is missing, and so is NaN. Structs are flattened to dotted names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.filters import line
from headgate.matching import layout
from headgate.matching.cells import Cells
from headgate.matching.compiled import OCTETS_BEHIND
from headgate.matching.matches import Columns
from headgate.matching.refusals import MatchingError
from headgate.model.errors import named
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import OPAQUE, Value

_WORDS = layout.CELL_WORDS


class ColumnBatch:
    """Columns of one length, checked, those that filters ask about first turned to plain kinds."""

    def __init__(self, columns: Columns, names: Mapping[str, int], known: int) -> None:
        arrays = dict(_arrays(columns))
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) > 1:
            raise MatchingError(f"the columns of a batch are of one length, not {sorted(lengths)}")
        self.rows = lengths.pop() if lengths else getattr(columns, "num_rows", 0)
        self._asked = {
            name: _plain(array, name)
            for name, array in arrays.items()
            if names.get(name, known) < known
        }
        self._numbers = {name: names[name] for name in self._asked}

    def cells(self) -> Cells:
        """The cells of all rows."""
        blobs = _Blobs()
        parts = [
            _cells_of_column(array, self._numbers[name], blobs)
            for name, array in self._asked.items()
        ]
        scalar = all(rows is None for _, rows in parts)
        if scalar:
            cells = np.stack([part for part, _ in parts], axis=1) if parts else _no_cells()
            ends = np.arange(1, self.rows + 1, dtype=np.int64) * len(parts)
            return Cells(cells.reshape(-1, _WORDS), ends, blobs.joined())
        plain = np.arange(self.rows)
        rows = np.concatenate([plain if rows is None else rows for _, rows in parts])
        order = np.argsort(rows, kind="stable")
        ends = np.cumsum(np.bincount(rows, minlength=self.rows))
        return Cells(np.concatenate([part for part, _ in parts])[order], ends, blobs.joined())

    def values(self, row: int) -> dict[str, Value]:
        """The values of one event that filters ask about."""
        found = {name: _value(array, row) for name, array in self._asked.items()}
        return {name: value for name, value in found.items() if value is not None}


def _no_cells() -> NDArray[np.int64]:
    return np.empty((0, _WORDS), np.int64)


def _arrays(columns: Columns) -> Iterable[tuple[str, Any]]:
    if isinstance(columns, pa.RecordBatch):
        columns = pa.Table.from_batches([columns])
    if isinstance(columns, pa.Table):
        pairs = [
            (field.name, column)
            for field, column in zip(columns.schema, columns.columns, strict=True)
        ]
    else:
        pairs = list(columns.items())
    seen: set[str] = set()
    while pairs:
        name, values = pairs.pop()
        array = _arrow(values, name)
        if pa.types.is_struct(array.type):
            fields = [field.name for field in array.type]
            pairs += [
                (f"{name}.{field}", part)
                for field, part in zip(fields, array.flatten(), strict=True)
            ]
            continue
        if name in seen:
            raise MatchingError(f"two columns have the name {named(name)}")
        seen.add(name)
        yield name, array


def _arrow(values: Any, name: str) -> Any:
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if isinstance(values, pa.Array):
        return values
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as problem:
        why = str(problem).splitlines()[0]
        raise MatchingError(f"the column {named(name)} isn't of one type: {why}") from None


def _plain(array: Any, name: str) -> Any:
    """As one of the few types that values have; what can't be filtered on stays what it is."""
    kind = array.type
    types = pa.types
    try:
        if types.is_dictionary(kind):
            array = array.dictionary_decode()
            kind = array.type
        if types.is_integer(kind):
            return array.cast(pa.int64())
        if types.is_floating(kind):
            array = array.cast(pa.float64())
            numbers = array.to_numpy(zero_copy_only=False)
            if np.isinf(numbers).any():
                raise MatchingError(f"the column {named(name)} holds an infinity")
            return array
        if types.is_timestamp(kind):
            if kind.tz is None:
                raise MatchingError(f"the column {named(name)} has timestamps without a zone")
            return array.cast(pa.timestamp("us", kind.tz))
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            return array.cast(pa.large_string())
        if types.is_list(kind) or types.is_large_list(kind):
            inner = kind.value_type
            if types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner):
                return array.cast(pa.large_list(pa.large_string()))
    except pa.ArrowInvalid as problem:
        raise MatchingError(f"the column {named(name)}: {str(problem).splitlines()[0]}") from None
    return array


class _Blobs:
    """The octets of all texts of a batch, one column behind the other."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint8]] = []
        self._used = 0

    def add(self, array: Any) -> NDArray[np.int64]:
        """Take a column of texts in; where each text starts, and where the last one ends."""
        _, offsets_buffer, data = array.buffers()
        offsets: NDArray[np.int64] = np.frombuffer(offsets_buffer, np.int64)[
            array.offset : array.offset + len(array) + 1
        ]
        first, last = int(offsets[0]), int(offsets[-1])
        if last > first:
            self._parts.append(np.frombuffer(data, np.uint8)[first:last])
        starts = offsets - (first - self._used)
        self._used += last - first
        return starts

    def joined(self) -> NDArray[np.uint8]:
        return np.concatenate([*self._parts, np.zeros(OCTETS_BEHIND, np.uint8)])


def _cells_of_column(
    array: Any, number: int, blobs: _Blobs
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """The cells of a column, and the row of each where that isn't one after the other."""
    types, kind = pa.types, array.type
    cells = np.zeros((len(array), _WORDS), np.int64)
    cells[:, 0] = number
    if types.is_large_list(kind):
        return _cells_of_sets(array, cells, blobs)
    if types.is_int64(kind):
        cells[:, 1] = line.INTEGER
        cells[:, 2] = _filled(array, 0)
    elif types.is_boolean(kind):
        cells[:, 1] = line.BOOLEAN
        cells[:, 2] = _filled(array, False)
    elif types.is_timestamp(kind):
        cells[:, 1] = line.TIMESTAMP
        cells[:, 2] = _filled(array.cast(pa.int64()), 0)
    elif types.is_float64(kind):
        numbers = array.to_numpy(zero_copy_only=False)
        bits = np.ascontiguousarray(numbers).view(np.int64)
        cells[:, 1] = np.where(np.isnan(numbers), line.ABSENT, line.DOUBLE)
        cells[:, 2] = np.where(bits < 0, -(bits & INTEGER_MAX), bits)
    elif types.is_large_string(kind):
        cells[:, 1] = line.STRING
        if len(array):
            starts = blobs.add(array)
            cells[:, 3] = starts[:-1]
            cells[:, 4] = np.diff(starts)
    else:
        cells[:, 1] = line.OPAQUE
    if array.null_count:
        cells[array.is_null().to_numpy(zero_copy_only=False), 1] = line.ABSENT
    return cells, None


def _filled(array: Any, value: object) -> Any:
    filled = array.fill_null(value) if array.null_count else array
    return filled.to_numpy(zero_copy_only=False)


def _cells_of_sets(
    array: Any, cells: NDArray[np.int64], blobs: _Blobs
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each set's cell, and behind it those of its members."""
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    cells[:, 1] = np.where(nulls, line.ABSENT, line.SET)
    members = array.flatten()
    if members.null_count:
        raise MatchingError("a set of texts has no nulls among its members")
    sizes = np.zeros(len(array), np.int64)
    lengths = array.value_lengths()
    sizes[:] = _filled(lengths, 0) if len(array) else 0
    rows = np.concatenate([np.arange(len(array)), np.repeat(np.arange(len(array)), sizes)])
    inner = np.zeros((len(members), _WORDS), np.int64)
    inner[:, 0] = cells[0, 0] if len(cells) else 0
    inner[:, 1] = layout.MEMBER
    if len(members):
        starts = blobs.add(members)
        inner[:, 3] = starts[:-1]
        inner[:, 4] = np.diff(starts)
    order = np.argsort(rows, kind="stable")
    return np.concatenate([cells, inner])[order], rows[order]


def _value(array: Any, row: int) -> Value | None:
    value = array[row].as_py()
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, list):
        texts = pa.types.is_large_list(array.type)
        return frozenset(value) if texts else OPAQUE
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        return OPAQUE
    return value if isinstance(value, str | int | float | bool) else OPAQUE
