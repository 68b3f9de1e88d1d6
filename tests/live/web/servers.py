"""What does one need to try the web server? A broker in memory, with a few people who know it."""

from __future__ import annotations

import asyncio
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from socket import SO_RCVBUF, SOL_SOCKET, socket
from typing import Any

import aiohttp
import msgspec
from msgspec import structs

from headgate import Action, Batch, Grant, Rule
from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.http.socket_messages import PROTOCOL
from headgate.live.identities import Credentials, Identity, NotAuthenticatedError, Token
from headgate.live.node import Node
from headgate.live.status import Status, SubscriptionStatus
from headgate.live.web.limits import WebLimits
from headgate.live.web.server import WebServer, WebSettings
from headgate.log.memory import MemoryLog
from headgate.stores.opening import open_acl_store

PASSWORD = "correct horse"


def basic(name: str, password: str = PASSWORD) -> dict[str, str]:
    """The header of somebody with a name and a password."""
    return {"Authorization": "Basic " + b64encode(f"{name}:{password}".encode()).decode()}


ADMIN, AUDITOR, JANE, TOM = map(basic, ("ann", "audrey", "jane", "tom"))
WAIT_S = 20.0
"""Nothing takes so long; what does, is stuck."""


@dataclass
class People:
    """Identities with one password for all, and tokens that are easily read."""

    administrators: frozenset[str] = frozenset({"ann"})
    auditors: frozenset[str] = frozenset({"audrey"})
    names: frozenset[str] = frozenset({"ann", "audrey", "jane", "tom", "eve"})
    anonymous: str | None = None
    tokens: dict[str, int] = field(default_factory=dict)
    attempts: int = 0

    async def from_credentials(self, said: Credentials, address: str) -> Identity:
        if said.bearer is not None:
            if said.bearer not in self.tokens:
                raise NotAuthenticatedError("the token isn't known or has ended: log in again")
            return self._identity(said.bearer.rpartition("-")[2], self.tokens[said.bearer])
        if said.basic is not None:
            name, password = said.basic
            if name == "flood":
                raise NotAuthenticatedError("too many attempts", 7)
            if name not in self.names or password != PASSWORD:
                self.attempts += 1
                raise NotAuthenticatedError("the name or the password is wrong")
            return self._identity(name)
        if self.anonymous is not None:
            return self._identity(self.anonymous)
        raise NotAuthenticatedError("expected a name and a password")

    async def log_in(self, name: str, password: str, address: str) -> Token:
        await self.from_credentials(Credentials(basic=(name, password)), address)
        token = f"hgt_{len(self.tokens)}-{name}"
        self.tokens[token] = int((time.time() + 3_600) * 1_000_000)
        return Token(token, self._identity(name, self.tokens[token]))

    async def log_out(self, token: str) -> None:
        self.tokens.pop(token, None)

    def _identity(self, name: str, expires_us: int | None = None) -> Identity:
        how: Any = "password" if expires_us is None else "token"
        is_administrator = name in self.administrators
        is_auditor = is_administrator or name in self.auditors
        return Identity(name, how, is_administrator, is_auditor, expires_us)


@dataclass
class Reports:
    """What a broker says of itself; it may be made to say that it isn't ready."""

    node: Node
    ready: bool = True

    def status(self) -> Status:
        said = self.node.status()
        return said if self.ready else structs.replace(said, ready=False)

    def subscriptions(self) -> list[SubscriptionStatus]:
        return list(self.node.subscriptions())


@dataclass
class Talk:
    """One end of a WebSocket: what comes is told one by one, arrays or not."""

    socket: aiohttp.ClientWebSocketResponse
    told: list[Any] = field(default_factory=list)

    async def say(self, *messages: object) -> None:
        await self.socket.send_str(msgspec.json.encode(list(messages)).decode())

    async def next(self, kind: str) -> Any:
        """The next message of this kind, those before it passed over."""
        while True:
            found = await self.any()
            if found["is"] == kind:
                return found

    async def any(self) -> Any:
        async with asyncio.timeout(WAIT_S):
            while not self.told:
                message = await self.socket.receive()
                assert message.type is aiohttp.WSMsgType.TEXT, message
                said = msgspec.json.decode(message.data)
                self.told += said if isinstance(said, list) else [said]
        return self.told.pop(0)

    async def close_code(self) -> int | None:
        """The code with which the other end closes; what comes before it is passed over."""
        async with asyncio.timeout(WAIT_S):
            async for _ in self.socket:
                pass
        return self.socket.close_code


