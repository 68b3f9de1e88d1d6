"""Broker processes for the tests: started by the command that people use, killed by their pid."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import aiohttp
import jwt

READY_S = 60.0
"""A broker that isn't ready by then has failed: far more than the slowest machine needs."""
STOP_S = 60.0
ADMINISTRATOR = "root"
COMPILED = Path(__file__).parents[2] / "build" / "compiled"
HEADGATE = str(Path(sys.executable).with_name("headgate"))


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; a broker that is started again keeps its own.

    They are below those that the system gives to whoever connects to somewhere.
    """
    found: list[int] = []
    while len(found) < count:
        port = secrets.randbelow(10_000) + 20_000
        if port not in found:
            with suppress(OSError), socket.create_server(("127.0.0.1", port)):
                found.append(port)
    return found


class Settings:
    """One configuration file, and the key with which its tokens are signed."""

    def __init__(self, directory: Path, text: str) -> None:
        self.directory = directory
        self.key = secrets.token_hex(32)
        key_file = directory / "tokens.key"
        key_file.touch(mode=0o600)
        key_file.write_text(self.key)
        self.file = directory / "headgate.toml"
        self.file.write_text(
            text
            + f"""
[identities]
administrators = ["{ADMINISTRATOR}"]
[identities.jwt]
key_file = "{key_file}"
algorithms = ["HS256"]
audience = "headgate-tests"
"""
        )

    def token(self, principal: str) -> str:
        """A token that says who somebody is, for a day."""
        return jwt.encode(
            {"sub": principal, "aud": "headgate-tests", "exp": int(time.time()) + 86_400},
            self.key,
            algorithm="HS256",
        )


class BrokerProcess:
    """One broker: its process, where it is reached, what it said."""

    def __init__(self, settings: Settings, http: int, name: str | None = None) -> None:
        self.settings = settings
        self.name = name
        self.http = http
        self.process: subprocess.Popen[bytes] | None = None
        self.said = settings.directory / f"{name or 'broker'}.log"
        self.environ: Mapping[str, str] = {}
        """Settings of this broker alone."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, *before: str, environ: Mapping[str, str] | None = None) -> None:
        """Start it; `before` is a command that runs it, such as `strace`."""
        assert self.process is None
        command = [
            *before, HEADGATE, "up", "--config", str(self.settings.file),
        ]  # fmt: skip
        if self.name is not None:
            command += ["--broker", self.name]
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(
                command, stdout=said, stderr=said, stdin=subprocess.DEVNULL,
                cwd=self.settings.directory,
                env={**_environment(), **self.environ, **(environ or {})},
            )  # fmt: skip

    async def ready(self) -> None:
        """Wait until it serves; say what it said if it ends instead."""
        until = time.monotonic() + READY_S
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < until:
                self.check_alive()
                try:
                    async with session.get(f"{self.url}/health/ready") as reply:
                        if reply.status == 200:
                            return
                except aiohttp.ClientConnectionError:
                    pass
                await asyncio.sleep(0.02)
        raise AssertionError(f"{self.name} isn't ready after {READY_S:g} s: {self.last_words()}")

    def check_alive(self) -> None:
        assert self.process is not None
        code = self.process.poll()
        assert code is None, f"{self.name} ended with {code}: {self.last_words()}"

    def kill(self) -> None:
        """The process is gone at once."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self) -> int:
        """Ask it to end, and wait for it; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(STOP_S)
        self.process = None
        return code

    def end(self) -> None:
        """For the end of a test: whatever state it is in."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def last_words(self) -> str:
        return self.said.read_text(errors="replace")[-4_000:] if self.said.exists() else ""

    async def ask(self, method: str, path: str, body: Any = None, who: str = ADMINISTRATOR) -> Any:
        """One request to its administrative interface, which has to be granted."""
        headers = {"Authorization": f"Bearer {self.settings.token(who)}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, f"{self.url}{path}", json=body) as reply,
        ):
            text = await reply.text()
            assert reply.status == 200, f"{method} {path}: {reply.status} {text}"
            return json.loads(text)

    async def administer(self, *changes: Mapping[str, Any], wait_s: float = 0) -> int:
        """Make the next version of these changes."""
        said = {"changes": list(changes), "why": "a test", "wait_s": wait_s}
        return int((await self.ask("POST", "/v1/policy/batches", said))["version"])


def _environment() -> dict[str, str]:
    """This one, with what was compiled kept: a broker that is killed often shall start fast."""
    kept = {name: it for name, it in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(COMPILED)}


def alone(directory: Path, more: str = "", streams: Sequence[str] = ("events",)) -> BrokerProcess:
    """One broker with a data directory of its own."""
    (port,) = free_ports(1)
    settings = Settings(
        directory,
        f"""
data = "{directory / "data"}"
broker = "solo"
streams = {json.dumps(list(streams))}
[http]
port = {port}
tls = "off"
{more}
""",
    )
    return BrokerProcess(settings, port)


def grants(principal: str, *actions: str, filter_: str = "TRUE") -> list[dict[str, Any]]:
    """Changes that grant a principal to connect, and to do what is named."""
    rules: list[dict[str, Any]] = [{"principal": principal, "action": "connect"}]
    rules += [{"principal": principal, "action": one, "filter": filter_} for one in actions]
    return [{"grant": rule} for rule in rules]


def is_listening(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


TREE = {"left": ["b1"], "middle": ["m1", "m2"], "right": ["b2"], "top": ["b3"], "far": ["b4"]}
"""Five nodes around two brokers that stand in for each other."""
HOSTED = {"b2": ["quotes"], "b3": ["news"]}


def network(directory: Path, more: str = "") -> dict[str, BrokerProcess]:
    """A tree of five nodes with two brokers in the middle; the policy is at `b1`."""
    names = [name for members in TREE.values() for name in members]
    ports = free_ports(2 * len(names))
    edges = [["middle", node] for node in TREE if node != "middle"]
    lines = [
        f'data = "{directory / "data"}"',
        "[http]", 'tls = "off"',
        "[links]", 'tls = "on"',
        "[network]", 'policy_host = "b1"', f"edges = {json.dumps(edges)}",
        "[network.nodes]",
        *(f"{node} = {json.dumps(members)}" for node, members in TREE.items()),
    ]  # fmt: skip
    for at, name in enumerate(names):
        lines += [
            f"[network.brokers.{name}]",
            f'link = "127.0.0.1:{ports[2 * at]}"',
            f'http = "127.0.0.1:{ports[2 * at + 1]}"',
            f"streams = {json.dumps(HOSTED.get(name, []))}",
        ]
    settings = Settings(directory, "\n".join([*lines, more, ""]))
    return {name: BrokerProcess(settings, ports[2 * at + 1], name) for at, name in enumerate(names)}
