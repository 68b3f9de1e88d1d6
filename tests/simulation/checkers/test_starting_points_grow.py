"""Is a reported starting point without its marker seen, or one that moves?"""

import pytest

from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.checkers.starting_points_grow import StartingPointsGrow
from tests.simulation.scenes import Scene


def make_scene() -> Scene:
    """Version 1 begins at 1, versions 2 and 3 at 3."""
    scene = Scene(lambda ledger, timeline: StartingPointsGrow(ledger))
    for body, version in ((None, 1), ({"a": 1}, 1), (None, 3), ({"a": 2}, 3)):
        scene.log(body, version)
    return scene


def test_the_offset_of_a_marker_is_the_start_of_its_version_and_of_those_it_skipped() -> None:
    scene = make_scene()
    for version, offset in ((1, 1), (3, 3), (2, 3), (2, 3)):
        scene.see("starting_point", version, "orders", offset)
    scene.see("at_rest")


@pytest.mark.parametrize(
    ("version", "offset"), [(1, 2), (2, 1), (1, 3), (4, 3), (3, 4), (3, 9), (2, 4)]
)
def test_any_other_offset_breaks_the_promise(version: int, offset: int) -> None:
    scene = make_scene()
    with pytest.raises(PromiseBroken) as broken:
        scene.see("starting_point", version, "orders", offset)
    assert broken.value.promise == "starting_points_grow"


def test_a_starting_point_that_moves_breaks_the_promise() -> None:
    scene = make_scene()
    scene.see("starting_point", 3, "orders", 3)
    with pytest.raises(PromiseBroken, match="3, as reported before"):
        scene.see("starting_point", 3, "orders", 4)
