"""What does access control cost while rights rest, at each broker on the way? As in Figure 3.

python -m bench.access_control [--quick] [--figure FILE]

The measurement of Zhao & Sturman 5.2: the broker of a publisher, a routing broker and the broker of
the subscribers, with access control and without, with reliable delivery and without; what was taken
out for that, `bench/support/taken_out.py` says. Subscribers may read everything, so all receive the
same. As in the paper, ten subscribers receive each record.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import final

import uvloop

from bench import QUICK, table, title
from bench.support.loads import PUBLISHED, Line, framed, read, talk
from bench.support.processes import allow, cpu_seconds_exactly, how_busy, running
from bench.support.taken_out import ACCESS_CONTROL, RELIABILITY
from tests.live.brokers import BrokerProcess

RATES = (100,) if QUICK else (250, 500, 1_000)
RELIABLE = (True,) if QUICK else (True, False)
READERS = 10 if QUICK else 100
FAN_OUT = 10
TURN_S = 0.2 if QUICK else 2.0
ROUNDS = 1 if QUICK else 4
TICK_S = 0.02
BROKERS = ("publisher's", "routing", "subscribers'")
_SETTLE_S = 120.0
"""The index over filters is compiled where more than a few subscribe, which takes its time."""

Cpu = dict[tuple[bool, bool, int], tuple[float, ...]]
"""With access control, with reliability, records a second: per cent of one CPU of each broker."""


@final
@dataclass
class Loaded:
    """Three brokers, with a publisher at one end and subscribers at the other."""

    brokers: list[BrokerProcess]
    publisher: Line
    readers: list[Line]
    number: int = 0

    async def run(self, rate: int) -> tuple[float, ...]:
        """Publish at a rate; what each broker took of one CPU, in per cent."""
        expected = self.delivered
        before = [cpu_seconds_exactly(one.pid) for one in self.brokers]
        began = time.perf_counter()
        each = round(rate * TICK_S)
        for tick in range(1, round(TURN_S / TICK_S) + 1):
            self.publisher.write(self._some(each))
            expected += each * min(FAN_OUT, len(self.readers))
            await asyncio.sleep(max(0.0, began + tick * TICK_S - time.perf_counter()))
        while self.delivered < expected:
            if time.perf_counter() - began > TURN_S + _SETTLE_S:
                raise TimeoutError(f"{self.delivered:,} of {expected:,} deliveries came")
            await asyncio.sleep(0.002)
        took = max(TURN_S, time.perf_counter() - began)
        spent = [cpu_seconds_exactly(one.pid) for one in self.brokers]
        return tuple(
            100 * (now - then) / took for now, then in zip(spent, before, strict=True)
        )  # fmt: skip

    @property
    def delivered(self) -> int:
        return sum(one.count for one in self.readers)

    def _some(self, count: int) -> bytes:
        said = []
        for _ in range(count):
            self.number += 1
            symbol = self.number % (len(self.readers) // FAN_OUT)
            said.append(
                f'{{"do":"publish","request":{self.number},"id":"e{self.number}",'
                f'"event":{{"type":"quote","symbol":"S{symbol}","price":101,"volume":77}}}}'
            )
        return framed(f"[{','.join(said)}]".encode())

    def close(self) -> None:
        for one in (self.publisher, *self.readers):
            one.close()


async def loaded(brokers: list[BrokerProcess]) -> Loaded:
    names = [f"reader-{number}" for number in range(READERS)]
    await allow(brokers[0], ["exchange"], names)
    readers = [
        await read(brokers[-1], name, f"symbol = 'S{number % (READERS // FAN_OUT)}'")
        for number, name in enumerate(names)
    ]
    return Loaded(brokers, await talk(brokers[0], "exchange", PUBLISHED), readers)


async def measured() -> Cpu:
    """With and without access control side by side, in turns: six brokers at once."""
    least: Cpu = {}
    for reliable in RELIABLE:
        async with AsyncExitStack() as stack:
            both: dict[bool, Loaded] = {}
            for controlled in (True, False):
                taken_out = [ACCESS_CONTROL] * (not controlled) + [RELIABILITY] * (not reliable)
                brokers = await stack.enter_async_context(
                    running(
                        3,
                        before=(sys.executable, "-m", "bench.support.taken_out"),
                        environ={"TAKEN_OUT": ", ".join(taken_out)},
                    )
                )
                both[controlled] = await loaded(brokers)
                await both[controlled].run(RATES[0])  # compiles, and fills what is filled once
            for rate in RATES:
                for turn in range(ROUNDS):
                    for controlled in (True, False) if turn % 2 else (False, True):
                        cpu = await both[controlled].run(rate)
                        key = controlled, reliable, rate
                        least[key] = tuple(map(min, cpu, least.get(key, cpu)))
            for one in both.values():
                one.close()
    return least


def draw(least: Cpu, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.0), dpi=150, layout="constrained")
    for at, (name, axes) in enumerate(
        zip(BROKERS, figure.subplots(1, len(BROKERS), sharey=True), strict=True)
    ):
        for controlled, reliable, style in (
            (True, True, "o-"), (False, True, "o--"), (True, False, "s-"), (False, False, "s--"),
        ):  # fmt: skip
            if reliable not in RELIABLE:
                continue
            axes.plot(
                RATES, [least[controlled, reliable, rate][at] for rate in RATES], style,
                label=_variant(controlled, reliable),
            )  # fmt: skip
        axes.set_title(f"{name} broker", fontsize="medium")
        axes.set_xlabel("records a second")
    figure.axes[0].set_ylim(bottom=0)  # all three have one scale, and it is known only now
    figure.axes[0].set_ylabel("of one CPU, %")
    figure.axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(path)


def _variant(controlled: bool, reliable: bool) -> str:
    return (
        f"{'with' if controlled else 'without'} access control, "
        f"{'reliable' if reliable else 'nothing kept'}"
    )


async def main() -> None:
    title("CPU of each broker on the way of a record, % of one")
    least = await measured()
    rows = []
    for rate in RATES:
        for reliable in RELIABLE:
            for controlled in (False, True):
                cpu = least[controlled, reliable, rate]
                off = least[False, reliable, rate]
                rows.append(
                    [
                        f"{rate}/s, {_variant(controlled, reliable)}",
                        *(f"{one:.1f}" for one in cpu),
                        *(
                            f"{(one - before) * 1e4 / rate:+.0f}" if controlled else ""
                            for one, before in zip(cpu, off, strict=True)
                        ),
                    ]
                )
    table(["", *BROKERS, "more, µs/record", "", ""], rows)
    print(
        f"each record goes to {FAN_OUT} of {READERS} subscribers; the least of {ROUNDS} turns of "
        f"{TURN_S:g} s; {how_busy()}"
    )
    if "--figure" in sys.argv:
        draw(least, Path(sys.argv[sys.argv.index("--figure") + 1]))


if __name__ == "__main__":
    uvloop.run(main())
