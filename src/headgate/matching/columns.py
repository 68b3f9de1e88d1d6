"""How do columns of Arrow and NumPy come to compiled code? By where they are, as they are.

A row is an event, a null is missing, and so is NaN. Structs are flattened to dotted names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.filters import line
from headgate.matching import layout
from headgate.matching.compiled import OCTETS_BEHIND, Ints, address_of
from headgate.matching.matches import Columns
from headgate.matching.refusals import MatchingError
from headgate.matching.rows import REFUSED
from headgate.model.errors import named
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import OPAQUE, Value


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
            if names.get(name, known) < known and array.null_count < len(array)
        }
        self.members_max = 0
        """How many members the largest sets of a row have together."""
        self._kept: list[object] = []
        self.words: Ints = np.array(
            [self._column(array, names[name]) for name, array in self._asked.items()], np.int64
        ).reshape(-1, layout.COLUMN_WORDS)

    def _column(self, array: Any, number: int) -> list[int]:
        """Where the values of a column are, for `rows.match_rows`; and keep them there."""
        types, kind = pa.types, array.type
        buffers = array.buffers()
        place, values, offsets, size = line.OPAQUE, 0, 0, 0
        inner = 0
        if types.is_boolean(kind):
            place, values = line.BOOLEAN, _address(buffers[1])
        elif types.is_int64(kind) or types.is_float64(kind) or types.is_timestamp(kind):
            place = _PLACES.get(kind.id, line.TIMESTAMP)
            values = _address(buffers[1]) + 8 * array.offset
        elif types.is_large_string(kind):
            place = line.STRING
            offsets = _address(buffers[1]) + 8 * array.offset
            values, size = self._octets(buffers[2])
        elif types.is_large_list(kind):
            place = line.SET
            members = array.values
            offsets = _address(buffers[1]) + 8 * array.offset
            if members.null_count and array.flatten().null_count:
                raise MatchingError("a set of texts has no nulls among its members")
            parts = members.buffers()
            inner = _address(parts[1]) + 8 * members.offset
            values, size = self._octets(parts[2])
            self.members_max += int(pc.max(array.value_lengths()).as_py() or 0) if len(array) else 0
        valid = _address(buffers[0]) if array.null_count else 0
        self._kept.append(array)
        members_count = len(array.values) if inner else 0
        return [number, place, values, offsets, valid, array.offset, size, inner, members_count]

    def _octets(self, buffer: Any) -> tuple[int, int]:
        """Texts with room behind them, for compiled code reads in larger steps."""
        size = buffer.size if buffer is not None else 0
        octets = np.zeros(size + OCTETS_BEHIND, np.uint8)
        if size:
            octets[:size] = np.frombuffer(buffer, np.uint8)
        self._kept.append(octets)
        return address_of(octets), size

    def refusal(self, said: int) -> MatchingError:
        """Why a batch can't be matched, from what `rows.match_rows` said."""
        name = named(list(self._asked)[(said - REFUSED) >> 1])
        if said & 1:
            return MatchingError(f"the column {name} holds an infinity")
        return MatchingError(f"the column {name} is broken: its offsets lead astray")

    def values(self, row: int) -> dict[str, Value]:
        """The values of one event that filters ask about."""
        found: dict[str, Value] = {}
        for name, array in self._asked.items():
            try:
                value = _value(array, row)
            except (ValueError, OverflowError) as problem:
                why = f"the column {named(name)} has no value in row {row}: {problem}"
                raise MatchingError(why) from None
            if value is not None:
                found[name] = value
        return found


_PLAIN_TYPES = (pa.int64(), pa.float64(), pa.bool_(), pa.large_string())
_PLACES = {pa.int64().id: line.INTEGER, pa.float64().id: line.DOUBLE}


def _address(buffer: Any) -> int:
    return 0 if buffer is None else int(buffer.address)


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
        parts = [_checked(part, name) for part in values.chunks]
        return parts[0] if len(parts) == 1 else values.combine_chunks()
    if isinstance(values, pa.Array):
        return _checked(values, name)
    if isinstance(values, np.ndarray) and not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as problem:
        why = str(problem).splitlines()[0]
        raise MatchingError(f"the column {named(name)} isn't of one type: {why}") from None


def _checked(array: Any, name: str) -> Any:
    """What its buffers can't hold is refused before anybody reads it."""
    try:
        # Where each text begins and ends is seen to when it is read.
        array.validate(full=pa.types.is_nested(array.type) or pa.types.is_dictionary(array.type))
    except pa.ArrowInvalid as problem:
        raise MatchingError(f"the column {named(name)}: {str(problem).splitlines()[0]}") from None
    return array


def _plain(array: Any, name: str) -> Any:
    """As one of the few types that values have; what can't be filtered on stays what it is."""
    kind = array.type
    types = pa.types
    try:
        if types.is_dictionary(kind):
            array = array.dictionary_decode()
            kind = array.type
        if kind in _PLAIN_TYPES:
            return array
        if types.is_integer(kind):
            return array.cast(pa.int64())
        if types.is_floating(kind):
            return array.cast(pa.float64())
        if types.is_timestamp(kind):
            if kind.tz is None:
                raise MatchingError(f"the column {named(name)} has timestamps without a zone")
            return array.cast(pa.timestamp("us", "UTC"))
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            return array.cast(pa.large_string())
        if types.is_list(kind) or types.is_large_list(kind):
            inner = kind.value_type
            if types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner):
                return array.cast(pa.large_list(pa.large_string()))
    except pa.ArrowInvalid as problem:
        raise MatchingError(f"the column {named(name)}: {str(problem).splitlines()[0]}") from None
    return array


def _value(array: Any, row: int) -> Value | None:
    value = array[row].as_py()
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, list):
        texts = pa.types.is_large_list(array.type)
        return frozenset(value) if texts else OPAQUE
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        return OPAQUE
    return value if isinstance(value, str | int | float | bool) else OPAQUE
