"""How much does a broker take in, with every record on the disk before it is acknowledged?

python -m bench.brokers [--quick] [WORD ...]

Words choose a part: `publishing`, `chain`, `policy`, `recovery`. The brokers are processes of their
own on loopback sockets; what loads them runs on the same processors, so the processor time of the
broker for each record stands beside each rate: it says what a machine of its own would do.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import uvloop

from bench import QUICK, table, times, title
from bench.log import records
from bench.network import BURST, network, through
from bench.support.loads import (
    ECHOED,
    Publisher,
    in_frames,
    open_line,
    percentile,
    publish_for,
    publishers,
    read,
)
from bench.support.processes import ROOT, STREAM, allow, chain, cpu_seconds, directory, how_busy
from bench.support.processes import running as running_brokers
from headgate.stores.disk_log import DiskLog
from tests.live.brokers import BrokerProcess

SECONDS = 0.1 if QUICK else 5.0
WARM_S = 0.05 if QUICK else 1.0
COUNTS = (2,) if QUICK else (1, 10, 50)
AT_ONCE = 20
COMMITS = 2 if QUICK else 60
RECORDS = 500 if QUICK else 200_000
AIM = 20_000
PACE_S = 0.004
_SETTLE_S = 30.0


def core_alone() -> float:
    """Microseconds of the core for each record, nothing around it."""
    made, publisher = network(1, 0)
    count = 50 if QUICK else 5_000
    least = float("inf")
    for _ in range(3):
        before = time.process_time()
        through(made, publisher, count)
        least = min(least, (time.process_time() - before) / (count + BURST))
    return least * 1e6


async def echo(count: int, at_once: int) -> tuple[float, float]:
    """Events a second, and microseconds of processor for each, where they are only said again."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.support.echo"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        port = int(await asyncio.to_thread(child.stdout.readline))
        lines = [await open_line(port, "/echo", "-", ECHOED, b"connected") for _ in range(count)]
        some = [Publisher(line, f"e{at}", in_frames, at_once) for at, line in enumerate(lines)]
        rate, cpu, _ = await measured(some, child.pid)
        for line in lines:
            line.close()
    finally:
        child.kill()
        child.communicate()
    return rate, cpu


async def measured(some: list[Publisher], pid: int) -> tuple[float, float, list[float]]:
    """Records a second, microseconds of a process for each, and how long texts took."""
    await publish_for(some, WARM_S)
    before = cpu_seconds(pid)
    done, took, latencies = await publish_for(some, SECONDS)
    return done / took, (cpu_seconds(pid) - before) / done * 1e6, latencies


async def publishing() -> None:
    title("Records stored, synced and acknowledged by one broker, a second")
    core = core_alone()
    rows = []
    async with running_brokers(1) as (broker,):
        await allow(broker, ["exchange"], [])
        for name, at_once, over_http in (
            (f"WebSocket, arrays of {AT_ONCE}", AT_ONCE, False),
            ("WebSocket, one by one", 1, False),
            (f"HTTP, batches of {AT_ONCE} CloudEvents", AT_ONCE, True),
        ):
            for count in COUNTS:
                some = await publishers(broker, "exchange", count, at_once, over_http=over_http)
                rate, cpu, latencies = await measured(some, broker.pid)
                for one in some:
                    one.line.close()
                bare = (await echo(count, at_once))[1] if not over_http else 0.0
                rows.append(
                    [
                        f"{name}, {count} publishers", f"{rate:,.0f}", f"{cpu:.1f}",
                        f"{rate * cpu / 1e4:.0f} %",
                        f"{percentile(latencies, 0.5) * 1e3:.1f}",
                        f"{percentile(latencies, 0.99) * 1e3:.1f}",
                        times(cpu / bare) if bare else "",
                        times(cpu / core),
                    ]
                )  # fmt: skip
    table(
        ["", "a second", "µs of CPU each", "of one CPU", "p50 ms", "p99 ms", "to an echo",
         "to the core"],
        rows,
    )  # fmt: skip
    print(f"the core alone: {core:.1f} µs each; aim: {AIM:,} a second; {how_busy()}")


async def along_a_chain() -> None:
    title("Through a chain of three brokers, to a subscriber at its far end")
    rows = []
    async with running_brokers(3) as brokers:
        first, last = brokers[0], brokers[-1]
        await allow(first, ["exchange"], ["desk"])
        reader = await read(last, "desk")
        for count in COUNTS:
            some = await publishers(first, "exchange", count, AT_ONCE)
            before = [cpu_seconds(one.pid) for one in brokers]
            reader.count, began = 0, time.perf_counter()
            done, took, _ = await publish_for(some, SECONDS)
            accepted = done / took
            while reader.count < done:
                if time.perf_counter() - began > SECONDS + _SETTLE_S:
                    raise TimeoutError(f"{reader.count:,} of {done:,} records were delivered")
                await asyncio.sleep(0.005)
            delivered = done / (time.perf_counter() - began)
            spent = [
                (cpu_seconds(one.pid) - then) / done * 1e6
                for one, then in zip(brokers, before, strict=True)
            ]
            for one in some:
                one.line.close()
            rows.append(
                [
                    f"{count} publishers, arrays of {AT_ONCE}",
                    f"{accepted:,.0f}", f"{delivered:,.0f}",
                    *(f"{each:.1f}" for each in spent),
                ]
            )  # fmt: skip
        reader.close()
    table(["", "acknowledged/s", "delivered/s", "µs first", "µs middle", "µs last"], rows)
    print(f"µs of CPU of each broker for each record; {how_busy()}")


