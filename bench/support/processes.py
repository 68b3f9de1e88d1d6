"""Brokers for a measurement: `headgate up` in processes of their own, on loopback sockets.

They are what people start, with durable logs and with TLS on the links; HTTP is without TLS. They
are ended by their pids, whatever becomes of the measurement.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.live.brokers import BrokerProcess, Settings, free_ports

STREAM = "quotes"
ROOT = Path(__file__).parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def directory() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="headgate-bench-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def chain(place: Path, count: int, more: str = "") -> list[BrokerProcess]:
    """Brokers in a row; the first one hosts the policy and the stream `quotes`."""
    names = [f"b{number}" for number in range(1, count + 1)]
    ports = free_ports(2 * count)
    lines = [
        f'data = "{place / "data"}"',
        "[http]", 'tls = "off"',
        "[logging]", 'level = "warning"',
        "[network]", 'policy_host = "b1"', f"edges = {json.dumps([*pairwise(names)])}",
        "[network.nodes]", *(f'{name} = ["{name}"]' for name in names),
    ]  # fmt: skip
    for at, name in enumerate(names):
        lines += [
            f"[network.brokers.{name}]",
            f'link = "127.0.0.1:{ports[2 * at]}"',
            f'http = "127.0.0.1:{ports[2 * at + 1]}"',
            f"streams = {json.dumps([STREAM] if at == 0 else [])}",
        ]
    settings = Settings(place, "\n".join([*lines, more, ""]))
    return [BrokerProcess(settings, ports[2 * at + 1], name) for at, name in enumerate(names)]


@asynccontextmanager
async def running(
    count: int,
    *,
    before: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    more: str = "",
) -> AsyncIterator[list[BrokerProcess]]:
    """So many brokers in a row, ready; `before` is a command that runs each of them."""
    with directory() as place:
        brokers = chain(place, count, more)
        try:
            for one in brokers:
                one.start(*before, environ={"PYTHONPATH": str(ROOT), **(environ or {})})
            for one in brokers:
                await one.ready()
            yield brokers
        finally:
            for one in brokers:
                one.end()


async def allow(host: BrokerProcess, publishers: Sequence[str], readers: Sequence[str]) -> None:
    """Let these publish and read whatever they like, as members of two groups."""
    changes: list[dict[str, Any]] = []
    for group, action, members in (
        ("publishers", "publish", publishers),
        ("readers", "subscribe", readers),
    ):
        changes += [
            {"create_group": group},
            {"grant": {"principal": group, "action": "connect"}},
            {"grant": {"principal": group, "action": action, "filter": "TRUE"}},
            *({"join": {"group": group, "member": name}} for name in members),
        ]
    await host.administer(*changes, wait_s=10)


def cpu_seconds(pid: int) -> float:
    """How long a process has had a processor, in the kernel too."""
    said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(said[11]) + int(said[12])) / _TICKS


def how_busy() -> str:
    """What else the machine does, for who reads the figures."""
    return f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}"
