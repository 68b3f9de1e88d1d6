"""Which rules begin or end by now? Time becomes a batch, so that the gate needs no clock."""

from __future__ import annotations

from datetime import datetime

from headgate.rights.changes import Batch, Begin, Change, Revoke
from headgate.rights.history import PolicyVersion

AUTHOR = "headgate"


def due(version: PolicyVersion, now: datetime) -> Batch | None:
    """The batch that brings the policy up to `now`, or nothing where no rule begins or ends."""
    waiting = set(version.pending())
    changes: list[Change] = []
    for rule in version.rules():
        if rule.valid_until is not None and rule.valid_until <= now:
            changes.append(Revoke(rule))
        elif rule in waiting and rule.valid_from is not None and rule.valid_from <= now:
            changes.append(Begin(rule))
    return Batch(tuple(changes), AUTHOR, now, "validity") if changes else None


def next_due(version: PolicyVersion) -> datetime | None:
    """When the next rule begins or ends."""
    waiting = set(version.pending())
    moments = [rule.valid_until for rule in version.rules()]
    moments += [rule.valid_from for rule in waiting]
    return min((moment for moment in moments if moment is not None), default=None)
