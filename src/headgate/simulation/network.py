"""What does a link do to bytes? They arrive in order and late, in pieces, twice, or not at all.

A link is a reliable stream of bytes, as TCP gives it, until it breaks. A *road* is what lies
between two brokers: all links between them share its weather and its faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Final, Protocol, final

from headgate.peering.wire import HEAD_BYTES
from headgate.simulation.timeline import SECOND, Timeline

FULL_BYTES: Final = 64 * 1024
"""With more than this under way a link is not writable, until a quarter of it is left."""
_RECORD: Final = b"\xa4data"
"""What the content of a frame with a record begins with, behind the head of its array."""
DIAL_US: Final = 2 * SECOND
"""Who dials and hears nothing gives up after this."""


class Station(Protocol):
    """A broker's machine, as the network sees it."""

    name: str

    @property
    def is_up(self) -> bool: ...

    def link_up(self, link: int, dialled: str | None) -> None: ...
    def link_down(self, link: int) -> None: ...
    def dial_failed(self, broker: str) -> None: ...
    def receive(self, link: int, data: bytes) -> None: ...
    def set_writable(self, link: int, *, writable: bool) -> None: ...


@final
class Road:
    """Between two brokers: how long it takes, and what goes wrong at the moment."""

    __slots__ = (
        "blocked", "bytes_per_s", "chance", "delay_us", "ends", "extra_us", "garbage", "jitter_us",
        "losing", "pieces", "refusing", "repeating",
    )  # fmt: skip

    def __init__(self, chance: Random, delay_us: int, jitter_us: int, pieces: float) -> None:
        self.chance = chance
        self.delay_us = delay_us
        self.jitter_us = jitter_us
        self.pieces = pieces
        self.blocked: dict[str, int] = {}
        """From which brokers nothing gets through, by how many faults."""
        self.refusing = 0
        self.repeating = 0.0
        self.losing = 0.0
        self.bytes_per_s = 0
        """0 for as many as one likes."""
        self.extra_us = 0
        self.garbage = b""
        """Arrives before what is sent next."""
        self.ends: list[End] = []

    def delay(self) -> int:
        return self.delay_us + self.extra_us + self.chance.randrange(self.jitter_us + 1)

    def blocks(self, sender: str) -> bool:
        return self.blocked.get(sender, 0) > 0


@final
class End:
    """One end of a link: what its broker sends goes to the peer's."""

    __slots__ = (
        "free_at", "held", "id", "is_known", "is_open", "last_arrival", "peer", "road", "stalled",
        "station", "tail", "under_way",
    )  # fmt: skip

    def __init__(self, number: int, station: Station, road: Road) -> None:
        self.id = number
        self.station = station
        self.road = road
        self.is_open = True
        self.is_known = False
        """Whether its broker was told that it is up."""
        self.last_arrival = 0
        """What is sent from here arrives no earlier: it arrives in order."""
        self.free_at = 0
        """When a slow link has taken all that was sent before."""
        self.held: list[bytes | None] = []
        """What a partition keeps from arriving at the peer; `None` for the end of the stream."""
        self.tail = b""
        self.under_way = 0
        self.stalled = False
        self.peer: End = self


