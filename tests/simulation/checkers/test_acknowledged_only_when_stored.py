"""Is an acknowledgement of what is on no disk seen, then or after a crash?"""

import pytest

from headgate.log.digests import START, with_chain
from headgate.simulation.checkers.acknowledged_only_when_stored import (
    AcknowledgedOnlyWhenStored,
    same_content,
)
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import PublicationAsked
from tests.simulation.scenes import Scene


def make_scene() -> Scene:
    return Scene(lambda ledger, timeline: AcknowledgedOnlyWhenStored(ledger))


def test_what_is_on_disk_may_be_acknowledged() -> None:
    scene = make_scene()
    session = scene.session("pam")
    request = scene.ask_to_publish(session, {"price": 1}, "e1")
    scene.published(session, request, scene.log({"price": 1}))


@pytest.mark.parametrize(
    ("body", "said", "offset"),
    [
        ({"price": 1}, {}, 2),
        ({"price": 2}, {}, 1),
        ({"price": 1}, {"event_id": "another"}, 1),
        ({"price": 1}, {"publisher": "eve"}, 1),
        ({"price": 1}, {"version": 2}, 1),
    ],
)
def test_what_is_not_or_is_something_else_breaks_the_promise(
    body: object, said: dict[str, object], offset: int
) -> None:
    scene = make_scene()
    session = scene.session("pam")
    request = scene.ask_to_publish(session, {"price": 1}, "e1")
    scene.log(body, **said)  # type: ignore[arg-type]
    with pytest.raises(PromiseBroken) as broken:
        scene.published(session, request, offset)
    assert broken.value.promise == "acknowledged_only_when_stored"


def test_what_was_acknowledged_is_there_at_every_start_and_at_the_end() -> None:
    scene = make_scene()
    session = scene.session("pam")
    request = scene.ask_to_publish(session, {"price": 1}, "e1")
    disk = scene.machine.disk.log
    record = with_chain(START, scene.record({"price": 1}))
    scene.see("started", scene.machine)
    scene.store(record)
    scene.published(session, request, 1)
    with pytest.raises(PromiseBroken, match="nothing there"):
        scene.see("at_rest")
    disk.append([record])
    disk.sync()
    scene.see("at_rest")


def test_json_may_be_written_otherwise_and_other_bodies_may_not() -> None:
    asked = PublicationAsked(None, "e1", b'{"b":1,"a":2}', True, {})
    assert same_content(b'{"a":2,"b":1}', asked)
    assert not same_content(b'{"a":2,"b":2}', asked)
    assert not same_content(b"\xff", asked)
    assert not same_content(b'{"a":2,"b":1}', PublicationAsked(None, "e1", asked.body, False, {}))


def test_what_was_removed_need_not_be_there() -> None:
    scene = make_scene()
    session = scene.session("pam")
    request = scene.ask_to_publish(session, {"price": 1}, "e1")
    scene.published(session, request, scene.log({"price": 1}))
    scene.see("removing", scene.machine, {"orders": 1}, False)
    scene.see("removed", scene.machine, "orders", 1)
    scene.see("started", scene.machine)
