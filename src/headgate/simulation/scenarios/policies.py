"""Which policies are tried? One to begin with, and batches that change it while events flow."""

from __future__ import annotations

from random import Random
from typing import Any, Final, TypeAlias, final

from headgate.simulation.scenarios.contents import NAMES, TOPICS, bound

Change: TypeAlias = dict[str, Any]

READERS: Final = ("ann", "bob", "eve", "joe")
WRITERS: Final = ("pam", "pete")
FOUNDERS: Final = ("ada", "alf")
GROUPS: Final = ("staff", "board", "all")
EVERYONE: Final = "everyone"
ABROAD: Final = "abroad"
_ABROAD_READS: Final = {"principal": ABROAD, "action": "subscribe"}


@final
class Churn:
    """A policy as it would be if every batch so far had been accepted, and changes of it."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._granted: list[Change] = []
        self._members: list[tuple[str, str]] = []

    def beginning(self, *, lend_policy: bool = False) -> tuple[Change, ...]:
        """Everybody may connect, writers may publish, readers may read something.

        A domain that has brokers of its own is lent the policy: they decide for its clients.
        """
        chance = self._chance
        changes: list[Change] = [{"create_group": group} for group in (EVERYONE, *GROUPS)]
        changes += [
            {"join": {"group": EVERYONE, "member": name}}
            for name in (*READERS, *WRITERS, *FOUNDERS, ABROAD)
        ]
        changes.append({"grant": {"principal": EVERYONE, "action": "connect", "allow": True}})
        for name in (*WRITERS, *READERS[:2]):
            changes.append({"grant": {"principal": name, "action": "publish"}})
            changes.append({"grant": {"principal": name, "action": "advertise"}})
        if lend_policy:
            changes.append({"grant": {**_ABROAD_READS, "filter": "\"$stream\" = '$policy'"}})
            writes = {"principal": ABROAD, "action": "publish", "filter": bound(chance)}
            changes += [{"grant": writes}] * (chance.random() < 0.8)
        for name in (*READERS, *GROUPS, ABROAD):
            if chance.random() < 0.85:
                changes.append(self._grant(name))
        changes += [self._join() for _ in range(2)]
        return tuple(unique(changes))

    def batch(self) -> tuple[Change, ...]:
        return tuple(self._change() for _ in range(self._chance.choice((1, 1, 2, 3))))

    def _change(self) -> Change:
        chance = self._chance
        kind = chance.random()
        if kind < 0.3 and self._granted:
            return {"revoke": self._granted.pop(chance.randrange(len(self._granted)))}
        if kind < 0.45:
            return self._join()
        if kind < 0.6 and self._members:
            group, member = self._members.pop(chance.randrange(len(self._members)))
            return {"leave": {"group": group, "member": member}}
        if kind < 0.66:
            return self._connecting()
        if kind < 0.72:
            return self._publishing()
        return self._grant(chance.choice((*READERS, *READERS, *GROUPS, ABROAD)))

    def _grant(self, principal: str) -> Change:
        chance = self._chance
        rule: Change = {"principal": principal, "action": "subscribe", "filter": bound(chance)}
        if chance.random() < 0.4:
            rule["attributes"] = sorted(chance.sample(NAMES, chance.randrange(2, 6)))
        if chance.random() < 0.1:
            rule["topics"] = sorted(chance.sample(TOPICS, 1))
        if chance.random() < 0.12:
            rule["on_excess"] = "refuse"
        self._granted.append(rule)
        return {"grant": rule}

    def _join(self) -> Change:
        """A reader into a group, or a group into a larger one."""
        chance = self._chance
        if chance.random() < 0.25:
            member, group = chance.choice((("staff", "all"), ("board", "all"), ("staff", "board")))
        else:
            member, group = chance.choice(READERS), chance.choice(GROUPS)
        if (group, member) not in self._members:
            self._members.append((group, member))
        return {"join": {"group": group, "member": member}}

    def _connecting(self) -> Change:
        chance = self._chance
        member = chance.choice(READERS[:2])
        word = chance.choice(("leave", "join"))
        return {word: {"group": EVERYONE, "member": member}}

    def _publishing(self) -> Change:
        chance = self._chance
        rule: Change = {"principal": chance.choice(WRITERS), "action": "publish"}
        if chance.random() < 0.5:
            rule["filter"] = bound(chance)
        return {chance.choice(("grant", "revoke")): rule}


def unique(changes: list[Change]) -> list[Change]:
    """Without what is said twice."""
    return [one for number, one in enumerate(changes) if one not in changes[:number]]
