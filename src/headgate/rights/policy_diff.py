"""Which changes lead from the policy as it is to the one that shall be?

A file states rules and groups as they shall be, all of them. Two things are not a file's to state:
rules that were granted by certificates (they have a `via`, and go with their certificates), and the
begin and the end of a validity (time becomes a batch of its own: `rights.validity`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.model.errors import named
from headgate.rights.changes import (
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
)
from headgate.rights.history import PolicyVersion
from headgate.rights.rules import PolicyError, Rule

Membership = tuple[str, str]
"""A group and one of its direct members."""


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The groups with their direct members, and the rules, as they shall be."""

    groups: Mapping[str, frozenset[str]]
    rules: tuple[Rule, ...]

    def memberships(self) -> Iterator[Membership]:
        for group, members in sorted(self.groups.items()):
            for member in sorted(members):
                yield group, member


def stated(version: PolicyVersion) -> PolicyState:
    """What a file would have to say for the policy to stay as it is."""
    return PolicyState(version.groups(), tuple(rule for rule in version.rules() if not rule.via))


def diff(current: PolicyVersion, desired: PolicyState) -> tuple[Change, ...]:
    """The batch that makes the one into the other, in an order in which every step is allowed.

    Rights are taken away before groups go, and given when all groups stand. A name that ceases to
    be a group may stay a member or a principal: its memberships and rules are then renewed, since
    a group is dropped only when it has neither.
    """
    now = stated(current)
    dropped = now.groups.keys() - desired.groups.keys()
    _check_certificates(current, dropped)
    members, wanted = set(now.memberships()), set(desired.memberships())
    rules, granted = set(now.rules), set(desired.rules)
    left = {edge for edge in members if edge not in wanted or edge[1] in dropped}
    revoked = {rule for rule in rules if rule not in granted or rule.principal in dropped}
    return (
        *(Revoke(rule) for rule in now.rules if rule in revoked),
        *(Leave(group, member) for group, member in sorted(left)),
        *(DropGroup(group) for group in sorted(dropped)),
        *(CreateGroup(group) for group in sorted(desired.groups.keys() - now.groups.keys())),
        *(Join(group, member) for group, member in sorted(wanted - (members - left))),
        *(Grant(rule) for rule in desired.rules if rule not in rules or rule in revoked),
    )


def _check_certificates(current: PolicyVersion, dropped: set[str]) -> None:
    for rule in current.rules():
        if rule.via and rule.principal in dropped:
            raise PolicyError(
                f"the group {named(rule.principal)} has rights that certificates granted: keep it "
                "in `groups`, if need be without members"
            )
