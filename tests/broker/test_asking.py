"""Does a question find the broker that is named, and its answer the way back?"""

from __future__ import annotations

from headgate.broker.asking import Asking, Respond
from headgate.broker.effects import Subscribed
from headgate.broker.neighbours import Neighbours
from headgate.broker.outbox import Outbox
from headgate.broker.questions import Answer, AskVersion, Noted, Question, VersionIs, encode
from headgate.broker.settings import SECOND
from headgate.peering.frames import Reply, Request
from headgate.peering.wire import encode as framed
from tests.broker.parts import NOW, settings
from tests.broker.pump import chain, network, nodes, reader


class Asker:
    """One broker alone that asks itself."""

    def __init__(self) -> None:
        outbox = Outbox()
        around = Neighbours(
            settings(), outbox, "boot", NOW,
            heard=lambda *_: None, found=lambda *_: None, lost=lambda *_: None,
        )  # fmt: skip
        self.asking = Asking(settings(), outbox, around, "boot", self.handle)
        self.waiting: list[Respond] = []
        self.said: list[tuple[Answer, int, int]] = []

    def handle(self, origin: str, asked: Question, respond: Respond, now: int) -> None:
        self.waiting.append(respond)

    def ask(self) -> int:
        return self.asking.ask("p", AskVersion(), lambda *said: self.said.append(said), NOW)


def test_a_question_is_asked_again_until_it_is_answered() -> None:
    asker = Asker()
    asker.ask()
    for seconds in range(1, 4):
        assert asker.asking.next_timer() == NOW + seconds * SECOND
        asker.asking.on_timer(NOW + seconds * SECOND)
    assert len(asker.waiting) == 4
    asker.waiting[2](VersionIs(1), NOW + 5 * SECOND)
    assert asker.asking.next_timer() is None


def test_it_is_answered_once_with_the_time_at_which_it_was_asked_first() -> None:
    asker = Asker()
    asker.ask()
    asker.asking.on_timer(NOW + SECOND)
    for respond in asker.waiting:
        respond(VersionIs(1), NOW + 2 * SECOND)
    assert asker.said == [(VersionIs(1), NOW, NOW + 2 * SECOND)]


def test_what_is_forgotten_is_not_asked_again_nor_answered() -> None:
    asker = Asker()
    asker.asking.forget(asker.ask())
    asker.waiting[0](VersionIs(1), NOW)
    assert asker.asking.next_timer() is None
    assert asker.said == []


def test_an_answer_to_who_was_there_before_a_restart_is_none() -> None:
    asker = Asker()
    number = asker.ask()
    for boot in ("another boot", "boot"):
        assert asker.said == []
        asker.asking.on_reply(Reply("p", boot, number, encode(Noted())), NOW)
    assert asker.said == [(Noted(), NOW, NOW)]


def test_a_question_and_its_answer_go_hop_by_hop() -> None:
    pump = network(chain("p", "m", "n", "s"), *reader("ann"))
    for one, other in (("s", "n"), ("n", "m"), ("m", "p")):
        asked = [one for one in pump.said(one, other, Request) if one.origin == "s"]
        answered = [one for one in pump.said(other, one, Reply) if one.origin == "s"]
        assert len(asked) >= len(answered) > 0


def test_a_question_takes_another_path_when_one_is_dead() -> None:
    pump = network(nodes("p", "m1 m2", "s"), *reader("ann"))
    client = pump.connect("s", "ann")
    pump.hold("s", "m1")
    for name in ("first", "second"):
        pump.subscribe("s", client, durable=name)
    pump.wait(4)
    assert len(pump.heard("s", client, Subscribed)) == 2


def test_who_asks_for_nobody_of_the_network_is_not_answered() -> None:
    pump = network(chain("p", "s"), *reader("ann"))
    before = len(pump.said("p", "s", Reply))

    body = encode(AskVersion())
    pump.say_raw("s", "p", framed(Request("stranger", "boot", 1, "p", body)))
    pump.say_raw("s", "p", framed(Request("s", "boot", 1, "stranger", body)))
    assert len(pump.said("p", "s", Reply)) == before
