"""Does the ledger know what is owed, and who was told nonsense?"""

import pytest

from headgate.broker.effects import Append, Started, Subscribed
from headgate.log.digests import START, with_chain
from headgate.simulation.checkers.ledger import Ledger, event_of
from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.service_model import Wish
from tests.simulation.scenes import ANN_NO_LONGER, ANN_READS, AMachine, Scene


def test_what_is_owed_is_decided_by_the_version_of_each_record() -> None:
    scene = Scene()
    scene.version(ANN_READS)
    scene.version(ANN_NO_LONGER)
    for body, version in ((None, 1), ({"price": 3}, 1), ({"price": 7}, 1), (None, 2)):
        scene.log(body, version)
    scene.log({"price": 3}, 2)
    reader = scene.ledger.reader(scene.session(), "TRUE")
    owed = [scene.ledger.view(reader, "orders", offset) is not None for offset in range(1, 6)]
    assert owed == [False, True, False, False, False]
    assert scene.ledger.next_owed(reader, "orders", 0, 6) == 2
    assert scene.ledger.next_owed(reader, "orders", 2, 6) is None


def test_readers_who_ask_the_same_share_their_views() -> None:
    scene = Scene()
    one, other = scene.session("ann"), scene.session("ann")
    assert scene.ledger.reader(one, "TRUE") is scene.ledger.reader(other, "TRUE")
    assert scene.ledger.reader(one, "TRUE") is not scene.ledger.reader(other, "a = 1")


def test_a_record_that_crossed_a_domain_is_cut_by_its_rights_first() -> None:
    scene = Scene()
    scene.ledger = Ledger(scene.observers, lambda host, broker: (("into", "abroad"),))
    scene.observers.stored = [scene.ledger.stored]
    scene.observers.batch_stored = [scene.ledger.batch_stored]
    abroad = {"principal": "abroad", "action": "subscribe", "attributes": ["price"]}
    scene.version(ANN_READS, {"grant": abroad})
    scene.log({"price": 3, "secret": 1})
    reader = scene.ledger.reader(scene.session(), "secret IS NULL")
    seen = scene.ledger.view(reader, "orders", 1)
    assert seen is not None
    assert seen.to_json() == b'{"price":3}'


def test_a_record_that_comes_out_of_a_domain_must_be_its_to_publish() -> None:
    scene = Scene()
    scene.ledger = Ledger(scene.observers, lambda host, broker: (("out of", "abroad"),))
    scene.observers.stored = [scene.ledger.stored]
    scene.observers.batch_stored = [scene.ledger.batch_stored]
    rule = {"principal": "abroad", "action": "publish", "filter": "price = 1"}
    scene.version(ANN_READS, {"grant": rule})
    scene.log({"price": 1})
    scene.log({"price": 2})
    reader = scene.ledger.reader(scene.session(), "TRUE")
    assert scene.ledger.view(reader, "orders", 1) is not None
    assert scene.ledger.view(reader, "orders", 2) is None
    assert scene.ledger.crosses_border(reader, "orders")


def test_what_a_crash_left_is_found_at_the_next_start() -> None:
    scene = Scene()
    scene.version(ANN_READS)
    record = scene.record({"price": 1})
    scene.machine.disk.log.append([with_chain(START, record)])
    scene.machine.disk.log.sync()
    scene.see("started", scene.machine)
    assert scene.ledger.logs["orders"].last == 1


def test_a_record_of_another_brokers_stream_is_refused() -> None:
    scene = Scene()
    scene.log({"price": 1})
    with pytest.raises(PromiseBroken, match="what_is_said_makes_sense"):
        scene.ledger.stored(AMachine("b2"), [Append(1, (scene.record({"a": 1}),))])  # type: ignore[arg-type]


def test_word_of_a_subscription_comes_after_its_acceptance_and_before_its_end() -> None:
    scene = Scene()
    session = scene.session()
    with pytest.raises(PromiseBroken, match="`Subscribed` first"):
        scene.tell(session, Started(5, "orders", "first", 0))
    number = scene.subscribe(session)
    with pytest.raises(PromiseBroken, match="one start"):
        scene.tell(session, Started(number, "orders", "first", 0))
    with pytest.raises(PromiseBroken, match="an answer to a request"):
        scene.tell(session, Subscribed(99, 99))
    scene.see("gone", session, "it went")
    with pytest.raises(PromiseBroken, match="no more after its end"):
        scene.tell(session, Started(number, "alarms", "first", 0))


def test_views_are_events_whatever_their_bodies() -> None:
    assert event_of({"a": 1}, {"$x": "y"}).attributes == {"a": 1, "$x": "y"}
    assert event_of(b"\xff", {}).to_bytes() == b"\xff"
    assert event_of([1], {}).to_json() == b"[1]"
    assert Wish("ann").filter == "TRUE"


def test_what_goes_from_a_disk_is_what_somebody_wanted_to_go() -> None:
    scene = Scene()
    for _ in range(4):
        scene.log({"price": 1})
    scene.see("removing", scene.machine, {"orders": 1}, True)
    scene.see("removing", scene.machine, {"orders": 3}, False)
    scene.see("removed", scene.machine, "orders", 2)
    log = scene.ledger.logs["orders"]
    assert (log.taken, log.cut, log.removed) == (1, 3, 2)
    with pytest.raises(PromiseBroken, match="at most 3 of orders to go"):
        scene.see("removed", scene.machine, "orders", 4)
