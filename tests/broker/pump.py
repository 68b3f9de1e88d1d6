"""Several brokers without a world: what one sends, the others receive at once, in order.

Links can be cut and slowed, disks can be held up, and time passes only when a test says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from headgate.broker.core import Broker
from headgate.broker.effects import (
    Append,
    ApplyBatch,
    Close,
    Delivery,
    Dial,
    Drop,
    Keep,
    KeepStartingPoint,
    Message,
    Read,
    Recovered,
    Send,
    Tell,
)
from headgate.broker.settings import SECOND, Settings
from headgate.broker.topology import Topology
from headgate.filters.filter import Filter
from headgate.log.memory import MemoryLog
from headgate.rights.changes import Batch, Change
from headgate.rights.history import PolicyHistory
from headgate.rights.rules import PolicyError

START = 1_700_000_000 * SECOND


class Pump:
    """A network of brokers in which everything happens at once."""

    def __init__(
        self,
        topology: Topology,
        policy_host: str,
        streams: Mapping[str, tuple[str, ...]],
        **settings: Any,
    ) -> None:
        self.now = START
        self.history = PolicyHistory()
        self.starting_points: dict[tuple[int, str], int] = {}
        self.logs = {broker: MemoryLog() for broker in topology.node_of}
        self.settings = {
            broker: Settings(broker, topology, policy_host, streams.get(broker, ()), **settings)
            for broker in topology.node_of
        }
        self.brokers: dict[str, Broker] = {}
        self.links: dict[tuple[str, int], tuple[str, int]] = {}
        self.cut: set[frozenset[str]] = set()
        self.slow_disks: dict[str, list[int]] = {}
        self.told: dict[str, dict[int, list[Message]]] = {}
        self.dropped: dict[tuple[str, int], str] = {}
        self._number = 0
        self._boots = 0
        self._inbox: deque[tuple[str, int, bytes]] = deque()
        for broker in topology.node_of:
            self.start(broker)

    def start(self, broker: str) -> None:
        log = self.logs[broker]
        incarnations = dict(log.streams())
        self._boots += 1
        recovered = Recovered(
            {stream: log.last(stream) for stream in incarnations},
            incarnations,
            {stream: log.recent(stream, 1_000) for stream in incarnations},
            dict(log.kept()),
            tuple(self.history.batches()),
            tuple((version, stream, at) for (version, stream), at in self.starting_points.items()),
        )
        self.told[broker] = {}
        self.brokers[broker] = Broker(
            self.settings[broker], recovered, f"boot-{self._boots}", self.now
        )
        self.run()

    def kill(self, broker: str) -> None:
        """End a broker; what it had not synced is lost."""
        del self.brokers[broker]
        for end in [end for end in self.links if end[0] == broker]:
            self._break(end)
        self.run()

    def _break(self, end: tuple[str, int]) -> None:
        other = self.links.pop(end, None)
        if other is not None:
            self.links.pop(other, None)
            for name, number in (end, other):
                if name in self.brokers:
                    self.brokers[name].link_down(number, self.now)

    def cut_link(self, one: str, other: str) -> None:
        self.cut.add(frozenset({one, other}))
        for end in [end for end, far in self.links.items() if {end[0], far[0]} == {one, other}]:
            self._break(end)
        self.run()

    def mend_link(self, one: str, other: str) -> None:
        self.cut.discard(frozenset({one, other}))

    # time

    def run(self) -> None:
        """Let everything happen that needs no time."""
        again = True
        while again:
            again = False
            for name in list(self.brokers):
                effects = self.brokers[name].effects() if name in self.brokers else []
                for effect in effects:
                    again = True
                    self._carry_out(name, effect)
            while self._inbox:
                again = True
                name, link, data = self._inbox.popleft()
                if (name, link) in self.links and name in self.brokers:
                    self.brokers[name].receive(link, data, self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass, timer by timer."""
        end = self.now + int(seconds * SECOND)
        while True:
            self.run()
            timers = {name: broker.next_timer() for name, broker in self.brokers.items()}
            first = min((one for one in timers.values() if one is not None), default=end + 1)
            if first > end:
                break
            self.now = max(self.now, first)
            for name, at in timers.items():
                if at is not None and at <= self.now and name in self.brokers:
                    self.brokers[name].on_timer(self.now)
        self.now = end
        self.run()

    # effects

    def _carry_out(self, name: str, effect: Any) -> None:
        broker = self.brokers.get(name)
        if broker is None:
            return
        match effect:
            case Send(link, data):
                far = self.links.get((name, link))
                if far is not None:
                    self._inbox.append((*far, data))
            case Close(link, _):
                self._break((name, link))
            case Dial(other):
                self._dial(name, other)
            case Append(ticket, records):
                self.logs[name].append(records)
                self._sync(name, ticket)
            case Keep(ticket, key, value):
                self.logs[name].keep(key, value)
                self._sync(name, ticket)
            case Read(number, stream, after, count_max):
                broker.was_read(number, self.logs[name].read(stream, after, count_max), self.now)
            case ApplyBatch(number, batch, expected):
                self._apply(broker, number, batch, expected)
            case KeepStartingPoint(version, stream, offset):
                self.starting_points[version, stream] = offset
            case Tell(client, message):
                self.told[name].setdefault(client, []).append(message)
            case Drop(client, because):
                self.dropped[name, client] = because
            case _:
                raise AssertionError(effect)

    def _dial(self, name: str, other: str) -> None:
        if other not in self.brokers or frozenset({name, other}) in self.cut:
            self.brokers[name].dial_failed(other, self.now)
            return
        here, there = (name, self._next()), (other, self._next())
        self.links[here], self.links[there] = there, here
        self.brokers[name].link_up(here[1], self.now, other)
        self.brokers[other].link_up(there[1], self.now, None)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _sync(self, name: str, ticket: int) -> None:
        if name in self.slow_disks:
            self.slow_disks[name].append(ticket)
        else:
            self.logs[name].sync()
            self.brokers[name].stored(ticket, self.now)

    def slow_disk(self, name: str) -> None:
        self.slow_disks[name] = []

    def sync_disk(self, name: str) -> None:
        tickets = self.slow_disks.pop(name)
        self.logs[name].sync()
        if tickets:
            self.brokers[name].stored(tickets[-1], self.now)
        self.run()

    def _apply(self, broker: Broker, number: int, batch: Batch, expected: int | None) -> None:
        try:
            version = self.history.apply(batch, expected).number
        except PolicyError as refusal:
            broker.batch_applied(number, str(refusal), self.now)
            return
        broker.policy_grew([(version, batch)], self.now)
        broker.batch_applied(number, None, self.now)

    # what people do

    def administer(self, *changes: Change) -> int:
        host = next(iter(self.settings.values())).policy_host
        batch = Batch(changes, "admin", datetime.fromtimestamp(self.now / SECOND, UTC))
        self.brokers[host].administer(0, self._next(), batch, None, self.now)
        self.run()
        return self.history.version

    def connect(self, broker: str, principal: str, domain: str | None = None) -> int:
        client = self._next()
        self.brokers[broker].connect(client, principal, self.now, domain)
        self.run()
        return client

    def publish(self, broker: str, client: int, body: bytes, **more: Any) -> int:
        request = self._next()
        event_id = more.pop("event_id", f"event-{request}")
        self.brokers[broker].publish(client, request, body, event_id, self.now, **more)
        self.run()
        return request

    def subscribe(self, broker: str, client: int, wanted: str = "TRUE", **more: Any) -> int:
        number = self._next()
        self.brokers[broker].subscribe(
            client, self._next(), number, Filter.parse(wanted), self.now, **more
        )
        self.run()
        return number

    def messages(self, broker: str, client: int) -> list[Message]:
        return self.told[broker].get(client, [])

    def delivered(self, broker: str, client: int, stream: str | None = None) -> list[int]:
        """The offsets that a client was sent."""
        return [
            one.offset
            for one in self.messages(broker, client)
            if isinstance(one, Delivery) and stream in (None, one.stream)
        ]


def chain(*brokers: str) -> Topology:
    """One broker after the other."""
    edges = frozenset(frozenset(pair) for pair in pairwise(brokers))
    return Topology({name: (name,) for name in brokers}, edges)


def with_settings(settings: Settings, **changes: Any) -> Settings:
    return replace(settings, **changes)
