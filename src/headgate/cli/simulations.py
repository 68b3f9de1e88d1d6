"""`headgate simulate`: does the network keep its promises in a run, or in thousands of them?"""

from __future__ import annotations

import os
import re
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

import click

from headgate.cli.output import counted, print_json, print_line, print_note, print_rows
from headgate.simulation.counting import in_words
from headgate.simulation.running import Outcome, Summary, run, run_many, run_schedule
from headgate.simulation.scenarios.named import GENERATED, about, names
from headgate.simulation.schedules import Schedule, described
from headgate.simulation.shrinking import RUNS_MAX, shrunk
from headgate.simulation.timeline import SECOND

BROKEN = 1
"""The exit code when a promise was broken."""
_SEEDS = re.compile(r"(\d+)\.\.(\d+)\Z")


class SeedRange(click.ParamType[range]):
    """`A..B`, both of them included."""

    name = "A..B"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        if isinstance(value, range):
            return value
        found = _SEEDS.match(value)
        if found is None or int(found[1]) > int(found[2]):
            self.fail(f"expected two seeds such as `1..1000`, found `{value}`", param, ctx)
        return range(int(found[1]), int(found[2]) + 1)


@click.command(
    name="simulate",
    epilog="""Examples:

\b
    headgate simulate --seed 7
    headgate simulate --seed 7 --trace
    headgate simulate --seeds 1..1000
    headgate simulate --scenarios

Exit codes: 0 all promises were kept, 1 one was broken, 2 what came in was refused.
""",
)
@click.option("--seed", type=click.IntRange(min=0), help="Run what this seed stands for.")
@click.option("--seeds", type=SeedRange(), help="Run many, and name the first that fails.")
@click.option("--scenario", metavar="NAME", help="A schedule written by hand, not by chance.")
@click.option("--scenarios", "listing", is_flag=True, help="List what `--scenario` takes.")
@click.option(
    "--schedule",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run a schedule that was written to a file.",
)
@click.option("--trace", is_flag=True, help="Print what happens, line by line.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; as many as processors.")
@click.option("--no-shrink", is_flag=True, help="Show a failing run as it is.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def simulate(
    seed: int | None,
    seeds: range | None,
    scenario: str | None,
    listing: bool,
    path: Path | None,
    trace: bool,
    workers: int | None,
    no_shrink: bool,
    as_json: bool,
) -> None:
    """Run a network of brokers, its clients and its faults in simulated time, and judge it.

    Everything that happens comes from the seed: the same seed gives the same run, to the byte. A
    run that breaks a promise is shrunk to the least that breaks it.
    """
    chosen = [one for one in (seed, seeds, path) if one is not None]
    if listing:
        _print_scenarios(as_json)
    elif len(chosen) != 1:
        raise click.UsageError("say one of --seed, --seeds, --schedule and --scenarios")
    elif seeds is not None:
        _run_many(seeds, scenario, workers or os.cpu_count() or 1, no_shrink, as_json)
    elif path is not None:
        outcome = run_schedule(Schedule.from_json(path.read_bytes()), trace=trace)
        _conclude(outcome, trace, no_shrink=True, as_json=as_json)
    else:
        assert seed is not None
        _conclude(run(seed, scenario, trace=trace), trace, no_shrink, as_json)


def _print_scenarios(as_json: bool) -> None:
    found = {GENERATED: "whatever the seed makes of it", **{name: about(name) for name in names()}}
    if as_json:
        print_json(found)
    else:
        print_rows(list(found.items()), indent=0)


def _run_many(
    seeds: range, scenario: str | None, workers: int, no_shrink: bool, as_json: bool
) -> None:
    with _bar(len(seeds), counted(len(seeds), "seed")) as bar:
        summary = run_many(
            seeds, scenario, workers=workers, progress=bar.update, stop_at_failure=True
        )
    if not summary.failed:
        _print_summary(summary, as_json)
        return
    seed, because = summary.failed[0]
    print_note("broken", f"seed {seed}: {because}")
    _conclude(run(seed, scenario), False, no_shrink, as_json)


def _print_summary(summary: Summary, as_json: bool) -> None:
    if as_json:
        print_json({"runs": summary.runs, "counts": dict(sorted(summary.counts.items()))})
    else:
        print_line(f"{counted(summary.runs, 'run')} kept every promise")
        print_line(in_words(summary.counts))


def _conclude(outcome: Outcome, trace: bool, no_shrink: bool, as_json: bool) -> None:
    if trace and not as_json:
        for line in outcome.trace:
            print_line(line)
    if outcome.broken is None:
        _print_kept(outcome, as_json)
        return
    if not no_shrink:
        outcome = _shrunk(outcome)
    _print_broken(outcome, as_json)


def _print_kept(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json({
            "seed": outcome.seed,
            "ended_s": outcome.ended_us / SECOND,
            "counts": dict(sorted(outcome.counts.items())),
            "trace": list(outcome.trace),
        })  # fmt: skip
        return
    print_line(
        f"seed {outcome.seed} kept every promise in {outcome.ended_us / SECOND:g} simulated seconds"
    )
    print_line(in_words(outcome.counts))


def _shrunk(outcome: Outcome) -> Outcome:
    with _bar(RUNS_MAX, "shrinking") as bar:
        return shrunk(outcome, progress=bar.update)


def _bar(length: int, label: str) -> AbstractContextManager[Any]:
    """For those who look on; a file is not told of it."""
    return click.progressbar(
        length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()
    )


def _print_broken(outcome: Outcome, as_json: bool) -> NoReturn:
    broken, schedule = outcome.broken, outcome.schedule
    assert broken is not None
    if as_json:
        print_json({
            "seed": outcome.seed,
            "promise": broken.promise,
            "at_s": broken.at_us / SECOND,
            "who": broken.who,
            "expected": broken.expected,
            "came": broken.came,
            "schedule": schedule.to_json().decode(),
            "trace": list(outcome.trace),
        })  # fmt: skip
    else:
        print_line(f"seed {outcome.seed} breaks a promise: {broken}")
        for line in schedule_lines(schedule):
            print_line(f"  {line}")
        for line in outcome.trace[-40:]:
            print_line(line)
    sys.exit(BROKEN)


def schedule_lines(schedule: Schedule) -> list[str]:
    """A schedule for a person: who is there, what differs from the usual, and each step."""
    edges = ", ".join("-".join(edge) for edge in schedule.edges)
    nodes = ", ".join(f"{node} ({' '.join(it)})" for node, it in schedule.nodes.items())
    lines = [f"nodes     {nodes}" + (f"; {edges}" if edges else "")]
    lines.append(f"policy    at {schedule.policy_host}")
    for name in schedule.members:
        streams = schedule.plan(name).streams
        if streams:
            lines.append(f"streams   {', '.join(streams)} at {name}")
    for name, plan in schedule.clients.items():
        lines.append(f"client    {name}: {plan.principal} at {', '.join(plan.brokers)}")
    for number, changes in enumerate(schedule.policy, start=1):
        lines += [f"version {number} {change}" for change in changes]
    if schedule.settings:
        settings = ", ".join(f"{name} {value}" for name, value in schedule.settings.items())
        lines.append(f"settings  {settings}")
    for step in schedule.steps:
        lines.append(f"{step.at_us / SECOND:9.6f} {described(step.action)}")
    return lines
