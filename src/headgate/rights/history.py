"""What may whom be done at which version? All versions of a policy, none of them ever overwritten.

For each principal and each group the history keeps what it had, and since when. A look-up goes
through these timelines only, so its cost doesn't grow with the number of principals, and a new
version takes memory for what it changed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, Self, TypeVar, final

from headgate.model.errors import named, printable
from headgate.rights.changes import (
    Batch,
    Begin,
    Change,
    CreateGroup,
    DropGroup,
    Grant,
    Join,
    Leave,
    Revoke,
)
from headgate.rights.effective import Granted, Rights
from headgate.rights.rules import PolicyError, Rule, check_principal

T = TypeVar("T")

_NO_RULES: dict[Rule, bool] = {}
_RIGHTS_MAX = 500_000
_PAST_RIGHTS_MAX = 4_096
_CYCLE_SHOWN_MAX = 10


class UnknownVersionError(PolicyError):
    """A version that doesn't exist (yet)."""


@final
class StaleVersionError(PolicyError):
    """A batch was written against a version that is no longer the current one."""

    def __init__(self, expected: int, current: int, since: list[tuple[int, Batch]]) -> None:
        self.expected = expected
        self.current = current
        self.since = since
        changed = "; ".join(
            f"{version} by {batch.author}: {printable(batch.why) or 'no reason given'}"
            for version, batch in since[:3]
        )
        more = f" and {len(since) - 3} more" if len(since) > 3 else ""
        super().__init__(
            f"expected version {expected}, but the current one is {current}"
            + (f" (since then: {changed}{more})" if since else "")
        )

    def __reduce__(self) -> tuple[type[Self], tuple[int, int, list[tuple[int, Batch]]]]:
        return type(self), (self.expected, self.current, self.since)


class _Timeline(Generic[T]):
    """What something was, and since which version."""

    __slots__ = ("values", "versions")

    def __init__(self) -> None:
        self.versions: list[int] = []
        self.values: list[T] = []

    def at(self, version: int, default: T) -> T:
        if not self.versions:
            return default
        if self.versions[-1] <= version:
            return self.values[-1]
        index = bisect_right(self.versions, version)
        return self.values[index - 1] if index else default

    def put(self, version: int, value: T) -> None:
        self.versions.append(version)
        self.values.append(value)


class _Members:
    """The direct members of one group: as they are now, and every change that led here."""

    __slots__ = ("changes", "exists", "now")

    def __init__(self) -> None:
        self.exists: _Timeline[bool] = _Timeline()
        self.now: set[str] = set()
        self.changes: list[tuple[int, str, bool]] = []

    def at(self, version: int) -> frozenset[str]:
        found = set(self.now)
        for changed, member, joined in reversed(self.changes):
            if changed <= version:
                break
            (found.discard if joined else found.add)(member)
        return frozenset(found)

    def put(self, version: int, member: str, *, joined: bool) -> None:
        self.changes.append((version, member, joined))
        (self.now.add if joined else self.now.discard)(member)


RulesOf = dict[Rule, bool]
"""The rules of one principal in the order of their grants; false while not yet valid."""


