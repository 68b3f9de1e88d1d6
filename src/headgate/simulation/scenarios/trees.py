"""Which networks are tried? Trees of 1 to 15 nodes with 1 to 3 brokers each, mostly small ones."""

from __future__ import annotations

from random import Random
from typing import Final

Nodes = dict[str, tuple[str, ...]]
Edges = tuple[tuple[str, str], ...]

_SIZES: Final = (
    (1, 14),
    (2, 24),
    (3, 24),
    (4, 12),
    (5, 8),
    (6, 6),
    (7, 4),
    (9, 4),
    (12, 2),
    (15, 2),
)
_MEMBERS: Final = ((1, 66), (2, 26), (3, 8))


def size_of_tree(chance: Random) -> int:
    return _weighted(chance, _SIZES)


def tree(chance: Random, size: int) -> tuple[Nodes, Edges]:
    """A tree of so many nodes: a chain, a star, or anything between."""
    nodes: Nodes = {}
    edges: list[tuple[str, str]] = []
    shape = chance.random()
    count = 0
    for number in range(1, size + 1):
        members = _weighted(chance, _MEMBERS)
        nodes[f"n{number}"] = tuple(f"b{count + index}" for index in range(1, members + 1))
        count += members
        if number > 1:
            parent = _parent(chance, number, shape)
            edges.append((f"n{parent}", f"n{number}"))
    return nodes, tuple(edges)


def chain(length: int, members: int = 1) -> tuple[Nodes, Edges]:
    """Nodes one behind the other, for schedules written by hand: b1, b2, …"""
    nodes = {
        f"n{number}": tuple(f"b{(number - 1) * members + index}" for index in range(1, members + 1))
        for number in range(1, length + 1)
    }
    return nodes, tuple((f"n{number}", f"n{number + 1}") for number in range(1, length))


def _parent(chance: Random, number: int, shape: float) -> int:
    if shape < 0.3:
        return number - 1
    if shape < 0.4:
        return 1
    return chance.randrange(1, number)


def _weighted(chance: Random, choices: tuple[tuple[int, int], ...]) -> int:
    values, weights = zip(*choices, strict=True)
    found: int = chance.choices(values, weights)[0]
    return found
