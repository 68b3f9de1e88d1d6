"""How do clients and brokers hear of each other? In order, a little later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import final

from headgate.broker.effects import Message
from headgate.simulation.cores import Core
from headgate.simulation.machines import Machine
from headgate.simulation.sessions import Listener, Session
from headgate.simulation.timeline import SECOND, Timeline

SILENCE_US = 2 * SECOND
"""A broker learns after this that a client went without a word."""


@final
class ClientWire:
    """All connections between clients and brokers."""

    def __init__(self, timeline: Timeline, chance: Random, delay_us: int) -> None:
        self.machines: Mapping[str, Machine] = {}
        self._timeline = timeline
        self._chance = chance
        self._delay_us = delay_us
        self._last_id = 0

    def connect(self, client: Listener, broker: str, principal: str, domain: str | None) -> Session:
        self._last_id += 1
        machine = self.machines[broker]
        session = Session(self._last_id, client, machine, principal, domain)
        session.arrival_up = self._timeline.now + self._delay()
        self._timeline.at(session.arrival_up, machine.connect, session)
        return session

    def carry_up(self, session: Session, act: Callable[[Core, int], None]) -> None:
        if session.is_held_by_client:
            arrival = max(session.arrival_up, self._timeline.now + self._delay())
            session.arrival_up = arrival
            self._timeline.at(arrival, session.host.hear, session, act)

    def carry_down(self, session: Session, message: Message) -> None:
        arrival = max(session.arrival_down, self._timeline.now + self._delay())
        session.arrival_down = arrival
        self._timeline.at(arrival, self._arrive, session, message)

    def cut(self, session: Session, because: str, *, delayed: bool = True) -> None:
        """The broker's end is gone: the client learns it after what was told it before."""
        session.is_held_by_broker = False
        arrival = max(session.arrival_down, self._timeline.now + self._delay() * delayed)
        self._timeline.at(arrival, self._lose, session, because)

    def hang_up(self, session: Session, *, silently: bool = False) -> None:
        """The client goes; what it sent before arrives before."""
        session.is_held_by_client = False
        arrival = max(session.arrival_up, self._timeline.now + self._delay())
        if silently:
            arrival += SILENCE_US
        self._timeline.at(arrival, session.host.client_gone, session)

    def _arrive(self, session: Session, message: Message) -> None:
        if session.is_held_by_client:
            session.client.hear(session, message)

    def _lose(self, session: Session, because: str) -> None:
        if session.is_held_by_client:
            session.is_held_by_client = False
            session.client.lost(session, because)

    def _delay(self) -> int:
        return self._chance.randrange(1, 2 * self._delay_us + 2)
