"""How does a policy file become the policy of a store?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from headgate.rights.changes import Batch, Change
from headgate.rights.history import StaleVersionError
from headgate.rights.policy_files import PolicyFile
from headgate.rights.policy_plans import plan
from headgate.stores.acl import AclStore

ATTEMPTS_MAX = 20
"""How often others may come first before we give up."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What a file changed."""

    version: int
    due: tuple[tuple[int, Batch], ...]
    changes: tuple[Change, ...]


def apply_file(
    store: AclStore,
    file: PolicyFile,
    clock: Callable[[], datetime],
    author: str,
    why: str = "",
    expected: int | None = None,
) -> Applied:
    """Make the policy what the file says.

    The changes are those from one version to the file, so they hold for that version only. Where
    another administrator comes first they are worked out anew, unless the caller named the version
    that it looked at.
    """
    done: list[tuple[int, Batch]] = []
    for attempts_left in reversed(range(ATTEMPTS_MAX)):
        history = store.history()
        if not done:
            history.check_expected(expected)
        now = clock()
        planned = plan(history, file, now)
        # Made before anything is stored: a refusal leaves no version for the validities alone.
        batch = Batch(planned.changes, author, now, why) if planned.changes else None
        try:
            version = planned.base
            if planned.due is not None:
                version = store.apply(planned.due, version)
                done.append((version, planned.due))
            if batch is not None:
                version = store.apply(batch, version)
            return Applied(version, tuple(done), planned.changes)
        except StaleVersionError:
            if expected is not None or not attempts_left:
                raise
    raise AssertionError("the last attempt returns or raises")
