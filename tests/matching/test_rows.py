"""Are columns read where Arrow keeps them, and never beyond?"""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headgate.matching.refusals import MatchingError
from tests.matching.test_columns import rows_of
from tests.matching.test_index import index_of


def texts_with(offsets: list[int], data: bytes) -> Any:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int64)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


@pytest.mark.parametrize("offsets", [[0, 9, 3], [2, 1, 3], [0, -4, 3], [0, 2**40, 3]])
def test_offsets_that_lead_astray_are_refused(offsets: list[int]) -> None:
    index = index_of("a = 'x'", "'x' IN a")
    texts = texts_with(offsets, b"xyz")
    with pytest.raises(MatchingError, match="the column `a`"):
        index.match_columns({"a": texts})
    buffers = [None, pa.py_buffer(np.array([0, 2, 2], np.int64))]
    sets = pa.Array.from_buffers(pa.large_list(pa.large_string()), 2, buffers, children=[texts])
    with pytest.raises(MatchingError, match="the column `a`"):
        index.match_columns({"a": sets})


def test_members_beyond_those_there_are_are_refused() -> None:
    members = pa.array(["x", "y"], pa.large_string())
    buffers = [None, pa.py_buffer(np.array([0, 2**20, 2], np.int64))]
    sets = pa.Array.from_buffers(pa.large_list(pa.large_string()), 2, buffers, children=[members])
    with pytest.raises(MatchingError, match="the column `a`"):
        index_of("'x' IN a").match_columns({"a": sets})


def test_every_row_of_a_slice_is_read_where_it_is() -> None:
    index = index_of("a", "b > 2", "'x' IN s", "d = 'x'", "t IS NOT NULL", "s IS NULL")
    a = pa.array([None, True, False, True] * 5)
    b = pa.array([None, 1.5, 2.5, float("nan"), 3.5] * 4)
    s = pa.array([["x"], None, [], ["y", "x", "x"], ["y"]] * 4)
    d = pa.array(["x", None, "y", "x"] * 5).dictionary_encode()
    table = pa.table({"a": a, "b": b, "s": s, "d": d, "t": pa.nulls(20)})
    expected = [
        sorted(
            number
            for number, holds in enumerate(
                [
                    row["a"] is True, (row["b"] or 0) > 2, "x" in (row["s"] or ()),
                    row["d"] == "x", False, row["s"] is None,
                ]
            )
            if holds
        )
        for row in table.to_pylist()
    ]  # fmt: skip
    for start in range(20):
        for size in (1, 3, 20 - start):
            sliced = table.slice(start, size)
            assert rows_of(index, sliced) == expected[start : start + size]


def test_numpy_columns_are_read_whatever_their_memory_is_like() -> None:
    index = index_of("a > 5", "b > 5")
    plain = np.arange(10)
    expected = [[], [], [], [], [], [], [0], [0], [0], [0]]
    frozen = plain.copy()
    frozen.flags.writeable = False
    for column in (plain[::-1][::-1], frozen, plain.astype(">i8"), plain.astype(">f4"),
                   np.repeat(plain, 2)[::2], plain.astype(np.float16)):  # fmt: skip
        assert rows_of(index, {"a": column}) == expected
