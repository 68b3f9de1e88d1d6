"""Is the version in force at an offset the latest that began there or before?"""

from __future__ import annotations

from random import Random

import pytest

from headgate.rights.rules import PolicyError
from headgate.rights.starting_points import StartingPoints
from headgate.simulation.service_model import version_at
from tests.proofs import proof_size


def began(*points: tuple[int, str, int]) -> StartingPoints:
    made = StartingPoints()
    for version, stream, offset in points:
        made.begin(version, stream, offset)
    return made


def test_the_starting_points_of_figure_1_hold_to_the_message() -> None:
    points = began((1, "s", 100), (2, "s", 103), (3, "s", 106))
    versions = [points.version_at("s", offset) for offset in range(99, 109)]
    assert versions == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_each_stream_has_its_own_starting_points() -> None:
    points = began((1, "s", 5), (1, "t", 0), (2, "t", 9))
    assert [points.version_at(stream, 7) for stream in ("s", "t", "unknown")] == [1, 1, 0]
    assert points.of_version(1) == {"s": 5, "t": 0}
    assert points.of_version(2) == {"t": 9}
    assert points.of_version(3) == {}


def test_of_two_versions_that_begin_at_one_message_the_later_holds() -> None:
    points = began((1, "s", 5), (2, "s", 5))
    assert points.version_at("s", 4) == 0
    assert points.version_at("s", 5) == 2


def test_a_version_that_a_stream_skipped_began_with_the_next_one() -> None:
    points = began((1, "s", 5), (3, "s", 8))
    assert points.of_version(2) == {"s": 8}
    assert points.version_at("s", 7) == 1


@pytest.mark.parametrize(("version", "offset"), [(2, 9), (1, 9), (3, 6), (2, 6)])
def test_versions_and_starting_points_only_grow(version: int, offset: int) -> None:
    points = began((1, "s", 3), (2, "s", 7))
    with pytest.raises(PolicyError, match=r"version 2 began at 7.*only grow"):
        points.begin(version, "s", offset)
    assert points.of_version(1) == {"s": 3}
    assert points.version_at("s", 100) == 2


def test_the_version_in_force_is_what_looking_at_all_of_them_says() -> None:
    random = Random(9)
    for _ in range(proof_size(test=100, soak=2_000)):
        points, made, offset = [], StartingPoints(), 0
        for version in sorted(random.sample(range(1, 30), random.randrange(12))):
            offset += random.randrange(4)
            points.append((version, offset))
            made.begin(version, "s", offset)
        for offset in range(40):
            assert made.version_at("s", offset) == version_at(points, offset)
