"""Has each word of the tables that compiled code is handed a place of its own?"""

from headgate.matching import layout
from headgate.matching.symbols import TABLE_WORDS


def values(first: str, last: str) -> list[int]:
    names = [name for name in vars(layout) if name.isupper()]
    return [getattr(layout, name) for name in names[names.index(first) : names.index(last) + 1]]


def test_no_two_words_of_a_table_have_one_place() -> None:
    for words, size in (
        (values("SEGMENTS", "FIRST_SEGMENT"), layout.FIRST_SEGMENT + 1),
        (values("BUCKET_SLOTS", "CHECKS"), layout.SEGMENT_WORDS),
        (values("OFFSETS", "WANTED"), layout.WORKSPACE_WORDS),
        (values("BUCKET_SIGNATURE", "BUCKET_CODES"), layout.BUCKET_HEAD),
        (values("GROUP_SIZE", "GROUP_START"), layout.GROUP_HEAD),
    ):
        assert len(set(words)) == len(words)
        assert max(words) < size


def test_the_tables_of_symbols_fit_between_the_words() -> None:
    assert layout.TEXTS - layout.NAMES == layout.NUMBERS - layout.TEXTS == TABLE_WORDS
    assert layout.NAME_COLUMNS >= layout.NUMBERS + TABLE_WORDS
