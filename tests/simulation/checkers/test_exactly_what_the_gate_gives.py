"""Is a delivery that isn't the view of a stored record seen?"""

import pytest

from headgate.model.events import Event
from headgate.simulation.checkers.exactly_what_the_gate_gives import (
    ExactlyWhatTheGateGives,
    seen,
)
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import Session
from tests.simulation.scenes import Scene

CUT = {"grant": {"principal": "ann", "action": "subscribe", "attributes": ["price", "$publisher"]}}


def scene_with_a_record() -> tuple[Scene, Session, int, Event]:
    scene = Scene(lambda ledger, timeline: ExactlyWhatTheGateGives(ledger))
    scene.version(CUT)
    scene.log(None)
    scene.log({"price": 3, "secret": 1})
    session = scene.session()
    number = scene.subscribe(session, "secret IS NULL")
    view = scene.ledger.logs["orders"].records[1].event.cut({"price", "$publisher"})
    return scene, session, number, view


def test_the_view_of_the_service_model_is_what_must_come() -> None:
    scene, session, number, view = scene_with_a_record()
    scene.deliver(session, number, 2, event=view)
    assert scene.ledger.delivered == 1
    assert seen(view) == '{"price":3} ($publisher pam)'


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"event": Event.of({"price": 3, "secret": 1})}, "of orders 2"),
        ({"event": Event.of({"price": 4})}, "of orders 2"),
        ({"version": 0}, "version 1 of orders 2"),
        ({"offset": 1}, "nothing of orders 1"),
        ({"offset": 3}, "a record that is stored"),
    ],
)
def test_anything_else_breaks_the_promise(said: dict[str, object], expected: str) -> None:
    scene, session, number, view = scene_with_a_record()
    offset = said.pop("offset", 2)
    assert isinstance(offset, int)
    version = 1 if offset != 2 else said.pop("version", 1)
    with pytest.raises(PromiseBroken) as broken:
        scene.deliver(session, number, offset, **{"event": view, "version": version, **said})
    assert broken.value.promise == "exactly_what_the_gate_gives"
    assert expected in broken.value.expected
