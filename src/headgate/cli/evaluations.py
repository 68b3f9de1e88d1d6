"""`headgate evaluate`: what does it cost, and how long does it take, where nothing goes wrong?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import click

from headgate.cli.output import counted, print_json, print_line, print_note, print_numbers
from headgate.simulation.evaluating.conditions import (
    DELAY_MAX_US,
    HOPS_MAX,
    RATE_MAX,
    THINK_MAX_US,
    Conditions,
)
from headgate.simulation.evaluating.evaluation import Evaluation, evaluate_network
from headgate.simulation.evaluating.figures import check_figure, draw_latencies
from headgate.simulation.evaluating.filtering import SUBSCRIBERS_EACH, Filtering
from headgate.simulation.evaluating.latencies import Start
from headgate.simulation.evaluating.samples import Sample, growth_per_hop_ms
from headgate.simulation.evaluating.traffic import About, Traffic
from headgate.simulation.evaluating.versions import HOPS, SUBSCRIBERS, Hop, Steady
from headgate.simulation.timeline import MILLISECOND

DIFFERENT = 1
"""The exit code when filtering in the network delivered something else than at its edge."""
_USUAL = Conditions()


class HopList(click.ParamType[tuple[int, ...]]):
    """`1,4,7`, each once."""

    name = "N,N,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = value.split(",")
        if not all(word.isascii() and word.isdecimal() for word in words):
            self.fail(f"expected numbers such as `1,4,7`, found `{value}`", param, ctx)
        found = tuple(sorted({int(word[:10]) for word in words}))
        if not 1 <= found[0] <= found[-1] <= HOPS_MAX:
            self.fail(f"expected numbers from 1 to {HOPS_MAX}, found `{value}`", param, ctx)
        return found


class Milliseconds(click.FloatRange):
    """From none to a limit, and not `nan`, which is beyond no limit."""

    def __init__(self, most_us: int) -> None:
        super().__init__(0, most_us / MILLISECOND)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found: float = super().convert(value, param, ctx)
        if isnan(found):
            self.fail(f"'{value}' is not a time", param, ctx)
        return found


@click.group(
    name="evaluate",
    epilog="""Example:

    headgate evaluate network
""",
)
def evaluate_group() -> None:
    """Measurements in simulated time and counted work, the same on every machine."""


@evaluate_group.command(
    epilog="""Examples:

\b
    headgate evaluate network
    headgate evaluate network --figure latencies.png
    headgate evaluate network --hops 1,2,4,8 --runs 10 --think-ms 50 --json

Exit codes: 0 done, 1 filtering in the network delivered something else than at its edge, 2 what
came in was refused.
""",
)
@click.option("--hops", type=HopList(), default="1,4,7", show_default=True, help="Chain lengths.")
@click.option(
    "--runs",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="How often each start is measured.",
)
@click.option("--seed", type=click.IntRange(0), default=_USUAL.seed, show_default=True)
@click.option(
    "--link-ms",
    type=Milliseconds(DELAY_MAX_US),
    default=_USUAL.link_us / MILLISECOND,
    show_default=True,
    help="From a broker to the next.",
)
@click.option(
    "--jitter-ms",
    type=Milliseconds(DELAY_MAX_US),
    default=_USUAL.jitter_us / MILLISECOND,
    show_default=True,
    help="By up to so much longer, by chance.",
)
@click.option(
    "--sync-ms",
    type=Milliseconds(DELAY_MAX_US),
    default=_USUAL.sync_us / MILLISECOND,
    show_default=True,
    help="A disk takes this on average, up to twice that.",
)
@click.option(
    "--client-ms",
    type=Milliseconds(DELAY_MAX_US),
    default=_USUAL.client_us / MILLISECOND,
    show_default=True,
    help="Between client and broker on average, up to twice that.",
)
@click.option(
    "--think-ms",
    type=Milliseconds(THINK_MAX_US),
    default=_USUAL.think_us / MILLISECOND,
    show_default=True,
    help="Between connecting and subscribing.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, RATE_MAX),
    default=_USUAL.records_per_s,
    show_default=True,
    help="Publications a second.",
)
@click.option(
    "--records",
    type=click.IntRange(1, 10_000_000),
    default=_USUAL.records,
    show_default=True,
    help="Publications, where frames are counted.",
)
@click.option(
    "--changes",
    type=click.IntRange(1, RATE_MAX),
    default=_USUAL.changes_per_s,
    show_default=True,
    help="Versions of the policy a second, where it changes.",
)
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw the latencies; .png or .svg.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def network(
    hops: tuple[int, ...],
    runs: int,
    seed: int,
    link_ms: float,
    jitter_ms: float,
    sync_ms: float,
    client_ms: float,
    think_ms: float,
    rate: int,
    records: int,
    changes: int,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Measure a network of brokers: traffic, what access control adds, latencies.

    The real cores run on simulated links and disks, and take no time themselves. The same seed
    gives the same numbers.
    """
    if figure is not None:
        check_figure(figure)
    conditions = Conditions(
        seed=seed,
        link_us=_us(link_ms),
        jitter_us=_us(jitter_ms),
        sync_us=_us(sync_ms),
        client_us=_us(client_ms),
        think_us=_us(think_ms),
        records_per_s=rate,
        records=records,
        changes_per_s=changes,
    )
    evaluation = evaluate_network(conditions, hops, runs, _say_what_is_next)
    if figure is not None:
        draw_latencies(evaluation, figure)
    if as_json:
        print_json(evaluation.to_json())
    else:
        _print(evaluation)
    if not evaluation.filtering.deliveries_are_equal:
        sys.exit(DIFFERENT)


