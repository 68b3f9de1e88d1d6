"""What do many measurements of the same come to? Their mean, their deviation, and how they grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import final


@final
@dataclass(frozen=True)
class Sample:
    """Measurements in microseconds, as they came."""

    values: tuple[int, ...]

    @property
    def mean_ms(self) -> float:
        return fsum(self.values) / len(self.values) / 1_000

    @property
    def deviation_ms(self) -> float:
        """The standard deviation, of a sample."""
        count, mean = len(self.values), self.mean_ms * 1_000
        if count < 2:
            return 0.0
        return sqrt(fsum((value - mean) ** 2 for value in self.values) / (count - 1)) / 1_000


def growth_per_hop_ms(by_hops: Mapping[int, Sample]) -> float | None:
    """The slope of the straight line that fits the means best; one point has none."""
    if len(by_hops) < 2:
        return None
    hops: Sequence[int] = list(by_hops)
    means = [sample.mean_ms for sample in by_hops.values()]
    middle, mean = fsum(hops) / len(hops), fsum(means) / len(means)
    along = fsum((x - middle) * (y - mean) for x, y in zip(hops, means, strict=True))
    return along / fsum((x - middle) ** 2 for x in hops)
