"""Are numbers read to the last bit, and those left alone that would take more steps?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.matching.compiled import OCTETS_BEHIND, address_of
from headgate.matching.numbers import number_end
from tests.matching.test_index import index_of


def end_of(text: str) -> int:
    """How much of a text is read as a number, where no filter asks for it."""
    data = np.frombuffer(text.encode() + bytes(OCTETS_BEHIND), np.uint8).copy()
    start = address_of(data)
    found = number_end(0, 0, -1, start, start + len(text))
    return found - start if found >= 0 else -1


def test_numbers_end_where_json_says() -> None:
    assert [end_of(text) for text in ("0", "-5", "12,3", "1.5}", "1e5 ", "2E-07]")] == [
        1, 2, 2, 3, 3, 5,
    ]  # fmt: skip
    assert [end_of(text) for text in ("-", "01", "1.", "1e", "1e+", "-0", "+1", ".5")] == [-1] * 8
    assert [end_of(text) for text in ("1" * 18, "1" * 19, "1e279", "1e290", "1e0001")] == [
        18, -1, 5, -1, -1,
    ]  # fmt: skip


@given(st.integers(0, 2**53), st.integers(0, 30), st.booleans())
def test_a_decimal_number_is_the_nearest_double(mantissa: int, places: int, negative: bool) -> None:
    digits = f"{mantissa:0{places + 1}d}"
    text = (
        ("-" if negative else "")
        + digits[: len(digits) - places]
        + "."
        + digits[len(digits) - places :]
    )
    text += "0" if text.endswith(".") else ""
    value = float(text)
    index = index_of(f"a = {value!r}", f"a < {value!r}", f"a > {value!r}", "a IS DOUBLE")
    assert sorted(index.match_json([f'{{"a":{text}}}']).ids.tolist()) == [0, 3]
