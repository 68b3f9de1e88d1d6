"""Does a broker know of each principal here what the policy says, and since when?"""

from __future__ import annotations

from typing import Any

from headgate.broker.effects import Connected
from headgate.broker.settings import SECOND
from headgate.peering.frames import Reply, Request
from tests.broker.pump import Pump, chain, network, reader
from tests.rights.policies import grant


def follower(**settings: Any) -> Pump:
    return network(chain("p", "s"), *reader("ann"), *reader("bob"), **settings)


def test_what_is_known_here_is_what_the_policy_says() -> None:
    pump = follower()
    pump.connect("s", "ann")
    for number in range(3):
        pump.administer(grant("ann" if number != 1 else "bob", filter_=f"a = {number}"))
    policy = pump.brokers["s"].policy
    assert policy.known == 4
    for version in range(5):
        here, there = policy.rights.rights_at("ann", version), pump.history.at(version)
        assert here.granted == there.rights_of("ann").granted
    assert "bob" not in policy.rights


def test_who_is_held_twice_is_followed_once_and_until_both_let_go() -> None:
    pump = follower()
    policy = pump.brokers["s"].policy
    first, second = pump.connect("s", "ann"), pump.connect("s", "ann")
    pump.disconnect("s", first)
    assert policy.ready("ann")
    pump.disconnect("s", second)
    assert not policy.ready("ann")
    assert "ann" not in policy.rights


def test_who_is_held_again_before_the_snapshot_is_there_waits_for_it() -> None:
    pump = follower()
    pump.hold("p", "s")
    first = pump.connect("s", "ann")
    pump.disconnect("s", first)
    second = pump.connect("s", "ann")
    pump.release("p", "s")
    pump.wait(2)
    assert pump.messages("s", first) == []
    assert pump.messages("s", second) == [Connected(1)]


def test_a_domain_is_followed_beside_its_principals() -> None:
    pump = follower()
    client = pump.connect("s", "ann", domain="abroad")
    policy = pump.brokers["s"].policy
    assert policy.ready("ann")
    assert policy.ready("abroad")
    pump.disconnect("s", client)
    assert not policy.ready("abroad")


def test_a_lease_lasts_from_when_it_was_asked_for() -> None:
    pump = follower(lease_us=10 * SECOND)
    policy = pump.brokers["s"].policy
    pump.tampers["p", "s"] = lambda frame: () if isinstance(frame, Reply) else (frame,)
    pump.wait(3)
    asked = pump.now
    pump.tampers.clear()
    pump.wait(3)
    pump.hold("s", "p")
    assert policy.leased(asked)
    pump.wait(11)
    assert not policy.leased(pump.now)
    assert len(pump.said("s", "p", Request)) < 40, "questions don't pile up"


def test_the_policys_host_needs_no_lease() -> None:
    pump = follower(lease_us=SECOND)
    pump.kill("s")
    pump.wait(100)
    assert pump.brokers["p"].policy.leased(pump.now)


def test_after_a_long_cut_one_question_is_asked_and_not_all_that_were_open() -> None:
    pump = follower(lease_us=4 * SECOND)
    pump.cut_link("p", "s")
    pump.wait(200)
    before = len(pump.said("s", "p", Request))
    pump.mend_link("p", "s")
    pump.wait(3)
    assert len(pump.said("s", "p", Request)) - before < 10
