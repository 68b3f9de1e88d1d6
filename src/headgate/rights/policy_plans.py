"""What would a policy file change now, and on top of which version?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.rights.changes import Batch, Change
from headgate.rights.history import PolicyHistory
from headgate.rights.policy_diff import diff
from headgate.rights.policy_files import PolicyFile
from headgate.rights.validity import due


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and at which version that was found."""

    base: int
    due: Batch | None
    """The validities that begin or end first: a version of their own."""
    changes: tuple[Change, ...]


def plan(history: PolicyHistory, file: PolicyFile, now: datetime) -> Plan:
    """What would be done; the history stays as it is."""
    base = history.version
    first = due(history.current(), now)
    if first is not None:
        history = PolicyHistory.of(batch for _, batch in history.batches())
        history.apply(first)
    return Plan(base, first, diff(history.current(), file.at(now)))
