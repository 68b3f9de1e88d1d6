"""What is measured of a network altogether, and how is it written down for a program?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from headgate.simulation.evaluating.conditions import ConditionError, Conditions
from headgate.simulation.evaluating.filtering import Filtered, Filtering, measure_filtering
from headgate.simulation.evaluating.latencies import Latencies, Start, measure_latencies
from headgate.simulation.evaluating.samples import Sample, growth_per_hop_ms
from headgate.simulation.evaluating.traffic import About, Traffic
from headgate.simulation.evaluating.versions import Steady, measure_versions

Progress = Callable[[str], None]
"""Told what is measured next."""


@final
@dataclass(frozen=True)
class Evaluation:
    """All measurements of one network under the same conditions."""

    conditions: Conditions
    runs: int
    filtering: Filtering
    versions: tuple[Steady, ...]
    latencies: tuple[Latencies, ...]
    """By hops, in ascending order."""

    @property
    def steady(self) -> dict[int, Sample]:
        """The latency of a delivery, by hops."""
        return {one.hops: one.steady for one in self.latencies}

    def starts(self, how: Start) -> dict[int, Sample]:
        """The latency of a start, by hops."""
        return {one.hops: one.starts[how].latency for one in self.latencies}

    def to_json(self) -> dict[str, Any]:
        return {
            "conditions": asdict(self.conditions),
            "runs": self.runs,
            "filtering": _filtering_json(self.filtering),
            "access_control": [_steady_json(one) for one in self.versions],
            "latencies": self._latencies_json(),
        }

    def _latencies_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"steady delivery": _by_hops_json(self.steady)}
        for how in Start:
            starts = [one.starts[how] for one in self.latencies]
            found[how.value] = {
                **_by_hops_json(self.starts(how)),
                "rights_fetched": sum(one.rights_fetched for one in starts),
                "asked_upstream": sum(one.asked_upstream for one in starts),
            }
        return found


def evaluate_network(
    conditions: Conditions, hops: Sequence[int], runs: int, progress: Progress | None = None
) -> Evaluation:
    """Measure everything; the same conditions give the same numbers."""
    if not hops or runs < 1:
        raise ConditionError(f"expected hops and runs, found {list(hops)} and {runs}")
    for one in hops:
        conditions.check_distance(one)
    say = progress or _nobody_listens
    say("filtering in the network and at its edge")
    filtering = measure_filtering(conditions)
    say("what access control adds on each hop")
    versions = tuple(measure_versions(conditions))
    latencies = []
    for one in sorted(set(hops)):
        say(f"latencies over {one} hop{'s' if one > 1 else ''}")
        latencies.append(measure_latencies(conditions, one, runs))
    return Evaluation(conditions, runs, filtering, versions, tuple(latencies))


def _filtering_json(filtering: Filtering) -> dict[str, Any]:
    return {
        "deliveries": filtering.in_network.deliveries,
        "deliveries_are_equal": filtering.deliveries_are_equal,
        "in_network": _filtered_json(filtering.in_network),
        "at_edge_only": _filtered_json(filtering.at_edge),
    }


def _filtered_json(filtered: Filtered) -> list[dict[str, Any]]:
    return [
        {"link": list(link), **_traffic_json(traffic)} for link, traffic in filtered.links.items()
    ]


def _steady_json(steady: Steady) -> dict[str, Any]:
    return {
        "policy": steady.policy.value,
        "versions": steady.versions,
        "deliveries": steady.deliveries,
        "gated": steady.gated,
        "withheld": steady.withheld,
        "held": steady.held,
        "hops": [
            {
                "link": list(link),
                "conservative": hop.conservative,
                "in_vain": hop.in_vain,
                "version_bytes": hop.traffic.version_bytes,
                **_traffic_json(hop.traffic),
            }
            for link, hop in steady.hops.items()
        ],
    }


def _traffic_json(traffic: Traffic) -> dict[str, Any]:
    return {
        "frames": {about.value: traffic.frames[about] for about in About},
        "bytes": {about.value: traffic.bytes[about] for about in About},
    }


def _by_hops_json(by_hops: dict[int, Sample]) -> dict[str, Any]:
    growth = growth_per_hop_ms(by_hops)
    return {
        "by_hops": [
            {
                "hops": hops,
                "mean_ms": round(sample.mean_ms, 4),
                "deviation_ms": round(sample.deviation_ms, 4),
                "measured": len(sample.values),
            }
            for hops, sample in by_hops.items()
        ],
        "growth_per_hop_ms": None if growth is None else round(growth, 4),
    }


def _nobody_listens(what: str) -> None:
    """Nobody waits for it."""
