"""What does a broker count of itself, and how does Prometheus ask for it?

What happens often is counted in plain numbers, once for each turn of the loop; only when somebody
asks are they made into metrics. No label holds what a stranger may choose.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from headgate.broker.effects import Append, Delivery, Effect, Published, RequestRefused, Tell
from headgate.live.links import TcpLinks
from headgate.live.storing import Synced

if TYPE_CHECKING:
    from headgate.live.node import Node

SECONDS: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
WRITES: Final = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
LAG_S: Final = 0.5
"""So often it is looked how late the loop is."""


@final
class Histogram:
    """How often what was measured was at most so much."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def family(self, name: str, about: str) -> HistogramMetricFamily:
        names = [*map(str, self.bounds), "+Inf"]
        buckets = list(zip(names, accumulate(self.counts), strict=True))
        return HistogramMetricFamily(name, about, buckets=buckets, sum_value=self.total)


@final
class Tally:
    """What one broker has counted since its start."""

    def __init__(self) -> None:
        self.told: Counter[type] = Counter()
        """Messages to clients, by their kinds."""
        self.refused_for_now = 0
        self.refused = 0
        self.dropped = 0
        self.records = 0
        self.body_bytes = 0
        self.reads = 0
        self.store_failures = 0
        self.turn_seconds = Histogram(SECONDS)
        self.sync_seconds = Histogram(SECONDS)
        self.group_writes = Histogram(WRITES)
        self.lag_seconds = Histogram(SECONDS)

    def turned(self, effects: Sequence[Effect], seconds: float) -> None:
        """One turn of the loop, with what came up in it."""
        self.turn_seconds.add(seconds)
        told = self.told
        for effect in effects:
            kind = effect.__class__
            if kind is Tell:
                message = effect.message  # type: ignore[union-attr]
                told[message.__class__] += 1
                if message.__class__ is RequestRefused:
                    self._refused(message)
            elif kind is Append:
                self._appended(effect)  # type: ignore[arg-type]

    def synced(self, synced: Synced) -> None:
        self.sync_seconds.add(synced.seconds)
        self.group_writes.add(synced.writes)

    async def watch_the_loop(self) -> None:
        """See, again and again, how late the loop is."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_S
            await asyncio.sleep(LAG_S)
            self.lag_seconds.add(max(0.0, loop.time() - due))

    def _refused(self, message: RequestRefused) -> None:
        if message.temporary:
            self.refused_for_now += 1
        else:
            self.refused += 1

    def _appended(self, effect: Append) -> None:
        self.records += len(effect.records)
        self.body_bytes += sum(len(record.body or b"") for record in effect.records)


@final
class NodeCollector(Collector):
    """One broker's numbers as Prometheus wants them."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def collect(self) -> Iterator[Metric]:
        node = self._node
        yield InfoMetricFamily(
            "headgate_broker", "Which broker this is.", {"broker": node.settings.broker}
        )
        yield from self._of_clients(node.tally)
        yield from self._of_storage(node.tally)
        yield from self._of_the_loop(node.tally)
        if node.is_running:
            yield from self._of_now()
        if isinstance(node.links, TcpLinks):
            yield from self._of_links(node.links)

    def _of_clients(self, tally: Tally) -> Iterator[Metric]:
        told = tally.told
        yield _count("publications", "Publications that were accepted and stored.", told[Published])
        yield _count("deliveries", "Views of records given to clients.", told[Delivery])
        refused = CounterMetricFamily(
            "headgate_requests_refused",
            "Requests of clients that were refused: for now (try again), or for good.",
            labels=["how"],
        )
        refused.add_metric(["for now"], tally.refused_for_now)
        refused.add_metric(["for good"], tally.refused)
        yield refused
        yield _count("clients_dropped", "Connections that the broker ended.", tally.dropped)

    def _of_storage(self, tally: Tally) -> Iterator[Metric]:
        yield _count("records", "Records that were written, markers too.", tally.records)
        yield _count("record_body_bytes", "Bytes in the bodies of these.", tally.body_bytes)
        yield _count("log_reads", "Times that old records were read from the log.", tally.reads)
        yield _count("store_failures", "Times that the disk was full.", tally.store_failures)
        yield tally.sync_seconds.family(
            "headgate_log_sync_seconds", "How long it took to write a group and sync it."
        )
        yield tally.group_writes.family(
            "headgate_log_group_writes", "How many writes shared a sync."
        )

    def _of_the_loop(self, tally: Tally) -> Iterator[Metric]:
        yield tally.turn_seconds.family(
            "headgate_core_turn_seconds", "Time spent in the core for one turn of the loop."
        )
        yield tally.lag_seconds.family(
            "headgate_loop_lag_seconds", "How much later than planned the loop got to something."
        )

    def _of_now(self) -> Iterator[Metric]:
        status = self._node.status()
        yield _gauge("clients", "Clients that are connected.", status.clients)
        yield _gauge("subscriptions", "Subscriptions of these.", status.subscriptions)
        yield _gauge("links_up", "Neighbours that are linked.", sum(status.neighbours.values()))
        yield _gauge("neighbours", "Neighbours there are.", len(status.neighbours))
        yield _gauge("policy_version", "The policy's version that is known here.", status.version)
        yield _gauge("leased", "Whether that may be decided by.", status.leased)
        yield _gauge("ready", "Whether clients are served.", status.ready)
        yield _gauge("log_unsynced_writes", "Writes on their way to the disk.", status.log.unsynced)
        if status.log.bytes is not None:
            yield _gauge("log_bytes", "Size of the log on the disk.", status.log.bytes)
        away = status.policy.problem is not None
        yield _gauge("policy_database_away", "Whether the ACL database can't be asked.", away)
        branches = CounterMetricFamily(
            "headgate_core_branches", "How often the core took some ways.", labels=["branch"]
        )
        for branch, number in sorted(status.counts.items()):
            branches.add_metric([branch], number)
        yield branches

    def _of_links(self, links: TcpLinks) -> Iterator[Metric]:
        counts = links.counts
        yield _bytes("link_bytes", "Bytes over links.", counts.bytes_in, counts.bytes_out)
        made = CounterMetricFamily("headgate_links_made", "Links that came up.", labels=["how"])
        made.add_metric(["accepted"], counts.accepted)
        made.add_metric(["dialled"], counts.dialled)
        yield made
        refused = CounterMetricFamily(
            "headgate_links_refused", "Connections that became no link.", labels=["reason"]
        )
        for reason, number in sorted(counts.refused.items()):
            refused.add_metric([reason], number)
        yield refused


def registry_of(node: Node) -> CollectorRegistry:
    """A registry with the numbers of one broker alone; others may be registered to it."""
    registry = CollectorRegistry()
    registry.register(NodeCollector(node))
    return registry


def _count(name: str, about: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"headgate_{name}", about, value=value)


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"headgate_{name}", about, value=float(value))


def _bytes(name: str, about: str, received: int, sent: int) -> CounterMetricFamily:
    family = CounterMetricFamily(f"headgate_{name}", about, labels=["way"])
    family.add_metric(["in"], received)
    family.add_metric(["out"], sent)
    return family
