"""Is a connection that no rule allows seen?"""

import pytest

from headgate.simulation.checkers.connected_only_with_the_right import ConnectedOnlyWithTheRight
from headgate.simulation.checkers.promises import PromiseBroken
from tests.simulation.scenes import ALL_CONNECT, Scene

NOT_ANY_MORE = {"revoke": ALL_CONNECT["grant"]}


def make_scene() -> Scene:
    scene = Scene(lambda ledger, timeline: ConnectedOnlyWithTheRight(ledger))
    scene.version(ALL_CONNECT)
    return scene


def test_a_rule_at_the_version_named_is_enough_and_a_domain_needs_one_too() -> None:
    scene = make_scene()
    scene.connect(1)
    checker = ConnectedOnlyWithTheRight(scene.ledger)
    assert checker.may_connect("ann", None, 1)
    assert not checker.may_connect("ann", "abroad", 1)
    assert not checker.may_connect("ann", None, 0)


def test_none_at_that_version_breaks_the_promise() -> None:
    with pytest.raises(PromiseBroken, match="a right to connect at 0"):
        make_scene().connect(0)


def test_who_lost_the_right_is_not_connected_in_the_end() -> None:
    scene = make_scene()
    session = scene.connect(1)
    scene.version(NOT_ANY_MORE)
    with pytest.raises(PromiseBroken, match="no connection at version 2"):
        scene.see("at_rest")
    scene.see("gone", session, "it may not")
    scene.see("at_rest")
