"""Several brokers without a world: what one sends, the others receive at once, in order.

Links can be cut, held back and tampered with, disks can be slow, full and lose what they hadn't
synced, clocks can be wrong, and time passes only when a test says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TypeVar

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
    MayRemove,
    Message,
    Read,
    Recovered,
    Remove,
    Send,
    Started,
    SubscriptionEnded,
    Tell,
)
from headgate.broker.settings import SECOND, Settings
from headgate.broker.topology import Topology
from headgate.filters.filter import Filter
from headgate.log.memory import MemoryLog
from headgate.log.store import StoreFullError
from headgate.peering.frames import Frame
from headgate.peering.wire import FrameSplitter, decode, encode
from headgate.rights.changes import Batch, Change, Grant
from headgate.rights.history import PolicyHistory
from headgate.rights.rules import PolicyError
from tests.rights.policies import connecting, grant

START = 1_700_000_000 * SECOND
_ROUNDS_MAX = 20_000
"""More than any test needs: a network that goes on for longer never comes to rest."""

M = TypeVar("M")
End = tuple[str, int]
Tamper = Callable[[Frame], Iterable[Frame]]


class Lost:
    """The chance by which a crash loses all that was not synced."""

    def randrange(self, stop: int, /) -> int:
        return 1


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
        self.links: dict[End, End] = {}
        self.told: dict[str, dict[int, list[Message]]] = {}
        self.dropped: dict[tuple[str, int], str] = {}
        self.frames: dict[tuple[str, str], list[Frame]] = {}
        """All that one broker has sent another, in order, come there or not."""
        self.closed: list[str] = []
        """Why links were closed by a broker."""
        self.tampers: dict[tuple[str, str], Tamper] = {}
        """What becomes of a frame on the way from one broker to another."""
        self.clocks: dict[str, int] = {}
        """By how many microseconds a broker's clock is ahead of the time."""
        self._cut: set[frozenset[str]] = set()
        self._held: dict[tuple[str, str], deque[tuple[End, bytes]]] = {}
        self._splitters: dict[End, FrameSplitter] = {}
        self._slow_disks: set[str] = set()
        self._unsynced: dict[str, int] = {}
        self.may_remove: dict[str, Mapping[str, int]] = {}
        self.damaged: set[tuple[str, str]] = set()
        """Brokers and streams of theirs that can't be read."""
        self._number = 0
        self._boots = 0
        self._inbox: deque[tuple[str, int, bytes]] = deque()
        for broker in topology.node_of:
            self.start(broker)

    def start(self, broker: str) -> None:
        """Start a broker with what its disk has."""
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
            {stream: log.first(stream) - 1 for stream in incarnations},
        )
        self.told[broker] = {}
        self.brokers[broker] = Broker(
            self.settings[broker], recovered, f"boot-{self._boots}", self._now(broker)
        )
        self.run()

    def kill(self, broker: str) -> None:
        """End a broker; what it had not synced is lost."""
        del self.brokers[broker]
        self._unsynced.pop(broker, None)
        self._slow_disks.discard(broker)
        self.logs[broker].crash(Lost())
        for end in [end for end in self.links if end[0] == broker]:
            self._break(end)
        self.run()

    def lose_disk(self, broker: str) -> None:
        """Take the disk from a broker that was killed."""
        assert broker not in self.brokers
        self.logs[broker] = MemoryLog()

    # links

    def _break(self, end: End) -> None:
        other = self.links.pop(end, None)
        if other is not None:
            self.links.pop(other, None)
            for name, number in (end, other):
                if name in self.brokers:
                    self.brokers[name].link_down(number, self._now(name))

    def cut_link(self, one: str, other: str) -> None:
        """Break the link between two brokers; it can't be made again until it is mended."""
        self._cut.add(frozenset({one, other}))
        for end in [end for end, far in self.links.items() if {end[0], far[0]} == {one, other}]:
            self._break(end)
        self.run()

    def mend_link(self, one: str, other: str) -> None:
        """Let a link be made again, when it is dialled next."""
        self._cut.discard(frozenset({one, other}))

    def hold(self, source: str, target: str) -> None:
        """Hold back, from now on, what one broker sends another."""
        self._held.setdefault((source, target), deque())

    def holds(self, source: str, target: str) -> bool:
        """Whether anything is held back."""
        return bool(self._held.get((source, target)))

    def pass_on(self, source: str, target: str) -> None:
        """Let arrive what was held back until now, and hold back what follows."""
        held, self._held[source, target] = self._held[source, target], deque()
        self._inbox.extend((*far, data) for far, data in held)
        self.run()

    def release(self, source: str, target: str) -> None:
        """Let arrive what was held back, and what follows."""
        held = self._held.pop((source, target))
        self._inbox.extend((*far, data) for far, data in held)
        self.run()

    def block(self, source: str, target: str) -> None:
        """The transport takes no more from one broker to another for now."""
        self._set_writable(source, target, writable=False)

    def unblock(self, source: str, target: str) -> None:
        self._set_writable(source, target, writable=True)

    def _set_writable(self, source: str, target: str, *, writable: bool) -> None:
        number = next(
            end[1] for end, far in self.links.items() if (end[0], far[0]) == (source, target)
        )
        self.brokers[source].set_writable(number, writable, self._now(source))
        self.run()

    def said(self, source: str, target: str, kind: type[M]) -> list[M]:
        """The frames of a kind that one broker has sent another."""
        return [one for one in self.frames.get((source, target), ()) if isinstance(one, kind)]

    def say_raw(self, source: str, target: str, data: bytes) -> None:
        """Let bytes arrive that look as if one broker had sent them to another."""
        far = next(far for end, far in self.links.items() if (end[0], far[0]) == (source, target))
        self._inbox.append((*far, data))
        self.run()

    def _carry(self, name: str, link: int, data: bytes) -> None:
        far = self.links.get((name, link))
        if far is None:
            return
        way = name, far[0]
        splitter = self._splitters.setdefault((name, link), FrameSplitter(2**30))
        frames = [decode(content) for content in splitter.feed(data)]
        self.frames.setdefault(way, []).extend(frames)
        tamper = self.tampers.get(way)
        if tamper is not None:
            data = b"".join(encode(after) for frame in frames for after in tamper(frame))
        if way in self._held:
            self._held[way].append((far, data))
        elif data:
            self._inbox.append((*far, data))

    # time

    def _now(self, broker: str) -> int:
        return self.now + self.clocks.get(broker, 0)

    def run(self) -> None:
        """Let everything happen that needs no time."""
        for _ in range(_ROUNDS_MAX):
            again = False
            for name in list(self.brokers):
                if name not in self.brokers:
                    continue
                effects = self.brokers[name].effects()
                assert self.brokers[name].effects() == [], "all there is to do comes at once"
                for effect in effects:
                    again = True
                    self._carry_out(name, effect)
                again |= self._sync(name)
            while self._inbox:
                again = True
                name, link, data = self._inbox.popleft()
                if (name, link) in self.links and name in self.brokers:
                    self.brokers[name].receive(link, data, self._now(name))
            if not again:
                return
        raise AssertionError("the network never comes to rest")

    def wait(self, seconds: float) -> None:
        """Let time pass, timer by timer."""
        end = self.now + int(seconds * SECOND)
        for _ in range(_ROUNDS_MAX):
            self.run()
            timers = {
                name: at - self.clocks.get(name, 0)
                for name, broker in self.brokers.items()
                if (at := broker.next_timer()) is not None
            }
            first = min(timers.values(), default=end + 1)
            if first > end:
                self.now = end
                self.run()
                return
            self.now = max(self.now, first)
            for name, at in timers.items():
                if at <= self.now and name in self.brokers:
                    self.brokers[name].on_timer(self._now(name))
        raise AssertionError("a timer never goes away")

    # effects

    def _carry_out(self, name: str, effect: Any) -> None:
        broker = self.brokers.get(name)
        if broker is None:
            return
        match effect:
            case Send(link, data):
                self._carry(name, link, data)
            case Close(link, because):
                self.closed.append(because)
                self._break((name, link))
            case Dial(other):
                self._dial(name, other)
            case Append(ticket, records):
                self.logs[name].append(records)
                self._unsynced[name] = ticket
            case Keep(ticket, key, value):
                self.logs[name].keep(key, value)
                self._unsynced[name] = ticket
            case Read(number, stream, after, count_max):
                self._read(broker, number, stream, after, count_max)
            case MayRemove(up_to):
                self.may_remove[name] = up_to
            case Remove(up_to):
                for stream, at in up_to.items():
                    self.logs[name].remove(stream, at)
            case ApplyBatch(number, batch, expected):
                self._apply(broker, number, batch, expected)
            case KeepStartingPoint(version, stream, offset):
                self.starting_points[version, stream] = offset
                broker.starting_point_kept(version, stream, self._now(name))
            case Tell(client, message):
                self.told[name].setdefault(client, []).append(message)
            case Drop(client, because):
                self.dropped[name, client] = because
            case _:
                raise AssertionError(effect)

    def _read(self, broker: Broker, number: int, stream: str, after: int, count_max: int) -> None:
        name = broker.settings.broker
        if (name, stream) in self.damaged:
            broker.read_failed(number, f"`{stream}` is damaged", self._now(name))
        else:
            records = self.logs[name].read(stream, after, count_max)
            broker.was_read(number, records, self._now(name))

    def remove(self, name: str, **up_to: int) -> None:
        """Let a broker remove the beginnings of streams."""
        self.brokers[name].remove(up_to, self._now(name))
        self.run()

    def consider_removal(self, name: str) -> Mapping[str, int]:
        """What a broker may remove without taking it from somebody who is gone for a while."""
        self.may_remove.pop(name, None)
        self.brokers[name].consider_removal(self._now(name))
        self.run()
        return self.may_remove.get(name, {})

    def _dial(self, name: str, other: str) -> None:
        if other not in self.brokers or frozenset({name, other}) in self._cut:
            self.brokers[name].dial_failed(other, self._now(name))
            return
        here, there = (name, self.next()), (other, self.next())
        self.links[here], self.links[there] = there, here
        self.brokers[name].link_up(here[1], self._now(name), other)
        self.brokers[other].link_up(there[1], self._now(other), None)

    def next(self) -> int:
        """A number that was given to nothing else."""
        self._number += 1
        return self._number

    # disks

    def _sync(self, name: str) -> bool:
        """Store together what came up together; whether there was anything to be stored."""
        if name in self._slow_disks or name not in self._unsynced or name not in self.brokers:
            return False
        ticket = self._unsynced.pop(name)
        try:
            self.logs[name].sync()
        except StoreFullError as problem:
            self.brokers[name].store_failed(str(problem), self._now(name))
        else:
            self.brokers[name].stored(ticket, self._now(name))
        return True

    def slow_disk(self, name: str) -> None:
        """Let nothing be synced until `sync_disk`."""
        self._slow_disks.add(name)

    def sync_disk(self, name: str) -> None:
        self._slow_disks.discard(name)
        self.run()

    def fill_disk(self, name: str) -> None:
        self.logs[name].full = True

    def free_disk(self, name: str) -> None:
        self.logs[name].full = False

    def _apply(self, broker: Broker, number: int, batch: Batch, expected: int | None) -> None:
        now = self._now(broker.settings.broker)
        try:
            version = self.history.apply(batch, expected).number
        except PolicyError as refusal:
            broker.batch_applied(number, str(refusal), now)
            return
        broker.policy_grew([(version, batch)], now)
        broker.batch_applied(number, None, now)

    # what people do

    @property
    def policy_host(self) -> str:
        return next(iter(self.settings.values())).policy_host

    def administer(self, *changes: Change, expected: int | None = None) -> int:
        """Submit a batch; the newest version afterwards."""
        host = self.policy_host
        batch = Batch(changes, "admin", datetime.fromtimestamp(self.now / SECOND, UTC))
        self.brokers[host].administer(0, self.next(), batch, expected, self._now(host))
        self.run()
        return self.history.version

    def connect(self, broker: str, principal: str, domain: str | None = None) -> int:
        client = self.next()
        self.brokers[broker].connect(client, principal, self._now(broker), domain)
        self.run()
        return client

    def disconnect(self, broker: str, client: int) -> None:
        self.brokers[broker].disconnect(client, self._now(broker))
        self.run()

    def publish(self, broker: str, client: int, body: bytes = b"{}", **more: Any) -> int:
        request = self.next()
        event_id = more.pop("event_id", f"event-{request}")
        self.brokers[broker].publish(client, request, body, event_id, self._now(broker), **more)
        self.run()
        return request

    def subscribe(self, broker: str, client: int, wanted: str = "TRUE", **more: Any) -> int:
        number = self.next()
        self.brokers[broker].subscribe(
            client, self.next(), number, Filter.parse(wanted), self._now(broker), **more
        )
        self.run()
        return number

    def unsubscribe(self, broker: str, client: int, subscription: int) -> None:
        self.brokers[broker].unsubscribe(client, subscription, self._now(broker))
        self.run()

    def acknowledge(
        self, broker: str, client: int, subscription: int, offset: int, stream: str = "orders"
    ) -> None:
        self.brokers[broker].acknowledge(client, subscription, stream, offset, self._now(broker))
        self.run()

    # what clients were told

    def messages(self, broker: str, client: int) -> list[Message]:
        return self.told[broker].get(client, [])

    def heard(self, broker: str, client: int, kind: type[M]) -> list[M]:
        """What a client was told of one kind."""
        return [one for one in self.messages(broker, client) if isinstance(one, kind)]

    def answer(self, broker: str, client: int, request: int) -> Any:
        """The answer to a request; `None` while there is none."""
        for message in self.messages(broker, client):
            if getattr(message, "request", None) == request:
                return message
        return None

    def delivered(self, broker: str, client: int, stream: str | None = None) -> list[int]:
        """The offsets that a client was sent."""
        return [one.offset for one in self.heard(broker, client, Delivery)
                if stream in (None, one.stream)]  # fmt: skip

    def bodies(self, broker: str, client: int) -> list[str]:
        """The events that a client was sent, as far as they were published."""
        return [one.event.to_json().decode() for one in self.heard(broker, client, Delivery)]

    def starts(self, broker: str, client: int) -> dict[tuple[int, str], int]:
        """After which offset the subscriptions of a client have begun."""
        return {
            (one.subscription, one.stream): one.after for one in self.heard(broker, client, Started)
        }

    def ends(self, broker: str, client: int) -> list[SubscriptionEnded]:
        return self.heard(broker, client, SubscriptionEnded)


