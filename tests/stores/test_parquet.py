"""Do all records come back from Parquet as they were, and can anybody else read them?"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from headgate.log.records import Record, moment_of
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.stores.parquet import COLUMNS, SCHEMA, parquet_bytes, records_of
from tests.log.streams import chain_of, marker, record

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = (
    TEXTS | st.integers(INTEGER_MIN, INTEGER_MAX) | st.floats(allow_nan=False)
    | st.booleans() | st.none()
)  # fmt: skip
RECORDS = st.builds(
    Record,
    stream=TEXTS,
    incarnation=TEXTS,
    offset=st.integers(0, 2**62),
    version=st.integers(0, 2**62),
    time_us=st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
    publisher=TEXTS,
    event_id=TEXTS,
    body=st.none() | st.binary(max_size=50),
    is_json=st.booleans(),
    known=st.dictionaries(TEXTS, VALUES, max_size=4),
    vector=st.dictionaries(TEXTS, st.tuples(TEXTS, st.integers(0, 2**62)), max_size=3),
    chain=st.binary(max_size=32),
    hidden=st.lists(TEXTS, max_size=3).map(tuple),
)


def table_of(data: bytes) -> object:
    return pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True).read()


@given(st.lists(RECORDS, min_size=1, max_size=9))
def test_any_record_comes_back_as_it_was(records: list[Record]) -> None:
    again = records_of(table_of(parquet_bytes(records, 4, {})))
    assert again == records
    for one, other in zip(records, again, strict=True):
        kinds = {name: type(value) for name, value in other.known.items()}
        assert kinds == {name: type(value) for name, value in one.known.items()}


def test_a_file_is_what_others_can_ask_by_column() -> None:
    known = {"$topic": "a/b", "$n": 7, "$x": 0.5, "$yes": True, "$none": None}
    records = chain_of(
        record(1, known=known), marker(2, version=3), record(3, version=3, body=b'{"price": 40}')
    )
    data = parquet_bytes(records, 1_000, {"stream": "orders"})
    file = pq.ParquetFile(pa.BufferReader(data))
    table = file.read()
    assert table.column_names == list(COLUMNS)
    assert SCHEMA.metadata is None
    assert file.metadata.metadata[b"headgate.stream"] == b"orders"
    assert table["time"].to_pylist()[0] == moment_of(records[0].time_us)
    events = table.filter(pc.is_valid(table["body"]))
    assert events["offset"].to_pylist() == [1, 3]
    first = dict(table["known"].to_pylist()[0])
    assert first["$n"] == {"text": None, "integer": 7, "double": None, "boolean": None}
    assert first["$none"] is None
    column = file.metadata.row_group(0).column(COLUMNS.index("offset"))
    assert column.compression == "ZSTD"
    assert (column.statistics.min, column.statistics.max) == (1, 3)


def test_row_groups_are_as_small_as_asked() -> None:
    data = parquet_bytes(chain_of(*(record(offset) for offset in range(1, 11))), 4, {})
    metadata = pq.ParquetFile(pa.BufferReader(data)).metadata
    assert [metadata.row_group(at).num_rows for at in range(3)] == [4, 4, 2]
