"""What do the tests of stores put into them?"""

from __future__ import annotations

from datetime import UTC, datetime

from headgate.filters.filter import Filter
from headgate.rights.changes import Batch, Change, CreateGroup, Grant, Join, Revoke
from headgate.rights.history import PolicyHistory
from headgate.rights.rules import Action, Rule, Strict

NOON = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)


def rule(principal: str, condition: str = "price < 100") -> Rule:
    return Rule(principal, Action.SUBSCRIBE, Filter.parse(condition))


def batch(*changes: Change, why: str = "") -> Batch:
    return Batch(changes, "alice", NOON, why)


def granting(*principals: str, why: str = "") -> Batch:
    return batch(*(Grant(rule(principal)) for principal in principals), why=why)


def all_kinds() -> list[Batch]:
    """Batches with all that may stand in one."""
    rich = Rule(
        "desk", Action.SUBSCRIBE, Filter.parse("name = 'Zoë\\ \"x\" 🚪' OR price BETWEEN 1 AND 2"),
        lower=Filter.parse("price < 1.5"), strict=Strict.UPPER, attributes=frozenset({"a", "b"}),
        topics=frozenset({"t"}), valid_from=datetime(2026, 2, 1, tzinfo=UTC), via=("ab", "cd"),
    )  # fmt: skip
    return [
        batch(CreateGroup("desk"), Join("desk", "bob"), Grant(rich), why="Zürich's “desk”\n🚪 ✓"),
        granting("bob", "carol"),
        batch(Revoke(rule("bob")), Grant(Rule("bob", Action.CONNECT)), why="bob left"),
    ]


def said(history: PolicyHistory) -> list[object]:
    """All that a history holds."""
    at_versions = [
        (history.at(version).rules(), history.at(version).groups(), history.at(version).pending())
        for version in range(history.version + 1)
    ]
    return [history.batches(), at_versions]


def url_of(where: str) -> str:
    """How SQLAlchemy calls the database of a store."""
    if where.startswith("postgresql://"):
        return where.replace("postgresql://", "postgresql+psycopg://")
    return f"sqlite:///{where}/policy.sqlite3"
