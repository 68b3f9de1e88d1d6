"""Are gaps, repetitions and steps back seen?"""

import pytest

from headgate.simulation.checkers.in_order_without_gaps import InOrderWithoutGaps
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import Session
from tests.simulation.scenes import ANN_READS, Scene


def scene_with_records() -> tuple[Scene, Session, int]:
    """Owed are 2, 4 and 5."""
    scene = Scene(lambda ledger, timeline: InOrderWithoutGaps(ledger))
    scene.version(ANN_READS)
    for body in (None, {"price": 1}, {"price": 9}, {"price": 2}, {"price": 3}):
        scene.log(body)
    session = scene.session()
    return scene, session, scene.subscribe(session)


def test_what_is_owed_comes_in_order_and_what_is_withheld_is_no_gap() -> None:
    scene, session, number = scene_with_records()
    for offset in (2, 4, 5):
        scene.deliver(session, number, offset)
    scene.end(session, number, 5)


@pytest.mark.parametrize("offsets", [[4], [2, 5], [2, 4, 4], [2, 4, 2]])
def test_a_gap_a_repetition_or_a_step_back_breaks_the_promise(offsets: list[int]) -> None:
    scene, session, number = scene_with_records()
    for offset in offsets[:-1]:
        scene.deliver(session, number, offset)
    with pytest.raises(PromiseBroken) as broken:
        scene.deliver(session, number, offsets[-1])
    assert broken.value.promise == "in_order_without_gaps"


def test_a_subscription_ends_behind_all_that_it_was_owed_until_there() -> None:
    scene, session, number = scene_with_records()
    scene.deliver(session, number, 2)
    with pytest.raises(PromiseBroken, match="orders 4 before its end"):
        scene.end(session, number, 4)


def test_a_subscription_does_not_end_before_what_it_received() -> None:
    scene, session, number = scene_with_records()
    scene.deliver(session, number, 2)
    with pytest.raises(PromiseBroken, match="an end at 2 or later"):
        scene.end(session, number, 1)


def test_a_stream_is_started_before_anything_of_it_comes() -> None:
    scene, session, _ = scene_with_records()
    number = scene.subscribe(session, starts={})
    with pytest.raises(PromiseBroken, match="`Started` on orders first"):
        scene.deliver(session, number, 2)
