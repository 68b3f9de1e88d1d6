"""Is a version that goes back seen, or one that nobody made?"""

import pytest

from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.checkers.versions_never_go_back import VersionsNeverGoBack
from tests.simulation.scenes import ALL_CONNECT, ANN_READS, PAM_WRITES, Scene


def make_scene() -> Scene:
    scene = Scene(lambda ledger, timeline: VersionsNeverGoBack(ledger))
    scene.version(ANN_READS)
    scene.version(ALL_CONNECT)
    return scene


def test_versions_that_grow_behind_their_markers_are_well() -> None:
    scene = make_scene()
    for body, version in ((None, 1), ({"a": 1}, 1), (None, 2), ({"a": 1}, 2)):
        scene.log(body, version)
    scene.connect(1)
    scene.connect(2)


@pytest.mark.parametrize(
    "steps",
    [
        [(None, 2), (None, 1)],
        [(None, 2), ({"a": 1}, 1)],
        [({"a": 1}, 1)],
        [(None, 1), (None, 1)],
        [(None, 3)],
    ],
)
def test_a_log_that_goes_back_leaps_or_runs_ahead_breaks_the_promise(
    steps: list[tuple[object, int]],
) -> None:
    scene = make_scene()
    for body, version in steps[:-1]:
        scene.log(body, version)
    with pytest.raises(PromiseBroken) as broken:
        scene.log(*steps[-1])
    assert broken.value.promise == "versions_never_go_back"


def test_a_broker_that_forgets_a_version_breaks_the_promise() -> None:
    scene = make_scene()
    scene.connect(2)
    with pytest.raises(PromiseBroken, match="version 2 or later"):
        scene.connect(1)


def test_a_subscription_that_goes_back_breaks_the_promise() -> None:
    scene = make_scene()
    scene.version(PAM_WRITES)
    session = scene.session()
    number = scene.subscribe(session)
    scene.deliver(session, number, 1, version=2)
    with pytest.raises(PromiseBroken, match="version 2 or later on orders"):
        scene.deliver(session, number, 2, version=1)
