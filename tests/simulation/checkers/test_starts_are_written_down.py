"""Is a start seen that was told before it was written down, or otherwise?"""

from typing import Any

import pytest

from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.checkers.starts_are_written_down import StartsAreWrittenDown
from headgate.simulation.sessions import Session
from tests.simulation.scenes import ALL_CONNECT, ANN_READS, Scene


def scene_with_reader() -> tuple[Scene, Session]:
    scene = Scene(lambda ledger, timeline: StartsAreWrittenDown(ledger))
    scene.version(ALL_CONNECT, ANN_READS)
    scene.log(None)
    return scene, scene.connect(1)


def write_down(scene: Scene, session: Session, **said: Any) -> None:
    start = {
        "change": "started", "client": session.id, "subscription": 1, "principal": "ann",
        "attachment": 0, "stream": "orders", "incarnation": "first", "after": 1,
    }  # fmt: skip
    scene.log({**start, **said}, stream="$subscriptions/b1")


def test_a_start_that_was_written_down_may_be_told() -> None:
    scene, session = scene_with_reader()
    write_down(scene, session)
    scene.subscribe(session, starts={"orders": 1})


@pytest.mark.parametrize(
    "said",
    [
        {"after": 0},
        {"stream": "alarms"},
        {"incarnation": "second"},
        {"principal": "bob"},
        {"subscription": 2},
        {"attachment": 1},
        {"client": 77},
        {"change": "ended"},
    ],
)
def test_one_that_was_written_down_otherwise_breaks_the_promise(said: dict[str, Any]) -> None:
    scene, session = scene_with_reader()
    write_down(scene, session, **said)
    with pytest.raises(PromiseBroken, match="the start on orders after 1 to be written down"):
        scene.subscribe(session, starts={"orders": 1})


def test_one_that_was_not_written_down_breaks_the_promise() -> None:
    scene, session = scene_with_reader()
    with pytest.raises(PromiseBroken, match="to be written down"):
        scene.subscribe(session, starts={"orders": 1})