def _us(ms: float) -> int:
    return round(ms * MILLISECOND)


def _say_what_is_next(what: str) -> None:
    """For a person who waits, not for a file."""
    if sys.stderr.isatty():
        print_note("measuring", what)


def _print(evaluation: Evaluation) -> None:
    _print_conditions(evaluation.conditions)
    _print_filtering(evaluation.filtering, evaluation.conditions)
    _print_versions(evaluation.versions, evaluation.conditions)
    _print_latencies(evaluation)


def _print_conditions(one: Conditions) -> None:
    print_line(
        f"seed {one.seed}; a link takes {_span(one.link_us, one.link_us + one.jitter_us)} ms, a "
        f"disk {_span(0, 2 * one.sync_us)} ms, client and broker {_span(0, 2 * one.client_us)} ms, "
        f"brokers themselves no time"
    )


def _span(least_us: int, most_us: int) -> str:
    return f"{least_us / MILLISECOND:g} to {most_us / MILLISECOND:g}"


def _print_filtering(filtering: Filtering, conditions: Conditions) -> None:
    found = filtering.in_network
    same = "both times" if filtering.deliveries_are_equal else "in the network, but others at edge"
    _print_title(
        "filtering in the network, and at its edge only",
        f"{counted(conditions.records, 'publication')}, {len(filtering.tree.leaves)} brokers with "
        f"{SUBSCRIBERS_EACH} subscribers each, {found.deliveries:,} deliveries {same}",
    )
    whole = Traffic(), Traffic()
    rows: list[tuple[str, ...]] = [
        ("", "in network", "", "", "at edge", "", "", "in network"),
        ("link", *("records", "frames", "bytes") * 2, "to at edge"),
    ]
    for link in filtering.tree.links:
        both = found.links[link], filtering.at_edge.links[link]
        rows.append(_filtering_row(_name(link), *both))
        for together, one in zip(whole, both, strict=True):
            together.add(one)
    print_numbers([*rows, _filtering_row("all", *whole)], indent=2)


def _filtering_row(name: str, here: Traffic, edge: Traffic) -> tuple[str, ...]:
    return (name, *_counts(here), *_counts(edge), f"{here.all_bytes / edge.all_bytes:.0%}")


def _counts(traffic: Traffic) -> tuple[str, str, str]:
    return f"{traffic.records:,}", f"{traffic.all_frames:,}", f"{traffic.all_bytes:,}"


def _print_versions(measured: Sequence[Steady], conditions: Conditions) -> None:
    _print_title(
        "what access control adds on each hop, while records flow",
        f"{counted(conditions.records, 'publication')}, {SUBSCRIBERS} subscribers {HOPS} hops "
        f"away, {counted(conditions.changes_per_s, 'version')} a second where rights change",
    )
    rows: list[tuple[str, ...]] = [
        ("", "", "", "conser-", "in", "$policy", "", "sets", "", "bytes for each", "of them"),
        (
            "policy",
            "link",
            "records",
            "vative",
            "vain",
            *("frames", "bytes") * 2,
            "received",
            "version",
        ),
    ]
    for steady in measured:
        rows += [_hop_row(steady, link, hop) for link, hop in steady.hops.items()]
    print_numbers(rows, indent=2, words=2)
    click.echo()
    rows_at_gate = [("at the subscribers' broker", "deliveries", "gated", "withheld", "held")]
    rows_at_gate += [
        (
            steady.policy.value,
            f"{steady.deliveries:,}",
            f"{steady.gated:,}",
            f"{steady.withheld:,}",
            f"{steady.held:,}",
        )
        for steady in measured
    ]
    print_numbers(rows_at_gate, indent=2)


def _hop_row(steady: Steady, link: tuple[str, str], hop: Hop) -> tuple[str, ...]:
    traffic = hop.traffic
    received, versions = traffic.records - hop.in_vain, traffic.version_bytes
    return (
        steady.policy.value,
        _name(link),
        f"{traffic.records:,}",
        f"{hop.conservative:,}",
        f"{hop.in_vain:,}",
        *(f"{count[about]:,}" for about in (About.POLICY, About.SETS)
          for count in (traffic.frames, traffic.bytes)),
        *(f"{all_bytes / received:.1f}" if received else "-"
          for all_bytes in (traffic.all_bytes, versions)),
    )  # fmt: skip


def _print_latencies(evaluation: Evaluation) -> None:
    runs, conditions = evaluation.runs, evaluation.conditions
    _print_title(
        f"latencies in ms: mean ± standard deviation of {counted(runs, 'run')}",
        f"{counted(conditions.records_per_s, 'publication')} a second; a client connects, and "
        f"hands in its subscription {conditions.think_us / MILLISECOND:g} ms later",
    )
    hops = [counted(one.hops, "hop") for one in evaluation.latencies]
    rows = [("", *hops, "more per hop"), _latency_row("steady delivery", evaluation.steady)]
    rows += [_latency_row(how.value, evaluation.starts(how)) for how in Start]
    print_numbers(rows, indent=2)


def _latency_row(name: str, by_hops: dict[int, Sample]) -> tuple[str, ...]:
    growth = growth_per_hop_ms(by_hops)
    means = (f"{one.mean_ms:.2f} ± {one.deviation_ms:.2f}" for one in by_hops.values())
    return (name, *means, "-" if growth is None else f"{growth:.2f}")


def _print_title(title: str, about: str) -> None:
    click.echo()
    print_line(title)
    print_line(about)


def _name(link: tuple[str, str]) -> str:
    return "-".join(link)
