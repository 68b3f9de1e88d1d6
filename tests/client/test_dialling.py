"""Is the right broker tried, and not too often?"""

from __future__ import annotations

from random import Random

from headgate.client.dialling import FIRST_WAIT_US, FLICKERING, STEADY_US, WAIT_MAX_US, Dialling


def dialling(*urls: str) -> Dialling:
    return Dialling(urls, Random(1), 0)


def test_brokers_are_tried_in_turn() -> None:
    found = dialling("a", "b", "c")
    seen = []
    for now in range(4):
        seen.append(found.next_url())
        found.lost(now)
    assert seen == ["a", "b", "c", "a"]


def test_the_first_is_tried_at_once() -> None:
    assert dialling("a").at == 0


def test_after_a_connection_the_same_broker_is_tried_first() -> None:
    found = dialling("a", "b")
    found.lost(0)
    found.connected(1)
    found.lost(2)
    assert found.next_url() == "b"
    found.lost(3)
    assert found.next_url() == "a"


def test_rounds_in_vain_make_the_wait_longer_up_to_a_limit() -> None:
    found = dialling("a", "b")
    waits = []
    for _ in range(40):
        found.lost(0)
        waits.append(found.at)
    assert max(waits[:2]) <= FIRST_WAIT_US
    assert WAIT_MAX_US / 2 <= min(waits[-10:]) <= max(waits) <= WAIT_MAX_US
    assert len(set(waits)) == len(waits)


def test_a_connection_makes_it_short_again_and_shortest_if_it_lasted() -> None:
    found = dialling("a")
    for _ in range(20):
        found.lost(0)
    found.connected(0)
    found.lost(STEADY_US - 1)
    assert FIRST_WAIT_US < found.at - STEADY_US <= FIRST_WAIT_US << FLICKERING
    found.connected(0)
    found.lost(STEADY_US)
    assert found.at - STEADY_US <= FIRST_WAIT_US


def test_a_broker_that_says_how_long_to_wait_is_left_alone_for_so_long() -> None:
    found = dialling("a")
    found.lost(0, 7_000_000)
    assert found.at == 7_000_000


def test_it_is_known_whether_all_were_tried() -> None:
    found = dialling("a", "b")
    found.lost(0)
    assert not found.tried_all
    found.lost(0)
    assert found.tried_all
