"""A broker that runs in a test, and clients of it that remember what they heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import uvloop

from headgate.broker.effects import Connected, Message
from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.filters.filter import Filter
from headgate.live.clients import Client
from headgate.live.node import Links, Node
from headgate.log.memory import MemoryLog
from headgate.log.records import Record
from headgate.log.store import LogStore, Publication
from headgate.rights.changes import Batch, Change, Grant
from headgate.rights.rules import Action, Rule
from headgate.stores.acl import AclStore
from headgate.stores.opening import open_acl_store

PATIENCE_S = 30.0
"""Nothing in a test takes so long; what does, never comes."""
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}

T = TypeVar("T")
M = TypeVar("M", bound=Message)


def run(work: Coroutine[Any, Any, T], loop: str = "uvloop") -> T:
    """Run a test's coroutine to its end, on one of the two kinds of loops."""

    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE_S):
            return await work

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(bounded())


async def until(happened: Callable[[], object]) -> None:
    """Wait for something that comes about in this loop, or in a thread of it."""
    while not happened():
        await asyncio.sleep(0.001)


class Ear:
    """A client's connection that remembers what was said to it."""

    def __init__(self) -> None:
        self.heard: list[Message] = []
        self.dropped_because: str | None = None
        self._news = asyncio.Event()

    def hear(self, message: Message) -> None:
        self.heard.append(message)
        self._news.set()

    def dropped(self, because: str) -> None:
        assert self.dropped_because is None, "it is dropped once"
        self.dropped_because = because
        self._news.set()

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in self.heard if isinstance(message, kind)]

    async def news(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def next(self, kind: type[M], number: int = 1) -> list[M]:
        """Wait until so many messages of a kind were heard."""
        while len(self.of(kind)) < number:
            await self.news()
        return self.of(kind)

    async def end(self) -> str:
        while self.dropped_because is None:
            await self.news()
        return self.dropped_because


class Disk:
    """A log store that hands everything on, for tests to change a part of it."""

    def __init__(self, log: LogStore) -> None:
        self.log = log

    def append(self, records: Sequence[Record]) -> None:
        self.log.append(records)

    def keep(self, key: str, value: bytes | None) -> None:
        self.log.keep(key, value)

    def sync(self) -> None:
        self.log.sync()

    def read(self, stream: str, after: int, count_max: int) -> tuple[Record, ...]:
        return self.log.read(stream, after, count_max)

    def first(self, stream: str) -> int:
        return self.log.first(stream)

    def remove(self, stream: str, up_to: int) -> None:
        self.log.remove(stream, up_to)

    def last(self, stream: str) -> Record | None:
        return self.log.last(stream)

    def streams(self) -> Mapping[str, str]:
        return self.log.streams()

    def recent(self, stream: str, count_max: int) -> tuple[Publication, ...]:
        return self.log.recent(stream, count_max)

    def kept(self) -> Mapping[str, bytes]:
        return self.log.kept()


class Held(Disk):
    """A disk whose syncs wait until they may go on."""

    def __init__(self, log: LogStore) -> None:
        super().__init__(log)
        self.go = Event()
        self.syncing = Event()

    def sync(self) -> None:
        self.syncing.set()
        assert self.go.wait(PATIENCE_S)
        super().sync()


class Broken(Disk):
    """A disk that can't keep its word."""

    def sync(self) -> None:
        raise OSError(5, "Input/output error")


def allowed(principals: Sequence[str] = ("jane",)) -> Batch:
    """A batch by which these may do everything."""
    changes: list[Change] = []
    for principal in principals:
        for action in Action:
            changes.append(Grant(Rule(principal, action)))
    return Batch(tuple(changes), "root", NOON)


def batch(*changes: Change) -> Batch:
    return Batch(changes, "root", NOON)


def alone(
    directory: Path,
    log: LogStore | None = None,
    acl: AclStore | None = None,
    links: Links | None = None,
    **settings: Any,
) -> Node:
    """A broker without neighbours, not started yet."""
    told = Settings("b", Topology.alone("b"), "b", ("events",), **settings)
    store = acl if acl is not None else open_acl_store(directory / "policy")
    return Node(told, log if log is not None else MemoryLog(), store, "boot1", links=links)


async def connected(node: Node, principal: str = "jane") -> tuple[Client, Ear]:
    """A client of a broker that knows by now, or soon, that it may connect."""
    while True:
        ear = Ear()
        client = node.connect(principal, ear)
        while not ear.of(Connected) and ear.dropped_because is None:
            await ear.news()
        if ear.dropped_because is None:
            return client, ear
        await asyncio.sleep(0.01)


EVERYTHING = Filter.parse("TRUE")
