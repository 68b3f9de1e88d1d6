"""Does each text, and each other value, have one number, whatever comes after it?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.matching.symbols import (
    NUMBERS_FROM,
    UNKNOWN,
    Numbers,
    Texts,
    find_number,
    find_text,
    text_hash,
)


def number_of(texts: Texts, text: bytes) -> int:
    data = np.frombuffer(b"<" + text + b">", np.uint8).copy()
    state = text_hash(data, 1, len(text))
    return find_text(texts.addresses(), 0, data, 1, len(text), state)


@given(st.lists(st.lists(st.binary(max_size=6), max_size=30), max_size=8))
def test_equal_texts_have_one_number_and_others_none(batches: list[list[bytes]]) -> None:
    texts = Texts()
    numbers: dict[bytes, int] = {}
    for batch in batches:
        for text, number in zip(batch, texts.add(batch).tolist(), strict=True):
            assert numbers.setdefault(text, number) == number
    assert sorted(numbers.values()) == list(range(len(numbers)))
    assert all(number_of(texts, text) == number for text, number in numbers.items())
    assert number_of(texts, b"longer than any") == UNKNOWN


def test_a_text_that_came_later_is_unknown_to_an_older_version() -> None:
    texts = Texts()
    texts.add([b"a"])
    before = texts.addresses()
    texts.add([b"b"])
    data = np.frombuffer(b"b", np.uint8).copy()
    assert find_text(before, 0, data, 0, 1, text_hash(data, 0, 1)) == UNKNOWN
    assert number_of(texts, b"b") == 1


def test_texts_with_one_hash_are_told_apart() -> None:
    texts = Texts()
    texts.add([b"a"])
    data = np.frombuffer(b"ab", np.uint8).copy()
    state = text_hash(data, 0, 1)
    assert find_text(texts.addresses(), 0, data, 0, 1, state) == 0
    assert find_text(texts.addresses(), 0, data, 1, 1, state) == UNKNOWN
    assert find_text(texts.addresses(), 0, data, 0, 2, state) == UNKNOWN


VALUES = st.tuples(st.integers(1, 7), st.integers(-(2**63), 2**63 - 1))


@given(st.lists(st.lists(VALUES, max_size=40), max_size=8))
def test_equal_values_have_one_number(batches: list[list[tuple[int, int]]]) -> None:
    numbers = Numbers()
    known: dict[tuple[int, int], int] = {}
    for batch in batches:
        for value, number in zip(batch, numbers.add(batch).tolist(), strict=True):
            assert known.setdefault(value, number) == number >= NUMBERS_FROM
    assert len(set(known.values())) == len(known)
    addresses = numbers.addresses()
    assert all(find_number(addresses, 0, *value) == number for value, number in known.items())
    assert find_number(addresses, 0, 0, 5) == UNKNOWN
