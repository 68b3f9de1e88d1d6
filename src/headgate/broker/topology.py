"""Who is where in the tree, and which brokers are next on the way to another?

The network is a tree of nodes, a node one or more brokers that stand in for each other. Between
neighbouring nodes each broker may have a link to each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from headgate.model.errors import HeadgateError, named


class TopologyError(HeadgateError, ValueError):
    """What is said about the network doesn't make a tree of nodes."""


@dataclass(frozen=True)
class Topology:
    """All nodes with their brokers, and which nodes are neighbours."""

    nodes: Mapping[str, tuple[str, ...]]
    edges: frozenset[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        brokers = [broker for members in self.nodes.values() for broker in members]
        if not brokers or any(not members for members in self.nodes.values()):
            raise TopologyError("a network has at least one node, and each node a broker")
        if len(set(brokers)) != len(brokers):
            raise TopologyError("a broker stands in one node only, and once")
        for edge in self.edges:
            if len(edge) != 2 or not edge <= set(self.nodes):
                raise TopologyError(
                    f"expected two nodes of the network as neighbours, found {sorted(edge)}"
                )
        reached = self._distances(next(iter(self.nodes)))
        if len(self.edges) != len(self.nodes) - 1 or len(reached) != len(self.nodes):
            raise TopologyError(
                f"expected a tree: {len(self.nodes)} nodes joined by {len(self.nodes) - 1} edges, "
                f"found {len(self.edges)} edges that join {len(reached)} nodes"
            )

    @classmethod
    def alone(cls, broker: str) -> Topology:
        """One process with one broker."""
        return cls({broker: (broker,)})

    @cached_property
    def node_of(self) -> Mapping[str, str]:
        return {broker: node for node, members in self.nodes.items() for broker in members}

    @cached_property
    def _neighbours(self) -> Mapping[str, tuple[str, ...]]:
        return {
            node: tuple(
                sorted(other for edge in self.edges if node in edge for other in edge - {node})
            )
            for node in self.nodes
        }

    def neighbours(self, broker: str) -> tuple[str, ...]:
        """The brokers to which this one keeps links: of its own node, and of those beside it."""
        node = self._node(broker)
        around = (node, *self._neighbours[node])
        return tuple(sorted(one for near in around for one in self.nodes[near] if one != broker))

    @cached_property
    def _towards(self) -> dict[tuple[str, str], tuple[str, ...]]:
        return {}

    def towards(self, broker: str, target: str) -> tuple[str, ...]:
        """The brokers that may be next on the way to another one, the target itself first."""
        key = broker, target
        found = self._towards.get(key)
        if found is None:
            found = self._towards[key] = self._next(broker, target)
        return found

    def _next(self, broker: str, target: str) -> tuple[str, ...]:
        here, there = self._node(broker), self._node(target)
        if broker == target:
            return ()
        if here == there:
            return (target,)
        distances = self._distances(there)
        near = min(self._neighbours[here], key=lambda node: distances[node])
        members = sorted(self.nodes[near])
        return (
            (target, *(one for one in members if one != target))
            if near == there
            else tuple(members)
        )

    def _node(self, broker: str) -> str:
        node = self.node_of.get(broker)
        if node is None:
            raise TopologyError(f"there is no broker {named(broker)} in the network")
        return node

    def _distances(self, start: str) -> dict[str, int]:
        found = {start: 0}
        waiting = deque([start])
        while waiting:
            node = waiting.popleft()
            for edge in self.edges:
                if node in edge:
                    for other in edge - {node}:
                        if other not in found:
                            found[other] = found[node] + 1
                            waiting.append(other)
        return found
