"""What lies between two brokers on one machine: a proxy that can cut, hold, slow and garble."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

CHUNK_BYTES = 1 << 16


class Station(Protocol):
    """A machine, as far as the roads know it."""

    name: str

    @property
    def link_port(self) -> int | None:
        """Where its broker listens, while it runs."""


class Road:
    """Between two brokers: all connections between them, and what goes wrong at the moment."""

    def __init__(self) -> None:
        self.refusing = 0
        self.bytes_per_s = 0
        self.extra_us = 0
        self.garbage = b""
        # A stream of TLS neither loses anything nor repeats it: there is nothing to be seen of it.
        self.repeating = 0.0
        self.losing = 0.0
        self.blocked: Counter[str] = Counter()
        self.held = False
        self.ends: list[asyncio.StreamWriter] = []
        self._news = asyncio.Event()

    def changed(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def open_for(self, sender: str) -> None:
        while self.blocked[sender]:
            self.held = True
            await self._news.wait()

    def cut(self) -> None:
        ends, self.ends = self.ends, []
        for end in ends:
            end.transport.abort()


class Roads:
    """All roads; in the place of the simulated network."""

    def __init__(self, timeline: Any, *_: Any) -> None:
        self.counts: Counter[str] = Counter()
        self._roads: dict[frozenset[str], Road] = {}
        self._stations: dict[str, Station] = {}
        self._servers: dict[tuple[str, str], asyncio.Server] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, station: Station) -> None:
        self._stations[station.name] = station

    def road(self, one: str, other: str) -> Road:
        return self._roads.setdefault(frozenset((one, other)), Road())

    def roads_of(self, broker: str) -> list[tuple[str, Road]]:
        return [
            (next(iter(pair - {broker})), road)
            for pair, road in self._roads.items()
            if broker in pair
        ]

    def reset(self, one: str, other: str) -> None:
        self.counts["link cut"] += len(self.road(one, other).ends) // 2
        self.road(one, other).cut()

    def block(self, sender: str, receiver: str) -> None:
        self.road(sender, receiver).blocked[sender] += 1

    def unblock(self, sender: str, receiver: str, *, reset: bool) -> None:
        road = self.road(sender, receiver)
        road.blocked[sender] -= 1
        if road.blocked[sender]:
            return
        if reset and road.held:
            self.counts["link lost in a partition"] += 1
            road.cut()
        road.held = False
        road.changed()

    async def open(self, dialler: str, dialled: str) -> int:
        """The port at which one broker reaches another."""
        server = self._servers.get((dialler, dialled))
        if server is None:

            async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._carry(dialler, dialled, reader, writer)

            server = await asyncio.start_server(take, "127.0.0.1", 0)
            self._servers[dialler, dialled] = server
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        for server in self._servers.values():
            server.close()
        for road in self._roads.values():
            road.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(
        self,
        dialler: str,
        dialled: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        road, port = self.road(dialler, dialled), self._stations[dialled].link_port
        if road.refusing or port is None:
            writer.transport.abort()
            return
        try:
            back, on = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()
            return
        self.counts["connection"] += 1
        road.ends += [writer, on]
        self._begin(self._pump(road, dialler, reader, on, writer))
        self._begin(self._pump(road, dialled, back, writer, on))

    async def _pump(
        self,
        road: Road,
        sender: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        other: asyncio.StreamWriter,
    ) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                await road.open_for(sender)
                if road.bytes_per_s:
                    await asyncio.sleep(len(data) / road.bytes_per_s + road.extra_us / 1e6)
                if road.garbage:
                    self.counts["garbage injected"] += 1
                    data, road.garbage = road.garbage + data, b""
                writer.write(data)
                await writer.drain()
            await road.open_for(sender)
            writer.close()
        except OSError:
            writer.transport.abort()
            other.transport.abort()
        finally:
            road.ends = [end for end in road.ends if end is not writer]

    def _begin(self, work: Any, done: Callable[..., None] | None = None) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
