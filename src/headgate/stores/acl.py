"""Where is the policy kept? What any ACL database does, whichever it is."""

from __future__ import annotations

from typing import Protocol

from headgate.model.errors import HeadgateError
from headgate.rights.changes import Batch
from headgate.rights.history import PolicyHistory
from headgate.rights.starting_points import StartingPoints


class StoreError(HeadgateError):
    """A store can't be reached, or isn't what it was: nothing may be decided by what it says."""


class UnknownOutcomeError(StoreError):
    """It is not known whether something was stored; the next call finds out."""


class AclStore(Protocol):
    """All versions of one policy, kept so that a crash leaves a whole version or none."""

    def history(self) -> PolicyHistory:
        """The policy with all versions stored by now, whoever stored them."""
        ...

    def apply(self, batch: Batch, expected: int | None = None) -> int:
        """Store the next version and give its number, or refuse the batch whole.

        Administrators who come at once are taken one after the other; each batch is checked
        against what the one before left behind.
        """
        ...

    def record_starting_point(self, version: int, stream: str, offset: int) -> None:
        """Keep from which offset on a version holds on a stream; once said, it may be repeated."""
        ...

    def starting_points(self) -> StartingPoints:
        """All starting points reported so far."""
        ...

    def close(self) -> None: ...
