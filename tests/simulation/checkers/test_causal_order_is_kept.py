"""Is an answer that comes before its question seen?"""

import pytest

from headgate.simulation.checkers.causal_order_is_kept import CausalOrderIsKept
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import Session
from tests.simulation.scenes import Scene

BOTH = {"orders": 0, "alarms": 0}


def question_and_answer() -> tuple[Scene, Session]:
    """Orders 1 was heard before alarms 1 was published."""
    scene = Scene(lambda ledger, timeline: CausalOrderIsKept(ledger))
    pam, pete = scene.session("pam"), scene.session("pete")
    asked = scene.ask_to_publish(pam, {"a": 1}, "question")
    scene.log({"a": 1}, event_id="question")
    scene.published(pam, asked, 1)
    scene.deliver(pete, scene.subscribe(pete), 1)
    answered = scene.ask_to_publish(pete, {"a": 2}, "answer")
    scene.log({"a": 2}, event_id="answer", publisher="pete", stream="alarms")
    scene.published(pete, answered, 1, stream="alarms")
    return scene, scene.session("ann")


def test_the_question_first_and_then_the_answer() -> None:
    scene, ann = question_and_answer()
    number = scene.subscribe(ann, causal=True, starts=BOTH)
    scene.deliver(ann, number, 1)
    scene.deliver(ann, number, 1, stream="alarms")


def test_the_answer_first_breaks_the_promise() -> None:
    scene, ann = question_and_answer()
    number = scene.subscribe(ann, causal=True, starts=BOTH)
    scene.deliver(ann, number, 1, stream="alarms")
    with pytest.raises(PromiseBroken, match="orders 1 before what it caused"):
        scene.deliver(ann, number, 1)


def test_who_did_not_ask_for_causal_order_gets_no_promise() -> None:
    scene, ann = question_and_answer()
    number = scene.subscribe(ann, starts=BOTH)
    scene.deliver(ann, number, 1, stream="alarms")
    scene.deliver(ann, number, 1)


def test_only_what_was_known_each_time_it_was_asked_is_a_cause() -> None:
    scene, ann = question_and_answer()
    again = scene.session("pete")
    scene.ask_to_publish(again, {"a": 2}, "answer")
    number = scene.subscribe(ann, causal=True, starts=BOTH)
    scene.deliver(ann, number, 1, stream="alarms")
    scene.deliver(ann, number, 1)


def test_causes_do_not_cross_the_border_of_a_domain() -> None:
    scene, ann = question_and_answer()
    scene.ledger._through = lambda host, broker: (("into", "abroad"),)
    number = scene.subscribe(ann, causal=True, starts=BOTH)
    scene.deliver(ann, number, 1, stream="alarms")
    scene.deliver(ann, number, 1)


def test_causes_go_on_through_those_who_only_heard_of_them() -> None:
    scene, ann = question_and_answer()
    joe = scene.session("joe")
    scene.deliver(joe, scene.subscribe(joe, starts=BOTH), 1, stream="alarms")
    scene.ask_to_publish(joe, {"a": 3}, "comment")
    scene.log({"a": 3}, event_id="comment", publisher="joe", stream="trades")
    number = scene.subscribe(ann, causal=True, starts={**BOTH, "trades": 0})
    scene.deliver(ann, number, 1, stream="trades")
    with pytest.raises(PromiseBroken):
        scene.deliver(ann, number, 1)