class _Watching:
    """A subscriber that notes when it first received something under each version."""

    def __init__(self) -> None:
        self.first: dict[int, float] = {}
        self.version = 0

    async def watch(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            now = time.perf_counter()
            said = message.json()
            for one in said if isinstance(said, list) else [said]:
                if one["is"] == "delivery" and one["version"] > self.version:
                    for version in range(self.version + 1, one["version"] + 1):
                        self.first[version] = now
                    self.version = one["version"]


async def committing(brokers: list[BrokerProcess]) -> dict[str, list[float]]:
    """Seconds from asking for a version until this and that, while records flow."""
    host, last = brokers[0], brokers[-1]
    await allow(host, ["exchange"], ["desk"])
    found: dict[str, list[float]] = {"stored": [], "starting point": [], "first delivery": []}
    seen = _Watching()
    (source,) = await publishers(host, "exchange", 1, 1)
    token = host.settings.token("root")
    async with (
        aiohttp.ClientSession(headers=_who(last.settings.token("desk"))) as reading,
        aiohttp.ClientSession(headers=_who(token)) as administering,
        reading.ws_connect(f"{last.url}/v1/socket", protocols=("headgate.v1",)) as socket,
    ):
        await socket.receive()
        await socket.send_json({"do": "subscribe", "request": 1, "subscription": 1})
        watching = asyncio.create_task(seen.watch(socket))
        flowing = asyncio.create_task(_flow(source))
        for number in range(2 * COMMITS):
            await asyncio.sleep(0.02 + 0.007 * (number % 5))
            wait_s = 10 if number % 2 else 0
            change = {"join": {"group": "publishers", "member": f"other-{number}"}}
            began = time.perf_counter()
            async with administering.post(
                f"{host.url}/v1/policy/batches",
                json={"changes": [change], "why": "a measurement", "wait_s": wait_s},
            ) as reply:
                version = (await reply.json())["version"]
            found["starting point" if wait_s else "stored"].append(time.perf_counter() - began)
            while version not in seen.first:
                watching.done() and watching.result()
                await asyncio.sleep(0.001)
            found["first delivery"].append(seen.first[version] - began)
        flowing.cancel()
        watching.cancel()
        await asyncio.gather(flowing, watching, return_exceptions=True)
    source.line.close()
    return found


async def _flow(source: Publisher) -> None:
    while True:
        source.go(0.0)  # one, and no more
        await asyncio.sleep(PACE_S)


def _who(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def policy() -> None:
    title("From handing in a change of the policy, in ms")
    rows = []
    for count in (3,) if QUICK else (1, 3):
        async with running_brokers(count) as brokers:
            for what, seconds in (await committing(brokers)).items():
                seconds.sort()
                where = "one broker" if count == 1 else f"a chain of {count}"
                rows.append(
                    [f"{where}: to its {what}" if what != "stored" else f"{where}: until stored",
                     *(f"{percentile(seconds, share) * 1e3:.1f}" for share in (0.5, 0.9, 0.99))]
                )  # fmt: skip
    table(["", "p50", "p90", "p99"], rows)
    print(
        f"a record each {PACE_S * 1e3:g} ms; a starting point is told when the database has it, "
        f"which is looked for at intervals; {how_busy()}"
    )


async def recovery() -> None:
    title("Coming back, in seconds for each million records")
    rows = []
    for name, sealed in (("Parquet", True),) if QUICK else (("journal", False), ("Parquet", True)):
        with directory() as place:
            (broker,) = chain(place, 1)
            await _until_ready(broker)  # makes its directories and certificates
            empty = await _until_ready(broker) if not QUICK else 0.0
            _fill(place / "data" / "b1" / "log", sealed=sealed)
            began = time.perf_counter()
            DiskLog(place / "data" / "b1" / "log").close()
            opening = time.perf_counter() - began
            ready = await _until_ready(broker)
        rows.append(
            [f"{RECORDS:,} in {name}", f"{opening:.2f}", f"{opening / RECORDS * 1e6:.2f}",
             f"{ready:.2f}", f"{empty:.2f}", f"{(ready - empty) / RECORDS * 1e6:.2f}"]
        )  # fmt: skip
    table(
        ["", "log opened, s", "a million", "`up` until ready, s", "without records", "a million"],
        rows,
    )
    print(how_busy())


def _fill(place: Path, *, sealed: bool) -> None:
    """The log of a broker that has had records."""
    log = DiskLog(place)
    some = records(RECORDS, STREAM)
    for at in range(0, RECORDS, 1_000):
        log.append(some[at : at + 1_000])
        log.sync()
    if sealed:
        log.end_segment()
        log.maintain(time.time_ns() // 1_000, {})
    log.close()


async def _until_ready(broker: BrokerProcess) -> float:
    began = time.perf_counter()
    broker.start()
    try:
        await broker.ready()
        took = time.perf_counter() - began
        broker.stop()
    finally:
        broker.end()
    return took


PARTS = {"publishing": publishing, "chain": along_a_chain, "policy": policy, "recovery": recovery}


async def main() -> None:
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")]
    for unknown in set(chosen) - set(PARTS):
        sys.exit(f"expected some of {', '.join(PARTS)}, found `{unknown}`")
    for name, part in PARTS.items():
        if not chosen or name in chosen:
            await part()


if __name__ == "__main__":
    uvloop.run(main())