@final
class PolicyHistory:
    """The versions of a policy: version 0 grants nothing, each batch makes the next one.

    Versions once made never change, so a `PolicyVersion` may be kept and handed around.
    """

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._touched: dict[int, frozenset[str]] = {}
        self._rules: dict[str, _Timeline[RulesOf]] = {}
        self._members: dict[str, _Members] = {}
        self._groups: dict[str, _Timeline[frozenset[str]]] = {}
        self._last_affected: dict[str, int] = {}
        self._rights: dict[str, tuple[int, Rights]] = {}
        self._past_rights: dict[tuple[str, int], Rights] = {}

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Self:
        history = cls()
        for batch in batches:
            history.apply(batch)
        return history

    @property
    def version(self) -> int:
        """The current version."""
        return len(self._batches)

    def current(self) -> PolicyVersion:
        return PolicyVersion(self, self.version)

    def at(self, version: int) -> PolicyVersion:
        if not 0 <= version <= self.version:
            raise UnknownVersionError(
                f"expected a version from 0 to {self.version}, found {version}"
            )
        return PolicyVersion(self, version)

    def batch(self, version: int) -> Batch:
        """The batch that made a version."""
        if not 1 <= version <= self.version:
            raise UnknownVersionError(
                f"expected a version from 1 to {self.version}, found {version}"
            )
        return self._batches[version - 1]

    def batches(self, after: int = 0) -> list[tuple[int, Batch]]:
        return list(enumerate(self._batches[after:], start=after + 1))

    def affected(self, version: int) -> frozenset[str]:
        """The principals whose rights may differ from those of the version before, groups too."""
        self.batch(version)
        return frozenset(self._with_members(self._touched[version], version))

    def check_expected(self, expected: int | None) -> None:
        """Refuse a batch that was written against another version than the current one."""
        if expected is not None and expected != self.version:
            since = self.batches(expected) if 0 <= expected <= self.version else []
            raise StaleVersionError(expected, self.version, since)

    def check(self, batch: Batch, expected: int | None = None) -> None:
        """Refuse what `apply` would refuse, and change nothing."""
        self._drafted(batch, expected)

    def apply(self, batch: Batch, expected: int | None = None) -> PolicyVersion:
        """Make the next version, or refuse the batch whole and stay where we are."""
        self._commit(batch, self._drafted(batch, expected))
        return self.current()

    def _drafted(self, batch: Batch, expected: int | None) -> _Draft:
        self.check_expected(expected)
        draft = _Draft(self)
        for number, change in enumerate(batch.changes, start=1):
            try:
                draft.apply(change, batch)
            except PolicyError as refusal:
                raise _of_change(number, change, refusal) from None
        draft.check_no_cycle(batch)
        return draft

    def _commit(self, batch: Batch, draft: _Draft) -> None:
        version = self.version + 1
        for principal, rules in draft.rules.items():
            self._rules.setdefault(principal, _Timeline()).put(version, rules)
        for group, exists in draft.exists.items():
            self._members.setdefault(group, _Members()).exists.put(version, exists)
        for member, groups in draft.groups.items():
            before = self._groups_at(member, version)
            for group in before ^ groups:
                self._members[group].put(version, member, joined=group in groups)
            self._groups.setdefault(member, _Timeline()).put(version, frozenset(groups))
        # Kept without their members: a group of thousands would be written down at every version.
        self._touched[version] = frozenset(draft.touched())
        affected = self._with_members(self._touched[version], version)
        self._last_affected.update(dict.fromkeys(affected, version))
        self._batches.append(batch)

    def _with_members(self, names: Iterable[str], version: int) -> set[str]:
        """These, and all that are members of them at a version, through groups of groups.

        Of what a version touched that is all that it affects: who leaves a group is touched itself.
        """
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                members = self._members.get(name)
                waiting.extend(members.at(version) if members is not None else ())
        return found

    def _exists_at(self, group: str, version: int) -> bool:
        members = self._members.get(group)
        return members is not None and members.exists.at(version, False)

    def _rules_at(self, principal: str, version: int) -> RulesOf:
        timeline = self._rules.get(principal)
        return _NO_RULES if timeline is None else timeline.at(version, _NO_RULES)

    def _groups_at(self, member: str, version: int) -> frozenset[str]:
        timeline = self._groups.get(member)
        return frozenset() if timeline is None else timeline.at(version, frozenset())

    def _rights_at(self, principal: str, version: int) -> Rights:
        kept = self._rights.get(principal)
        # A version may come while we gather: what we find is then kept as that of the one before.
        if kept is None or kept[0] < self._last_affected.get(principal, 0):
            if principal not in self._last_affected:
                return Rights(principal, 0, ())  # strangers, of whom there is no end
            if len(self._rights) >= _RIGHTS_MAX:
                self._rights.clear()
            now = self.version
            kept = self._rights[principal] = (now, self._gathered(principal, now))
        latest = kept[1]
        if version >= latest.since:
            return latest
        key = (principal, version)
        past = self._past_rights.get(key)
        if past is None:
            if len(self._past_rights) >= _PAST_RIGHTS_MAX:
                self._past_rights.clear()
            past = self._past_rights[key] = self._gathered(principal, version)
        return past

    def _gathered(self, principal: str, version: int) -> Rights:
        """The union of a principal's own rules and those of all its groups, breadth first."""
        granted: list[Granted] = []
        below: dict[str, str | None] = {principal: None}
        waiting = [principal]
        since = 0
        for name in waiting:  # grows while we walk
            for timeline in (self._rules.get(name), self._groups.get(name)):
                if timeline is not None:
                    at = bisect_right(timeline.versions, version)
                    since = max(since, timeline.versions[at - 1] if at else 0)
            valid = [rule for rule, begun in self._rules_at(name, version).items() if begun]
            if valid:
                path = _path(below, name)[1:]
                granted += [Granted(rule, path) for rule in valid]
            for group in sorted(self._groups_at(name, version)):
                if group not in below:
                    below[group] = name
                    waiting.append(group)
        return Rights(principal, since, tuple(granted))


