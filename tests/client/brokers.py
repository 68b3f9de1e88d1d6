"""Brokers that a conversation can be tested against: streams in memory, and connections to cut.

They do what the documentation of the messages says and nothing more: they know repeated
publications on their own streams, keep durable positions for all of them, send no more than the
window, and deliver again what was not acknowledged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from msgspec import Raw

from headgate.http.cursors import read_cursor
from headgate.http.socket_messages import (
    Acknowledge,
    Acknowledged,
    Advertise,
    Advertised,
    BrokerMessage,
    ClientMessage,
    Connected,
    Delivery,
    Dropped,
    Ended,
    Publish,
    Published,
    Refused,
    Started,
    Subscribe,
    Subscribed,
    Unsubscribe,
    encode,
    read_from_client,
)

WINDOW = 16
INCARNATION = "i1"


@dataclass
class Durable:
    """How far a durable subscription is, and who has it."""

    positions: dict[str, int] = field(default_factory=dict)
    attachment: int = 0
    held_by: tuple[Line, int] | None = None


class Net:
    """All brokers, with what they share."""

    def __init__(self, **streams_of: Iterable[str]) -> None:
        self.streams: dict[str, list[Publish]] = {}
        self.durables: dict[str, Durable] = {}
        self.brokers = {name: Broker(self, name, list(of)) for name, of in streams_of.items()}
        for broker in self.brokers.values():
            self.streams.update({stream: [] for stream in broker.streams})

    def flow(self) -> None:
        for broker in self.brokers.values():
            for line in broker.lines:
                line.flow()


class Broker:
    """One of them."""

    def __init__(self, net: Net, name: str, streams: list[str]) -> None:
        self.net = net
        self.name = name
        self.streams = streams
        self.lines: list[Line] = []
        self.is_up = True

    def connect(self) -> Line:
        line = Line(self)
        self.lines.append(line)
        line.tell(Connected(self.name, "jane", 1))
        return line


@dataclass
class Reading:
    """One subscription on one connection."""

    asked: Subscribe
    attachment: int = 0
    at: dict[str, int] = field(default_factory=dict)
    outstanding: dict[str, deque[int]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return sum(map(len, self.outstanding.values())) >= WINDOW


class Line:
    """A connection as its broker sees it: what was said to it is in `told`, one by one."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.net = broker.net
        self.told: deque[BrokerMessage] = deque()
        self.readings: dict[int, Reading] = {}
        self.refuses_for_now = 0
        """So many of the next requests."""
        self.advertised: list[str] = []

    def tell(self, message: BrokerMessage) -> None:
        self.told.append(message)

    def text(self, chance: Random) -> bytes:
        """Some of what was told, together."""
        count = chance.randint(1, len(self.told))
        return encode([self.told.popleft() for _ in range(count)])

    def hear(self, text: bytes) -> None:
        for message in read_from_client(text):
            self._do(message)
        self.flow()

    def gone(self) -> None:
        """The connection is no more."""
        self.broker.lines.remove(self)

    def _do(self, message: ClientMessage) -> None:
        if isinstance(message, Publish | Subscribe | Advertise) and self.refuses_for_now:
            self.refuses_for_now -= 1
            self.tell(Refused(message.request, "not just now", temporary=True))
        elif isinstance(message, Publish):
            self._publish(message)
        elif isinstance(message, Subscribe):
            self._subscribe(message)
        elif isinstance(message, Acknowledge):
            self._acknowledge(message)
        elif isinstance(message, Unsubscribe):
            self._unsubscribe(message)
        else:
            self.advertised.append(message.filter)
            self.tell(Advertised(message.request))

    def _publish(self, said: Publish) -> None:
        name = said.stream or self.broker.streams[0]
        if name not in self.broker.streams:
            self.tell(Refused(said.request, f"this broker hosts no stream `{name}`"))
            return
        stream = self.net.streams[name]
        for offset, before in enumerate(stream, start=1):
            if before.id == said.id:
                self.tell(Published(said.request, name, offset, 1, repeated=True))
                return
        stream.append(said)
        self.tell(Published(said.request, name, len(stream), 1))
        self.net.flow()

    def _subscribe(self, said: Subscribe) -> None:
        reading = self.readings[said.subscription] = Reading(said)
        if said.durable is not None:
            self._attach(said, reading)
        self.tell(Subscribed(said.request, said.subscription, reading.attachment))
        for stream, records in self.net.streams.items():
            after = self._beginning(said, stream, len(records))
            reading.at[stream], reading.outstanding[stream] = after, deque()
            self.tell(Started(said.subscription, stream, INCARNATION, after))

    def _beginning(self, said: Subscribe, stream: str, end: int) -> int:
        if said.durable is not None:
            return self.net.durables[said.durable].positions.setdefault(stream, end)
        if said.after == "start":
            return 0
        if isinstance(said.after, str):
            found = read_cursor(said.after).get(stream)
            return end if found is None else found.offset
        return (said.after or {}).get(stream, end)

    def _attach(self, said: Subscribe, reading: Reading) -> None:
        assert said.durable is not None
        durable = self.net.durables.setdefault(said.durable, Durable())
        if durable.held_by is not None:
            line, number = durable.held_by
            if line.readings.pop(number, None) is not None:
                line.tell(Ended(number, "attached again"))
        durable.attachment += 1
        reading.attachment = durable.attachment
        durable.held_by = self, said.subscription

    def _acknowledge(self, said: Acknowledge) -> None:
        reading = self.readings.get(said.subscription)
        if reading is None:
            return
        waiting = reading.outstanding[said.stream]
        done = 0
        while waiting and waiting[0] <= said.offset:
            done = waiting.popleft()
        if done and reading.asked.durable is not None:
            positions = self.net.durables[reading.asked.durable].positions
            positions[said.stream] = max(positions[said.stream], done)
            self.tell(Acknowledged(said.subscription, said.stream, positions[said.stream]))

    def _unsubscribe(self, said: Unsubscribe) -> None:
        reading = self.readings.pop(said.subscription, None)
        if reading is not None:
            if reading.asked.durable is not None:
                del self.net.durables[reading.asked.durable]
            self.tell(Ended(said.subscription, "the client has ended it"))

    def flow(self) -> None:
        """Deliver what is there, as far as the window lets it."""
        for number, reading in self.readings.items():
            for stream, records in self.net.streams.items():
                while reading.at[stream] < len(records) and not reading.is_full:
                    reading.at[stream] += 1
                    offset = reading.at[stream]
                    reading.outstanding[stream].append(offset)
                    record = records[offset - 1]
                    self.tell(Delivery(number, stream, INCARNATION, offset, 1, Raw(record.event)))

    def drop(self, because: str) -> None:
        self.tell(Dropped(because))
