"""Across modules: how many subscribers may be connected at once, and what does each cost?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.matching.warming import warm_up
from tests.live.brokers import BrokerProcess, alone, grants
from tests.live.sockets import HEARD_S, connected
from tests.live.watching import (
    ALLOWED,
    MEBIBYTE,
    UPGRADE,
    Memory,
    Regular,
    frame,
    get,
    may_open,
    memory_bytes,
    numbers,
    running,
    until,
)
from tests.proofs import COUNTED, proof_size

FILES_BESIDE = 600
AT_ONCE = 100
"""So many connect together; all the others wait, or it were a flood of handshakes."""
INDEX_BYTES = 640 * MEBIBYTE
"""What the index of subscriptions needs once: its code, and where that isn't kept, its compiler."""
EACH_BYTES = 64 * 1024
"""What one subscriber may cost: its socket's buffers, aiohttp's parser and task, and its place."""


class Subscriber(asyncio.Protocol):
    """As little as is needed to subscribe: ten thousand of them fit into a test."""

    def __init__(self, opening: bytes) -> None:
        self.offsets: list[int] = []
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._opening = opening
        self._waiting = b""
        self._is_open = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self._opening)

    def data_received(self, data: bytes) -> None:
        data, self._waiting = self._waiting + data, b""
        if not self._is_open:
            head, found, data = data.partition(b"\r\n\r\n")
            if not found:
                self._waiting = head
                return
            assert head.startswith(b"HTTP/1.1 101 "), head
            self._is_open = True
        while len(data) >= 4:
            size, begins = data[1], 2
            if size == 126:
                size, begins = int.from_bytes(data[2:4]), 4
            if len(data) < begins + size:
                break
            self._hear(data[0], data[begins : begins + size])
            data = data[begins + size :]
        self._waiting = data

    def _hear(self, opcode: int, text: bytes) -> None:
        if opcode == 0x89:
            self.transport.write(frame(text, 0x8A))
            return
        said = json.loads(text)
        for one in said if isinstance(said, list) else [said]:
            if one["is"] == "delivery":
                self.offsets.append(one["offset"])
            elif one["is"] == "started":
                self.started.set_result(None)
            assert one["is"] not in ("refused", "ended", "dropped"), one

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.started.done():
            self.started.set_exception(problem or ConnectionError("it was closed"))


@pytest.mark.proof
def test_each_of_many_subscribers_gets_everything_once(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    wanted = proof_size(test=1_000, soak=10_000)
    many = min(wanted, may_open(wanted + FILES_BESIDE) - FILES_BESIDE)
    limits = f'[limits]\nconnections = {many + 20}\n[logging]\nlevel = "warning"\n'
    warm_up()  # so that the broker finds the index compiled, as all do but the first on a machine
    with running(alone(tmp_path, limits)) as broker:
        said = asyncio.run(_connect_and_let_go(broker, many))
    short = "" if many == wanted else f" (of {wanted}: no more files may be open here)"
    record_property(COUNTED, said + short)


async def _connect_and_let_go(broker: BrokerProcess, many: int) -> str:
    subscribers: list[Subscriber] = []
    try:
        return await _connect(broker, many, subscribers)
    finally:
        for one in subscribers:
            one.transport.abort()
        broker.end()
        await asyncio.sleep(0)


async def _connect(broker: BrokerProcess, many: int, subscribers: list[Subscriber]) -> str:
    await broker.ready()
    changes = [*ALLOWED, *grants("p0", "publish"), *grants("s", "subscribe", filter_="n >= 0")]
    await broker.administer(*changes)
    wanted = frame(b'{"do":"subscribe","request":1,"subscription":1,"filter":"n >= 0"}')
    opening = get("/v1/socket", broker.settings.token("s"), *UPGRADE) + wanted
    loop = asyncio.get_running_loop()
    async with Regular(broker) as regular:
        memory = Memory(broker.pid)
        before = 0
        while len(subscribers) < many:
            some = [Subscriber(opening) for _ in range(min(AT_ONCE, many - len(subscribers)))]
            for one in some:
                await loop.create_connection(lambda: one, "127.0.0.1", broker.http)  # noqa: B023
            subscribers += some
            await asyncio.wait_for(asyncio.gather(*(one.started for one in some)), HEARD_S)
            if not before:
                await regular.served()
                before = await _settled_bytes(broker)
        each = (await _settled_bytes(broker) - before) / (many - AT_ONCE)
        assert (await numbers(broker))["headgate_http_subscribers{socket}"] == many + 1
        assert each <= EACH_BYTES, f"{each:,.0f} bytes for each"
        talker = await connected(broker.url, broker.settings.token("p0"))
        offsets: list[int] = []
        for number in range(3):
            answer = await talker.ask("publish", event={"n": number})
            offsets.append(answer["offset"])
            await until(lambda: all(one.offsets[-1:] == offsets[-1:] for one in subscribers))
        assert all(one.offsets == offsets for one in subscribers)
        await regular.served()
        grown = memory.check(INDEX_BYTES + many * EACH_BYTES)
        await talker.close()
    assert broker.stop() == 0, broker.last_words()
    return f"{many} subscribers, {each / 1024:.1f} KiB for each, {grown} at most"


async def _settled_bytes(broker: BrokerProcess) -> int:
    """How much memory it takes once that stays the same: what is loaded beside is there by then."""
    seen = [0]
    async with asyncio.timeout(HEARD_S):
        while len(seen) < 20:
            now = memory_bytes(broker.pid)
            seen = [*seen, now] if abs(now - seen[0]) < MEBIBYTE else [now]
            await asyncio.sleep(0.05)
    return seen[-1]
