"""Is a loss seen that is not true, not complete, or not told?"""

import pytest

from headgate.broker.effects import Lost, Started
from headgate.simulation.checkers.in_order_without_gaps import InOrderWithoutGaps
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.checkers.what_is_lost_is_told import WhatIsLostIsTold
from headgate.simulation.sessions import Session
from tests.simulation.scenes import ANN_READS, Scene


def make_scene() -> tuple[Scene, Session, int]:
    """Six records, of which the fifth is not owed and the first four go; 1 was delivered."""
    scene = Scene(lambda ledger, timeline: InOrderWithoutGaps(ledger))
    scene.observers.add(WhatIsLostIsTold(scene.ledger))
    scene.version(ANN_READS)
    for price in (1, 2, 3, 4, 9, 1):
        scene.log({"price": price})
    session = scene.session()
    number = scene.subscribe(session)
    scene.deliver(session, number, 1)
    scene.see("removing", scene.machine, {"orders": 4}, False)
    return scene, session, number


def lose(scene: Scene, session: Session, number: int, after: int, up_to: int) -> None:
    scene.tell(session, Lost(number, "orders", "first", after, up_to))


def test_who_is_told_goes_on_behind_the_gap() -> None:
    scene, session, number = make_scene()
    lose(scene, session, number, 1, 4)
    scene.tell(session, Started(number, "orders", "first", 4))
    scene.deliver(session, number, 6)
    attachment = session.attachments[number]
    assert attachment.cursors["orders"].position == 6
    assert attachment.lost == {}


@pytest.mark.parametrize(("after", "up_to"), [(1, 5), (4, 4), (3, 2)])
def test_what_is_there_is_not_lost(after: int, up_to: int) -> None:
    scene, session, number = make_scene()
    with pytest.raises(PromiseBroken, match="at most 4 of orders to be gone"):
        lose(scene, session, number, after, up_to)


def test_a_stream_that_is_not_there_has_lost_nothing() -> None:
    scene, session, number = make_scene()
    with pytest.raises(PromiseBroken, match="a stream that is there"):
        scene.tell(session, Lost(number, "orders", "second", 1, 4))


def test_nothing_owed_may_be_between_the_last_delivery_and_the_loss() -> None:
    scene, session, number = make_scene()
    with pytest.raises(PromiseBroken, match="orders to be lost after 2, came 2"):
        lose(scene, session, number, 2, 4)


def test_it_goes_on_just_where_it_was_told() -> None:
    scene, session, number = make_scene()
    lose(scene, session, number, 1, 3)
    with pytest.raises(PromiseBroken, match="to start on orders after 3, came 4"):
        scene.tell(session, Started(number, "orders", "first", 4))


def test_more_may_be_lost_before_it_starts_again() -> None:
    scene, session, number = make_scene()
    lose(scene, session, number, 1, 2)
    lose(scene, session, number, 2, 4)
    assert session.attachments[number].lost == {"orders": 4}


def test_nothing_is_delivered_between_the_loss_and_the_start() -> None:
    scene, session, number = make_scene()
    lose(scene, session, number, 1, 4)
    with pytest.raises(PromiseBroken, match="`Started` on orders first"):
        scene.deliver(session, number, 6)


def test_who_asked_for_an_offset_starts_there_unless_it_is_told() -> None:
    scene, session, _ = make_scene()
    scene.subscribe(session, after={"orders": 4}, starts={"orders": 4})
    with pytest.raises(PromiseBroken, match="to start on orders after 0, came 4"):
        scene.subscribe(session, after={"orders": 0}, starts={"orders": 4})
