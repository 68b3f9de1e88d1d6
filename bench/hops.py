"""How long do a delivery and a start take over 1, 4 and 7 hops? On real sockets, as in Figure 4.

python -m bench.hops [--quick] [--figure FILE]

The measurement of Zhao & Sturman 5.2: a publisher and the policy at one end of a chain of brokers,
subscribers at the other. `headgate evaluate network` measures the same in simulated time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from statistics import fmean, stdev
from typing import Final, final

import aiohttp
import uvloop

from bench import QUICK, table, title
from bench.support.loads import PUBLISHED, Publisher, framed, talk
from bench.support.processes import allow, how_busy, running
from tests.live.brokers import BrokerProcess

HOPS = (1,) if QUICK else (1, 4, 7)
RUNS = 2 if QUICK else 30
DELIVERIES = 5 if QUICK else 300
PACE_S = 0.005
"""A record so often: what a start takes ends with the next one."""
THINK_S = 0.025
"""From connecting to handing in a subscription."""
_GONE_S = 0.05
_PATIENCE_S = 20.0

STEADY: Final = "steady delivery"
LOCAL: Final = "local start"
PRINCIPAL: Final = "new principal, local start"
REMOTE: Final = "new principal, remote start"
STARTS: Final = (LOCAL, PRINCIPAL, REMOTE)
_STANDING = "type = 'quote' AND price > 0"


@final
class Reader:
    """A subscriber that notes when each record came."""

    def __init__(self, broker: BrokerProcess, principal: str) -> None:
        self._broker = broker
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {broker.settings.token(principal)}"}
        )
        self.seen: list[tuple[float, int]] = []
        """When which record came."""
        self._connected = asyncio.Event()
        self._came = asyncio.Event()

    async def come(self) -> None:
        self._socket = await self._session.ws_connect(
            f"{self._broker.url}/v1/socket", protocols=("headgate.v1",)
        )
        self._hearing = asyncio.create_task(self._hear())

    async def subscribe(self, wanted: str) -> float:
        """When it was to be handed in; who isn't connected by then hands it in when it is."""
        submitted = time.perf_counter()
        async with asyncio.timeout(_PATIENCE_S):
            await self._connected.wait()
        await self._socket.send_json(
            {"do": "subscribe", "request": 1, "subscription": 1, "filter": wanted}
        )
        return submitted

    async def _hear(self) -> None:
        async for message in self._socket:
            now = time.perf_counter()
            said = message.json()
            for one in said if isinstance(said, list) else [said]:
                if one["is"] == "delivery":
                    self.seen.append((now, one["event"]["number"]))
                elif one["is"] == "connected":
                    self._connected.set()
                elif one["is"] in ("refused", "ended", "dropped"):
                    raise RuntimeError(str(one))
            self._came.set()

    async def first(self, count: int = 1) -> list[tuple[float, int]]:
        async with asyncio.timeout(_PATIENCE_S):
            while len(self.seen) < count:
                self._came.clear()
                if self._hearing.done():
                    self._hearing.result()
                await self._came.wait()
        return self.seen[:count]

    async def go(self) -> None:
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)
        await self._socket.close()
        await self._session.close()


@final
class Source:
    """Publishes one record each few milliseconds, and notes when."""

    def __init__(self, host: BrokerProcess) -> None:
        self._host = host
        self.sent: list[float] = []
        """When each record was handed in."""

    async def start(self) -> None:
        self._line = await talk(self._host, "exchange", PUBLISHED)
        self._publisher = Publisher(self._line, f"{time.time_ns():x}", _numbered, 1)
        self._flowing = asyncio.create_task(self._flow())

    async def _flow(self) -> None:
        while True:
            due = time.perf_counter() + PACE_S
            self.sent.append(time.perf_counter())
            await self._publisher.go(0.0)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))

    async def stop(self) -> None:
        self._flowing.cancel()
        await asyncio.gather(self._flowing, return_exceptions=True)
        self._line.close()


def _numbered(name: str, number: int, count: int) -> bytes:
    event = f'{{"type":"quote","symbol":"IBM","price":101,"volume":1000000,"number":{number}}}'
    said = f'{{"do":"publish","request":{number},"id":"{name}-{number}","event":{event}}}'
    return framed(said.encode())


async def measured(hops: int) -> dict[str, list[float]]:
    """Milliseconds of each kind."""
    found: dict[str, list[float]] = {how: [] for how in (STEADY, *STARTS)}
    strangers = [f"reader-{number}" for number in range(2 * RUNS)]
    async with running(hops + 1) as brokers:
        await allow(brokers[0], ["exchange"], ["regular", *strangers])
        regular = Reader(brokers[-1], "regular")
        await regular.come()
        await regular.subscribe(_STANDING)
        source = Source(brokers[0])
        await source.start()
        await regular.first(1)
        found[STEADY] = await steady(regular, source)
        for run in range(RUNS):
            for how in STARTS:
                found[how].append(await start(brokers[-1], how, run))
                await asyncio.sleep(_GONE_S + 0.003 * (run % 4))
        await source.stop()
        await regular.go()
    return found


async def steady(regular: Reader, source: Source) -> list[float]:
    """From handing in a publication to its delivery."""
    regular.seen.clear()
    return [(when - source.sent[number]) * 1e3 for when, number in await regular.first(DELIVERIES)]


async def start(broker: BrokerProcess, how: str, run: int) -> float:
    """From handing in a subscription to its first record."""
    principal = {LOCAL: "regular", PRINCIPAL: f"reader-{2 * run}", REMOTE: f"reader-{2 * run + 1}"}
    wanted = f"type = 'quote' AND volume > {run}" if how == REMOTE else _STANDING
    reader = Reader(broker, principal[how])
    await reader.come()
    await asyncio.sleep(THINK_S)
    submitted = await reader.subscribe(wanted)
    ((came, _),) = await reader.first()
    await reader.go()
    return (came - submitted) * 1e3


def draw(found: dict[int, dict[str, list[float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.8), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for how, marker in zip((STEADY, *STARTS), "os^D", strict=True):
        axes.errorbar(
            list(found), [fmean(one[how]) for one in found.values()],
            yerr=[stdev(one[how]) for one in found.values()],
            label=how, marker=marker, capsize=4,
        )  # fmt: skip
    axes.set_xticks(list(found))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("hops from the publisher's broker to the subscriber's")
    axes.set_ylabel("latency, ms")
    axes.set_title(f"mean and standard deviation, {how_busy()}", fontsize="small", loc="left")
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path)


async def main() -> None:
    title("Latencies on real sockets, ms: mean ± standard deviation, and the median")
    found = {hops: await measured(hops) for hops in HOPS}
    rows = [
        [how, *(_shown(found[hops][how]) for hops in HOPS)] for how in (STEADY, *STARTS)
    ]  # fmt: skip
    table(["", *(f"{hops} hop{'s' if hops > 1 else ''}" for hops in HOPS)], rows)
    print(
        f"a record each {PACE_S * 1e3:g} ms; a start waits for the next of them, half of that on "
        f"average; {RUNS} runs; {how_busy()}"
    )
    if "--figure" in sys.argv:
        draw(found, Path(sys.argv[sys.argv.index("--figure") + 1]))


def _shown(some: list[float]) -> str:
    middle = sorted(some)[len(some) // 2]
    return f"{fmean(some):.1f} ± {stdev(some):.1f} ({middle:.1f})"


if __name__ == "__main__":
    uvloop.run(main())
