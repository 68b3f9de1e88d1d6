"""Are the rights of each principal here those of each version, and none where they aren't known?"""

from __future__ import annotations

import pytest

from headgate.broker.known_rights import KnownRights, NotKnownHereError
from headgate.gate.delivery import View, gate
from headgate.rights.effective import Rights
from headgate.rights.history import PolicyHistory
from tests.broker.parts import record
from tests.rights.policies import batch, grant, subscription


def changing() -> PolicyHistory:
    history = PolicyHistory()
    for number in (1, 2, 3):
        history.apply(batch(grant("ann", filter_=f"a = {number}")))
    history.apply(batch(grant("bob")))
    return history


def learnt(history: PolicyHistory, principal: str) -> list[Rights]:
    found = {history.at(number).rights_of(principal) for number in range(history.version + 1)}
    return list(found)


def test_the_gate_decides_by_what_is_known_as_by_the_whole_policy() -> None:
    history, known = changing(), KnownRights()
    known.learn("ann", learnt(history, "ann"))
    for version in range(history.version + 1):
        for a in range(5):
            event = record(1, a).event
            asked = subscription("ann")
            here = gate(event, known.at(version), asked)
            there = gate(event, history.at(version), asked)
            assert isinstance(here, View) == isinstance(there, View)


def test_what_was_never_learnt_is_not_known() -> None:
    known = KnownRights()
    assert "ann" not in known
    with pytest.raises(NotKnownHereError, match="`ann` at version 3"):
        known.rights_at("ann", 3)


def test_what_is_older_than_the_snapshot_is_not_known() -> None:
    known = KnownRights()
    known.learn("ann", [Rights("ann", 5, ())])
    assert known.since("ann") == 5
    assert known.rights_at("ann", 5).since == known.rights_at("ann", 9).since == 5
    with pytest.raises(NotKnownHereError):
        known.rights_at("ann", 4)


def test_a_change_that_is_known_already_changes_nothing() -> None:
    known = KnownRights()
    known.learn("ann", [Rights("ann", 0, ()), Rights("ann", 5, ())])
    assert not known.change("ann", Rights("ann", 4, ()))
    assert not known.change("ann", Rights("ann", 5, ()))
    assert known.change("ann", Rights("ann", 6, ()))
    assert known.rights_at("ann", 6).since == 6
    assert known.rights_at("ann", 5).since == 5


def test_the_borders_of_several_are_those_of_each() -> None:
    known = KnownRights()
    known.learn("ann", [Rights("ann", 0, ()), Rights("ann", 5, ())])
    known.learn("abroad", [Rights("abroad", 0, ()), Rights("abroad", 3, ())])
    assert known.borders(("ann", "abroad")) == [0, 3, 5]


def test_who_is_forgotten_is_not_known_any_more() -> None:
    known = KnownRights()
    known.learn("ann", [Rights("ann", 0, ())])
    known.forget("ann")
    known.forget("ann")
    assert "ann" not in known


def test_of_two_the_borders_begin_where_both_are_known() -> None:
    known = KnownRights()
    known.learn("ann", [Rights("ann", at, ()) for at in (0, 2, 7)])
    known.learn("abroad", [Rights("abroad", at, ()) for at in (4, 5)])
    assert list(known.borders(["ann", "abroad"])) == [4, 5, 7]
    assert list(known.borders(["ann"])) == [0, 2, 7]
    for version in known.borders(["ann", "abroad"]):
        for name in ("ann", "abroad"):
            assert known.rights_at(name, version).since <= version


def test_a_later_snapshot_keeps_what_was_known_before_it() -> None:
    known = KnownRights()
    known.learn("ann", [Rights("ann", at, ()) for at in (0, 2, 7)])
    known.renew("ann", [Rights("ann", at, ()) for at in (5, 8)])
    assert [known.rights_at("ann", at).since for at in (1, 4, 6, 8)] == [0, 2, 5, 8]
