"""How fast is the straightforward way? Every constraint that an event meets is counted.

Constraints on the same attribute lie together: those of an equality by its value, bounds in their
order. An event goes through all constraints that it meets and counts them, filter by filter; a
filter of which all are met matches. It is compiled, and is handed events as numbers: what reading
costs is not in its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from bench.support.rules import Rule

BEGINNINGS = (2, 4, 6)
_RANGED = ("price", "volume")
_PLAIN = ("symbol", "type", "region", "venue", "urgent")
_COLUMNS = [*_PLAIN, *(f"name {length}" for length in BEGINNINGS)]

Ints = NDArray[np.int32]
Numbers = NDArray[np.float64]


def _asked(event: Mapping[str, Any]) -> list[object]:
    name = event["name"]
    return [*(event[column] for column in _PLAIN), *(name[:length] for length in BEGINNINGS)]


class CountingIndex:
    """All rules at once; it can't be changed."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        equal: list[dict[object, list[int]]] = [{} for _ in _COLUMNS]
        bounds: list[list[tuple[float, int]]] = [[] for _ in range(2 * len(_RANGED))]
        needed = []
        for number, rule in enumerate(rules):
            needed.append(0)
            for name, sign, value in rule:
                if sign in ("=", "begins"):
                    column = name if sign == "=" else f"name {len(value)}"
                    equal[_COLUMNS.index(column)].setdefault(value, []).append(number)
                    needed[-1] += 1
                    continue
                at = 2 * _RANGED.index(name)
                low, high = value if sign == "between" else (value, value)
                if sign != "<=":
                    bounds[at].append((low, number))
                    needed[-1] += 1
                if sign != ">=":
                    bounds[at + 1].append((-high, number))
                    needed[-1] += 1
        self._codes: list[dict[object, int]] = []
        self._write_equal(equal)
        self._bounds = [np.array([bound for bound, _ in sorted(some)]) for some in bounds]
        self._ranged = [np.array([one for _, one in sorted(some)], np.int32) for some in bounds]
        self._needed = np.array(needed, np.uint8)

    def _write_equal(self, equal: list[dict[object, list[int]]]) -> None:
        """Number the values of all columns, so that one table leads to their rules."""
        ends = [0]
        members: list[int] = []
        for values in equal:
            self._codes.append({value: len(ends) - 1 + at for at, value in enumerate(values)})
            for some in values.values():
                members += some
                ends.append(len(members))
        self._ends = np.array(ends, np.int64)
        self._members = np.array(members, np.int32)

    def read(self, events: list[dict[str, Any]]) -> tuple[Ints, Numbers]:
        """The events as numbers, whose time isn't counted."""
        codes = [
            [known.get(value, -1) for known, value in zip(self._codes, _asked(event), strict=True)]
            for event in events
        ]
        numbers = [[event[name] for name in _RANGED] for event in events]
        return np.array(codes, np.int32), np.array(numbers, np.float64)

    def match(self, codes: Ints, numbers: Numbers) -> tuple[NDArray[np.int64], Ints]:
        """As `Matches`: where the rules of each event end, and the rules."""
        ends = np.zeros(len(codes) + 1, np.int64)
        found = np.empty(len(codes) * len(self._needed), np.int32)
        counts = np.zeros(len(self._needed), np.uint8)
        used = _count(
            codes, numbers, self._ends, self._members, *self._bounds, *self._ranged,
            self._needed, counts, ends, found,
        )  # fmt: skip
        return ends, found[:used]


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _count(
    codes: Any, numbers: Any, members_ends: Any, members: Any,
    low0: Any, high0: Any, low1: Any, high1: Any,
    ids0: Any, ids1: Any, ids2: Any, ids3: Any,
    needed: Any, counts: Any, ends: Any, found: Any,
) -> int:  # fmt: skip
    used = 0
    for event in range(len(codes)):
        counts[:] = 0
        for column in range(codes.shape[1]):
            code = codes[event, column]
            if code >= 0:
                met = members[members_ends[code] : members_ends[code + 1]]
                used = _meet(met, needed, counts, found, used)
        first, second = numbers[event, 0], numbers[event, 1]
        used = _meet(ids0[: np.searchsorted(low0, first, "right")], needed, counts, found, used)
        used = _meet(ids1[: np.searchsorted(high0, -first, "right")], needed, counts, found, used)
        used = _meet(ids2[: np.searchsorted(low1, second, "right")], needed, counts, found, used)
        used = _meet(ids3[: np.searchsorted(high1, -second, "right")], needed, counts, found, used)
        ends[event + 1] = used
    return used


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _meet(met: Any, needed: Any, counts: Any, found: Any, used: int) -> int:
    for rule in met:
        counts[rule] += 1
        if counts[rule] == needed[rule]:
            found[used] = rule
            used += 1
    return used
