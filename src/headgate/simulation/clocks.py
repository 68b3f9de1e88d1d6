"""What time is it at a broker? True time with an offset, a drift, and jumps."""

from __future__ import annotations

from typing import Final, final

from headgate.log.records import moment

EPOCH_US: Final = moment("2026-01-31T12:00:00Z")
"""What a right clock shows at the beginning of a run."""
_MILLION: Final = 1_000_000


@final
class Clock:
    """Shows true time plus an offset; per million microseconds it gains (or loses) its drift."""

    __slots__ = ("drift_ppm", "jumped_back_us", "offset_us")

    def __init__(self, offset_us: int = 0, drift_ppm: int = 0) -> None:
        self.offset_us = offset_us
        self.drift_ppm = drift_ppm
        self.jumped_back_us = 0
        """By how much it was set back so far, all in all."""

    def shows(self, true_us: int) -> int:
        return EPOCH_US + true_us + self.offset_us + true_us * self.drift_ppm // _MILLION

    def true_when(self, shown_us: int) -> int:
        """The first true moment at which it shows at least this, as it goes now."""
        wanted = shown_us - EPOCH_US - self.offset_us
        true_us = wanted * _MILLION // (_MILLION + self.drift_ppm)
        while self.shows(true_us) < shown_us:
            true_us += 1
        return true_us

    def jump(self, by_us: int) -> None:
        self.offset_us += by_us
        self.jumped_back_us += max(0, -by_us)
