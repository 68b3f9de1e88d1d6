"""Is a durable subscription that goes on at the wrong place seen?"""

from typing import Any

import pytest

from headgate.broker.effects import Acknowledged, Lost, Started
from headgate.model.events import Event
from headgate.simulation.checkers.durable_positions_are_kept import DurablePositionsAreKept
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import Session
from tests.simulation.scenes import ANN_READS, Scene


def make_scene() -> tuple[Scene, Session, int]:
    """Started after 1; 2 acknowledged and kept, 3 acknowledged, 4 delivered."""
    scene = Scene(lambda ledger, timeline: DurablePositionsAreKept(ledger))
    scene.version(ANN_READS)
    for price in (1, 2, 3, 4):
        scene.log({"price": price})
    session = scene.session()
    number = attach(scene, session, 1, 1)
    for offset in (2, 3, 4):
        scene.deliver(session, number, offset)
    scene.acknowledge(session, number, 2)
    scene.acknowledge(session, number, 3, keep=False)
    return scene, session, number


def attach(scene: Scene, session: Session, attachment: int, after: int) -> int:
    return scene.subscribe(session, durable="mine", attachment=attachment, starts={"orders": after})


@pytest.mark.parametrize("after", [2, 3])
def test_it_goes_on_where_it_was_acknowledged(after: int) -> None:
    scene, _, _ = make_scene()
    again = scene.session()
    scene.deliver(again, attach(scene, again, 2, after), 4)


@pytest.mark.parametrize("after", [0, 1, 4])
def test_any_other_place_breaks_the_promise(after: int) -> None:
    scene, _, _ = make_scene()
    with pytest.raises(PromiseBroken, match="to start on orders after 2 to 3"):
        attach(scene, scene.session(), 2, after)


def test_what_comes_again_looks_the_same() -> None:
    scene, _, _ = make_scene()
    again = scene.session()
    number = attach(scene, again, 2, 2)
    with pytest.raises(PromiseBroken, match="as before"):
        scene.deliver(again, number, 3, event=Event.of({"price": 8}))


def test_what_nobody_acknowledged_is_not_kept() -> None:
    scene, session, number = make_scene()
    with pytest.raises(PromiseBroken, match="at most 3 of orders to be kept"):
        scene.tell(session, Acknowledged(number, "orders", 4))


def test_two_attachments_with_one_number_break_the_promise() -> None:
    scene, _, _ = make_scene()
    with pytest.raises(PromiseBroken, match="a number of its own"):
        attach(scene, scene.session(), 1, 2)


def test_what_an_overtaken_attachment_says_does_not_count() -> None:
    scene, session, number = make_scene()
    attach(scene, scene.session(), 3, 3)
    attach(scene, scene.session(), 2, 1)
    scene.tell(session, Acknowledged(number, "orders", 3))
    attach(scene, scene.session(), 4, 2)


def test_who_unsubscribed_begins_anew() -> None:
    scene, session, number = make_scene()
    scene.see("unsubscribing", session, number)
    attach(scene, scene.session(), 1, 4)


# What is removed.


def lose(scene: Scene, attachment: int, after: int, up_to: int) -> None:
    """Attached again, and told of a loss where it would have started."""
    session = scene.session()
    number = scene.subscribe(session, durable="mine", attachment=attachment, starts={})
    scene.tell(session, Lost(number, "orders", "first", after, up_to))
    session.attachments[number].lost["orders"] = up_to
    scene.tell(session, Started(number, "orders", "first", up_to))


def test_after_a_loss_it_goes_on_behind_the_gap_or_is_told_again() -> None:
    scene, _, _ = make_scene()
    lose(scene, 2, 2, 4)
    lose(scene, 3, 2, 4)
    attach(scene, scene.session(), 4, 4)


def test_without_a_loss_it_does_not() -> None:
    scene, _, _ = make_scene()
    with pytest.raises(PromiseBroken, match="to start on orders after 2 to 3, came after 1"):
        lose(scene, 2, 1, 4)


def test_what_it_is_owed_is_not_removed_but_by_force() -> None:
    scene, _, _ = make_scene()
    scene.see("considering", scene.machine)
    scene.see("removing", scene.machine, {"orders": 3}, False)
    with pytest.raises(PromiseBroken, match="orders 4 to stay, came all up to 4 to go"):
        scene.see("removing", scene.machine, {"orders": 4}, False)
    scene.see("removing", scene.machine, {"orders": 4}, True)
    scene.see("removing", scene.machine, {"orders": 4}, False)


def test_what_it_had_not_started_on_when_it_was_asked_is_not_safe() -> None:
    scene = Scene(lambda ledger, timeline: DurablePositionsAreKept(ledger))
    scene.version(ANN_READS)
    scene.log({"price": 1})
    scene.see("considering", scene.machine)
    attach(scene, scene.session(), 1, 0)
    scene.see("removing", scene.machine, {"orders": 1}, False)
    scene.see("considering", scene.machine)
    with pytest.raises(PromiseBroken, match="orders 1 to stay"):
        scene.see("removing", scene.machine, {"orders": 1}, False)


def test_who_ended_it_is_owed_nothing() -> None:
    scene, session, number = make_scene()
    scene.see("considering", scene.machine)
    scene.see("unsubscribing", session, number)
    scene.see("removing", scene.machine, {"orders": 4}, False)


def test_one_that_is_made_from_an_offset_starts_there_or_behind_a_loss() -> None:
    scene, _, _ = make_scene()
    asked: dict[str, Any] = {"durable": "other", "after": {"orders": 1}}
    with pytest.raises(PromiseBroken, match="to start on orders after 1, came after 3"):
        scene.subscribe(scene.session(), attachment=2, starts={"orders": 3}, **asked)
    scene.subscribe(scene.session(), attachment=3, starts={"orders": 1}, **asked)
