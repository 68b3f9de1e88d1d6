"""What may the principals connected here do, at each version that this broker has learnt of?

A part of the policy: the rights of some principals, with the version since which they hold. It
answers the gate as a whole `PolicyHistory` would, for those principals and no others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from headgate.model.errors import HeadgateError, named
from headgate.rights.effective import Rights


class NotKnownHereError(HeadgateError):
    """The rights of a principal were asked for that aren't known here, or not at that version."""


@final
class KnownRights:
    """The rights of some principals, each from a version on up to the newest that was learnt."""

    def __init__(self) -> None:
        self._timelines: dict[str, tuple[list[int], list[Rights]]] = {}

    def __contains__(self, principal: object) -> bool:
        return principal in self._timelines

    def learn(self, principal: str, timeline: Iterable[Rights]) -> None:
        """Take a snapshot: all rights that a principal had, each with its first version."""
        ordered = sorted(timeline, key=lambda rights: rights.since)
        self._timelines[principal] = ([one.since for one in ordered], ordered)

    def extend_back(self, principal: str, timeline: Iterable[Rights]) -> None:
        """Take what a principal could do before what is known of it."""
        versions, values = self._timelines[principal]
        older = [one for one in timeline if not versions or one.since < versions[0]]
        self.learn(principal, [*older, *values])

    def renew(self, principal: str, timeline: Iterable[Rights]) -> None:
        """Take a later snapshot: what was known of the versions before it stays."""
        before = self._timelines[principal][1]
        self.learn(principal, timeline)
        self.extend_back(principal, before)

    def change(self, principal: str, rights: Rights) -> bool:
        """Take what holds from a version on; false where that was known already."""
        versions, values = self._timelines[principal]
        if versions and rights.since <= versions[-1]:
            return False
        versions.append(rights.since)
        values.append(rights)
        return True

    def forget(self, principal: str) -> None:
        self._timelines.pop(principal, None)

    def since(self, principal: str) -> int:
        """The oldest version at which a principal's rights are known."""
        versions = self._timelines[principal][0]
        return versions[0] if versions else 0

    def borders(self, principals: Iterable[str]) -> Sequence[int]:
        """The versions at which the rights of any of these changed, since all are known."""
        timelines = [self._timelines[name][0] for name in principals]
        since = max((one[0] for one in timelines if one), default=0)
        return sorted({since, *(at for one in timelines for at in one if at > since)})

    def rights_at(self, principal: str, version: int) -> Rights:
        timeline = self._timelines.get(principal)
        index = bisect_right(timeline[0], version) if timeline else 0
        if not timeline or not index:
            raise NotKnownHereError(
                f"the rights of {named(principal)} at version {version} are not known here"
            )
        return timeline[1][index - 1]

    def at(self, version: int) -> KnownVersion:
        return KnownVersion(self, version)


@final
@dataclass(frozen=True, slots=True)
class KnownVersion:
    """One version, as far as it is known here; stands in for a `PolicyVersion`."""

    known: KnownRights
    number: int

    def rights_of(self, principal: str) -> Rights:
        return self.known.rights_at(principal, self.number)
