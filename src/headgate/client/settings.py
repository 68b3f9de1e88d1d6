"""How patient is a program with its brokers, and how much does it have under way?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SECOND: Final = 1_000_000
"""In microseconds, as all times in a conversation."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a conversation is told; times are in microseconds."""

    urls: tuple[str, ...]
    patience_us: int = 60 * SECOND
    """So long a publication waits for its answer, and a new subscription for being accepted."""
    connect_us: int = 10 * SECOND
    """So long the first connection is tried for; each broker is tried once, at least."""
    answer_us: int = 10 * SECOND
    """So long a broker may take to say who it is, and to answer a ping."""
    silence_us: int = 15 * SECOND
    """A broker that said nothing for so long is pinged."""
    in_flight_max: int = 1_000
    """Publications without an answer, on one connection."""
    text_bytes_max: int = 256 * 1024
    """What is said together; a single event may be larger."""
