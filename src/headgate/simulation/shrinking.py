"""What is the least that breaks the same promise? Part after part is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, final

from msgspec.structs import replace

from headgate.simulation.checkers.promises import PromiseBroken
from headgate.simulation.cores import MakeCore
from headgate.simulation.running import Outcome, run_schedule
from headgate.simulation.schedules import (
    FAULTS,
    BrokerPlan,
    Schedule,
    Step,
    Weather,
)

T = TypeVar("T")

RUNS_MAX = 500


def shrunk(
    outcome: Outcome,
    *,
    make_core: MakeCore | None = None,
    runs_max: int = RUNS_MAX,
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    """The outcome of a smaller schedule that breaks the same promise, with its trace."""
    assert outcome.broken is not None, "expected a run that broke a promise"
    shrinker = _Shrinker(outcome, make_core, runs_max, progress)
    shrinker.shrink()
    return run_schedule(shrinker.best.schedule, trace=True, make_core=make_core)


@final
class _Shrinker:
    """The smallest failing run so far, and what may be left out of it."""

    def __init__(
        self,
        outcome: Outcome,
        make_core: MakeCore | None,
        runs_max: int,
        progress: Callable[[int], None] | None,
    ) -> None:
        assert outcome.broken is not None
        self.best = outcome
        self._sought = kind_of(outcome.broken)
        self._make_core = make_core
        self._runs_left = runs_max
        self._progress = progress

    @property
    def _schedule(self) -> Schedule:
        return self.best.schedule

    def shrink(self) -> None:
        size = -1
        while size != (size := size_of(self._schedule)) and self._runs_left > 0:
            self._leave_out_what_comes_later()
            self._leave_out_steps(lambda step: isinstance(step.action, FAULTS))
            self._leave_out_clients()
            self._leave_out_steps(lambda step: True)
            self._leave_out_nodes()
            self._leave_out_batches()
            self._leave_out_particulars()

    def _fails(self, candidate: Schedule) -> bool:
        """Whether the same promise is broken; then this is the best so far."""
        if self._runs_left <= 0 or candidate == self._schedule:
            return False
        self._runs_left -= 1
        if self._progress is not None:
            self._progress(1)
        outcome = run_schedule(candidate, make_core=self._make_core)
        if outcome.broken is None or kind_of(outcome.broken) != self._sought:
            return False
        self.best = outcome
        return True

    def _leave_out_what_comes_later(self) -> None:
        """Nothing after the moment at which it broke can have been its cause."""
        ended_us = self.best.ended_us
        steps = tuple(step for step in self._schedule.steps if step.at_us <= ended_us)
        self._fails(replace(self._schedule, steps=steps))

    def _leave_out_steps(self, among: Callable[[Step], bool]) -> None:
        def without(chosen: Sequence[Step]) -> Schedule:
            left = set(map(id, chosen))
            steps = tuple(
                step for step in self._schedule.steps if not among(step) or id(step) in left
            )
            return replace(self._schedule, steps=steps)

        self._least([step for step in self._schedule.steps if among(step)], without)

    def _leave_out_clients(self) -> None:
        for name in list(self._schedule.clients):
            clients = {one: plan for one, plan in self._schedule.clients.items() if one != name}
            steps = tuple(
                step
                for step in self._schedule.steps
                if getattr(step.action, "client", None) != name
            )
            self._fails(replace(self._schedule, clients=clients, steps=steps))

    def _leave_out_nodes(self) -> None:
        """Leaves of the tree, and brokers of a node that has others, where nobody needs them."""
        for broker in reversed(self._schedule.members):
            candidate = without_broker(self._schedule, broker)
            if candidate is not None:
                self._fails(candidate)

    def _leave_out_batches(self) -> None:
        for number in reversed(range(len(self._schedule.policy))):
            policy = self._schedule.policy
            self._fails(replace(self._schedule, policy=policy[:number] + policy[number + 1 :]))
        for number in range(len(self._schedule.policy)):

            def with_changes(changes: Sequence[dict[str, Any]], number: int = number) -> Schedule:
                policy = list(self._schedule.policy)
                policy[number] = tuple(changes)
                return replace(self._schedule, policy=tuple(policy))

            self._least(list(self._schedule.policy[number]), with_changes, least=1)

    def _leave_out_particulars(self) -> None:
        """What is not as usual, and need not be so."""
        self._fails(replace(self._schedule, weather=Weather()))
        for name in list(self._schedule.settings):
            settings = {key: one for key, one in self._schedule.settings.items() if key != name}
            self._fails(replace(self._schedule, settings=settings))
        brokers = {
            name: BrokerPlan(
                streams=plan.streams, foreign=plan.foreign, routes_only=plan.routes_only
            )
            for name, plan in self._schedule.brokers.items()
        }
        self._fails(replace(self._schedule, brokers=brokers))

    def _least(
        self, items: list[T], with_these: Callable[[Sequence[T]], Schedule], least: int = 0
    ) -> None:
        """Fewer and fewer of these items, by halves first (delta debugging)."""
        if len(items) > least == 0 and self._fails(with_these([])):
            return
        pieces = 2
        while len(items) > max(least, 1) and self._runs_left > 0:
            pieces = min(pieces, len(items))
            for piece in list(_pieces(items, pieces)):
                rest = [item for item in items if not any(item is one for one in piece)]
                if len(rest) >= least and self._fails(with_these(rest)):
                    items, pieces = rest, max(pieces - 1, 2)
                    break
            else:
                if pieces == len(items):
                    return
                pieces *= 2


def kind_of(broken: PromiseBroken) -> str:
    """What makes two failures the same: the promise, the place of a crash, what is waited for."""
    if broken.promise == "no_core_fails":
        return f"{broken.promise} {broken.came.rpartition('(in ')[2]}"
    if broken.promise == "everybody_is_served_in_the_end":
        return f"{broken.promise} {broken.expected.partition(' ')[0]}"
    return broken.promise


def size_of(schedule: Schedule) -> int:
    """What a person would have to read."""
    changes = sum(len(batch) for batch in schedule.policy)
    return len(schedule.to_json()) + len(schedule.steps) + changes


def without_broker(schedule: Schedule, broker: str) -> Schedule | None:
    """A schedule that does without a broker, if nobody needs it and the tree holds together."""
    node = next(name for name, members in schedule.nodes.items() if broker in members)
    rest = tuple(one for one in schedule.nodes[node] if one != broker)
    edges = [edge for edge in schedule.edges if node in edge]
    plan = schedule.plan(broker)
    needed = broker == schedule.policy_host or plan.streams or (not rest and len(edges) > 1)
    if needed or len(schedule.members) == 1:
        return None
    clients = {}
    for name, client in schedule.clients.items():
        brokers = tuple(one for one in client.brokers if one != broker)
        if not brokers:
            return None
        clients[name] = replace(client, brokers=brokers)
    nodes = {name: members for name, members in schedule.nodes.items() if name != node or rest}
    if rest:
        nodes[node] = rest
    return replace(
        schedule,
        nodes=nodes,
        edges=tuple(edge for edge in schedule.edges if rest or edge not in edges),
        brokers={name: one for name, one in schedule.brokers.items() if name != broker},
        clients=clients,
        steps=tuple(step for step in schedule.steps if broker not in _brokers_of(step)),
    )


def _brokers_of(step: Step) -> tuple[str, ...]:
    action = step.action
    return tuple(getattr(action, name, "") for name in ("broker", "one", "other"))


def _pieces(items: Sequence[T], count: int) -> Iterator[Sequence[T]]:
    """The items in so many pieces, in order."""
    for number in range(count):
        yield items[number * len(items) // count : (number + 1) * len(items) // count]
