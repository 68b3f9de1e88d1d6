"""Do the numbers that a segment is sorted from say what the entries say?"""

from headgate.filters.filter import Filter
from headgate.matching import layout
from headgate.matching.directory import Directory
from headgate.matching.entries import entries_of
from headgate.matching.raws import Raw
from headgate.matching.writing import RawWriter


def raw_of(*texts: str) -> Raw:
    writer = RawWriter(Directory())
    for slot, text in enumerate(texts):
        writer.add(slot, entries_of(Filter.parse(text)))
    return writer.raw()


def test_each_entry_has_its_codes_tests_and_checks() -> None:
    raw = raw_of(
        "a = 'x' AND b = 'y'", "a = 'y' AND c > 5 AND c < 9", "b = 'x' AND a <> 'z'", "TRUE"
    )
    assert raw.slots.tolist() == [0, 1, 3, 2], "what is checked is written last"
    x, y = raw.codes[0, :2].tolist()
    assert raw.codes[:, 0].tolist() == [x, y, -1, x]
    assert raw.codes[:, 1].tolist() == [y, -1, -1, -1]
    assert raw.test_ends.tolist() == [0, 2, 2, 2]
    assert raw.test_lines.tolist() == [0, 1]
    assert raw.flags.tolist() == [0, 0, 0, layout.CHECKED]


def test_both_sides_of_a_range_come_before_one_side_of_another() -> None:
    raw = raw_of("a > 5 AND b BETWEEN 1 AND 2")
    first, second, _ = raw.test_lines.tolist()
    assert first + 1 == second


def test_entries_that_may_fit_together_and_those_to_be_verified_are_marked() -> None:
    raw = raw_of("a = 1 OR b = 2", "a LIKE '%x%'")
    overlapping = layout.OVERLAPPING
    assert raw.flags.tolist() == [overlapping, overlapping, overlapping | layout.VERIFIED]
