"""Which networks are measured? Trees of single brokers, the publisher's at their root."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import final

from headgate.broker.topology import Topology


@final
@dataclass(frozen=True)
class Tree:
    """Brokers by name, and the links from each outwards."""

    root: str
    links: tuple[tuple[str, str], ...]

    @cached_property
    def brokers(self) -> tuple[str, ...]:
        return (self.root, *(outer for _, outer in self.links))

    @cached_property
    def routers(self) -> tuple[str, ...]:
        """Those between the publisher's broker and those of the subscribers."""
        inner = {one for one, _ in self.links}
        return tuple(one for one in self.brokers if one in inner and one != self.root)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The subscribers' brokers."""
        inner = {one for one, _ in self.links}
        return tuple(one for one in self.brokers if one not in inner)

    @cached_property
    def topology(self) -> Topology:
        return Topology(
            {name: (name,) for name in self.brokers}, frozenset(map(frozenset, self.links))
        )


def chain(hops: int) -> Tree:
    """The publisher's broker `p`, and so many links away that of the subscribers, `s`."""
    names = ["p", *(f"r{number}" for number in range(1, hops)), "s"]
    return Tree("p", tuple(pairwise(names)))


def fan(routers: int, leaves: int) -> Tree:
    """`p`, routers around it, and at each of them so many brokers of subscribers."""
    links = []
    for number in range(1, routers + 1):
        links.append(("p", f"r{number}"))
        first = (number - 1) * leaves + 1
        links += [(f"r{number}", f"s{leaf}") for leaf in range(first, first + leaves)]
    return Tree("p", tuple(links))
