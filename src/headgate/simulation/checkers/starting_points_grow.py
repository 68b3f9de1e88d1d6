"""Is each reported starting point a marker in its log, later than those of earlier versions?"""

from __future__ import annotations

from typing import final

from headgate.simulation.checkers.ledger import Ledger
from headgate.simulation.checkers.promises import Checker


@final
class StartingPointsGrow(Checker):
    """And at the end every version has one on every stream, in the ACL database as in the log."""

    promise = "starting_points_grow"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._reported: dict[str, dict[int, int]] = {}

    def starting_point(self, version: int, stream: str, offset: int) -> None:
        who = f"version {version} on {stream}"
        reported = self._reported.setdefault(stream, {})
        if reported.setdefault(version, offset) != offset:
            raise self.broken(who, f"{reported[version]}, as reported before", f"{offset}")
        self._check_marker(who, version, stream, offset)
        for other, there in reported.items():
            if (other < version and there > offset) or (other > version and there < offset):
                raise self.broken(
                    who, f"an offset in the order of versions ({other}: {there})", f"{offset}"
                )

    def at_rest(self) -> None:
        for stream, reported in self._reported.items():
            for version, offset in reported.items():
                self._check_marker(f"version {version} on {stream}", version, stream, offset)

    def _check_marker(self, who: str, version: int, stream: str, offset: int) -> None:
        log = self._ledger.logs.get(stream)
        record = None if log is None else log.at(offset)
        if log is None or record is None or not record.is_marker:
            raise self.broken(who, f"a stored marker at {offset}", "none there")
        before = log.at(offset - 1)
        if record.version < version or (before is not None and before.version >= version):
            raise self.broken(
                who, f"the first record of version {version} at {offset}", "another one's"
            )