@final
class Network:
    """All roads, and the links that are up."""

    def __init__(
        self, timeline: Timeline, seed: int, delay_us: int, jitter_us: int, pieces: float
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.traffic: Counter[tuple[str, str]] = Counter()
        """Bytes sent, by sender and receiver."""
        self.taps: list[Callable[[str, str, bytes], None]] = []
        """Who listens to what is sent: sender, receiver and bytes."""
        self._timeline = timeline
        self._seed = seed
        self._weather = (delay_us, jitter_us, pieces)
        self._roads: dict[tuple[str, str], Road] = {}
        self._stations: dict[str, Station] = {}
        self._ends: dict[tuple[str, int], End] = {}
        self._last_id = 0

    def add(self, station: Station) -> None:
        self._stations[station.name] = station

    def road(self, one: str, other: str) -> Road:
        pair = (one, other) if one < other else (other, one)
        found = self._roads.get(pair)
        if found is None:
            chance = Random(f"{self._seed}/road/{pair[0]}/{pair[1]}")
            delay_us, jitter_us, pieces = self._weather
            own = delay_us // 2 + chance.randrange(delay_us + 1)
            found = self._roads[pair] = Road(chance, own, jitter_us, pieces)
        return found

    def roads(self) -> list[Road]:
        return list(self._roads.values())

    def roads_of(self, broker: str) -> list[tuple[str, Road]]:
        """The roads of a broker on which something was ever sent, with who is at the other end."""
        return [
            (pair[0] if pair[1] == broker else pair[1], road)
            for pair, road in self._roads.items()
            if broker in pair
        ]

    # What brokers do.

    def dial(self, caller: Station, broker: str) -> None:
        road, called = self.road(caller.name, broker), self._stations[broker]
        there = self._timeline.now + road.delay()
        if road.blocks(caller.name) or road.blocks(broker):
            self.counts["dial into a partition"] += 1
            self._timeline.after(DIAL_US, caller.dial_failed, broker)
        elif road.refusing or not called.is_up:
            self.counts["dial refused"] += 1
            self._timeline.at(there + road.delay(), caller.dial_failed, broker)
        else:
            self._connect(caller, called, road, there)

    def _connect(self, caller: Station, called: Station, road: Road, there: int) -> None:
        near, far = self._end(caller, road), self._end(called, road)
        near.peer, far.peer = far, near
        back = there + road.delay()
        near.last_arrival, far.last_arrival = there, back
        road.ends += [near, far]
        self._timeline.at(there, self._up, far, None)
        self._timeline.at(back, self._up, near, called.name)

    def send(self, station: Station, link: int, data: bytes) -> None:
        end = self._ends.get((station.name, link))
        if end is None or not end.is_open:
            return
        road = end.road
        self.traffic[station.name, end.peer.station.name] += len(data)
        for heard in self.taps:
            heard(station.name, end.peer.station.name, data)
        if road.garbage:
            self.counts["garbage injected"] += 1
            data, road.garbage = road.garbage + data, b""
        if road.losing:
            data, lost = without_records(data, road)
            self.counts["records lost on a link"] += lost
            if not data:
                return
        if road.repeating and road.chance.random() < road.repeating:
            self.counts["frames repeated"] += 1
            data = repeated(data, road.chance)
        self._put(end, data)

    def close(self, station: Station, link: int) -> None:
        """The core hangs up: the peer learns it after all that was sent."""
        end = self._ends.get((station.name, link))
        if end is not None and end.is_open:
            self._shut(end)
            self._timeline.after(0, station.link_down, link)
            self._tell_end(end)

    # What goes wrong.

    def reset(self, one: str, other: str) -> None:
        """The links between two brokers break at once; what is under way is lost."""
        road = self.road(one, other)
        for end in [end for end in road.ends if end.is_open]:
            self._break(end)

    def drop(self, station: Station, *, silently: bool) -> None:
        """A machine is gone: its peers are told, or find out."""
        for end in [end for end in self._ends.values() if end.station is station]:
            peer = end.peer
            self._shut(end)
            if not silently and peer.is_open:
                self._timeline.after(end.road.delay(), self._broken, peer)

    def block(self, sender: str, receiver: str) -> None:
        blocked = self.road(sender, receiver).blocked
        blocked[sender] = blocked.get(sender, 0) + 1

    def unblock(self, sender: str, receiver: str, *, reset: bool) -> None:
        """What was held arrives now, in order; or its link is found broken."""
        road = self.road(sender, receiver)
        road.blocked[sender] -= 1
        if road.blocked[sender]:
            return
        for end in [end for end in road.ends if end.station.name == sender and end.held]:
            if reset and end.peer.is_open:
                self.counts["link lost in a partition"] += 1
                self._break(end)
                self._break(end.peer)
                continue
            self.counts["link late after a partition"] += 1
            self._timeline.after(road.delay(), self._release, end)

    # How bytes travel.

    def _put(self, end: End, data: bytes) -> None:
        road = end.road
        end.under_way += len(data)
        if end.under_way > FULL_BYTES and not end.stalled:
            self.counts["link not writable"] += 1
            end.stalled = True
            self._timeline.after(0, self._tell_writable, end)
        if road.pieces and road.chance.random() < road.pieces:
            self.counts["bytes in pieces"] += 1
            data, end.tail = end.tail + data, b""
            border = road.chance.randrange(1, len(data) + 1)
            if border < len(data):
                end.tail = data[border:]
                self._timeline.after(road.delay() // 4, self._flush, end)
            self._plan(end, data[:border])
        elif end.tail:
            self._flush(end, data)
        else:
            self._plan(end, data)

    def _flush(self, end: End, more: bytes = b"") -> None:
        data, end.tail = end.tail + more, b""
        if data:
            self._plan(end, data)

    def _plan(self, end: End, data: bytes | None) -> None:
        road = end.road
        arrival = self._timeline.now + road.delay()
        if road.bytes_per_s and data:
            taken = max(self._timeline.now, end.free_at) + len(data) * SECOND // road.bytes_per_s
            end.free_at = taken
            arrival += taken - self._timeline.now
        if arrival < end.last_arrival:
            arrival = end.last_arrival
        end.last_arrival = arrival
        self._timeline.at(arrival, self._arrive, end, data)

    def _arrive(self, end: End, data: bytes | None) -> None:
        if end.held or end.road.blocks(end.station.name):
            end.held.append(data)  # behind what is held already: it stays in order
        else:
            self._deliver(end, data)

    def _release(self, end: End) -> None:
        if not end.road.blocks(end.station.name):
            held, end.held = end.held, []
            for data in held:
                self._deliver(end, data)

    def _deliver(self, end: End, data: bytes | None) -> None:
        """To the other end."""
        peer = end.peer
        if data is None:
            self._broken(peer)
            return
        end.under_way -= len(data)
        if end.stalled and end.under_way <= FULL_BYTES // 4:
            end.stalled = False
            self._tell_writable(end)
        if peer.is_open:
            peer.station.receive(peer.id, data)
        elif end.is_open and peer.station.is_up:
            # Nobody knows this link there (any more): a reset comes back.
            self._timeline.after(end.road.delay(), self._broken, end)

    def _tell_writable(self, end: End) -> None:
        if end.is_open and end.is_known:
            end.station.set_writable(end.id, writable=not end.stalled)

    # How links come and go.

    def _end(self, station: Station, road: Road) -> End:
        self._last_id += 1
        end = End(self._last_id, station, road)
        self._ends[station.name, end.id] = end
        return end

    def _up(self, end: End, dialled: str | None) -> None:
        if end.is_open and end.station.is_up:
            end.is_known = True
            end.station.link_up(end.id, dialled)
        elif dialled is not None and end.station.is_up:
            end.station.dial_failed(dialled)

    def _break(self, end: End) -> None:
        self._timeline.after(0, self._broken, end)

    def _broken(self, end: End) -> None:
        if end.is_open:
            self._shut(end)
            if end.is_known:
                end.station.link_down(end.id)

    def _tell_end(self, end: End) -> None:
        if end.tail:
            self._flush(end)
        self._plan(end, None)

    def _shut(self, end: End) -> None:
        end.is_open = False
        del self._ends[end.station.name, end.id]
        if not end.peer.is_open:
            ends = end.road.ends
            ends[:] = [one for one in ends if one is not end and one is not end.peer]


def without_records(data: bytes, road: Road) -> tuple[bytes, int]:
    """The same frames without some of those that carry records, and how many these are."""
    left = []
    borders = borders_of(data)
    for begin, end in pairwise(borders):
        is_record = data[begin + HEAD_BYTES + 1 : begin + HEAD_BYTES + 6] == _RECORD
        if not is_record or road.chance.random() >= road.losing:
            left.append(data[begin:end])
    return b"".join(left), len(borders) - 1 - len(left)


def repeated(data: bytes, chance: Random) -> bytes:
    """The same frames, one of them twice: at once, or at the end of what is sent together."""
    borders = borders_of(data)
    number = chance.randrange(len(borders) - 1)
    frame = data[borders[number] : borders[number + 1]]
    place = chance.choice(borders[number + 1 :])
    return data[:place] + frame + data[place:]


def borders_of(data: bytes) -> list[int]:
    """Where frames begin and end in what is sent together; what is no frame is one piece."""
    borders = [0]
    while borders[-1] + HEAD_BYTES <= len(data):
        head = data[borders[-1] : borders[-1] + HEAD_BYTES]
        borders.append(borders[-1] + HEAD_BYTES + int.from_bytes(head, "big"))
    return borders if borders[-1] == len(data) else [0, len(data)]
