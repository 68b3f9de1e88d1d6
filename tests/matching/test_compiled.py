"""Is compiled code kept, thrown away when what it calls has changed, and not needed on disk?"""

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from headgate.matching.compiled import address_of, address_of_bytes, compiled, ints, octets, shorts

CALLED = """
from headgate.matching.compiled import compiled

@compiled
def called(number):
    return number + {added}
"""
CALLING = """
import sys
from headgate.matching.compiled import compiled
from called import called

@compiled
def calling(number):
    return 2 * called(number)

print(calling(int(sys.argv[1])), sum(calling.stats.cache_hits.values()))
"""


def run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "calling.py", "20"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_code_is_kept_until_something_that_it_calls_changes(tmp_path: Path) -> None:
    (tmp_path / "calling.py").write_text(CALLING)
    (tmp_path / "called.py").write_text(CALLED.format(added=1))
    assert run(tmp_path) == "42 0"
    assert run(tmp_path) == "42 1"
    (tmp_path / "called.py").write_text(CALLED.format(added=2))
    assert run(tmp_path) == "44 0"


def test_without_a_place_for_code_it_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = numba.njit

    def njit(function: object, cache: bool = False) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return plain(function)

    monkeypatch.setattr(numba, "njit", njit)

    @compiled
    def twice(number: int) -> int:
        return 2 * number

    assert twice(21) == 42


def test_what_is_behind_an_address_is_the_array() -> None:
    @compiled
    def first(long: int, short: int, data: bytes) -> int:
        total: int = ints(long)[0] + shorts(short)[1] + octets(address_of_bytes(data))[2]
        return total

    longs, shorts_ = np.array([1_000], np.int64), np.array([0, 200], np.int32)
    assert first(address_of(longs), address_of(shorts_), b"\0\0\x07") == 1_207
