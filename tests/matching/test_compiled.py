"""Is compiled code kept, thrown away when what it calls has changed, and not needed on disk?"""

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.matching.compiled import (
    address_of,
    address_of_bytes,
    compiled,
    copy_shorts,
    eight_octets,
    folded,
    lanes_up_to,
    long,
    octet,
    pack_counted,
    pack_shorts,
    put_long,
    put_octet,
    put_short,
    short,
    zeros_below,
)

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
    longs, shorts = np.array([1, -(2**63)], np.int64), np.array([0, -200, 7], np.int32)
    octets = np.array([1, 200, 3, 0, 0, 0, 0, 0], np.uint8)
    assert long(address_of(longs), 1) == -(2**63)
    assert short(address_of(shorts), 1) == -200
    assert octet(address_of(octets), 1) == 200
    assert eight_octets(address_of(octets)) == 1 + 200 * 256 + 3 * 65_536
    put_long(address_of(longs), 0, 2**62)
    put_short(address_of(shorts), 0, -5)
    put_octet(address_of(octets), 2, 255)
    assert (longs[0], shorts[0], octets[2]) == (2**62, -5, 255)
    data = b"\x07xyz"
    assert octet(address_of_bytes(data), 0) == 7


def test_shorts_are_copied_in_lines() -> None:
    source, target = np.arange(40, dtype=np.int32), np.full(40, -1, np.int32)
    copy_shorts(address_of(target), address_of(source), 11)
    assert target[:11].tolist() == list(range(11))
    assert set(target[16:].tolist()) == {-1}


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_a_folded_product_has_both_halves(one: int, other: int) -> None:
    product = (one % 2**64) * (other % 2**64)
    assert folded(one, other) % 2**64 == (product % 2**64) ^ (product >> 64)


def test_zeros_are_counted_below_the_lowest_one() -> None:
    assert [zeros_below(word) for word in (1, 8, -(2**63), 0)] == [0, 3, 63, 64]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=8, max_size=8), st.data())
def test_lanes_say_which_longs_are_small_enough(longs: list[int], data: st.DataObject) -> None:
    most = data.draw(st.sampled_from(longs) | st.integers(-(2**63), 2**63 - 1))
    lanes = lanes_up_to(address_of(np.array(longs, np.int64)), most)
    assert lanes == sum(1 << at for at, one in enumerate(longs) if one <= most)


@given(st.integers(0, 255))
def test_chosen_lanes_are_written_one_behind_the_other(lanes: int) -> None:
    shorts, target = np.arange(-3, 5, dtype=np.int32), np.full(9, 99, np.int32)
    chosen = [at for at in range(8) if lanes >> at & 1]
    assert pack_shorts(address_of(target), address_of(shorts), lanes) == len(chosen)
    assert target[: len(chosen)].tolist() == [at - 3 for at in chosen]
    assert pack_counted(address_of(target), 70, lanes) == len(chosen)
    assert target[: len(chosen)].tolist() == [at + 70 for at in chosen]
    assert target[8] == 99


LATER = """
from headgate.matching.compiled import compiled

@compiled
def called(number):
    return later(number)

@compiled
def later(number):
    return number + {added}
"""


def test_code_is_kept_until_something_changes_that_is_defined_below_its_caller(
    tmp_path: Path,
) -> None:
    (tmp_path / "calling.py").write_text(CALLING)
    (tmp_path / "called.py").write_text(LATER.format(added=1))
    assert run(tmp_path) == "42 0"
    assert run(tmp_path) == "42 1"
    (tmp_path / "called.py").write_text(LATER.format(added=2))
    assert run(tmp_path) == "44 0"


CONSTANTS = "WIDTH = {width}\n"
READING = """
import constants
from headgate.matching.compiled import compiled

@compiled
def calling():
    return constants.WIDTH

print(calling(), sum(calling.stats.cache_hits.values()))
"""


def test_code_is_kept_until_a_constant_of_a_module_changes(tmp_path: Path) -> None:
    (tmp_path / "calling.py").write_text(READING)
    (tmp_path / "constants.py").write_text(CONSTANTS.format(width=7))
    assert run(tmp_path) == "7 0"
    assert run(tmp_path) == "7 1"
    (tmp_path / "constants.py").write_text(CONSTANTS.format(width=90))
    assert run(tmp_path) == "90 0"
