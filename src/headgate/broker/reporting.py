"""Does the policy's host know where each version began? Told until it says that it keeps it."""

from __future__ import annotations

from typing import final

from headgate.broker.asking import Asking
from headgate.broker.hosting import Hosting
from headgate.broker.questions import Answer, ReportStarts
from headgate.broker.settings import Settings


@final
class Reporting:
    """Reports starting points, one stream at a time."""

    def __init__(self, settings: Settings, hosting: Hosting, asking: Asking) -> None:
        self._settings = settings
        self._hosting = hosting
        self._asking = asking
        self._is_asking = False

    def report(self, now: int) -> None:
        """Ask the host to keep what has not been reported yet, unless that is being asked."""
        for stream, points in self._hosting.unreported.items():
            if self._is_asking:
                return
            if points:
                self._is_asking = True
                self._report(stream, dict(points), now)

    def _report(self, stream: str, points: dict[int, int], now: int) -> None:
        def answered(said: Answer, asked_at: int, now: int) -> None:
            self._is_asking = False
            self._hosting.reported(stream, points)

        asked = ReportStarts(stream, points)
        self._asking.ask(self._settings.policy_host, asked, answered, now)
