"""How do records look to Spark and everybody else? As Parquet, with all that a record says.

Each column is one that SQL can ask for. What a broker knows of an event has a type of its own for
each name, so a value is in the field that fits it and the others are null; all of them null is a
null. A record that is read again is the one that was written, digest and all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.log.records import KnownValue, Record

_KNOWN: Final = pa.struct(
    [
        ("text", pa.string()),
        ("integer", pa.int64()),
        ("double", pa.float64()),
        ("boolean", pa.bool_()),
    ]
)
_SEEN: Final = pa.struct([("incarnation", pa.string()), ("offset", pa.int64())])
_FIELDS: Final[list[tuple[str, Any]]] = [
    ("stream", pa.string()),
    ("incarnation", pa.string()),
    ("offset", pa.int64()),
    ("version", pa.int64()),
    ("time", pa.timestamp("us", "UTC")),
    ("publisher", pa.string()),
    ("event_id", pa.string()),
    ("body", pa.binary()),
    ("is_json", pa.bool_()),
    ("known", pa.map_(pa.string(), _KNOWN)),
    ("vector", pa.map_(pa.string(), _SEEN)),
    ("chain", pa.binary()),
    ("hidden", pa.list_(pa.string())),
]
SCHEMA: Final = pa.schema([pa.field(name, kind, nullable=name == "body") for name, kind in _FIELDS])
COLUMNS: Final = tuple(name for name, _ in _FIELDS)
_OFTEN_THE_SAME: Final = ["stream", "incarnation", "version", "publisher"]


def parquet_bytes(records: Sequence[Record], row_group_rows: int, said: Mapping[str, str]) -> bytes:
    """The records of one stream, in order, as a file; `said` is noted in it as it is."""
    schema = SCHEMA.with_metadata({f"headgate.{name}": value for name, value in said.items()})
    columns = [
        pa.array(values, kind) for values, (_, kind) in zip(_columns(records), _FIELDS, strict=True)
    ]
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=_OFTEN_THE_SAME,
        write_page_checksum=True,
        sorting_columns=[pq.SortingColumn(COLUMNS.index("offset"))],
    ) as writer:
        writer.write_table(pa.table(columns, schema=schema), row_group_size=row_group_rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def records_of(table: Any) -> list[Record]:
    """The records in a table of these columns."""
    columns = {name: table.column(name) for name in COLUMNS}
    columns["time"] = columns["time"].cast(pa.int64())
    rows = zip(*(_values(columns[name]) for name in COLUMNS), strict=True)
    return [_record(*row) for row in rows]


def _values(column: Any) -> list[Any]:
    nested = pa.types.is_map(column.type) or pa.types.is_list(column.type)
    if nested and all(one.offsets[0] == one.offsets[-1] for one in column.chunks if len(one)):
        # They are empty more often than not, and their values are slow to make.
        return [()] * len(column)
    values: list[Any] = column.to_pylist()
    return values


def _columns(records: Sequence[Record]) -> Iterable[list[Any]]:
    for name in COLUMNS:
        if name == "time":
            yield [one.time_us for one in records]
        elif name == "known":
            yield [[(key, _typed(value)) for key, value in one.known.items()] for one in records]
        elif name == "vector":
            yield [list(one.vector.items()) for one in records]
        else:
            yield [getattr(one, name) for one in records]


def _typed(value: KnownValue) -> tuple[KnownValue, ...] | None:
    match value:
        case None:
            return None
        case bool():
            return (None, None, None, value)
        case str():
            return (value, None, None, None)
        case int():
            return (None, value, None, None)
        case _:
            return (None, None, value, None)


def _record(
    stream: str,
    incarnation: str,
    offset: int,
    version: int,
    time_us: int,
    publisher: str,
    event_id: str,
    body: bytes | None,
    is_json: bool,
    known: Any,
    vector: Any,
    chain: bytes,
    hidden: Any,
) -> Record:
    return Record(
        stream,
        incarnation,
        offset,
        version,
        time_us,
        publisher,
        event_id,
        body,
        is_json,
        {name: _plain(value) for name, value in known},
        {name: (seen["incarnation"], seen["offset"]) for name, seen in vector},
        chain,
        tuple(hidden),
    )


def _plain(value: Mapping[str, KnownValue] | None) -> KnownValue:
    if value is None:
        return None
    return next((one for one in value.values() if one is not None), None)
