"""Is a publication that stands in a stream twice seen?"""

import pytest

from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.checkers.published_once import PublishedOnce
from tests.simulation.scenes import AMachine, Scene


def make_scene() -> Scene:
    return Scene(lambda ledger, timeline: PublishedOnce())


def test_the_same_event_id_of_another_publisher_or_on_another_stream_is_another_one() -> None:
    scene = make_scene()
    scene.log({"a": 1}, event_id="e")
    scene.log({"a": 1}, event_id="e", publisher="pete")
    scene.log({"a": 1}, event_id="e", stream="alarms")
    scene.log({"a": 1}, event_id="e", stream="$subscriptions/b1")
    scene.log({"a": 1}, event_id="e", stream="$subscriptions/b1")


def test_the_same_one_twice_breaks_the_promise() -> None:
    scene = make_scene()
    scene.log({"a": 1}, event_id="e")
    scene.log(None)
    with pytest.raises(PromiseBroken, match="once on orders, at 1"):
        scene.log({"a": 1}, event_id="e")


def test_nothing_is_promised_beyond_the_window() -> None:
    scene = make_scene()
    scene.machine = AMachine(repeat_window=2)
    for event_id in ("e", "f", "e"):
        scene.log({"a": 1}, event_id=event_id)
    with pytest.raises(PromiseBroken):
        scene.log({"a": 1}, event_id="e")


def test_what_was_removed_may_be_published_again_after_a_restart() -> None:
    scene = make_scene()
    scene.log({"a": 1}, event_id="e")
    scene.log({"a": 1}, event_id="f")
    scene.see("removing", scene.machine, {"orders": 1}, False)
    scene.see("removed", scene.machine, "orders", 1)
    with pytest.raises(PromiseBroken, match="once on orders, at 1"):
        scene.log({"a": 1}, event_id="e")
    scene.see("started", scene.machine)
    scene.log({"a": 1}, event_id="e")
    with pytest.raises(PromiseBroken, match="once on orders, at 2"):
        scene.log({"a": 1}, event_id="f")