@dataclass
class Heard:
    """What comes as Server-Sent Events."""

    answer: aiohttp.ClientResponse

    async def next(self) -> tuple[str, str, Any]:
        """Name, id and data of the next event that has data."""
        name, number, data = "message", "", None
        async with asyncio.timeout(WAIT_S):
            while line := (await self.answer.content.readline()).decode():
                field_, _, value = line.rstrip("\n").partition(": ")
                if field_ == "event":
                    name = value
                elif field_ == "id":
                    number = value
                elif field_ == "data":
                    data = msgspec.json.decode(value)
                elif not line.strip() and data is not None:
                    return name, number, data
        raise EOFError

    async def named(self, name: str) -> tuple[str, Any]:
        """Id and data of the next event of a name."""
        while True:
            found, number, data = await self.next()
            if found == name:
                return number, data


@dataclass
class Site:
    """A broker that is served, and a client for it."""

    node: Node
    server: WebServer
    people: People
    reports: Reports
    http: aiohttp.ClientSession
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server.port}"

    async def ask(
        self,
        method: str,
        path: str,
        who: Mapping[str, str] = JANE,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> tuple[int, Any]:
        """The status of an answer, and what it says."""
        said = {**who, **(headers or {})}
        if isinstance(more.get("data"), bytes):
            more["data"] = BytesIO(more["data"])  # or aiohttp warns of large ones
        async with self.http.request(method, self.url + path, headers=said, **more) as answer:
            text = await answer.read()
            is_json = "json" in answer.headers.get("Content-Type", "")
            return answer.status, (msgspec.json.decode(text) if is_json else text)

    @asynccontextmanager
    async def talk(self, who: Mapping[str, str] = JANE, **more: Any) -> AsyncIterator[Talk]:
        """A WebSocket of somebody."""
        async with self.http.ws_connect(
            self.url + "/v1/socket", headers=who, protocols=(PROTOCOL,), **more
        ) as socket:
            yield Talk(socket)

    @asynccontextmanager
    async def listen(
        self,
        who: Mapping[str, str] = JANE,
        headers: Mapping[str, str] | None = None,
        begin: str | None = None,
        **said: str,
    ) -> AsyncIterator[Heard]:
        """Server-Sent Events for somebody."""
        if begin is not None:
            said["from"] = begin
        async with self.http.get(
            self.url + "/v1/subscribe", params=said, headers={**who, **(headers or {})}
        ) as answer:
            assert answer.status == 200, await answer.text()
            yield Heard(answer)

    async def grant(self, *rules: Rule) -> int:
        batch = Batch(tuple(map(Grant, rules)), "root", datetime.now(UTC))
        return await self.node.administer(batch, None)


def may_all(principal: str) -> list[Rule]:
    """The rules of somebody who may do everything."""
    return [Rule(principal, action) for action in Action]


@asynccontextmanager
async def site(
    directory: Path,
    *,
    streams: tuple[str, ...] = ("events", "orders"),
    limits: WebLimits | None = None,
    tls: ssl.SSLContext | None = None,
    settings: Mapping[str, Any] | None = None,
    core: Mapping[str, Any] | None = None,
) -> AsyncIterator[Site]:
    """A broker and its web server, on a port that is free."""
    directory.mkdir(exist_ok=True)
    acl = open_acl_store(directory / "policy")
    chosen = Settings("b", Topology.alone("b"), "b", streams, **(core or {}))
    node = Node(chosen, MemoryLog(), acl, "boot1")
    await node.start()
    people = People()
    reports = Reports(node)
    server = WebServer(
        node, reports, people,
        WebSettings(port=0, limits=limits or WebLimits(), **(settings or {})), tls=tls,
    )  # fmt: skip
    await server.start()
    try:
        async with aiohttp.ClientSession() as http:
            made = Site(node, server, people, reports, http, "https" if tls else "http")
            version = await made.grant(*may_all("jane"), *may_all("ann"))
            await until(lambda: node.core.policy.known >= version)
            yield made
    finally:
        await server.stop()
        await node.stop()
        acl.close()


async def stuck(made: Site, path: str, who: Mapping[str, str] = JANE, *texts: bytes) -> socket:
    """Somebody who asks, on a WebSocket if texts follow, and never reads an answer."""
    quiet = socket()
    quiet.setsockopt(SOL_SOCKET, SO_RCVBUF, 4_096)
    quiet.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(quiet, ("127.0.0.1", made.server.port))
    lines = [f"GET {path} HTTP/1.1", "Host: x", f"Authorization: {who['Authorization']}"]
    if texts:
        lines += [
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {b64encode(bytes(16)).decode()}",
        ]
    await loop.sock_sendall(quiet, "\r\n".join([*lines, "", ""]).encode())
    for text in texts:
        assert len(text) < 126
        await loop.sock_sendall(quiet, bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
    return quiet


async def until(is_so: Any) -> None:
    """Let the loop run until something is so."""
    async with asyncio.timeout(WAIT_S):
        while not is_so():
            await asyncio.sleep(0.001)
