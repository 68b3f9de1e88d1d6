"""Where is measured? The real cores on machines, disks and links that nothing ever happens to.

The publisher's broker hosts the stream `quotes` and the policy, as in the paper's experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

import msgspec

from headgate.broker.effects import Delivery, Started
from headgate.broker.settings import Settings
from headgate.simulation.acl_database import AclDatabase
from headgate.simulation.administering import batch_of
from headgate.simulation.checkers.promises import Observers
from headgate.simulation.clients import Client
from headgate.simulation.clocks import Clock
from headgate.simulation.counting import Counts
from headgate.simulation.disks import Disk
from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.traffic import Tap
from headgate.simulation.evaluating.trees import Tree
from headgate.simulation.machines import Machine
from headgate.simulation.network import Network
from headgate.simulation.running import the_core
from headgate.simulation.schedules import ClientPlan, Publish, Subscribe
from headgate.simulation.sessions import Session
from headgate.simulation.timeline import SECOND, Timeline
from headgate.simulation.tracing import Trace
from headgate.simulation.wires import ClientWire

STREAM: Final = "quotes"
PUBLISHER: Final = "pam"
Change: TypeAlias = dict[str, Any]
Body: TypeAlias = Mapping[str, Any]

_HAPPENINGS_MAX: Final = 100_000_000
_UNDER_WAY: Final = 1_000_000
"""Publications that may wait for their answers: so many that none ever waits to be sent."""
_ATTACHED_US: Final = 5 * SECOND
"""By then all links are up, and every stream is known everywhere."""
_PATIENCE_US: Final = 60 * SECOND


@final
class Stage:
    """One network, from its first moment on."""

    def __init__(
        self,
        tree: Tree,
        conditions: Conditions,
        policy: Sequence[Change],
        *,
        filters_at_edge_only: bool = False,
    ) -> None:
        self.tree = tree
        self.conditions = conditions
        self.timeline = Timeline(_HAPPENINGS_MAX)
        self.observers = Observers()
        self.tap = Tap()
        self._counts = Counts()
        self._trace = Trace(self.timeline, is_on=False)
        self._filters_at_edge_only = filters_at_edge_only
        chance = conditions.chance
        self._network = Network(
            self.timeline, conditions.seed, conditions.link_us, conditions.jitter_us, 0.0
        )
        self._network.taps.append(self.tap.heard)
        for one, other in tree.links:
            self._network.road(one, other).delay_us = conditions.link_us
        self._wire = ClientWire(self.timeline, chance("clients"), conditions.client_us)
        self._database = AclDatabase(
            self.timeline, chance("database"), conditions.sync_us, self.observers
        )
        self.machines = {name: self._machine(name) for name in tree.brokers}
        self._wire.machines = self.machines
        self._begin(policy)

    def _machine(self, name: str) -> Machine:
        conditions, root = self.conditions, self.tree.root
        settings = Settings(
            name,
            self.tree.topology,
            policy_host=root,
            streams=(STREAM,) if name == root else (),
            routes_only=name in self.tree.routers,
            filters_at_edge_only=self._filters_at_edge_only,
        )
        machine = Machine(
            settings,
            the_core(),
            self.timeline,
            self._network,
            Disk(self.timeline, conditions.chance(f"disk {name}"), conditions.sync_us, 0),
            Clock(),
            self._database if name == root else None,
            self._wire,
            self.observers,
            self._counts,
            self._trace,
        )
        self._network.add(machine)
        return machine

    def _begin(self, policy: Sequence[Change]) -> None:
        first: list[Change] = [
            {"grant": {"principal": PUBLISHER, "action": "connect", "allow": True}},
            {"grant": {"principal": PUBLISHER, "action": "publish"}},
        ]
        self._database.begin([batch_of((*first, *policy), "founder", 0)])
        assert self._database.history.version == 1, "the policy at the beginning was refused"
        for machine in self.machines.values():
            machine.start()
        self.run_for(_ATTACHED_US)

    # What happens in it.

    @property
    def now(self) -> int:
        return self.timeline.now

    def run_for(self, duration_us: int) -> None:
        self.timeline.run_until(self.timeline.now + duration_us)

    def run_until(self, is_done: Callable[[], bool], at_most_us: int = _PATIENCE_US) -> None:
        """In steps, until something is so; fails if that takes too long."""
        end = self.now + at_most_us
        while not is_done():
            assert self.now < end, f"expected it within {at_most_us / SECOND:g} s"
            self.run_for(self.conditions.period_us)

    def subscribe(self, wanted: Mapping[str, str], broker_of: Callable[[str], str]) -> None:
        """Let all these principals subscribe, and wait until each has begun."""
        started: set[str] = set()

        def heard(session: Session, message: object) -> None:
            if isinstance(message, Started):
                started.add(session.client.name)

        self.observers.heard.append(heard)
        for name, text in wanted.items():
            client = self.client(name, name, broker_of(name))
            client.come()
            client.wishes.add(Subscribe(name, "only", text))
        self.run_until(lambda: started == wanted.keys())
        self.observers.heard.remove(heard)
        self.run_for(SECOND)

    def publish(self, publisher: Publisher, count: int) -> None:
        """Publish so many, and wait until everything has come where it goes."""
        publisher.go_on(count)
        duration_us = count * self.conditions.period_us
        self.run_until(lambda: publisher.is_done, duration_us + _PATIENCE_US)
        self.run_for(SECOND)

    def client(self, name: str, principal: str, broker: str) -> Client:
        """Somebody who will come to a broker."""
        plan = ClientPlan(principal, (broker,), in_flight=_UNDER_WAY)
        return Client(
            name, plan, self.timeline, self._wire, self.conditions.chance(f"client {name}"),
            self.observers, self._counts, self._trace,
        )  # fmt: skip

    def change(self, *changes: Change) -> None:
        """Make the next version of the policy."""
        self._database.apply(batch_of(changes, "ann", self.now), None, _applied)

    def publisher(self, body_of: Callable[[int], Body]) -> Publisher:
        return Publisher(self, body_of)

    def on_delivery(self, see: Callable[[Client, Delivery], None]) -> None:
        """Look at everything that any client receives."""

        def heard(session: Session, message: object) -> None:
            if isinstance(message, Delivery):
                assert isinstance(session.client, Client)
                see(session.client, message)

        self.observers.heard.append(heard)

    def counted(self, broker: str, what: str) -> int:
        """How often a core took a branch so far."""
        core = self.machines[broker].core
        assert core is not None
        return core.counts[what]


@final
class Publisher:
    """Publishes at a steady rate; each event has its number in it."""

    def __init__(self, stage: Stage, body_of: Callable[[int], Body]) -> None:
        self.sent_at: dict[int, int] = {}
        """When which event was handed over."""
        self._stage = stage
        self._body_of = body_of
        self._client = stage.client("publisher", PUBLISHER, stage.tree.root)
        self._left = 0
        self._client.come()
        stage.run_until(lambda: self._client.is_connected)

    def go_on(self, count: int = _HAPPENINGS_MAX) -> None:
        """Publish so many, from now on."""
        assert not self._left, "it publishes already"
        self._left = count
        self._publish()

    @property
    def is_done(self) -> bool:
        """Whether all is published, and stored."""
        return not self._left and self._client.outbox.is_empty

    def _publish(self) -> None:
        if not self._left:
            return
        self._left -= 1
        number = len(self.sent_at) + 1
        self.sent_at[number] = self._stage.now
        body = {"number": number, **self._body_of(number)}
        text = msgspec.json.encode(body).decode()
        self._client.outbox.add(Publish(self._client.name, f"event-{number}", text))
        self._stage.timeline.after(self._stage.conditions.period_us, self._publish)


def _applied(refused: str | None) -> None:
    assert refused is None, refused