def chain(*brokers: str) -> Topology:
    """One broker after the other."""
    edges = frozenset(frozenset(pair) for pair in pairwise(brokers))
    return Topology({name: (name,) for name in brokers}, edges)


def nodes(*members: str) -> Topology:
    """One node after the other, each written as its brokers: `nodes("p", "m1 m2", "s")`."""
    names = [member.split() for member in members]
    edges = frozenset(frozenset((one[0], other[0])) for one, other in pairwise(names))
    return Topology({brokers[0]: tuple(brokers) for brokers in names}, edges)


def reader(principal: str, filter_: str = "TRUE", **said: Any) -> tuple[Change, ...]:
    """May connect, and read what a filter matches."""
    return Grant(connecting(principal)), grant(principal, filter_=filter_, **said)


def writer(principal: str = "eve", filter_: str = "TRUE") -> tuple[Change, ...]:
    """May connect, and publish what a filter matches."""
    return Grant(connecting(principal)), grant(principal, "publish", filter_)


def network(
    topology: Topology,
    *changes: Change,
    policy_host: str = "p",
    streams: Mapping[str, tuple[str, ...]] | None = None,
    **settings: Any,
) -> Pump:
    """A network at rest, with a first version of the policy."""
    hosts = streams or {"p" if "p" in topology.node_of else policy_host: ("orders",)}
    pump = Pump(topology, policy_host, hosts, **settings)
    pump.wait(2)
    if changes:
        assert pump.administer(*changes) == 1, pump.messages(policy_host, 0)
        pump.wait(1)
    return pump
