"""How does one write a policy in a test, by hand or by chance?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from headgate.model.events import Event
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
from headgate.rights.history import PolicyHistory
from headgate.rights.rules import Action, PolicyError, Rule, parse_filter
from headgate.rights.subscriptions import Subscription
from headgate.rights.validity import due

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def rule(principal: str, action: str = "subscribe", filter_: str = "TRUE", **said: Any) -> Rule:
    """A rule as a policy file would have it."""
    return Rule.from_json({"principal": principal, "action": action, "filter": filter_, **said})


def connecting(principal: str, *, allow: bool = True) -> Rule:
    return Rule(principal, Action.CONNECT, allow=allow)


def grant(principal: str, action: str = "subscribe", filter_: str = "TRUE", **said: Any) -> Grant:
    return Grant(rule(principal, action, filter_, **said))


def batch(*changes: Change, time: datetime = NOON, why: str = "") -> Batch:
    return Batch(changes, "admin", time, why)


def policy(*changes: Change) -> PolicyHistory:
    """A history of one version with these changes."""
    return PolicyHistory.of([batch(*changes)])


def subscription(principal: str, filter_: str = "TRUE", domain: str | None = None) -> Subscription:
    return Subscription(principal, parse_filter(filter_), domain)


NAMES = ["a", "b", "n.x", "n.y", "salary", "topics"]
VALUES: list[object] = [0, 1, 2, 5, 2.0, 0.5, "u", "v", "1", True, False, NOON]
LITERALS = ["0", "1", "2", "5", "0.5", "'u'", "'v'", "TRUE"]
TOPICS = ["red", "green", "blue"]
KNOWN: dict[str, list[object]] = {
    "$publisher": ["eve", "bob"],
    "$stream": ["orders", "$policy"],
}
INDIVIDUALS = ["ann", "bob", "eve"]
GROUPS = ["staff", "board", "all"]
DOMAIN = "abroad"
PRINCIPALS = [*INDIVIDUALS, *GROUPS, DOMAIN]


class Chance:
    """Random policies, events and subscriptions over names and values so few that they meet."""

    def __init__(self, random: Random, filters: int = 150) -> None:
        self.random = random
        self.filters = ["TRUE", *(self._condition(2) for _ in range(filters))]
        self.wishes = [self._condition(3, residues=True) for _ in range(filters)]
        self.time = NOON

    def _condition(self, depth: int, *, residues: bool = False) -> str:
        chance = self.random
        if depth and chance.random() < 0.6:
            sign = chance.choice([" AND ", " OR "])
            parts = [self._condition(depth - 1, residues=residues) for _ in range(2)]
            return f"({sign.join(parts)})"
        test = self._test(residues=residues)
        return f"NOT ({test})" if chance.random() < 0.2 else test

    def _test(self, *, residues: bool) -> str:
        chance = self.random
        name = chance.choice(NAMES[:-1])
        literal = chance.choice(LITERALS)
        tests = [
            f"{name} = {literal}",
            f"{name} <> {literal}",
            f"{name} {chance.choice(['<', '<=', '>', '>='])} {chance.choice(LITERALS[:5])}",
            f"{name} BETWEEN 0 AND {chance.choice(LITERALS[:5])}",
            f"{name} IN ({literal}, 'v')",
            f"{name} LIKE '{chance.choice(['u%', '_', '%'])}'",
            f"{chance.choice(NAMES)} IS NULL",
            f"EXISTS({chance.choice(NAMES)})",
            f"{name} IS {chance.choice(['STRING', 'INTEGER', 'NUMBER', 'NOT NUMBER'])}",
            f"'{chance.choice(TOPICS)}' IN topics",
            "$publisher = 'eve'",
            "$stream LIKE '$%'",
        ]
        if residues:
            tests += [f"{name} + 1 > {chance.choice(NAMES[:-1])}", f"{name} = salary"] * 2
        return chance.choice(tests)

    def rule(self, principal: str) -> Rule:
        chance = self.random
        action = chance.choice(["subscribe"] * 7 + ["publish", "advertise", "connect"])
        if action == "connect":
            return connecting(principal, allow=chance.random() < 0.5)
        said: dict[str, Any] = {}
        if chance.random() < 0.2:
            said["lower"] = chance.choice(self.filters)
        strict = ["neither"] * 4 + ["upper"] + ["lower", "both"] * ("lower" in said)
        said["strict"] = chance.choice(strict)
        if action != "advertise":
            if chance.random() < 0.4:
                names = [*NAMES, "$publisher", "$stream"]
                said["attributes"] = chance.sample(names, chance.randrange(1, 5))
            if chance.random() < 0.3:
                said["topics"] = chance.sample(TOPICS, chance.randrange(1, 3))
        if action == "subscribe" and chance.random() < 0.2:
            said["on_excess"] = "refuse"
        if chance.random() < 0.15:
            begin = self.time + timedelta(days=chance.randrange(-2, 5))
            said["validity"] = {"from": begin.isoformat()}
            if chance.random() < 0.5:
                until = begin + timedelta(days=chance.randrange(1, 5))
                said["validity"]["until"] = until.isoformat()
        upper = "TRUE" if chance.random() < 0.3 else chance.choice(self.filters)
        return rule(principal, action, upper, **said)

    def change(self, history: PolicyHistory) -> Change:
        """A change that may well be refused."""
        chance = self.random
        rules = history.current().rules()
        if rules and chance.random() < 0.2:
            old = chance.choice(rules)
            ends: list[Change] = [Revoke(old), Revoke(old), Begin(old)]
            return chance.choice(ends)
        if chance.random() < 0.5:
            return Grant(self.rule(chance.choice(PRINCIPALS)))
        group, member = chance.choice(GROUPS), chance.choice(PRINCIPALS)
        changes: list[Change] = [CreateGroup(group), DropGroup(group), Leave(group, member)]
        return chance.choice([*changes, *[Join(group, member)] * 3])

    def batches(self, history: PolicyHistory, count: int) -> None:
        """Make that many more versions, of whatever is accepted."""
        goal = history.version + count
        while history.version < goal:
            self.time += timedelta(hours=self.random.randrange(48))
            validity = due(history.current(), self.time)
            if validity is not None:
                history.apply(validity)
            changes = [self.change(history) for _ in range(self.random.randrange(1, 5))]
            if history.version == 0:
                changes = self.first_changes()
            try:
                history.apply(batch(*changes, time=self.time, why="chance"))
            except PolicyError:
                continue

    def first_changes(self) -> list[Change]:
        """Groups with members, and a rule for most principals."""
        chance = self.random
        joins = [Join(chance.choice(GROUPS), individual) for individual in INDIVIDUALS]
        grants = [Grant(self.rule(principal)) for principal in PRINCIPALS]
        grants += [grant(chance.choice(PRINCIPALS), filter_=chance.choice(["TRUE", "a <> 1"]))]
        return [*map(CreateGroup, GROUPS), *joins, *grants]

    def history(self, versions: int) -> PolicyHistory:
        history = PolicyHistory()
        self.batches(history, versions)
        return history

    def body(self) -> dict[str, Any]:
        """Fields with values, null and empty objects among them, nested and in dotted names."""
        chance = self.random
        body: dict[str, Any] = {}
        nested = chance.random() < 0.7
        for name in NAMES:
            if chance.random() < 0.4:
                continue
            value = self.value(name)
            if nested and name.startswith("n."):
                body.setdefault("n", {})[name[2:]] = value
            else:
                body[name] = value
        return body

    def value(self, name: str) -> object:
        chance = self.random
        if name == "topics" and chance.random() < 0.8:
            return chance.choices(TOPICS, k=chance.randrange(4))
        return chance.choice([*VALUES, *VALUES, None, {}, ["u"], [1, "u"], "red"])

    def known(self) -> dict[str, object]:
        chance = self.random
        return {
            name: chance.choice(values) for name, values in KNOWN.items() if chance.random() < 0.7
        }

    def event(self) -> Event:
        return Event.of(self.body()).with_known(self.known())

    def subscription(self) -> Subscription:
        chance = self.random
        wish = "TRUE" if chance.random() < 0.4 else chance.choice(self.wishes)
        domain = DOMAIN if chance.random() < 0.25 else None
        return subscription(chance.choice(INDIVIDUALS), wish, domain)
