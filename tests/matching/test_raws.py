"""Do entries keep what they demand when some are left out and others come behind them?"""

import numpy as np

from headgate.matching.raws import Raw, joined, some_of
from tests.matching.test_writing import raw_of

TEXTS = ["a = 'x' AND c > 5 AND c < 9", "b = 'y'", "a <> 'z'", "a = 1 AND c > 2", "b NOT IN ('p')"]


def said(raw: Raw) -> list[object]:
    """What each entry says, one by one."""
    tests = zip([0, *raw.test_ends.tolist()], raw.test_ends.tolist(), strict=False)
    checks = zip([0, *raw.check_ends.tolist()], raw.check_ends.tolist(), strict=False)
    return [
        (
            raw.slots[at], raw.signatures[at], raw.codes[at].tolist(), raw.flags[at],
            raw.test_lines[slice(*test)].tolist(), raw.test_bounds[slice(*test)].tolist(),
            raw.checks[slice(*check)].tolist(),
        )
        for at, (test, check) in enumerate(zip(tests, checks, strict=True))
    ]  # fmt: skip


def test_some_entries_are_kept_with_all_that_is_theirs() -> None:
    raw = raw_of(*TEXTS)
    before = said(raw)
    for number in range(32):
        mask = np.array([number >> at & 1 == 1 for at in range(len(TEXTS))])
        kept = [one for one, wanted in zip(before, mask.tolist(), strict=True) if wanted]
        assert said(some_of(raw, mask)) == kept


def test_joined_entries_come_one_part_behind_the_other() -> None:
    raw = raw_of(*TEXTS)
    nobody = some_of(raw, np.zeros(len(TEXTS), np.bool_))
    assert said(joined([raw, nobody, raw])) == said(raw) * 2
    assert joined([raw]) is raw
