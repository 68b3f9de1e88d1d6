"""A network of brokers in one process whose links and disks take no time: what is left is work."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from headgate.broker.core import Broker
from headgate.broker.effects import (
    Append,
    ApplyBatch,
    Delivery,
    Dial,
    Drop,
    Keep,
    KeepStartingPoint,
    Read,
    Recovered,
    Send,
    Tell,
)
from headgate.broker.settings import SECOND, Settings
from headgate.broker.topology import Topology
from headgate.filters.filter import Filter
from headgate.log.records import Record
from headgate.rights.changes import Batch, Change
from headgate.rights.history import PolicyHistory

NOTHING = Recovered({}, {}, {}, {})


class Network:
    """Brokers in a chain; the first one hosts the policy and the stream `quotes`."""

    def __init__(self, brokers: int, **settings: Any) -> None:
        names = [f"b{number}" for number in range(1, brokers + 1)]
        edges = frozenset(frozenset(pair) for pair in pairwise(names))
        topology = Topology({name: (name,) for name in names}, edges)
        self.now = 1_700_000_000 * SECOND
        self.first, self.last = names[0], names[-1]
        self.history = PolicyHistory()
        self.deliveries = 0
        self.sent_bytes: dict[str, int] = dict.fromkeys(names, 0)
        self.logs: dict[str, list[Record]] = {}
        self._links: dict[tuple[str, int], tuple[str, int]] = {}
        self._inbox: deque[tuple[str, int, bytes]] = deque()
        self._number = 0
        self.brokers: Mapping[str, Broker] = {
            name: Broker(
                Settings(
                    name, topology, self.first, ("quotes",) if name == self.first else (),
                    window=2**40, **settings,
                ),
                NOTHING, "bench", self.now,
            )
            for name in names
        }  # fmt: skip
        self.run()
        self.wait(2)

    def number(self) -> int:
        self._number += 1
        return self._number

    def run(self) -> None:
        """Let everything happen that is to happen now."""
        busy = True
        while busy:
            busy = False
            for name, broker in self.brokers.items():
                effects = broker.effects()
                if effects:
                    busy = True
                    self._carry_out(name, broker, effects)
            while self._inbox:
                busy = True
                name, link, data = self._inbox.popleft()
                self.brokers[name].receive(link, data, self.now)

    def _carry_out(self, name: str, broker: Broker, effects: list[Any]) -> None:
        ticket = 0
        for effect in effects:
            match effect:
                case Tell(_, message):
                    self.deliveries += isinstance(message, Delivery)
                case Send(link, data):
                    self.sent_bytes[name] += len(data)
                    self._inbox.append((*self._links[name, link], data))
                case Append():
                    ticket = effect.ticket
                    for record in effect.records:
                        self.logs.setdefault(record.stream, []).append(record)
                case Keep():
                    ticket = effect.ticket
                case Dial(other):
                    here, there = (name, self.number()), (other, self.number())
                    self._links[here], self._links[there] = there, here
                    broker.link_up(here[1], self.now, other)
                    self.brokers[other].link_up(there[1], self.now, None)
                case Read(number, stream, after, count_max):
                    found = self.logs.get(stream, [])[after : after + count_max]
                    broker.was_read(number, found, self.now)
                case ApplyBatch(number, batch, expected):
                    version = self.history.apply(batch, expected).number
                    broker.policy_grew([(version, batch)], self.now)
                    broker.batch_applied(number, None, self.now)
                case KeepStartingPoint(version, stream, _):
                    broker.starting_point_kept(version, stream, self.now)
                case Drop(client, because):
                    raise RuntimeError(f"client {client} was dropped: {because}")
        if ticket:
            broker.stored(ticket, self.now)

    def wait(self, seconds: float) -> None:
        end = self.now + int(seconds * SECOND)
        while True:
            first = min(broker.next_timer() or end + 1 for broker in self.brokers.values())
            if first > end:
                break
            self.now = max(self.now, first)
            for broker in self.brokers.values():
                timer = broker.next_timer()
                if timer is not None and timer <= self.now:
                    broker.on_timer(self.now)
            self.run()
        self.now = end

    def administer(self, *changes: Change) -> None:
        moment = datetime.fromtimestamp(self.now / SECOND, UTC)
        batch = Batch(changes, "bench", moment)
        self.brokers[self.first].administer(0, 0, batch, None, self.now)
        self.run()

    def connect(self, broker: str, principal: str) -> int:
        client = self.number()
        self.brokers[broker].connect(client, principal, self.now)
        self.run()
        return client

    def subscribe(self, broker: str, client: int, wanted: Filter) -> None:
        self.brokers[broker].subscribe(client, 0, self.number(), wanted, self.now)

    def publish(self, client: int, bodies: list[bytes]) -> None:
        """Publish a burst, stored and carried on together, as group commit does."""
        broker = self.brokers[self.first]
        for body in bodies:
            broker.publish(client, 0, body, f"e{self.number()}", self.now)
        self.run()
