"""Does a file become the policy of a store, whoever else is at work there?"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headgate.cli import applying
from headgate.cli.applying import apply_file
from headgate.rights.changes import Batch, Begin, Change, Grant, Revoke
from headgate.rights.history import StaleVersionError
from headgate.rights.policy_files import PolicyFile, read_policy_file
from headgate.rights.rules import Action, PolicyError, Rule
from headgate.stores.acl import AclStore
from headgate.stores.opening import open_acl_store

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TOM = Rule("tom", Action.SUBSCRIBE)


def file(*principals: str) -> PolicyFile:
    rules = "".join(f"\n  - {{principal: {name}, action: subscribe}}" for name in principals)
    return read_policy_file(f"rules:{rules or ' []'}\n")


def batch(*changes: Change, time: datetime = NOW) -> Batch:
    return Batch(changes, "somebody", time)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AclStore]:
    opened = open_acl_store(tmp_path / "store")
    yield opened
    opened.close()


def test_a_file_becomes_the_next_version(store: AclStore) -> None:
    applied = apply_file(store, file("ann", "bob"), lambda: NOW, "ann", "why not")
    assert (applied.version, len(applied.changes), applied.due) == (1, 2, ())
    stored = store.history().batch(1)
    assert (stored.author, stored.why, stored.time) == ("ann", "why not", NOW)


def test_where_nothing_is_to_be_changed_the_version_stays(store: AclStore) -> None:
    apply_file(store, file("ann"), lambda: NOW, "ann")
    applied = apply_file(store, file("ann"), lambda: NOW, "ann", expected=1)
    assert (applied.version, applied.changes) == (1, ())
    assert store.history().version == 1


def test_validities_that_are_due_come_first_as_a_version_of_their_own(store: AclStore) -> None:
    ending = Rule("ann", Action.SUBSCRIBE, valid_until=NOW + timedelta(days=1))
    waiting = Rule("bob", Action.SUBSCRIBE, valid_from=NOW + timedelta(days=1))
    store.apply(batch(Grant(ending), Grant(waiting)))
    text = "rules:\n  - {principal: bob, action: subscribe, validity: {from: 2026-06-02}}\n"
    later = NOW + timedelta(days=2)
    applied = apply_file(store, read_policy_file(text), lambda: later, "ann", expected=1)
    assert (applied.version, applied.changes) == (2, ())
    assert store.history().batch(2).changes == (Revoke(ending), Begin(waiting))
    assert [number for number, _ in applied.due] == [2]


def test_a_refused_file_leaves_no_version_for_the_validities_either(store: AclStore) -> None:
    ending = Rule("ann", Action.SUBSCRIBE, valid_until=NOW + timedelta(days=1))
    store.apply(batch(Grant(ending)))
    refused = "x" * 1_001
    with pytest.raises(PolicyError, match="the reason of a batch"):
        apply_file(store, file("tom"), lambda: NOW + timedelta(days=2), "ann", refused)
    assert store.history().version == 1


class Overtaken:
    """A store to which somebody else comes first, some times."""

    def __init__(self, store: AclStore, times: int, spared: int = 0) -> None:
        self._store = store
        self._left = times
        self._spared = spared

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def apply(self, batch: Batch, expected: int | None = None) -> int:
        self._spared -= 1
        if self._spared < 0 < self._left:
            self._left -= 1
            other = Rule(f"other-{self._left}", Action.SUBSCRIBE)
            self._store.apply(Batch((Grant(other),), "other", NOW))
        return self._store.apply(batch, expected)


def test_who_is_overtaken_works_the_changes_out_anew(store: AclStore) -> None:
    overtaken: AclStore = Overtaken(store, 3)  # type: ignore[assignment]
    applied = apply_file(overtaken, file("tom"), lambda: NOW, "ann")
    assert applied.version == 4
    assert store.history().current().rules() == [TOM]
    assert len(applied.changes) == 4


def test_who_named_a_version_and_is_overtaken_is_told(store: AclStore) -> None:
    overtaken: AclStore = Overtaken(store, 1)  # type: ignore[assignment]
    with pytest.raises(StaleVersionError, match="expected version 0, but the current one is 1"):
        apply_file(overtaken, file("tom"), lambda: NOW, "ann", expected=0)
    assert store.history().version == 1


def test_who_is_overtaken_after_the_validities_is_told_too(store: AclStore) -> None:
    ending = Rule("ann", Action.SUBSCRIBE, valid_until=NOW + timedelta(days=1))
    store.apply(batch(Grant(ending)))
    overtaken: AclStore = Overtaken(store, 1, spared=1)  # type: ignore[assignment]
    later = NOW + timedelta(days=2)
    with pytest.raises(StaleVersionError, match="expected version 2, but the current one is 3"):
        apply_file(overtaken, file("tom"), lambda: later, "ann", expected=1)
    assert [rule.principal for rule in store.history().current().rules()] == ["other-0"]


def test_who_is_overtaken_again_and_again_gives_up(
    store: AclStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "ATTEMPTS_MAX", 3)
    overtaken: AclStore = Overtaken(store, 3)  # type: ignore[assignment]
    with pytest.raises(StaleVersionError):
        apply_file(overtaken, file("tom"), lambda: NOW, "ann")
    assert store.history().version == 3
