"""Is a broker seen that sends more than a window without an acknowledgement?"""

import pytest

from headgate.broker.effects import Lost
from headgate.simulation.checkers.no_more_than_the_window import NoMoreThanTheWindow
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import Session
from tests.simulation.scenes import ALL_CONNECT, ANN_READS, AMachine, Scene


def scene_of(window: int) -> tuple[Scene, Session, int]:
    scene = Scene(lambda ledger, timeline: NoMoreThanTheWindow(ledger))
    scene.machine = AMachine(window=window)
    scene.see("started", scene.machine)
    scene.version(ALL_CONNECT, ANN_READS)
    session = scene.connect(1)
    for _ in range(4):
        scene.log({"price": 1})
    return scene, session, scene.subscribe(session)


def test_a_window_may_be_under_way_and_more_after_acknowledgements() -> None:
    scene, session, number = scene_of(window=2)
    scene.deliver(session, number, 1)
    scene.deliver(session, number, 2)
    scene.acknowledge(session, number, 1)
    scene.deliver(session, number, 3)


def test_one_more_than_the_window_breaks_the_promise() -> None:
    scene, session, number = scene_of(window=2)
    scene.deliver(session, number, 1)
    scene.deliver(session, number, 2)
    with pytest.raises(PromiseBroken, match="at most 2 deliveries to be acknowledged, came 3"):
        scene.deliver(session, number, 3)


def test_each_subscription_has_a_window_of_its_own() -> None:
    scene, session, number = scene_of(window=1)
    other = scene.subscribe(session)
    scene.deliver(session, number, 1)
    scene.deliver(session, other, 1)


def test_an_acknowledgement_is_good_for_all_before_it() -> None:
    scene, session, number = scene_of(window=2)
    scene.deliver(session, number, 1)
    scene.deliver(session, number, 2)
    scene.acknowledge(session, number, 2)
    scene.deliver(session, number, 3)
    scene.deliver(session, number, 4)


def test_what_was_sent_before_a_loss_is_not_waited_for() -> None:
    scene, session, number = scene_of(window=2)
    scene.deliver(session, number, 1)
    scene.deliver(session, number, 2)
    scene.tell(session, Lost(number, "orders", "first", 2, 3))
    scene.deliver(session, number, 4)
