"""Do entries with one address come together, the small groups of them mixed?"""

import numpy as np

from headgate.matching.layout import MIXED
from headgate.matching.sorting import Groups, grouped
from tests.matching.test_writing import raw_of


def groups_of(*texts: str) -> list[tuple[list[int], int, bool]]:
    """The slots of each group, how many lines it is about, and whether it is mixed."""
    raw = raw_of(*texts)
    groups = grouped(raw, seed=7)
    check_order(groups, len(raw))
    ends, sizes = groups.starts.tolist(), np.diff(groups.line_ends).tolist()
    return [
        (
            sorted(raw.slots[groups.order[start:end]].tolist()),
            lines,
            bool(flags & MIXED),
        )
        for start, end, lines, flags in zip(
            ends[:-1], ends[1:], sizes, groups.flags.tolist(), strict=True
        )
    ]


def check_order(groups: Groups, size: int) -> None:
    assert sorted(groups.order.tolist()) == list(range(size))
    assert groups.starts[0] == 0
    assert groups.starts[-1] == size
    assert np.all(np.diff(groups.starts) > 0)
    assert np.all(np.diff(groups.buckets) >= 0)


def test_small_groups_of_one_bucket_are_mixed() -> None:
    assert groups_of(
        "a = 1", "a = 1 AND b > 5", "a = 2 AND b > 7", "a = 1 AND b < 9 AND c > 1"
    ) == [
        ([0, 1, 3], 3, True),
        ([2], 1, False),
    ]


def test_large_groups_stay_alone_and_are_sorted_by_their_bounds() -> None:
    large = [f"a = 1 AND b > {(7 * number) % 50}" for number in range(50)]
    assert groups_of("a = 1 AND b > 5 AND c > 5", "a = 1", *large) == [
        (list(range(2, 52)), 1, False),
        ([0, 1], 2, True),
    ]
    raw = raw_of(*large)
    assert np.all(np.diff(raw.test_bounds[grouped(raw, seed=0).order]) >= 0)


def test_mixed_groups_are_about_a_few_lines() -> None:
    found = groups_of(*(f"a = 1 AND b{number} > 5" for number in range(20)))
    assert [lines for _, lines, _ in found] == [6, 6, 6, 2]
    assert sum(len(slots) for slots, _, _ in found) == 20


def test_what_has_to_be_sifted_is_not_mixed_with_what_has_not() -> None:
    assert groups_of("a = 1", "a = 1 AND b <> 'x'", "a = 1 AND b > 'x'") == [
        ([0, 2], 1, True),
        ([1], 0, False),
    ]


def test_wide_ranges_are_parted_from_narrow_ones() -> None:
    narrow = [f"b BETWEEN {number} AND {number + 1}" for number in range(100)]
    wide = [f"b BETWEEN {number} AND {number + 1_000}" for number in range(100)]
    assert groups_of(*narrow, *wide) == [
        (list(range(100)), 2, False),
        (list(range(100, 200)), 2, False),
    ]
