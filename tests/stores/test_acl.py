"""Whatever database keeps a policy: is it kept?"""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from headgate.rights.changes import Batch, CreateGroup, DropGroup
from headgate.rights.history import PolicyHistory, StaleVersionError, UnknownVersionError
from headgate.rights.rules import PolicyError
from headgate.stores.acl import AclStore, StoreError
from tests.stores.examples import NOON, all_kinds, batch, granting, rule, said

Opening: TypeAlias = Callable[[], AclStore]


def test_a_new_store_grants_nothing(store: AclStore) -> None:
    assert store.history().version == 0
    assert store.history().current().rules() == []
    assert store.starting_points().of_version(0) == {}


def test_what_was_applied_is_there_for_whoever_opens_the_store(
    store: AclStore, opened: Opening
) -> None:
    assert [store.apply(one) for one in all_kinds()] == [1, 2, 3]
    expected = said(PolicyHistory.of(all_kinds()))
    assert said(store.history()) == expected
    again = opened()
    assert said(again.history()) == expected


def test_a_refused_batch_leaves_nothing(store: AclStore, opened: Opening) -> None:
    store.apply(granting("bob"))
    with pytest.raises(PolicyError, match=r"change 2 .*already"):
        store.apply(granting("carol", "bob"))
    with pytest.raises(PolicyError, match="create it first"):
        store.apply(batch(DropGroup("desk")))
    assert store.history().version == 1
    assert store.apply(granting("carol")) == 2
    assert opened().history().current().rules() == [rule("bob"), rule("carol")]


def test_the_expected_version_is_compared_with_what_others_stored(
    store: AclStore, opened: Opening
) -> None:
    other = opened()
    assert store.apply(granting("bob"), expected=0) == 1
    with pytest.raises(StaleVersionError, match=r"expected version 0.*1 by alice") as refusal:
        other.apply(granting("carol"), expected=0)
    assert (refusal.value.current, len(refusal.value.since)) == (1, 1)
    assert other.apply(granting("carol"), expected=1) == 2
    with pytest.raises(StaleVersionError):
        other.apply(granting("dave"), expected=7)
    assert said(store.history()) == said(other.history())


def test_each_batch_is_checked_against_what_others_left(store: AclStore, opened: Opening) -> None:
    other = opened()
    other.history()
    store.apply(batch(CreateGroup("desk")))
    with pytest.raises(PolicyError, match="already"):
        other.apply(batch(CreateGroup("desk")))
    assert other.apply(batch(DropGroup("desk"))) == 2


def test_the_history_comes_in_bit_by_bit(store: AclStore, opened: Opening) -> None:
    other = opened()
    first = other.history()
    before = first.current()
    store.apply(granting("bob"))
    assert other.history() is first
    assert (first.version, before.rules()) == (1, [])


@pytest.mark.parametrize("why", ["a\0b", "half \ud800"])
def test_what_not_every_database_keeps_is_refused(store: AclStore, why: str) -> None:
    with pytest.raises(PolicyError, match="can't be stored"):
        store.apply(granting("bob", why=why))
    with pytest.raises(PolicyError, match="can't be stored"):
        store.record_starting_point(0, why, 1)
    assert store.history().version == 0
    assert store.apply(granting("bob")) == 1


def test_the_largest_batch_is_kept(store: AclStore, opened: Opening) -> None:
    store.apply(granting(*(f"principal {number}" for number in range(2_000))))
    assert len(opened().history().current().rules()) == 2_000


def test_starting_points_are_there_for_whoever_opens_the_store(
    store: AclStore, opened: Opening
) -> None:
    for name in "abc":
        store.apply(granting(name))
    for version, stream, offset in [
        (0, "q", 0),
        (1, "q", 7),
        (3, "q", 7),
        (2, "Zoë 🚪", 2**63 - 1),
    ]:
        store.record_starting_point(version, stream, offset)
    for one in (store, opened()):
        points = one.starting_points()
        assert points.of_version(1) == {"q": 7, "Zoë 🚪": 2**63 - 1}
        assert points.of_version(3) == {"q": 7}
        assert [points.version_at("q", offset) for offset in (0, 6, 7)] == [0, 0, 3]


def test_starting_points_only_grow_and_may_be_repeated(store: AclStore) -> None:
    for name in "abc":
        store.apply(granting(name))
    for version, offset in [(1, 5), (3, 9)]:
        store.record_starting_point(version, "q", offset)
    for version, offset in [(1, 5), (3, 9)]:
        store.record_starting_point(version, "q", offset)
    for version, offset in [(3, 10), (3, 8), (2, 7), (1, 6)]:
        with pytest.raises(PolicyError, match="only grow"):
            store.record_starting_point(version, "q", offset)
    store.record_starting_point(2, "r", 0)
    assert store.starting_points().of_version(1) == {"q": 5, "r": 0}


def test_only_a_version_that_is_there_begins_at_an_offset_that_can_be(store: AclStore) -> None:
    store.apply(granting("bob"))
    for version in (-1, 2):
        with pytest.raises(UnknownVersionError):
            store.record_starting_point(version, "q", 0)
    for offset in (-1, 2**63):
        with pytest.raises(PolicyError, match="expected an offset"):
            store.record_starting_point(1, "q", offset)
    assert store.starting_points().of_version(0) == {}


def test_a_closed_store_answers_nothing(store: AclStore) -> None:
    store.close()
    store.close()
    for call in (store.history, store.starting_points, lambda: store.apply(granting("bob"))):
        with pytest.raises(StoreError, match="closed"):
            call()


def test_the_time_is_kept_to_the_microsecond(store: AclStore, opened: Opening) -> None:
    moment = NOON.replace(microsecond=1)
    store.apply(Batch(granting("bob").changes, "alice", moment))
    assert opened().history().batch(1).time == moment
