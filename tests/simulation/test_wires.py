"""Does a client hear what it was told, in order, until its connection is lost?"""

from collections.abc import Callable
from random import Random
from typing import Any

from headgate.broker.effects import Advertised, Message
from headgate.simulation.sessions import Session
from headgate.simulation.timeline import SECOND, Timeline
from headgate.simulation.wires import SILENCE_US, ClientWire


class AnEnd:
    """A client and a broker in one, who note what they hear."""

    name = "end"

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def connect(self, session: Session) -> None:
        self.heard.append("connect")

    def hear(self, session: Session, said: Message | Callable[..., None]) -> None:
        self.heard.append(said)

    def lost(self, session: Session, because: str) -> None:
        self.heard.append(because)

    def client_gone(self, session: Session) -> None:
        self.heard.append("gone")


def setting() -> tuple[Timeline, ClientWire, AnEnd, AnEnd, Session]:
    timeline, client, broker = Timeline(1_000), AnEnd(), AnEnd()
    wire = ClientWire(timeline, Random(5), 10_000)
    machines: Any = {"b1": broker}
    wire.machines = machines
    return timeline, wire, client, broker, wire.connect(client, "b1", "ann", None)


def test_what_is_asked_arrives_in_order_behind_the_connection() -> None:
    timeline, wire, _, broker, session = setting()
    acts = [lambda core, now: None for _ in range(20)]
    for act in acts:
        wire.carry_up(session, act)
    timeline.run_until(SECOND)
    assert broker.heard == ["connect", *acts]


def test_what_is_told_arrives_in_order_and_before_the_end() -> None:
    timeline, wire, client, _, session = setting()
    told: list[Message] = [Advertised(number) for number in range(20)]
    for message in told:
        wire.carry_down(session, message)
    wire.cut(session, "the broker died")
    timeline.run_until(SECOND)
    assert client.heard == [*told, "the broker died"]


def test_who_has_gone_hears_nothing_more() -> None:
    timeline, wire, client, broker, session = setting()
    wire.carry_down(session, Advertised(1))
    wire.hang_up(session)
    wire.carry_up(session, lambda core, now: None)
    wire.cut(session, "too late")
    timeline.run_until(SECOND)
    assert client.heard == []
    assert broker.heard == ["connect", "gone"]


def test_who_goes_without_a_word_is_missed_later() -> None:
    timeline, wire, _, broker, session = setting()
    wire.hang_up(session, silently=True)
    timeline.run_until(SILENCE_US)
    assert broker.heard == ["connect"]
    timeline.run_until(2 * SILENCE_US)
    assert broker.heard == ["connect", "gone"]
