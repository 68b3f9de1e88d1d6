"""Under which conditions is measured? How long things take, and how much happens."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final, final

from headgate.model.errors import HeadgateError
from headgate.simulation.timeline import MILLISECOND, SECOND

RATE_MAX: Final = 10_000
"""A second: more of anything than a measurement is to hold."""
DELAY_MAX_US: Final = 100 * MILLISECOND
THINK_MAX_US: Final = 10 * SECOND
HOPS_MAX: Final = 64
ROUND_TRIP_MAX_US: Final = 1 * SECOND
"""After so long without an answer a broker asks again."""


class ConditionError(HeadgateError, ValueError):
    """What is to be measured makes no sense."""


@final
@dataclass(frozen=True, kw_only=True)
class Conditions:
    """All that a measurement depends on; brokers themselves take no time."""

    seed: int = 1
    link_us: int = 1 * MILLISECOND
    """From a broker to the next, at least."""
    jitter_us: int = MILLISECOND // 5
    """By up to so much longer, by chance."""
    sync_us: int = 1 * MILLISECOND
    """Of a disk on average; from next to nothing to twice that, by chance."""
    client_us: int = MILLISECOND // 5
    """Between a client and its broker on average; to twice that, by chance."""
    think_us: int = 25 * MILLISECOND
    """Between a client's first word to its broker and its subscription."""
    records_per_s: int = 500
    records: int = 1_000
    """What is published where frames are counted."""
    changes_per_s: int = 5
    """Versions of the policy, where it changes."""

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            found = getattr(self, name)
            if not least <= found <= most:
                raise ConditionError(
                    f"expected `{name}` to be {least:,} to {most:,}, found {found:,}"
                )

    def check_distance(self, hops: int) -> None:
        """Refuse chains on which brokers would lose their patience with each other."""
        if not 1 <= hops <= HOPS_MAX:
            raise ConditionError(f"expected 1 to {HOPS_MAX} hops, found {hops:,}")
        trip_us = 2 * hops * (self.link_us + self.jitter_us)
        if trip_us > ROUND_TRIP_MAX_US:
            raise ConditionError(
                f"expected a round trip of at most {ROUND_TRIP_MAX_US / SECOND:g} s, found "
                f"{trip_us / SECOND:g} s over {hops} hops"
            )

    @property
    def period_us(self) -> int:
        """From one publication to the next."""
        return SECOND // self.records_per_s

    def chance(self, what: str) -> Random:
        """What is left to chance in one part of a measurement, by the seed."""
        return Random(f"{self.seed}/{what}")


_BOUNDS: Final = {
    "link_us": (0, DELAY_MAX_US),
    "jitter_us": (0, DELAY_MAX_US),
    "sync_us": (0, DELAY_MAX_US),
    "client_us": (0, DELAY_MAX_US),
    "think_us": (0, THINK_MAX_US),
    "records_per_s": (1, RATE_MAX),
    "records": (1, 10_000_000),
    "changes_per_s": (1, RATE_MAX),
}
