"""What is seen of a broker process that is abused? Its memory, its numbers, and who is served."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.live.brokers import BrokerProcess, grants
from tests.live.sockets import HEARD_S, connected

MEBIBYTE = 2**20
REGULAR = "regular"
"""Who behaves well; a test grants it what `ALLOWED` says."""
ALLOWED = grants(REGULAR, "publish", "subscribe", filter_="regular >= 0")


def memory_bytes(pid: int, what: str = "VmRSS") -> int:
    """How much memory a process takes now, or took at most (`VmHWM`)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == what:
            return int(value.split()[0]) * 1024
    raise AssertionError(f"`{what}` isn't told of process {pid}")


def may_open(files: int) -> int:
    """Let this process, and those that it starts, open so many files; as many as it then may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < files:
        with suppress(ValueError, OSError):  # nobody but root may raise that
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            return files
        files = most
    now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, files), most))
    return files


class Memory:
    """How much more a process takes at most than it took at first."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        # From here on the greatest amount is counted anew.
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        self.before_bytes = memory_bytes(pid)

    def check(self, bound_bytes: int) -> str:
        """See that it stayed within a bound; how much more it took, in words."""
        grown = memory_bytes(self._pid, "VmHWM") - self.before_bytes
        assert grown <= bound_bytes, f"{grown:,} bytes more, expected {bound_bytes:,} at most"
        return f"{grown / MEBIBYTE:.1f} MiB more"


async def numbers(broker: BrokerProcess) -> Mapping[str, float]:
    """Its metrics: the name with the values of its labels, such as `x_total{for now}`."""
    async with aiohttp.ClientSession() as session, session.get(f"{broker.url}/metrics") as reply:
        text = await reply.text()
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            labels = ",".join(one.labels.values())
            found[f"{one.name}{{{labels}}}" if labels else one.name] = one.value
    return found


async def counted(broker: BrokerProcess, name: str, least: float = 1) -> float:
    """Wait until something was counted so often."""
    async with asyncio.timeout(HEARD_S):
        while (found := (await numbers(broker)).get(name, 0)) < least:
            broker.check_alive()
            await asyncio.sleep(0.02)
    return found


async def said(broker: BrokerProcess, *words: str) -> str:
    """Wait for a line with all these words, in what the broker writes."""
    async with asyncio.timeout(HEARD_S):
        while True:
            for line in broker.said.read_text(errors="replace").splitlines():
                if all(word in line for word in words):
                    return line
            await asyncio.sleep(0.02)


class Regular:
    """A client that behaves well: it publishes and waits for what it published, over and over.

    Meanwhile it asks whether the broker is alive: how often both were answered is counted.
    """

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self.rounds = 0
        self.answers = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Regular:
        token = self._broker.settings.token(REGULAR)
        self._talker = await connected(self._broker.url, token)
        await self._talker.ask("subscribe", subscription=1, filter="regular >= 0")
        await self._talker.until(lambda one: one["is"] == "started")
        self._tasks = [asyncio.create_task(self._publish()), asyncio.create_task(self._ask())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._talker.close()
        if fault is None:
            faults = [one for one in ended if isinstance(one, Exception)]
            assert not faults, faults

    async def served(self, more: int = 3) -> None:
        """Wait until it was served so often again."""
        rounds, answers = self.rounds + more, self.answers + more
        async with asyncio.timeout(HEARD_S):
            while self.rounds < rounds or self.answers < answers:
                self._broker.check_alive()
                for task in self._tasks:
                    assert not task.done(), task
                await asyncio.sleep(0.01)

    async def _publish(self) -> None:
        talker = self._talker
        while True:
            event = {"regular": self.rounds}
            answer = await talker.ask("publish", event=event)
            assert answer["is"] == "published", answer
            await talker.until(lambda one: one["is"] == "delivery" and one["event"] == event)  # noqa: B023
            talker.heard.clear()
            self.rounds += 1
            await asyncio.sleep(0.005)

    async def _ask(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                async with session.get(f"{self._broker.url}/health/live") as reply:
                    assert reply.status == 200
                self.answers += 1
                await asyncio.sleep(0.005)


@contextmanager
def running(broker: BrokerProcess, *before: str) -> Iterator[BrokerProcess]:
    """A broker that is started, and gone at the end whatever has become of it."""
    broker.start(*before)
    try:
        yield broker
    finally:
        broker.end()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(HEARD_S):
        while not is_so():
            await asyncio.sleep(0.02)


def frame(text: bytes, opcode: int = 0x81) -> bytes:
    """A frame of a WebSocket's client; the mask is all zeros."""
    size = len(text)
    if size < 126:
        return bytes([opcode, 0x80 | size]) + bytes(4) + text
    if size < 2**16:
        return bytes([opcode, 0xFE]) + size.to_bytes(2) + bytes(4) + text
    return bytes([opcode, 0xFF]) + size.to_bytes(8) + bytes(4) + text


def get(path: str, token: str, *headers: str) -> bytes:
    """The head of a request."""
    lines = [f"GET {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


UPGRADE = (
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)  # fmt: skip


async def silent(port: int, said: bytes, address: str = "127.0.0.1") -> socket.socket:
    """A connection of somebody who says something, and never reads what comes."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    made.setblocking(False)
    made.bind((address, 0))
    loop = asyncio.get_running_loop()
    await loop.sock_connect(made, ("127.0.0.1", port))
    await loop.sock_sendall(made, said)
    return made


async def flood(made: socket.socket, pieces: Iterable[bytes]) -> int:
    """Send one piece after the other until they end, or the other end does; how many bytes."""
    sent = 0
    with suppress(OSError):
        for piece in pieces:
            await asyncio.get_running_loop().sock_sendall(made, piece)
            sent += len(piece)
            await asyncio.sleep(0)  # the others have their turn
    return sent
