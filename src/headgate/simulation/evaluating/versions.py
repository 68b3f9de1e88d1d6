"""What does access control add to a record on each hop, while versions stay and while they change?

The setting of Zhao & Sturman 5.2 (Figure 3): a publisher's broker, a router, and the subscribers'
broker. Its subscribers receive the same under every condition, so that what is compared is what it
took; and instead of the load of a processor, work is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.broker.effects import Delivery
from headgate.simulation.clients import Client
from headgate.simulation.evaluating import market
from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.stages import Change, Stage
from headgate.simulation.evaluating.traffic import Traffic
from headgate.simulation.evaluating.trees import chain
from headgate.simulation.timeline import SECOND

HOPS: Final = 2
SUBSCRIBERS: Final = 20
_STRANGER: Final = "somebody"


class Policy(Enum):
    """What the policy says, and whether it changes meanwhile."""

    NO_RIGHTS = "everybody may read everything"
    AT_REST = "rights, at rest"
    OTHERS_CHANGE = "rights of others change"
    THEIRS_CHANGE = "rights of subscribers change"


@final
@dataclass(frozen=True)
class Hop:
    """What went over one link."""

    traffic: Traffic
    conservative: int
    """Records that were sent without asking their filters: the version was not known behind."""
    in_vain: int
    """Records that nobody behind it received."""


@final
@dataclass(frozen=True)
class Steady:
    """What it took to deliver all records under one policy."""

    policy: Policy
    versions: int
    """That came while records were published."""
    hops: dict[tuple[str, str], Hop]
    deliveries: int
    withheld: int
    """At the gate of the subscribers' broker."""
    held: int
    """There, until a version was known."""

    @property
    def gated(self) -> int:
        """How often somebody's rights were asked whether this subscriber receives this record."""
        return self.deliveries + self.withheld


def measure_versions(conditions: Conditions) -> list[Steady]:
    return [_steady(conditions, policy) for policy in Policy]


def _steady(conditions: Conditions, policy: Policy) -> Steady:
    group = market.EVERYTHING if policy is Policy.NO_RIGHTS else market.PREMIUM
    people = [f"reader-{number}" for number in range(1, SUBSCRIBERS + 1)]
    tree = chain(HOPS)
    stage = Stage(tree, conditions, market.policy([(group, name) for name in people]))
    offsets: list[int] = []

    def see(client: Client, message: Delivery) -> None:
        offsets.append(message.offset)

    stage.on_delivery(see)
    publisher = stage.publisher(market.events(conditions.chance("events")))
    chance = conditions.chance("wishes")
    subscribers = tree.leaves[0]
    stage.subscribe({name: market.wishes(chance) for name in people}, lambda name: subscribers)
    count = _Counted(stage, subscribers)
    changing = _Changing(stage, policy, people, lambda: publisher.is_done)
    stage.publish(publisher, conditions.records)
    received = len(set(offsets))
    return Steady(
        policy,
        changing.made,
        {(one, other): count.on(one, other, received) for one, other in tree.links},
        len(offsets),
        *count.at_gate(),
    )


@final
class _Counted:
    """What has come to pass since the moment at which records began."""

    def __init__(self, stage: Stage, subscribers: str) -> None:
        self._stage = stage
        self._subscribers = subscribers
        self._before = {name: self._conservative(name) for name in stage.tree.brokers}
        self._gate = self._at_gate()
        stage.tap.forget()

    def on(self, one: str, other: str, received: int) -> Hop:
        traffic = self._stage.tap.on(one, other)
        conservative = self._conservative(one) - self._before[one]
        return Hop(traffic, conservative, traffic.records - received)

    def at_gate(self) -> tuple[int, int]:
        now, before = self._at_gate(), self._gate
        return now[0] - before[0], now[1] - before[1]

    def _at_gate(self) -> tuple[int, int]:
        counted, broker = self._stage.counted, self._subscribers
        return (
            counted(broker, "withheld at the subscriber's broker"),
            counted(broker, "held for a version"),
        )

    def _conservative(self, broker: str) -> int:
        # On a chain there is one link outwards of each broker.
        return self._stage.counted(broker, "conservative send")


@final
class _Changing:
    """Makes versions at a steady rate; none of them changes what anybody receives."""

    def __init__(
        self, stage: Stage, policy: Policy, people: list[str], is_over: Callable[[], bool]
    ) -> None:
        self.made = 0
        self._stage = stage
        self._people = [_STRANGER] if policy is Policy.OTHERS_CHANGE else people
        self._is_over = is_over
        self._period_us = SECOND // stage.conditions.changes_per_s
        if policy in (Policy.OTHERS_CHANGE, Policy.THEIRS_CHANGE):
            stage.timeline.after(self._period_us // 2, self._change)

    def _change(self) -> None:
        if not self._is_over():
            self._stage.change(self._next())
            self.made += 1
            self._stage.timeline.after(self._period_us, self._change)

    def _next(self) -> Change:
        """Somebody is granted memos, which nobody publishes, and loses them again in turn."""
        turn, is_even = divmod(self.made, 2)
        principal = self._people[turn % len(self._people)]
        rule = {"principal": principal, "action": "subscribe", "filter": "type = 'memo'"}
        return {"revoke" if is_even else "grant": rule}
