"""What is a segment made from? Entries in the order in which they come, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headgate.matching.compiled import Ints, Shorts

CODES: Final = 5


@dataclass(frozen=True, slots=True)
class Raw:
    """Entries in any order."""

    slots: Shorts
    signatures: Shorts
    codes: Shorts  # CODES in a row, -1 behind the last one
    flags: Shorts
    test_ends: Ints
    test_lines: Shorts
    test_bounds: Ints
    check_ends: Ints
    checks: Shorts

    def __len__(self) -> int:
        return len(self.slots)


def joined(raws: list[Raw]) -> Raw:
    """All entries, one part behind the other."""
    if len(raws) == 1:
        return raws[0]
    plain = ("slots", "signatures", "codes", "flags", "test_lines", "test_bounds", "checks")
    values: dict[str, Any] = {
        name: np.concatenate([getattr(raw, name) for raw in raws]) for name in plain
    }
    for name in ("test_ends", "check_ends"):
        ends = [getattr(raw, name) for raw in raws]
        before = np.cumsum([0, *(end[-1] if len(end) else 0 for end in ends[:-1])])
        values[name] = np.concatenate([end + add for end, add in zip(ends, before, strict=True)])
    return Raw(**values)


def some_of(raw: Raw, mask: NDArray[np.bool_]) -> Raw:
    """The entries that the mask keeps, in their order."""
    if mask.all():
        return raw
    tests, checks = (np.diff(ends, prepend=0) for ends in (raw.test_ends, raw.check_ends))
    some_tests, some_checks = np.repeat(mask, tests), np.repeat(mask, checks)
    return Raw(
        raw.slots[mask],
        raw.signatures[mask],
        raw.codes[mask],
        raw.flags[mask],
        np.cumsum(tests[mask]),
        raw.test_lines[some_tests],
        raw.test_bounds[some_tests],
        np.cumsum(checks[mask]),
        raw.checks[some_checks],
    )
