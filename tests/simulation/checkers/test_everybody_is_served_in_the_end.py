"""Is somebody who waits for ever seen?"""

import pytest

from headgate.simulation.checkers.everybody_is_served_in_the_end import EverybodyIsServedInTheEnd
from headgate.simulation.checkers.in_order_without_gaps import InOrderWithoutGaps
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.sessions import Session
from tests.simulation.scenes import ANN_READS, Scene


class APatron:
    """A client, as far as it is served."""

    def __init__(self, session: Session | None) -> None:
        self.name = "ann"
        self.session = session
        self.is_wanted = True
        self.is_idle = True
        self.is_connected = session is not None


def scene_at_rest() -> tuple[Scene, EverybodyIsServedInTheEnd, APatron, int]:
    """Ann has received 2, and is owed no more."""
    scene = Scene(lambda ledger, timeline: InOrderWithoutGaps(ledger))
    checker = EverybodyIsServedInTheEnd(scene.ledger, ["orders"])
    scene.version(ANN_READS)
    scene.log(None)
    scene.log({"price": 1})
    session = scene.session()
    number = scene.subscribe(session)
    scene.deliver(session, number, 2)
    patron = APatron(session)
    checker.serve([patron], lambda patron: True)
    return scene, checker, patron, number


def test_who_has_all_that_is_owed_is_served() -> None:
    _, checker, _, _ = scene_at_rest()
    checker.at_rest()
    assert checker.is_done


def test_a_record_that_is_owed_breaks_the_promise() -> None:
    scene, checker, _, _ = scene_at_rest()
    scene.log({"price": 2})
    assert not checker.is_done
    with pytest.raises(PromiseBroken, match="expected orders 3, came nothing after 2"):
        checker.at_rest()


def test_a_stream_without_a_start_breaks_the_promise_where_all_start() -> None:
    scene, checker, patron, _ = scene_at_rest()
    assert patron.session is not None
    scene.subscribe(patron.session, starts={})
    with pytest.raises(PromiseBroken, match="to start on orders"):
        checker.at_rest()
    some = EverybodyIsServedInTheEnd(scene.ledger, ["orders"], all_start=False)
    some.serve([patron], lambda patron: True)
    assert some.is_done
    scene.log({"price": 2})
    assert not some.is_done


def test_a_version_that_does_not_begin_breaks_the_promise() -> None:
    scene, checker, _, _ = scene_at_rest()
    scene.version({"create_group": "staff"})
    with pytest.raises(PromiseBroken, match="orders: expected version 2 to begin, came version 1"):
        checker.at_rest()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("is_idle", False, "an answer to each request"), ("is_connected", False, "a connection")],
)
def test_a_client_that_waits_breaks_the_promise(name: str, value: bool, expected: str) -> None:
    _, checker, patron, _ = scene_at_rest()
    setattr(patron, name, value)
    with pytest.raises(PromiseBroken, match=expected):
        checker.at_rest()


def test_who_wants_nothing_or_may_not_connect_waits_for_nothing() -> None:
    _, checker, patron, _ = scene_at_rest()
    patron.is_connected = False
    checker.serve([patron], lambda patron: False)
    assert checker.is_done
    checker.serve([patron], lambda patron: True)
    patron.is_wanted = False
    assert checker.is_done


def test_who_was_told_of_a_loss_has_to_start_again() -> None:
    _, checker, patron, number = scene_at_rest()
    assert patron.session is not None
    patron.session.attachments[number].lost["orders"] = 4
    with pytest.raises(PromiseBroken, match="to start on orders after 4, came no start"):
        checker.at_rest()
