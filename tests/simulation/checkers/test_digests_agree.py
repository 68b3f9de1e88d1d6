"""Is a checkpoint seen that says something else than what was owed?"""

from typing import Any

import pytest

from headgate.log.digests import RunningDigest, view_bytes
from headgate.simulation.checkers.digests_agree import DigestsAgree
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import Session
from tests.simulation.scenes import ANN_READS, Scene


def scene_with_records() -> tuple[Scene, Session, int]:
    """Ann is owed 1 and 3."""
    scene = Scene(lambda ledger, timeline: DigestsAgree(ledger))
    scene.version(ANN_READS)
    for price in (1, 9, 2):
        scene.log({"price": price})
    session = scene.session()
    return scene, session, scene.subscribe(session)


def checkpoint(scene: Scene, session: Session, number: int, **said: Any) -> None:
    digest = RunningDigest()
    for offset in (1, 3):
        event = scene.ledger.logs["orders"].records[offset - 1].event
        digest = digest.add(offset, 1, view_bytes(event))
    told = {
        "client": session.id,
        "subscription": number,
        "stream": "orders",
        "from": 1,
        "to": 3,
        "version": 1,
        "count": digest.count,
        "digest": digest.digest.hex(),
    }
    scene.log({**told, **said}, stream="$deliveries/b1")


def test_the_digest_of_what_was_owed_is_right() -> None:
    scene, session, number = scene_with_records()
    checkpoint(scene, session, number)


@pytest.mark.parametrize(
    "said", [{"count": 3}, {"digest": "00"}, {"to": 1}, {"from": 2}, {"client": 77}, {"to": 0}]
)
def test_any_other_breaks_the_promise(said: dict[str, Any]) -> None:
    scene, session, number = scene_with_records()
    with pytest.raises(PromiseBroken) as broken:
        checkpoint(scene, session, number, **said)
    assert broken.value.promise == "digests_agree"


def test_two_checkpoints_of_one_attachment_do_not_overlap() -> None:
    scene, session, number = scene_with_records()
    checkpoint(scene, session, number)
    with pytest.raises(PromiseBroken, match="orders after 3"):
        checkpoint(scene, session, number)
