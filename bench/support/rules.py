"""Which rules and events does a measurement of matching take? The same for the same seed, always.

Events have eight attributes: a symbol (of a thousand, a few of them frequent), a type (of five), a
region (of eight), a venue (of twenty), a name, a price, a volume, and whether it is urgent. A rule
is one to four constraints on different ones of them.
"""

from __future__ import annotations

import json
import random
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import pyarrow as pa

from headgate.filters.filter import Filter
from headgate.filters.syntax import Between, Comparison, Condition, Like, Name, conjunction, literal

Constraint = tuple[str, str, Any]
"""A name, a sign (`=`, `<=`, `>=`, `between`, `begins`), and a value or the two ends."""
Rule = tuple[Constraint, ...]

SYMBOLS = [f"S{number:03}" for number in range(1_000)]
_WEIGHTS = list(accumulate(1 / (1.5 + rank) for rank in range(len(SYMBOLS))))
TYPES = ["quote", "trade", "news", "report", "alarm"]
REGIONS = [f"region-{number}" for number in range(8)]
VENUES = [f"venue-{number}" for number in range(20)]
_SYLLABLES = ["ka", "lo", "mi", "ne", "pu", "ra", "se", "to", "vi", "zo"]


def _symbol(chance: random.Random) -> str:
    return SYMBOLS[bisect(_WEIGHTS, chance.random() * _WEIGHTS[-1])]


def _name(chance: random.Random) -> str:
    return "".join(chance.choice(_SYLLABLES) for _ in range(4))


def _price(chance: random.Random) -> float:
    return round(chance.uniform(1, 1_000), 2)


def _volume(chance: random.Random) -> int:
    return int(10 ** chance.uniform(0, 6))


def event(chance: random.Random) -> dict[str, object]:
    return {
        "symbol": _symbol(chance),
        "type": chance.choice(TYPES),
        "region": chance.choice(REGIONS),
        "venue": chance.choice(VENUES),
        "name": _name(chance),
        "price": _price(chance),
        "volume": _volume(chance),
        "urgent": chance.random() < 0.1,
    }


def _side(name: str, draw: Callable[[random.Random], float], chance: random.Random) -> Constraint:
    return (name, chance.choice(["<=", ">="]), draw(chance))


def _range(
    name: str, draw: Callable[[random.Random], float], share: float, chance: random.Random
) -> Constraint:
    low = draw(chance)
    return (name, "between", (low, type(low)(low + share * low * chance.random() + 1)))


def _equals(name: str, values: list[str], chance: random.Random) -> Constraint:
    return (name, "=", chance.choice(values))


_ANY: dict[str, Callable[[random.Random], Constraint]] = {
    "symbol": lambda chance: ("symbol", "=", _symbol(chance)),
    "type": partial(_equals, "type", TYPES),
    "region": partial(_equals, "region", REGIONS),
    "venue": partial(_equals, "venue", VENUES),
    "name": lambda chance: ("name", "begins", _name(chance)[: chance.choice([2, 4, 4, 6])]),
    "price": lambda chance: (
        _side("price", _price, chance)
        if chance.random() < 0.5
        else _range("price", _price, 0.3, chance)
    ),
    "volume": lambda chance: (
        _side("volume", _volume, chance)
        if chance.random() < 0.5
        else _range("volume", _volume, 1.0, chance)
    ),
    "urgent": lambda chance: ("urgent", "=", chance.random() < 0.3),
}


_ASKED_OFTEN = {"symbol": 3, "price": 3, "type": 2, "volume": 2}


def _names(count: int, chance: random.Random, without: str = "") -> list[str]:
    """So many different attributes; some are asked about more often than others."""
    names = [name for name in _ANY if name != without]
    weights = [_ASKED_OFTEN.get(name, 1) for name in names]
    taken: dict[str, None] = {}
    while len(taken) < count:
        taken[chance.choices(names, weights)[0]] = None
    return list(taken)


def _mixed(chance: random.Random) -> Rule:
    names = _names(chance.choice([1, 2, 2, 3, 3, 3, 4, 4, 4]), chance)
    return tuple(_ANY[name](chance) for name in names)


def _selective(chance: random.Random) -> Rule:
    """Always a symbol, and something else."""
    others = _names(chance.choice([0, 0, 1, 1, 2, 3]), chance, without="symbol")
    return tuple(_ANY[name](chance) for name in ("symbol", *others))


def _few(chance: random.Random) -> Rule:
    """Almost never met: a symbol with a narrow range of prices, and one thing more."""
    return (
        ("symbol", "=", chance.choice(SYMBOLS)),
        ("price", "between", (low := _price(chance), round(low + chance.uniform(1, 100), 2))),
        _ANY[chance.choice(["type", "region", "venue"])](chance),
    )


def _equalities(chance: random.Random) -> Rule:
    names = chance.sample(["symbol", "type", "region", "venue", "urgent"], chance.choice([1, 2, 3]))
    return tuple(_ANY[name](chance) for name in names)


def _ranges(chance: random.Random) -> Rule:
    names = chance.sample(["price", "volume"], chance.choice([1, 2]))
    return tuple(_ANY[name](chance) for name in names)


def _share(share: float, chance: random.Random) -> Rule:
    """One in so many matches, by the width of a range of prices and the type."""
    width = 999 * share * len(TYPES)
    low = chance.uniform(1, 1_000 - min(width, 999))
    price: Constraint = ("price", "between", (round(low, 4), round(low + width, 4)))
    return (_ANY["type"](chance), price)


@dataclass(frozen=True)
class Workload:
    name: str
    draw: Callable[[random.Random], Rule]

    def rules(self, count: int, seed: int = 1) -> Iterator[Rule]:
        chance = random.Random(f"{self.name} {seed}")
        return (self.draw(chance) for _ in range(count))


WORKLOADS: Mapping[str, Workload] = {
    one.name: one
    for one in (
        Workload("few matches", _few),
        Workload("selective equality + others", _selective),
        Workload("mixed", _mixed),
        Workload("only equality", _equalities),
        Workload("only ranges", _ranges),
        *(
            Workload(f"selectivity 1e-{power}", partial(_share, 10.0**-power))
            for power in (5, 4, 3, 2, 1)
        ),
    )
}


def events(count: int, seed: int = 2) -> list[dict[str, object]]:
    chance = random.Random(f"events {seed}")
    return [event(chance) for _ in range(count)]


def as_json(some: list[dict[str, object]]) -> list[bytes]:
    return [json.dumps(one).encode() for one in some]


def as_table(some: list[dict[str, object]]) -> Any:
    """As an Arrow table."""
    return pa.table({name: [one[name] for one in some] for name in some[0]})


def as_filter(rule: Rule) -> Filter:
    # Nobody reads what it was written as, and to print millions of them takes minutes.
    return Filter(conjunction([_condition(one) for one in rule]), "")


def _condition(constraint: Constraint) -> Condition:
    name, sign, value = constraint
    if sign == "between":
        return Between(Name(name), *map(literal, value))
    if sign == "begins":
        return Like(Name(name), f"{value}%")
    return Comparison(sign, Name(name), literal(value))  # type: ignore[arg-type]
