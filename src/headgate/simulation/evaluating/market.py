"""What is published and who may read what, where frames are counted: a market, as in the paper.

Quotes and news of a hundred symbols; some may read all quotes, some cheap ones only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Final

from headgate.simulation.evaluating.stages import Change

SYMBOLS: Final = tuple(f"S{number:02}" for number in range(100))
PREMIUM: Final = "premium"
PROMOTIONAL: Final = "promotional"
EVERYTHING: Final = "everything"
"""May read all that is published, as if there were no rights at all."""
_GROUPS: Final = (PREMIUM, PROMOTIONAL, EVERYTHING)
_RIGHTS: Final = {
    PREMIUM: "type = 'quote' OR type = 'news'",
    PROMOTIONAL: "type = 'quote' AND price < 100",
    EVERYTHING: "TRUE",
}


def events(chance: Random) -> Callable[[int], dict[str, Any]]:
    """What is published next: four quotes for each piece of news."""

    def event(number: int) -> dict[str, Any]:
        symbol = chance.choice(SYMBOLS)
        if chance.random() < 0.2:
            return {"type": "news", "symbol": symbol, "text": f"what is new about {symbol}"}
        price, volume = chance.randrange(1, 201), chance.randrange(100, 10_000)
        return {"type": "quote", "symbol": symbol, "price": price, "volume": volume}

    return event


def wishes(chance: Random) -> str:
    """What somebody subscribes to: three symbols, or the small part of all quotes that is large."""
    if chance.random() < 0.2:
        return f"type = 'quote' AND volume > {chance.randrange(9_000, 9_900)}"
    symbols = sorted(chance.sample(SYMBOLS, 3))
    return f"symbol IN ({', '.join(map(repr, symbols))})"


def policy(members: Iterable[tuple[str, str]]) -> list[Change]:
    """All may connect, and read what their group may: pairs of group and member."""
    changes: list[Change] = [{"create_group": group} for group in _GROUPS]
    for group in _GROUPS:
        may_read = {"principal": group, "action": "subscribe", "filter": _RIGHTS[group]}
        changes.append({"grant": {"principal": group, "action": "connect", "allow": True}})
        changes.append({"grant": may_read})
    changes += [{"join": {"group": group, "member": member}} for group, member in members]
    return changes
