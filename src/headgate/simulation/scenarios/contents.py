"""What is published, and what is asked for? Few names and values, so that they meet."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import msgspec

KINDS: Final = ("quote", "news", "report")
SYMBOLS: Final = ("ibm", "sunw", "hp")
TOPICS: Final = ("red", "green")
NAMES: Final = ("kind", "price", "symbol", "secret", "about.region", "topics")

BOUNDS: Final = (
    "kind = 'quote'",
    "kind <> 'report'",
    "kind IN ('quote', 'news')",
    "price < 5",
    "price BETWEEN 2 AND 7 OR kind = 'news'",
    "symbol = 'ibm' AND price < 8",
    "symbol LIKE 's%' OR symbol = 'ibm'",
    "secret = 0",
    "secret IS NULL OR secret < 2",
    "about.region = 'eu'",
    "NOT (symbol = 'hp')",
)
"""Filters of rules."""

WISHES: Final = (
    "symbol = 'ibm'",
    "price > 2",
    "price + secret > 4",
    "secret IS NULL",
    "EXISTS(about.region)",
    "kind = 'quote' AND price < 6",
    "kind = 'news' OR symbol = 'hp'",
    "'red' IN topics",
    "$publisher = 'pam'",
)
"""Filters of subscriptions, beside those of rules."""


def body(chance: Random) -> str:
    """An event's body as JSON, some of its fields missing."""
    said: dict[str, Any] = {"kind": chance.choice(KINDS)}
    if chance.random() < 0.9:
        said["price"] = chance.choice([chance.randrange(10), chance.randrange(20) / 2])
    if chance.random() < 0.9:
        said["symbol"] = chance.choice(SYMBOLS)
    if chance.random() < 0.7:
        said["secret"] = chance.randrange(4)
    if chance.random() < 0.4:
        said["about"] = {"region": chance.choice(["eu", "us", None])}
    if chance.random() < 0.25:
        said["topics"] = chance.sample(TOPICS, chance.randrange(1, 3))
    return msgspec.json.encode(said).decode()


def bound(chance: Random) -> str:
    return "TRUE" if chance.random() < 0.35 else chance.choice(BOUNDS)


def wish(chance: Random) -> str:
    return "TRUE" if chance.random() < 0.4 else chance.choice(BOUNDS + WISHES)
