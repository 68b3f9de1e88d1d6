"""Does each text, and each other value, have one number, whatever comes after it?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.matching.compiled import Ints, address_of
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
    return asked(texts.addresses(), text)


def asked(table: Ints, text: bytes, seed: int = 5) -> int:
    data = np.frombuffer(b"<" + text + b">" * 8, np.uint8).copy()
    start = address_of(data) + 1
    return find_text(address_of(table), start, len(text), text_hash(seed, start, len(text)))


@given(
    st.lists(
        st.lists(st.binary(max_size=6) | st.binary(min_size=7, max_size=20), max_size=30),
        max_size=8,
    )
)
def test_equal_texts_have_one_number_and_others_none(batches: list[list[bytes]]) -> None:
    texts = Texts(seed=5)
    numbers: dict[bytes, int] = {}
    for batch in batches:
        for text, number in zip(batch, texts.add(batch).tolist(), strict=True):
            assert numbers.setdefault(text, number) == number
    assert sorted(numbers.values()) == list(range(len(numbers)))
    assert all(number_of(texts, text) == number for text, number in numbers.items())
    assert number_of(texts, b"longer than any") == UNKNOWN


def test_a_text_that_came_later_is_unknown_to_an_older_version() -> None:
    texts = Texts(seed=5)
    texts.add([b"a"])
    before = texts.addresses()
    texts.add([b"b"])
    assert asked(before, b"b") == UNKNOWN
    assert number_of(texts, b"b") == 1


def test_texts_with_one_hash_are_told_apart() -> None:
    texts = Texts(seed=5)
    texts.add([b"a"])
    data = np.frombuffer(b"ab" + bytes(8), np.uint8).copy()
    start = address_of(data)
    table = texts.addresses()
    state = text_hash(5, start, 1)
    assert find_text(address_of(table), start, 1, state) == 0
    assert find_text(address_of(table), start + 1, 1, state) == UNKNOWN
    assert find_text(address_of(table), start, 2, state) == UNKNOWN


def test_hashes_hang_on_the_seed() -> None:
    data = np.frombuffer(b"some text" + bytes(8), np.uint8).copy()
    assert len({text_hash(seed, address_of(data), 9) for seed in range(100)}) == 100


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
    assert all(
        find_number(address_of(addresses), *value) == number for value, number in known.items()
    )
    assert find_number(address_of(addresses), 0, 5) == UNKNOWN


def test_a_value_that_came_later_is_unknown_to_an_older_version() -> None:
    numbers = Numbers(seed=5)
    numbers.add([(4, 1)])
    before = numbers.addresses()
    numbers.add([(4, rank) for rank in range(2, 20)])
    assert find_number(address_of(before), 4, 1) == NUMBERS_FROM
    assert find_number(address_of(before), 4, 2) == UNKNOWN
    assert find_number(address_of(numbers.addresses()), 4, 19) == NUMBERS_FROM + 18
