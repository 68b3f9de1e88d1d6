"""How long until a record is delivered, and until a new subscription receives its first one?

The measurement of Zhao & Sturman 5.2 (Figure 4): a publisher at one end of a chain, subscribers at
the other, and the policy with the publisher's broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.broker.effects import Delivery
from headgate.simulation.clients import Client
from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.samples import Sample
from headgate.simulation.evaluating.stages import Change, Stage
from headgate.simulation.evaluating.trees import chain
from headgate.simulation.schedules import Subscribe
from headgate.simulation.timeline import SECOND

DELIVERIES_PER_RUN: Final = 10
_READERS: Final = "readers"
_REGULAR: Final = "regular"
_STANDING: Final = "type = 'quote' AND price > 100"


class Start(Enum):
    """How a subscription begins."""

    LOCAL = "local start"
    """Its principal and its filter are at its broker already."""
    PRINCIPAL = "new principal, local start"
    """Its filter is: its rights have to be fetched from the policy's host."""
    REMOTE = "new principal, remote start"
    """Nothing is: its filter has to be asked for at the publisher's broker, too."""


@final
@dataclass(frozen=True)
class Starts:
    """Subscriptions that began in the same way."""

    latency: Sample
    """From handing in the subscription to the first record."""
    rights_fetched: int
    asked_upstream: int


@final
@dataclass(frozen=True)
class Latencies:
    """What was measured at one length of the chain."""

    hops: int
    steady: Sample
    """From handing in a publication to its delivery."""
    starts: dict[Start, Starts]


def measure_latencies(conditions: Conditions, hops: int, runs: int) -> Latencies:
    return _Measurement(conditions, hops, runs).run()


@final
class _Measurement:
    """One chain, on which one thing is measured after the other."""

    def __init__(self, conditions: Conditions, hops: int, runs: int) -> None:
        self._runs = runs
        self._strangers = [f"reader-{number}" for number in range(2 * runs)]
        tree = chain(hops)
        self._stage = Stage(tree, conditions, _policy([_REGULAR, *self._strangers]))
        self._chance = conditions.chance("phases")
        self._broker = tree.leaves[0]
        self._hops = hops
        # What a client leaves behind is gone after two round trips.
        self._settled_us = 4 * hops * (conditions.link_us + conditions.jitter_us) + 10 * (
            conditions.sync_us + conditions.client_us
        )
        self._seen: dict[Client, list[tuple[int, int]]] = {}
        """By client, when it received which event."""
        self._stage.on_delivery(self._delivered)
        self._publisher = self._stage.publisher(
            lambda number: {"type": "quote", "symbol": "IBM", "price": 101, "volume": 1_000_000}
        )

    def run(self) -> Latencies:
        """First the steady state, then every start in turn."""
        regular = self._stage.client("regular", _REGULAR, self._broker)
        self._join(regular, _STANDING)
        self._publisher.go_on()
        self._stage.run_until(lambda: bool(self._seen.get(regular)))
        steady = self._steady(regular)
        starts: dict[Start, list[tuple[int, int, int]]] = {how: [] for how in Start}
        for run in range(self._runs):
            for how in Start:
                starts[how].append(self._start(how, run))
        return Latencies(self._hops, steady, {how: _together(starts[how]) for how in Start})

    def _steady(self, regular: Client) -> Sample:
        seen, wanted = self._seen[regular], DELIVERIES_PER_RUN * self._runs
        seen.clear()
        self._stage.run_until(lambda: len(seen) >= wanted, (wanted + 60) * SECOND)
        sent_at = self._publisher.sent_at
        return Sample(tuple(at - sent_at[number] for at, number in seen[:wanted]))

    def _start(self, how: Start, run: int) -> tuple[int, int, int]:
        """How long it took, how often rights were fetched, and the filter asked for upstream."""
        stage = self._stage
        stage.run_for(self._chance.randrange(stage.conditions.period_us))
        before = self._counted()
        client = stage.client(f"{how.value} {run}", self._principal(how, run), self._broker)
        submitted = self._join(client, self._filter(how, run))
        stage.run_until(lambda: bool(self._seen.get(client)))
        rights, asked = (now - then for now, then in zip(self._counted(), before, strict=True))
        first = self._seen.pop(client)[0][0]
        client.go(silently=False)
        stage.run_for(self._settled_us)
        self._seen.pop(client, None)
        return first - submitted, rights, asked

    def _join(self, client: Client, wanted: str) -> int:
        """Connect, think, and hand in a subscription: when that was.

        Who isn't connected by then has its subscription sent as soon as it is.
        """
        client.come()
        self._stage.run_for(self._stage.conditions.think_us)
        client.wishes.add(Subscribe(client.name, "only", wanted))
        return self._stage.now

    def _principal(self, how: Start, run: int) -> str:
        match how:
            case Start.LOCAL:
                return _REGULAR
            case Start.PRINCIPAL:
                return self._strangers[2 * run]
            case Start.REMOTE:
                return self._strangers[2 * run + 1]

    def _filter(self, how: Start, run: int) -> str:
        return f"symbol = 'IBM' AND volume > {run}" if how is Start.REMOTE else _STANDING

    def _counted(self) -> tuple[int, int]:
        stage, broker = self._stage, self._broker
        return stage.counted(broker, "new principal"), stage.counted(broker, "remote start")

    def _delivered(self, client: Client, message: Delivery) -> None:
        number = message.event.attributes["number"]
        assert isinstance(number, int)
        self._seen.setdefault(client, []).append((self._stage.now, number))


def _together(measured: Sequence[tuple[int, int, int]]) -> Starts:
    times, rights, asked = zip(*measured, strict=True)
    return Starts(Sample(times), sum(rights), sum(asked))


def _policy(readers: Sequence[str]) -> list[Change]:
    """All may connect, and read quotes, as members of one group."""
    return [
        {"create_group": _READERS},
        *({"join": {"group": _READERS, "member": name}} for name in readers),
        {"grant": {"principal": _READERS, "action": "connect", "allow": True}},
        {"grant": {"principal": _READERS, "action": "subscribe", "filter": "type = 'quote'"}},
    ]
