"""What becomes of a schedule? A network, run to its end and watched."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from random import Random
from typing import Any, Final, final

from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.log.records import DELIVERIES, SUBSCRIPTIONS
from headgate.simulation import schedules
from headgate.simulation.acl_database import AclDatabase
from headgate.simulation.administering import batch_of
from headgate.simulation.checkers.acknowledged_only_when_stored import AcknowledgedOnlyWhenStored
from headgate.simulation.checkers.causal_order_is_kept import CausalOrderIsKept
from headgate.simulation.checkers.connected_only_with_the_right import ConnectedOnlyWithTheRight
from headgate.simulation.checkers.digests_agree import DigestsAgree
from headgate.simulation.checkers.durable_positions_are_kept import DurablePositionsAreKept
from headgate.simulation.checkers.everybody_is_served_in_the_end import (
    EverybodyIsServedInTheEnd,
    Patron,
)
from headgate.simulation.checkers.exactly_what_the_gate_gives import ExactlyWhatTheGateGives
from headgate.simulation.checkers.in_order_without_gaps import InOrderWithoutGaps
from headgate.simulation.checkers.ledger import INTO, OUT_OF, Ledger
from headgate.simulation.checkers.memory_is_bounded import MemoryIsBounded
from headgate.simulation.checkers.no_more_than_the_window import NoMoreThanTheWindow
from headgate.simulation.checkers.nothing_after_the_starting_point_of_a_revocation import (
    NothingAfterTheStartingPointOfARevocation,
)
from headgate.simulation.checkers.promises import Observers, PromiseBroken
from headgate.simulation.checkers.published_once import PublishedOnce
from headgate.simulation.checkers.published_only_with_the_right import PublishedOnlyWithTheRight
from headgate.simulation.checkers.starting_points_grow import StartingPointsGrow
from headgate.simulation.checkers.starts_are_written_down import StartsAreWrittenDown
from headgate.simulation.checkers.versions_never_go_back import VersionsNeverGoBack
from headgate.simulation.checkers.what_is_lost_is_told import WhatIsLostIsTold
from headgate.simulation.clients import Client
from headgate.simulation.clocks import Clock
from headgate.simulation.cores import MakeCore
from headgate.simulation.counting import Counts
from headgate.simulation.disks import Disk
from headgate.simulation.faults import Faults
from headgate.simulation.machines import Machine
from headgate.simulation.network import Network
from headgate.simulation.schedules import Action, Schedule, described
from headgate.simulation.timeline import MILLISECOND, SECOND, Timeline, TooMuchError
from headgate.simulation.tracing import Trace
from headgate.simulation.wires import ClientWire

CALM_US_MAX: Final = 150 * SECOND
"""In this time after the last fault everybody has to be served."""
HAPPENINGS_MAX: Final = 300_000
_LOOK_US: Final = 250 * MILLISECOND
_QUIET_US: Final = 500 * MILLISECOND


@final
class World:
    """Everything of one run, made from its schedule."""

    def __init__(self, schedule: Schedule, make_core: MakeCore, *, trace: bool = False) -> None:
        self.schedule = schedule
        self.timeline = Timeline(HAPPENINGS_MAX)
        self.trace = Trace(self.timeline, is_on=trace)
        self.counts = Counts()
        self.observers = Observers()
        self.topology = Topology(
            schedule.nodes, frozenset(frozenset(edge) for edge in schedule.edges)
        )
        weather = schedule.weather
        self.network = Network(
            self.timeline, schedule.seed, weather.link_us, weather.jitter_us, weather.pieces
        )
        self.wire = ClientWire(self.timeline, self._chance("clients"), weather.client_us)
        self.database = AclDatabase(
            self.timeline, self._chance("database"), weather.database_us, self.observers
        )
        self.ledger = Ledger(self.observers, self._domains_between)
        self._add_checkers()
        self.machines = {name: self._machine(name, make_core) for name in schedule.members}
        self.wire.machines = self.machines
        for machine in self.machines.values():
            self.network.add(machine)
        self.clients = {
            name: Client(
                name,
                plan,
                self.timeline,
                self.wire,
                self._chance(f"client {name}"),
                self.observers,
                self.counts,
                self.trace,
            )
            for name, plan in schedule.clients.items()
        }
        self.faults = Faults(
            self.timeline,
            self._chance("faults"),
            self.network,
            self.machines,
            self.clients,
            self.database,
            self.counts,
        )
        self.served.serve(list(self.clients.values()), self._may_connect)

    def run(self) -> None:
        """From the beginning to its end; raises `PromiseBroken`."""
        try:
            self._run()
        except PromiseBroken as broken:
            broken.at_us = self.timeline.now
            self.trace.line("checker", str(broken))
            raise
        except TooMuchError as problem:
            raise self._failed("time_goes_on", str(problem)) from problem
        except Exception as problem:
            raise self._failed("no_core_fails", place_of(problem)) from problem

    def _failed(self, promise: str, came: str) -> PromiseBroken:
        broken = PromiseBroken(promise, "the world", "none of this", came, self.timeline.now)
        self.trace.line("checker", str(broken))
        return broken

    def _run(self) -> None:
        first = enumerate(self.schedule.policy)
        self.database.begin(batch_of(changes, "founder", number) for number, changes in first)
        for machine in self.machines.values():
            machine.start()
        for step in self.schedule.steps:
            self.timeline.at(step.at_us, self._step, step.action)
        last = max((step.at_us for step in self.schedule.steps), default=0)
        calm_us = max(self.schedule.calm_us, last)
        self.timeline.run_until(calm_us)
        self._calm_down()
        self._serve(calm_us + CALM_US_MAX)
        for hook in self.observers.at_rest:
            hook()
        self._count()

    def _calm_down(self) -> None:
        """No more faults, and all are undone."""
        self.trace.line("world", "everything is healed")
        self.faults.heal()
        for client in self.clients.values():
            client.wishes.try_again()

    def _serve(self, until: int) -> None:
        """Until everybody has what is owed, and a little longer: it must stay so."""
        while self.timeline.now < until:
            self.timeline.run_until(self.timeline.now + _LOOK_US)
            if self._is_at_rest:
                self.timeline.run_until(self.timeline.now + _QUIET_US)
                if self._is_at_rest:
                    return

    @property
    def _is_at_rest(self) -> bool:
        return self.served.is_done and next(self.rights_to_connect.unlawful(), None) is None

    def _step(self, action: Action) -> None:
        self.trace.line("world", described(action))
        act = _ACT.get(action.__class__)
        if act is None:
            self.faults.begin(action)  # type: ignore[arg-type]
        else:
            act(self, action)

    def _administer_elsewhere(self, action: schedules.AdministerElsewhere) -> None:
        batch = batch_of(action.changes, "somebody", self.timeline.now)
        self.database.apply(batch, None, _nobody_cares)

    # How it is made.

    def _chance(self, what: str) -> Random:
        return Random(f"{self.schedule.seed}/{what}")

    def _machine(self, name: str, make_core: MakeCore) -> Machine:
        schedule, plan = self.schedule, self.schedule.plan(name)
        settings = Settings(
            broker=name,
            topology=self.topology,
            policy_host=schedule.policy_host,
            streams=plan.streams,
            foreign=plan.foreign,
            routes_only=plan.routes_only,
            **schedule.settings,  # type: ignore[arg-type]
        )
        weather = schedule.weather
        return Machine(
            settings,
            make_core,
            self.timeline,
            self.network,
            Disk(self.timeline, self._chance(f"disk {name}"), weather.sync_us, weather.read_us),
            Clock(plan.clock_us, plan.drift_ppm),
            self.database if name == schedule.policy_host else None,
            self.wire,
            self.observers,
            self.counts,
            self.trace,
        )

    def _add_checkers(self) -> None:
        ledger = self.ledger
        streams = [
            stream for name in self.schedule.members for stream in self.schedule.plan(name).streams
        ]
        self.rights_to_connect = ConnectedOnlyWithTheRight(ledger)
        own = [
            prefix + name
            for name in self.schedule.members
            if not self.schedule.plan(name).routes_only
            for prefix in (SUBSCRIPTIONS, DELIVERIES)
        ]
        advertised_only = bool(self.schedule.settings.get("advertised_only", False))
        self.served = EverybodyIsServedInTheEnd(ledger, streams, own, all_start=not advertised_only)
        for checker in (
            ledger,
            VersionsNeverGoBack(ledger),
            StartingPointsGrow(ledger),
            PublishedOnce(),
            PublishedOnlyWithTheRight(ledger),
            self.rights_to_connect,
            AcknowledgedOnlyWhenStored(ledger),
            NothingAfterTheStartingPointOfARevocation(ledger, self.timeline),
            ExactlyWhatTheGateGives(ledger),
            CausalOrderIsKept(ledger),
            DurablePositionsAreKept(ledger),
            StartsAreWrittenDown(ledger),
            DigestsAgree(ledger),
            NoMoreThanTheWindow(ledger),
            MemoryIsBounded(),
            InOrderWithoutGaps(ledger),
            WhatIsLostIsTold(ledger),
            self.served,
        ):
            self.observers.add(checker)

    def _may_connect(self, patron: Patron) -> bool:
        plan = self.schedule.clients[patron.name]
        newest = len(self.ledger.history)
        return self.rights_to_connect.may_connect(plan.principal, plan.domain, newest)

    def _domains_between(self, host: str, broker: str) -> tuple[tuple[str, str], ...]:
        """Where a record leaves a domain on its way, or comes into one."""
        found: list[tuple[str, str]] = []
        here = host
        while here != broker:
            nearer = self.topology.towards(here, broker)[0]
            for way, one, other in ((INTO, here, nearer), (OUT_OF, nearer, here)):
                domain = self.schedule.plan(one).foreign.get(other)
                if domain is not None:
                    found.append((way, domain))
            here = nearer
        return tuple(found)

    def _count(self) -> None:
        for machine in self.machines.values():
            if machine.core is not None:
                self.counts.add(machine.core.counts)
        self.counts.add(self.network.counts)
        self.counts["deliveries"] += self.ledger.delivered
        self.counts["records"] += sum(log.last for log in self.ledger.logs.values())
        self.counts["versions"] += len(self.ledger.history)


def place_of(problem: BaseException) -> str:
    """What failed and where, without what differs from run to run."""
    frames = traceback.extract_tb(problem.__traceback__)
    last = frames[-1]
    place = last.filename.rpartition("/src/")[2]
    return f"{type(problem).__name__}: {problem} (in {last.name}, {place}:{last.lineno})"


def _nobody_cares(refused: str | None) -> None:
    """Who writes into the database is told there."""


_ACT: dict[type[Action], Callable[[World, Any], None]] = {
    schedules.Connect: lambda world, one: world.clients[one.client].come(one.broker),
    schedules.Disconnect: lambda world, one: world.clients[one.client].go(silently=one.silently),
    schedules.Publish: lambda world, one: world.clients[one.client].outbox.add(one),
    schedules.Answer: lambda world, one: world.clients[one.client].outbox.answer(one),
    schedules.Subscribe: lambda world, one: world.clients[one.client].wishes.add(one),
    schedules.Unsubscribe: lambda world, one: world.clients[one.client].wishes.remove(one.key),
    schedules.Advertise: lambda world, one: world.clients[one.client].advertise(one.filter),
    schedules.Administer: lambda world, one: world.clients[one.client].office.add(one),
    schedules.AdministerElsewhere: World._administer_elsewhere,
}
