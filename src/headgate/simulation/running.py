"""How does a run end? Well, or with a broken promise; one seed, or many of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context

from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.cores import MakeCore
from headgate.simulation.counting import Counts
from headgate.simulation.scenarios.named import schedule_of
from headgate.simulation.schedules import Schedule
from headgate.simulation.world import World

_PORTION = 8
"""Seeds that a process takes at once."""


@dataclass(frozen=True)
class Outcome:
    """What became of one run."""

    schedule: Schedule
    broken: PromiseBroken | None
    ended_us: int
    counts: Counts = field(default_factory=Counts)
    trace: tuple[str, ...] = ()

    @property
    def seed(self) -> int:
        return self.schedule.seed

    @property
    def is_good(self) -> bool:
        return self.broken is None


def run(
    seed: int,
    scenario: str | None = None,
    *,
    trace: bool = False,
    make_core: MakeCore | None = None,
) -> Outcome:
    """Run what a seed stands for."""
    return run_schedule(schedule_of(seed, scenario), trace=trace, make_core=make_core)


def run_schedule(
    schedule: Schedule, *, trace: bool = False, make_core: MakeCore | None = None
) -> Outcome:
    world = World(schedule, make_core or the_core(), trace=trace)
    broken: PromiseBroken | None = None
    try:
        world.run()
    except PromiseBroken as problem:
        broken = problem
    return Outcome(schedule, broken, world.timeline.now, world.counts, tuple(world.trace.lines))


def the_core() -> MakeCore:
    """The broker core itself."""
    from headgate.broker.core import Broker

    return Broker


@dataclass
class Summary:
    """What became of many runs."""

    runs: int = 0
    counts: Counts = field(default_factory=Counts)
    failed: list[tuple[int, str]] = field(default_factory=list)
    """The seeds that broke a promise, and what was said then."""

    def add(self, other: Summary) -> None:
        self.runs += other.runs
        self.counts.add(other.counts)
        self.failed = sorted([*self.failed, *other.failed])


def run_portion(
    seeds: Iterable[int], scenario: str | None = None, make_core: MakeCore | None = None
) -> Summary:
    """Run seeds one after the other."""
    summary = Summary()
    for seed in seeds:
        outcome = run(seed, scenario, make_core=make_core)
        summary.runs += 1
        summary.counts.add(outcome.counts)
        if outcome.broken is not None:
            summary.failed.append((seed, str(outcome.broken)))
    return summary


def run_many(
    seeds: Iterable[int],
    scenario: str | None = None,
    *,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
    make_core: MakeCore | None = None,
    stop_at_failure: bool = False,
) -> Summary:
    """Run seeds in several processes; `progress` is told how many more are done.

    To stop at a failure still finishes what was begun before it, so that the first failing seed is
    the same with any number of workers.
    """
    summary = Summary()
    portions = _portions(seeds)
    if workers <= 1:
        for portion in portions:
            _done(summary, run_portion(portion, scenario, make_core), progress)
            if stop_at_failure and summary.failed:
                break
        return summary
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        running: set[Future[Summary]] = set()
        while True:
            stopped = stop_at_failure and bool(summary.failed)
            wanted = 0 if stopped else 2 * workers - len(running)
            for portion in islice(portions, wanted):
                running.add(pool.submit(run_portion, portion, scenario, make_core))
            if not running:
                return summary
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                _done(summary, future.result(), progress)


def _done(summary: Summary, part: Summary, progress: Callable[[int], None] | None) -> None:
    summary.add(part)
    if progress is not None:
        progress(part.runs)


def _portions(seeds: Iterable[int]) -> Iterator[list[int]]:
    waiting = iter(seeds)
    while portion := list(islice(waiting, _PORTION)):
        yield portion
