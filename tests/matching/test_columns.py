"""Are the rows of a table matched like events with the same values?"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.filters.filter import Filter
from headgate.filters.syntax import Comparison, Name, conjunction, names_in
from headgate.matching.index import FilterIndex
from headgate.matching.refusals import MatchingError
from headgate.model.values import OPAQUE, Value
from tests.filters.language_strategies import (
    DOUBLES_AT_EDGES,
    INTEGERS_AT_EDGES,
    MOMENTS,
    SIGNS,
    TEXTS,
    numeric,
    single_tests,
)
from tests.matching.test_index import FILTERS, event_of, filter_or_none, found, index_of, scan
from tests.proofs import proof_size

COLUMNS: list[tuple[st.SearchStrategy[object], pa.DataType]] = [
    (st.sampled_from(INTEGERS_AT_EDGES), pa.int64()),
    (st.integers(-9, 9), pa.int8()),
    (st.integers(0, 9), pa.uint64()),
    (st.sampled_from(DOUBLES_AT_EDGES) | st.just(float("nan")), pa.float64()),
    (st.booleans(), pa.bool_()),
    (TEXTS, pa.string()),
    (TEXTS, pa.large_string()),
    (TEXTS, pa.dictionary(pa.int32(), pa.string())),
    (st.sampled_from(MOMENTS), pa.timestamp("us", "UTC")),
    (st.lists(TEXTS, max_size=3, unique=True), pa.list_(pa.string())),
    (st.lists(st.integers(0, 5), max_size=3), pa.list_(pa.int64())),
]


NAMES = st.sampled_from("abcd")
COMPARED = st.builds(
    Comparison,
    st.sampled_from(SIGNS),
    NAMES.map(Name),
    NAMES.map(Name) | numeric(NAMES).filter(lambda node: bool(names_in(node))),
)
"""What no entry can say, of attributes that often nothing else names."""
RESIDUES = (
    st.one_of(COMPARED, st.tuples(COMPARED, single_tests(NAMES)).map(conjunction))
    .map(filter_or_none)
    .filter(lambda one: one is not None and one.has_residue)
)


def as_value(item: object, kind: pa.DataType) -> Value | None:
    if item is None or item != item:
        return None
    if isinstance(item, list):
        return frozenset(item) if kind.value_type == pa.string() else OPAQUE
    return item  # type: ignore[return-value]


@settings(max_examples=proof_size(test=150, soak=10_000))
@given(
    st.data(),
    st.lists(FILTERS, max_size=8),
    st.lists(RESIDUES, max_size=4),
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4),
    st.integers(0, 6),
)
def test_a_row_is_matched_like_the_event_that_it_says(
    data: st.DataObject,
    plain: list[Filter],
    residues: list[Filter],
    kinds: list[tuple[st.SearchStrategy[object], pa.DataType]],
    rows: int,
) -> None:
    filters = dict(enumerate([*plain, *residues]))
    index = FilterIndex()
    index.update(add=filters.items())
    events: list[dict[str, Value]] = [{} for _ in range(rows)]
    columns = {}
    for name in "abcd":
        strategy, kind = data.draw(st.sampled_from(kinds))
        items = data.draw(st.lists(strategy | st.none(), min_size=rows, max_size=rows))
        cut = data.draw(st.integers(0, rows))
        parts = [pa.array(items[:cut], kind), pa.array(items[cut:], kind)]
        columns[name] = pa.chunked_array(parts, kind)
        for event, item in zip(events, items, strict=True):
            value = as_value(item, kind)
            if value is not None:
                event[name] = value
    expected = [scan(filters, event_of(event)) for event in events]
    table = pa.table(columns)
    assert [sorted(ids.tolist()) for ids in index.match_columns(table)] == expected
    start = min(1, rows)
    found = index.match_columns(table.slice(start))
    assert [sorted(ids.tolist()) for ids in found] == expected[start:]


def rows_of(index: FilterIndex, columns: object) -> list[list[int]]:
    return [sorted(ids.tolist()) for ids in index.match_columns(columns)]


ROW = {"a": 5, "b": 5, "c": 7, "x": 1, "s": "xyz", "q": "xyz", "g": ["m"]}
MANY = ", ".join(map(str, range(10, 400)))


@pytest.mark.parametrize(
    "text",
    [
        "a = b",
        "a + b > 1",
        "a <= b",
        "NOT (a < b)",
        "s = q",
        "x = 1 AND a = b",
        "a = b OR s = 'q'",
        "c = 8 OR a = b",
        "'m' IN g AND a = b",
        "s LIKE '%y%' AND a = b",
        "s LIKE 'x%z' AND q LIKE '_y_'",
        "s > 'abcdefghij' AND q < 'zzzzzzzzzz'",
        "s > 'abcdefghij' AND a = b",
        f"a NOT IN ({MANY})",
        f"a NOT IN ({MANY}) AND b NOT IN ({MANY})",
        f"x IN (1, {MANY}) AND c IN (7, {MANY}) AND a = b",
        "a - b = 0 AND nothing IS NULL",
    ],
)
def test_who_verifies_sees_every_attribute_that_the_filter_names(text: str) -> None:
    index = index_of(text)
    other = {**ROW, "a": 20, "b": None, "s": "a", "q": "zzzzzzzzzzz"}
    expected = [[0], []]
    assert Filter.parse(text).matches({**ROW, "g": frozenset("m")})
    assert rows_of(index, pa.Table.from_pylist([ROW, other])) == expected
    assert found(index, ROW, other) == expected
    assert [ids.tolist() for ids in index.match_json(as_json(ROW, other))] == expected


def as_json(*rows: object) -> list[str]:
    return [json.dumps(row) for row in rows]


def test_names_of_verified_filters_outlive_others_that_go() -> None:
    index = index_of("a = b", "c = d", "x > 5")
    table = pa.table({"a": [1], "b": [1], "c": [2], "d": [2]})
    assert rows_of(index, table) == [[0, 1]]
    before = index.snapshot()
    index.remove(0)
    index.add(3, Filter.parse("late = x"))
    assert rows_of(index, table) == [[1]]
    assert rows_of(index, pa.table({"late": [1], "x": [1]})) == [[3]]
    assert before.match_columns(pa.table({"late": [1], "x": [1]})).ids.tolist() == []


def test_what_a_column_has_no_value_for_is_refused_by_who_verifies() -> None:
    offsets = pa.py_buffer(np.array([0, 2], np.int64))
    broken = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    far = pa.array([2**62], pa.timestamp("us", "UTC"))
    index = index_of("a = b")
    for column in (broken, far):
        with pytest.raises(MatchingError, match=r"the column `[ab]` has no value in row 0: "):
            index.match_columns({"a": column, "b": column})
    nowhere = pa.array([1], pa.timestamp("ms", "Nowhere/Known"))
    assert rows_of(index, {"a": nowhere, "b": nowhere}) == [[0]]


def test_numpy_arrays_and_record_batches_are_columns_too() -> None:
    index = index_of("a = 'x'", "b > 5", "c = TRUE", "d IS NULL", "t > TIMESTAMP '2026-01-01'")
    columns: dict[str, object] = {
        "a": np.array(["x", "y"]),
        "b": np.array([5.5, np.nan]),
        "c": np.array([True, False]),
        "d": np.array([1, 2], np.int32),
        "t": pa.array([datetime(2026, 5, 1, tzinfo=UTC), None]),
    }
    assert rows_of(index, columns) == [[0, 1, 2, 4], []]
    assert rows_of(index, pa.RecordBatch.from_pydict({"a": ["x", None]})) == [[0, 3], [3]]
    assert rows_of(index, {"a": np.array(["x", None], object)}) == [[0, 3], [3]]


def test_structs_are_flattened_to_dotted_names() -> None:
    index = index_of("who.desk = 7", "who.name LIKE '%n%'")
    table = pa.table({"who": [{"desk": 7, "name": "Ann"}, {"desk": 8, "name": None}, None]})
    assert rows_of(index, table) == [[0, 1], [], []]


def test_columns_that_no_filter_asks_about_are_only_counted() -> None:
    index = index_of("TRUE", "x IS NULL")
    assert rows_of(index, {"z": np.zeros(3, np.complex64).real}) == [[0, 1]] * 3
    assert rows_of(index, pa.table({"z": pa.nulls(2)})) == [[0, 1]] * 2
    assert rows_of(index, {}) == []


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"a": np.array([1, "x"], object)}, "the column `a` isn't of one type: "),
        ({"a": [1, "x"]}, "the column `a` isn't of one type: "),
        ({"a": [1], "b": [1, 2]}, "the columns of a batch are of one length, not [1, 2]"),
        ({"a": [float("inf")]}, "the column `a` holds an infinity"),
        ({"a": np.array([2**64 - 1], np.uint64)}, "the column `a`: "),
        ({"a": pa.array([0], pa.timestamp("us"))}, "the column `a` has timestamps without a zone"),
        ({"a": pa.array([1], pa.timestamp("ns", "UTC"))}, "the column `a`: "),
        ({"a": pa.array([["x", None]])}, "a set of texts has no nulls among its members"),
        (
            {"a.b": [1], "a": pa.array([{"b": 1}])},
            "two columns have the name `a.b`",
        ),
    ],
)
def test_a_batch_that_is_no_events_is_refused(columns: object, why: str) -> None:
    index = index_of("a = 1", "b = 1")
    with pytest.raises(MatchingError) as refusal:
        index.match_columns(columns)
    assert str(refusal.value).startswith(why)
    assert rows_of(index, {"a": [1]}) == [[0]]


def test_no_value_of_a_column_becomes_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of("a = 'x' AND b > 5")
    columns: Sequence[object] = ["x", "y"]
    table = pa.table({"a": columns, "b": [6, 7]})

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("headgate.matching.columns._value", refuse)
    assert rows_of(index, table) == [[0], []]
