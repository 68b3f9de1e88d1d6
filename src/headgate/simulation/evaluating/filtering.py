"""What does it save to filter in the network, and not at its edge only?

The same subscriptions, rights and publications twice: once with what is owed behind each link, cut
to what may be read there, asked for upstream, and once with everything asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, final

from headgate.broker.effects import Delivery
from headgate.simulation.clients import Client
from headgate.simulation.evaluating import market
from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.stages import Stage
from headgate.simulation.evaluating.traffic import Traffic
from headgate.simulation.evaluating.trees import Tree, fan

TREE: Final = fan(routers=2, leaves=4)
SUBSCRIBERS_EACH: Final = 4

Received: TypeAlias = tuple[int, int, bytes]
"""The offset of a delivery, its version, and the view."""


@final
@dataclass(frozen=True)
class Filtered:
    """What it took to deliver, with filters at one place or the other."""

    links: dict[tuple[str, str], Traffic]
    received: dict[str, tuple[Received, ...]]
    """By subscriber."""

    @property
    def deliveries(self) -> int:
        return sum(map(len, self.received.values()))


@final
@dataclass(frozen=True)
class Filtering:
    """The same twice."""

    tree: Tree
    in_network: Filtered
    at_edge: Filtered

    @property
    def deliveries_are_equal(self) -> bool:
        return self.in_network.received == self.at_edge.received


def measure_filtering(conditions: Conditions) -> Filtering:
    return Filtering(
        TREE,
        _filtered(conditions, TREE, at_edge=False),
        _filtered(conditions, TREE, at_edge=True),
    )


def _filtered(conditions: Conditions, tree: Tree, *, at_edge: bool) -> Filtered:
    """From the first subscription to the last delivery."""
    people = _people(tree)
    stage = Stage(
        tree,
        conditions,
        market.policy((group, name) for name, (group, _) in people.items()),
        filters_at_edge_only=at_edge,
    )
    received: dict[str, list[Received]] = {name: [] for name in people}

    def see(client: Client, message: Delivery) -> None:
        view = message.event.to_json()
        received[client.name].append((message.offset, message.version, view))

    stage.on_delivery(see)
    publisher = stage.publisher(market.events(conditions.chance("events")))
    stage.tap.forget()
    chance = conditions.chance("wishes")
    wanted = {name: market.wishes(chance) for name in people}
    stage.subscribe(wanted, lambda name: people[name][1])
    stage.publish(publisher, conditions.records)
    links = {(one, other): stage.tap.on(one, other) for one, other in tree.links}
    return Filtered(links, {name: tuple(found) for name, found in received.items()})


def _people(tree: Tree) -> dict[str, tuple[str, str]]:
    """Who subscribes: by name the group, and the broker."""
    groups = (market.PREMIUM, market.PROMOTIONAL)
    return {
        f"{broker}-{number}": (groups[number % 2], broker)
        for broker in tree.leaves
        for number in range(1, SUBSCRIBERS_EACH + 1)
    }
