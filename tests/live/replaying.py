"""A schedule of the simulation, played by real brokers: sockets, TLS, threads, a disk, a database.

The clients, the faults and the checkers are those of the simulation. Between them everything is
real: each broker is a `Node` on its own log, brokers reach each other over TCP and TLS, the policy
is in SQLite. The loop's clock runs faster than the world's; it is what every timer goes by.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any
from unittest.mock import patch

from headgate.broker.core import Broker
from headgate.broker.effects import (
    Append,
    BatchApplied,
    BatchRefused,
    Connected,
    Effect,
    KeepStartingPoint,
    Message,
    Remove,
)
from headgate.broker.settings import Settings
from headgate.live.clients import Client
from headgate.live.links import LinkLimits, TcpLinks
from headgate.live.node import Node
from headgate.log.entries import Kept, Write, entry
from headgate.log.memory import MemoryLog
from headgate.log.records import Record
from headgate.log.store import LogStore
from headgate.model.errors import HeadgateError
from headgate.rights.changes import Batch
from headgate.rights.history import PolicyHistory
from headgate.rights.starting_points import StartingPoints
from headgate.simulation import world
from headgate.simulation.administering import batch_of
from headgate.simulation.checkers.promises import Observers
from headgate.simulation.clocks import Clock
from headgate.simulation.schedules import Schedule
from headgate.simulation.sessions import Session
from headgate.simulation.timeline import SECOND
from headgate.simulation.world import World
from headgate.stores.acl import AclStore, StoreError
from headgate.stores.disk_log import DiskLog
from headgate.stores.files import RealFiles
from headgate.stores.log_options import LogOptions
from headgate.stores.opening import open_acl_store
from tests.live.fast_loop import FastLoop
from tests.live.link_certificates import Authority
from tests.live.nodes import Disk
from tests.live.roads import Roads

CALM_US_MAX = 150 * SECOND
SEGMENT_BYTES = 8_192
_LOOK_S = 0.25
_DIAL_S = 2.0


class Place:
    """Where a run keeps its things, and what went wrong in it."""

    def __init__(self, directory: Path, authority: Authority) -> None:
        self.directory = directory
        self.authority = authority
        self.failed: BaseException | None = None
        self.logs = 0

    def fail(self, problem: BaseException) -> None:
        if self.failed is None:
            self.failed = problem

    @contextmanager
    def watching(self) -> Iterator[None]:
        """What goes wrong in a checker is no fault of the broker that is checked."""
        try:
            yield
        except Exception as problem:
            self.fail(problem)


class RealTime:
    """The timeline, by the loop's clock; what is planned for one moment keeps its order."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._loop = asyncio.get_running_loop()
        self._begin = self._loop.time()
        self._planned: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.count = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def now(self) -> int:
        return int((self._loop.time() - self._begin) * SECOND)

    def at(self, moment: int, act: Callable[..., None], *arguments: Any) -> None:
        self.count += 1
        heappush(self._planned, (max(moment, self.now), self.count, act, arguments))
        self._plan()

    def after(self, delay: int, act: Callable[..., None], *arguments: Any) -> None:
        self.at(self.now + delay, act, *arguments)

    def _plan(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._planned:
            self._timer = self._loop.call_at(
                self._begin + self._planned[0][0] / SECOND, self._happen
            )

    def _happen(self) -> None:
        self._timer = None
        now = self.now
        while self._planned and self._planned[0][0] <= now:
            _, _, act, arguments = heappop(self._planned)
            with self._place.watching():
                act(*arguments)
        self._plan()


class FillableFiles(RealFiles):
    """A disk without room when the schedule says so."""

    full = False

    def write(self, file: int, data: bytes | memoryview, at: int) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(file, data, at)


class WatchedLog(Disk):
    """A log that says what was synced, and takes its time when the schedule says so."""

    def __init__(self, log: LogStore) -> None:
        super().__init__(log)
        self.files: FillableFiles | None = None
        self.synced: deque[Record] = deque()
        self.unsynced: list[Write] = []
        self.delay_s: Callable[[], float] = lambda: 0.0
        self._full = False

    @property
    def full(self) -> bool:
        return self._full

    @full.setter
    def full(self, full: bool) -> None:
        self._full = full
        if self.files is not None:
            self.files.full = full
        else:
            assert isinstance(self.log, MemoryLog)
            self.log.full = full

    def append(self, records: Sequence[Record]) -> None:
        super().append(records)
        self.unsynced += records

    def keep(self, key: str, value: bytes | None) -> None:
        super().keep(key, value)
        self.unsynced.append(Kept(key, value))

    def sync(self) -> None:
        time.sleep(self.delay_s())
        unsynced, self.unsynced = self.unsynced, []
        super().sync()
        self.synced.extend(write for write in unsynced if isinstance(write, Record))


class MemoryDisk:
    """A broker's disk in memory, of which a crash leaves what its chance says."""

    def __init__(self, place: Place, _: Any, chance: Random, __: int, ___: int) -> None:
        self.memory = MemoryLog()
        self.log = WatchedLog(self.memory)
        self.sync_us = 0
        """More while it is slow; the real one takes the time that it takes."""
        self._chance = chance

    def crash(self) -> None:
        """The process is gone, with a part of what it wrote and didn't sync."""
        self.memory.crash(self._chance)
        self.log.unsynced = []

    def close(self) -> None:
        pass


class RealDisk:
    """A broker's log in a directory; a crash leaves what was synced, and a torn tail."""

    def __init__(self, place: Place, _: Any, chance: Random, __: int, ___: int) -> None:
        place.logs += 1
        self._directory = place.directory / f"log{place.logs}"
        self._chance = chance
        self.sync_us = 0
        self._files = FillableFiles()
        self.log = WatchedLog(self._open())
        self.log.files = self._files
        self.torn_bytes = 0

    def _open(self) -> DiskLog:
        options = LogOptions(segment_bytes=SEGMENT_BYTES)
        return DiskLog(self._directory, options, self._files)

    def crash(self) -> None:
        self.close()
        unsynced, self.log.unsynced = self.log.unsynced, []
        tail = b"".join(map(entry, unsynced))
        newest = max((self._directory / "journal").iterdir())
        with newest.open("ab") as journal:
            journal.write(tail[: self._chance.randrange(len(tail) + 1)])
        full, self._files.full = self._files.full, False
        opened = self._open()
        self._files.full = full
        self.torn_bytes += opened.recovery.torn_bytes
        self.log.log = opened

    def close(self) -> None:
        found = self.log.log
        assert isinstance(found, DiskLog)
        found.close()


class WatchedStore:
    """An ACL database that can be away, and says what is stored in it."""

    def __init__(self, store: AclStore, database: RealDatabase) -> None:
        self._store = store
        self._database = database

    def history(self) -> PolicyHistory:
        self._database.check()
        return self._store.history()

    def apply(self, batch: Batch, expected: int | None = None) -> int:
        self._database.check()
        return self._database.store(self._store, batch, expected)

    def record_starting_point(self, version: int, stream: str, offset: int) -> None:
        self._database.check()
        self._store.record_starting_point(version, stream, offset)

    def starting_points(self) -> StartingPoints:
        self._database.check()
        return self._store.starting_points()

    def close(self) -> None:
        self._store.close()


class RealDatabase:
    """The ACL database in SQLite."""

    def __init__(
        self, place: Place, timeline: RealTime, _: Random, __: int, observers: Observers
    ) -> None:
        self.is_up = True
        self.where = place.directory / "policy"
        place.directory.mkdir(exist_ok=True)
        self._place = place
        self._observers = observers
        self._lock = Lock()
        self._other = open_acl_store(self.where)
        self._tasks: set[asyncio.Future[Any]] = set()

    def open(self) -> WatchedStore:
        return WatchedStore(open_acl_store(self.where), self)

    def begin(self, batches: Iterator[Batch]) -> None:
        for batch in batches:
            with suppress(HeadgateError):
                self.store(self._other, batch, None)

    def apply(self, batch: Batch, expected: int | None, _: Any) -> None:
        def act() -> None:
            with suppress(HeadgateError):
                self.store(self._other, batch, expected)

        task = asyncio.get_running_loop().run_in_executor(None, act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def store(self, store: AclStore, batch: Batch, expected: int | None) -> int:
        with self._lock:  # so that versions are told of in their order
            version = store.apply(batch, expected)
            stored = store.history().batch(version)
            with self._place.watching():
                for hook in self._observers.batch_stored:
                    hook(version, stored)
            return version

    def check(self) -> None:
        if not self.is_up:
            raise StoreError("the ACL database was lost for a while")

    def crash(self) -> None:
        self.is_up = False

    def recover(self) -> None:
        self.is_up = True

    def close(self) -> None:
        self._other.close()


class Watched(Broker):  # type: ignore[misc]
    """A core whose decisions are seen when they are taken, and that may die between two effects."""

    machine: RealMachine

    def effects(self) -> list[Effect]:
        return self.machine.saw(super().effects())

    def policy_grew(self, batches: Sequence[tuple[int, Batch]], now: int) -> None:
        self.machine.policy_told(batches[-1][0])
        super().policy_grew(batches, now)


class RealMachine:
    """Where one broker runs; in the place of the simulated machine."""

    def __init__(
        self,
        place: Place,
        settings: Settings,
        _: Any,
        timeline: RealTime,
        network: Roads,
        disk: MemoryDisk | RealDisk,
        clock: Clock,
        database: RealDatabase | None,
        wire: Any,
        observers: Observers,
        counts: Any,
        trace: Any,
    ) -> None:
        self.name = settings.broker
        self.settings = settings
        self.disk = disk
        self.clock = clock
        self.boot = 0
        self.sessions: dict[int, Session] = {}
        self.is_up = False
        self._place = place
        self._timeline = timeline
        self._network = network
        self._database = database
        self._wire = wire
        self._observers = observers
        self._counts = counts
        self._node: Node | None = None
        self._store: WatchedStore | None = None
        self._ears: dict[int, Ear] = {}
        self._doing: asyncio.Task[None] | None = None
        self._dies: Callable[[], None] | None = None
        self._dies_after = 0
        self._is_dying = False
        self._removing: asyncio.Task[None] | None = None

    @property
    def core(self) -> Broker | None:
        return self._node.core if self._node is not None and self._node.is_running else None

    @property
    def link_port(self) -> int | None:
        links = self._node.links if self._node is not None else None
        return links.port if isinstance(links, TcpLinks) and self.core is not None else None

    def now(self) -> int:
        return self.clock.shows(self._timeline.now)

    # It comes and goes.

    def start(self) -> None:
        self.is_up = True
        self._is_dying = False
        self.boot += 1
        boot = self.boot
        self._then(lambda: self._start(boot))

    def kill(self, *, silently: bool) -> None:
        if not self.is_up:
            return
        self.is_up = False
        node = self._node
        if node is not None and node.is_running:
            self._counts.add(node.core.counts)
            if node.unsynced:
                self._counts["killed with unsynced writes"] += 1
        sessions, self.sessions = self.sessions, {}
        self._ears.clear()
        for session in sessions.values():
            self._wire.cut(session, "the broker died")
        with self._place.watching():
            for hook in self._observers.killed:
                hook(self)
        self._then(self._crash)
        if node is not None:
            node.fall_silent()

    async def _crash(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            await node.crash()
        self.drain()
        self.disk.crash()
        if self._store is not None:
            self._store.close()

    def kill_midway(self, after: int, dies: Callable[[], None]) -> None:
        self._dies, self._dies_after = dies, after

    def never_mind(self) -> None:
        self._dies = None

    def clock_jumped(self) -> None:
        """The node finds out by itself."""

    def remove(self, keep: int, *, forced: bool) -> None:
        """Remove all but the newest records, one removal at a time."""
        node = self._node
        if node is None or self.core is None or node.is_stopping or self._removing is not None:
            return
        if not forced:
            for hook in self._observers.considering:
                hook(self)
        self._removing = asyncio.get_running_loop().create_task(self._remove(node, keep, forced))

    async def _remove(self, node: Node, keep: int, forced: bool) -> None:
        try:
            may = None if forced else await node.may_remove()
        finally:
            self._removing = None
        if self._node is not node or self.core is None or node.is_stopping:
            return
        cuts = {}
        for stream in self.disk.log.streams():
            last = self.disk.log.last(stream)
            up_to = (last.offset if last is not None else 0) - keep
            cuts[stream] = up_to if may is None else min(up_to, may.get(stream, 0))
        cuts = {stream: up_to for stream, up_to in cuts.items() if up_to > 0}
        self.drain()
        with self._place.watching():
            for hook in self._observers.removing:
                hook(self, cuts, forced)
        node.remove(cuts)

    def _then(self, act: Callable[[], Any]) -> None:
        """One after the other: a start waits until the crash before it is over."""
        before = self._doing

        async def do() -> None:
            if before is not None:
                await before
            try:
                await act()
            except BaseException as problem:
                self._place.fail(problem)
                raise

        self._doing = asyncio.get_running_loop().create_task(do())

    async def _start(self, boot: int) -> None:
        if boot != self.boot or not self.is_up:
            return
        with self._place.watching():
            for hook in self._observers.started:
                hook(self)
        if self._database is not None:
            self._store = self._database.open()
        self.disk.log.delay_s = lambda: self.disk.sync_us / SECOND / PACE
        while self._node is None:
            node = await self._new_node(boot)
            try:
                await node.start()
            except StoreError:  # the database is away: whoever runs the broker starts it again
                await asyncio.sleep(_LOOK_S)
            else:
                self._node = node
                node.ended.add_done_callback(self._ended)

    async def _new_node(self, boot: int) -> Node:
        tls, limits = self._place.authority.tls(self.name), LinkLimits(handshake_s=_DIAL_S)
        links = TcpLinks("127.0.0.1", 0, {}, tls, limits)
        for other in self.settings.topology.neighbours(self.name):
            links.place(other, "127.0.0.1", await self._network.open(self.name, other))
        return Node(
            self.settings, self.disk.log, self._store, f"{self.name}.{boot}",
            links=links, now=self.now, make_core=self._make,
        )  # fmt: skip

    def _make(self, *said: Any) -> Broker:
        Watched.machine = self  # for what it does while it is made
        core = Watched(*said)
        core.machine = self
        if self._database is not None:
            self.policy_told(core.policy_hosting.version if core.policy_hosting else 0)
        return core

    def _ended(self, ended: asyncio.Future[None]) -> None:
        if not ended.cancelled() and (problem := ended.exception()) is not None:
            self._place.fail(problem)

    async def settled(self) -> None:
        """Until it has started, or died, as it was told to."""
        if self._doing is not None:
            await self._doing

    async def stop(self) -> None:
        await self.settled()
        if self._node is not None:
            await self._node.stop()
            self.drain()
        if self._store is not None:
            self._store.close()
        self.disk.close()

    # What is seen of it.

    def saw(self, effects: list[Effect]) -> list[Effect]:
        if self._is_dying:
            return []
        if self._dies is not None:
            if self._dies_after < len(effects):
                dies, self._dies = self._dies, None
                effects = effects[: self._dies_after]
                self._is_dying = True
                asyncio.get_running_loop().call_soon(dies)
            else:
                self._dies_after -= len(effects)
        for machine in MACHINES:
            machine.drain()
        with self._place.watching():
            for effect in effects:
                if isinstance(effect, Append):
                    for hook in self._observers.appending:
                        hook(self, effect.records)
                elif isinstance(effect, Remove):
                    for stream, up_to in effect.up_to.items():
                        self._counts["beginning of a stream removed"] += 1
                        for hook in self._observers.removed:
                            hook(self, stream, up_to)
                elif isinstance(effect, KeepStartingPoint):
                    for hook in self._observers.starting_point:
                        hook(effect.version, effect.stream, effect.offset)
        return effects

    def policy_told(self, version: int) -> None:
        with self._place.watching():
            for hook in self._observers.policy_told:
                hook(version)

    def drain(self) -> None:
        """What was synced, before anything that it caused is told."""
        synced = self.disk.log.synced
        while synced:
            write = Append(0, (synced.popleft(),))
            with self._place.watching():
                for hook in self._observers.stored:
                    hook(self, [write])

    # Clients.

    def connect(self, session: Session) -> None:
        node = self._node
        if node is None or not node.is_running or node.is_stopping:
            self._wire.cut(session, "no broker is there")
            return
        session.boot = self.boot
        session.is_held_by_broker = True
        self.sessions[session.id] = session
        ear = self._ears[session.id] = Ear(self, session)
        node._numbers = count(session.id)  # the checkers know clients by it
        ear.client = node.connect(session.principal, ear, session.domain)

    def hear(self, session: Session, act: Callable[[Any, int], None]) -> None:
        ear = self._ears.get(session.id)
        if ear is not None and self.core is not None and session.id in self.sessions:
            act(Asked(self, ear), self.now())

    def client_gone(self, session: Session) -> None:
        ear = self._ears.pop(session.id, None)
        if ear is None or self.sessions.pop(session.id, None) is None:
            return
        session.is_held_by_broker = False
        for hook in self._observers.gone:
            hook(session, "it went")
        assert ear.client is not None
        ear.client.close()

    def told(self, session: Session, message: Message) -> None:
        if session.id not in self.sessions:
            return
        if message.__class__ is Connected:
            session.is_accepted = True
        for machine in MACHINES:
            machine.drain()
        with self._place.watching():
            for hook in self._observers.told:
                hook(session, message)
        self._wire.carry_down(session, message)

    def dropped(self, session: Session, because: str) -> None:
        self._ears.pop(session.id, None)
        if self.sessions.pop(session.id, None) is not None:
            session.is_held_by_broker = False
            with self._place.watching():
                for hook in self._observers.gone:
                    hook(session, because)
            self._wire.cut(session, because)

    def administer(self, ear: Ear, request: int, batch: Batch, expected: int | None) -> None:
        node = self._node
        assert node is not None

        async def ask() -> None:
            try:
                version = await node.administer(batch, expected)
            except HeadgateError as problem:
                hosting = node.core.policy_hosting if node.is_running else None
                current = hosting.version if hosting is not None else 0
                answer: Message = BatchRefused(request, str(problem), current)
            else:
                answer = BatchApplied(request, version)
            self.told(ear.session, answer)

        task = asyncio.get_running_loop().create_task(ask())
        _TASKS.add(task)
        task.add_done_callback(_TASKS.discard)


class Ear:
    """The broker's end of a client's connection."""

    def __init__(self, machine: RealMachine, session: Session) -> None:
        self.session = session
        self.client: Client | None = None
        self._machine = machine

    def hear(self, message: Message) -> None:
        self._machine.told(self.session, message)

    def dropped(self, because: str) -> None:
        self._machine.dropped(self.session, because)


class Asked:
    """Takes what a simulated client says to a core to the client's end of the node."""

    def __init__(self, machine: RealMachine, ear: Ear) -> None:
        assert ear.client is not None
        self._machine = machine
        self._ear = ear
        self._client = ear.client

    def publish(
        self, _: int, request: int, body: bytes, event_id: str, now: int, **more: Any
    ) -> None:
        self._client.publish(request, body, event_id, **more)

    def advertise(self, _: int, request: int, advertised: Any, now: int) -> None:
        self._client.advertise(request, advertised)

    def subscribe(
        self, _: int, request: int, subscription: int, wanted: Any, now: int, **more: Any
    ) -> None:
        self._client.subscribe(request, subscription, wanted, **more)

    def acknowledge(self, _: int, subscription: int, stream: str, offset: int, now: int) -> None:
        self._client.acknowledge(subscription, stream, offset)

    def unsubscribe(self, _: int, subscription: int, now: int) -> None:
        self._client.unsubscribe(subscription)

    def administer(
        self, _: int, request: int, batch: Batch, expected: int | None, now: int
    ) -> None:
        self._machine.administer(self._ear, request, batch, expected)


MACHINES: list[RealMachine] = []
_TASKS: set[asyncio.Task[None]] = set()
PACE = 10.0


def replay(
    schedule: Schedule, directory: Path, authority: Authority, *, on_disk: bool = True
) -> Mapping[str, int]:
    """Play a schedule to its end; raises `PromiseBroken`, or says what was counted."""
    with asyncio.Runner(loop_factory=lambda: FastLoop(PACE)) as runner:
        return runner.run(_replay(schedule, Place(directory, authority), on_disk=on_disk))


async def _replay(schedule: Schedule, place: Place, *, on_disk: bool) -> Mapping[str, int]:
    MACHINES.clear()
    with _real_parts(place, on_disk=on_disk):
        made = World(schedule, None)  # type: ignore[arg-type]
    machines: list[Any] = list(made.machines.values())
    MACHINES[:] = machines
    try:
        await _run(made, schedule, place)
    finally:
        for machine in machines:
            await machine.stop()
        network: Any = made.network
        await network.close()
        database: Any = made.database
        database.close()
    if place.failed is not None:
        raise place.failed
    return made.counts


async def _run(made: World, schedule: Schedule, place: Place) -> None:
    first = enumerate(schedule.policy)
    made.database.begin(batch_of(changes, "founder", number) for number, changes in first)
    for machine in MACHINES:
        machine.start()
    for machine in MACHINES:
        await machine.settled()
    begin = made.timeline.now
    for step in schedule.steps:
        made.timeline.at(begin + step.at_us, made._step, step.action)
    last = max((step.at_us for step in schedule.steps), default=0)
    calm_us = begin + max(schedule.calm_us, last)
    while made.timeline.now < calm_us and place.failed is None:
        await asyncio.sleep(_LOOK_S)
    made._calm_down()
    while place.failed is None and made.timeline.now < calm_us + CALM_US_MAX:
        await asyncio.sleep(_LOOK_S)
        for machine in MACHINES:
            machine.drain()
        if made._is_at_rest:
            await asyncio.sleep(2 * _LOOK_S)
            if made._is_at_rest:
                break
    if place.failed is None:
        with place.watching():
            for hook in made.observers.at_rest:
                hook()
    made._count()


@contextmanager
def _real_parts(place: Place, *, on_disk: bool) -> Iterator[None]:
    """The world's parts, real."""
    with ExitStack() as stack:
        for name, part in {
            "Timeline": lambda _: RealTime(place),
            "Network": Roads,
            "Disk": lambda *said: (RealDisk if on_disk else MemoryDisk)(place, *said),
            "AclDatabase": lambda *said: RealDatabase(place, *said),
            "Machine": lambda *said: RealMachine(place, *said),
        }.items():
            stack.enter_context(patch.object(world, name, part))
        yield