@final
@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A policy as it is (or was) at one version."""

    history: PolicyHistory
    number: int

    def rights_of(self, principal: str) -> Rights:
        """What a principal may do, through its groups too, and where each right comes from."""
        return self.history._rights_at(principal, self.number)

    def rules(self) -> list[Rule]:
        """All rules granted, by principal, in the order of their grants; not yet valid ones too."""
        return [
            rule
            for principal in sorted(self.history._rules)
            for rule in self.history._rules_at(principal, self.number)
        ]

    def pending(self) -> list[Rule]:
        """The rules whose validity has not begun."""
        return [
            rule
            for principal in sorted(self.history._rules)
            for rule, valid in self.history._rules_at(principal, self.number).items()
            if not valid
        ]

    def groups(self) -> dict[str, frozenset[str]]:
        """The groups with their direct members."""
        return {
            group: members.at(self.number)
            for group, members in sorted(self.history._members.items())
            if members.exists.at(self.number, False)
        }


def _of_change(number: int, change: Change, refusal: PolicyError) -> PolicyError:
    return PolicyError(printable(f"change {number} (`{change}`): {refusal}"))


def _path(below: Mapping[str, str | None], name: str) -> tuple[str, ...]:
    """From where a search began up to a name."""
    path: list[str] = []
    step: str | None = name
    while step is not None:
        path.append(step)
        step = below[step]
    return tuple(reversed(path))


class _Draft:
    """A version in the making: what a batch touches, over what was there before."""

    def __init__(self, history: PolicyHistory) -> None:
        self._history = history
        self._version = history.version
        self.rules: dict[str, RulesOf] = {}
        self.exists: dict[str, bool] = {}
        self.groups: dict[str, set[str]] = {}
        self._changed: dict[str, dict[str, bool]] = {}

    def touched(self) -> set[str]:
        return {*self.rules, *self.exists, *self.groups}

    def apply(self, change: Change, batch: Batch) -> None:
        match change:
            case Grant(rule):
                self._grant(rule, batch)
            case Revoke(rule):
                self._held(rule).pop(rule)
            case Begin(rule):
                self._begin(rule, batch)
            case CreateGroup(group):
                check_principal(group)
                if self._exists(group):
                    raise PolicyError(f"there is a group {named(group)} already")
                self.exists[group] = True
            case DropGroup(group):
                self._drop(group)
            case Join(group, member):
                self._join(group, member)
            case Leave(group, member):
                self._check_known(group)
                if group not in self._groups_of(member):
                    raise PolicyError(f"{named(member)} is no member of {named(group)}")
                self._change(group, member, joined=False)

    def _grant(self, rule: Rule, batch: Batch) -> None:
        rules = self._rules_of(rule.principal)
        if rule in rules:
            raise PolicyError("this rule is granted already")
        if rule.valid_until is not None and rule.valid_until <= batch.time:
            raise PolicyError("the validity of this rule is over")
        rules[rule] = rule.valid_from is None or rule.valid_from <= batch.time

    def _begin(self, rule: Rule, batch: Batch) -> None:
        rules = self._held(rule)
        if rules[rule]:
            raise PolicyError("the validity of this rule has begun already")
        if rule.valid_from is not None and rule.valid_from > batch.time:
            raise PolicyError("the validity of this rule doesn't begin yet")
        rules[rule] = True

    def _drop(self, group: str) -> None:
        self._check_known(group)
        for what, found in (
            ("members", self._has_members(group)),
            ("rules", self._rules_of(group)),
            ("groups above it", self._groups_of(group)),
        ):
            if found:
                raise PolicyError(f"the group {named(group)} still has {what}")
        self.exists[group] = False

    def _join(self, group: str, member: str) -> None:
        check_principal(member)
        self._check_known(group)
        if group in self._groups_of(member):
            raise PolicyError(f"{named(member)} is a member of {named(group)} already")
        self._change(group, member, joined=True)

    def _change(self, group: str, member: str, *, joined: bool) -> None:
        groups = self._groups_of(member)
        (groups.add if joined else groups.remove)(group)
        self._changed.setdefault(group, {})[member] = joined

    def _has_members(self, group: str) -> bool:
        changed = self._changed.get(group, {})
        members = self._history._members.get(group)
        stayed = any(changed.get(member, True) for member in (members.now if members else ()))
        return stayed or any(changed.values())

    def check_no_cycle(self, batch: Batch) -> None:
        """Refuse a group that ends up within itself: each group is looked at once for a batch."""
        joins = {
            (change.group, change.member): number
            for number, change in enumerate(batch.changes, start=1)
            if isinstance(change, Join)
        }
        edges = self._cycle(group for group, _ in joins)
        if edges:
            number = max(joins.get(edge, 0) for edge in edges)
            change = batch.changes[number - 1]
            assert isinstance(change, Join)
            cycle = [change.member, *self._path_up(change.group, change.member)]
            if len(cycle) > _CYCLE_SHOWN_MAX:
                cycle[_CYCLE_SHOWN_MAX - 2 : -1] = "…"
            refusal = PolicyError(f"this makes a cycle: {' in '.join(cycle)}")
            raise _of_change(number, change, refusal)

    def _cycle(self, starts: Iterable[str]) -> list[tuple[str, str]]:
        """The memberships of a cycle above these groups, if there is one."""
        done: set[str] = set()
        for start in starts:
            path = {} if start in done else {start: self._above(start)}
            while path:
                last = next(reversed(path))
                name = next(path[last], None)
                if name is None:
                    done.add(last)
                    del path[last]
                elif name in path:
                    within = list(path)[list(path).index(name) :]
                    return [(above, below) for below, above in pairwise([*within, name])]
                elif name not in done:
                    path[name] = self._above(name)
        return []

    def _path_up(self, group: str, sought: str) -> tuple[str, ...]:
        """The shortest way from a group to one above it (or to itself)."""
        below: dict[str, str | None] = {group: None}
        waiting = [group]
        for name in waiting:
            if name == sought:
                break
            for above in self._above(name):
                if above not in below:
                    below[above] = name
                    waiting.append(above)
        return _path(below, sought)

    def _exists(self, group: str) -> bool:
        return self.exists.get(group, self._history._exists_at(group, self._version))

    def _check_known(self, group: str) -> None:
        if not self._exists(group):
            raise PolicyError(f"there is no group {named(group)}: create it first")

    def _held(self, rule: Rule) -> RulesOf:
        rules = self._rules_of(rule.principal)
        if rule not in rules:
            raise PolicyError("there is no such rule")
        return rules

    def _rules_of(self, principal: str) -> RulesOf:
        if principal not in self.rules:
            self.rules[principal] = dict(self._history._rules_at(principal, self._version))
        return self.rules[principal]

    def _above(self, member: str) -> Iterator[str]:
        seen = self.groups.get(member)
        return iter(
            sorted(self._history._groups_at(member, self._version) if seen is None else seen)
        )

    def _groups_of(self, member: str) -> set[str]:
        if member not in self.groups:
            self.groups[member] = set(self._history._groups_at(member, self._version))
        return self.groups[member]
