"""Does every broker know of what is advertised before something is published there?"""

from __future__ import annotations

from itertools import count
from random import Random

from headgate.client.advertisements import Advertisements
from headgate.client.errors import ClosedError, RefusedError
from headgate.http.socket_messages import Refused


def accepted(*filters: str) -> Advertisements:
    found = Advertisements(Random(1))
    for number, text in enumerate(filters, start=1):
        found.add(text, is_open=True)
        found.next(count(number))
        found.advertised(number)
    found.settled.clear()
    return found


def test_it_is_said_and_accepted_once() -> None:
    found = Advertisements(Random(1))
    one = found.add("a = 1", is_open=True)
    (said,) = found.next(count(5))
    assert (said.request, said.filter) == (5, "a = 1")
    found.advertised(5)
    assert found.settled == [(one, None)]
    assert found.next(count(6)) == []


def test_on_the_next_connection_it_is_said_again_before_anything_is_published() -> None:
    found = accepted("a = 1", "a = 2")
    found.disconnected()
    assert found.all_known
    found.connected()
    assert not found.all_known
    assert [one.filter for one in found.next(count(11))] == ["a = 1", "a = 2"]
    found.advertised(11)
    assert not found.all_known
    found.advertised(12)
    assert found.all_known
    assert found.settled == []


def test_one_that_is_new_holds_up_nothing() -> None:
    found = accepted()
    found.add("a = 1", is_open=True)
    assert found.all_known
    found.next(count(1))
    assert found.all_known


def test_what_is_refused_for_now_is_said_again() -> None:
    found = accepted("a = 1")
    found.connected()
    found.next(count(11))
    assert found.refused(Refused(11, "no lease", temporary=True), 0)
    assert not found.all_known
    at = found.next_timer()
    assert at is not None
    found.on_timer(at - 1)
    assert not found.waiting
    found.on_timer(at)
    assert [one.request for one in found.next(count(12))] == [12]


def test_what_is_refused_is_not_said_again() -> None:
    found = Advertisements(Random(1))
    found.add("a = 1", is_open=False)
    found.connected()
    found.next(count(1))
    assert found.refused(Refused(1, "no rule"), 0)
    ((_, error),) = found.settled
    assert isinstance(error, RefusedError)
    found.connected()
    assert not found.waiting
    assert not found.refused(Refused(1, "no rule"), 0)


def test_in_the_end_those_who_wait_are_told() -> None:
    found = accepted("a = 1")
    waiting = found.add("a = 2", is_open=True)
    closed = ClosedError("closed")
    found.end(closed)
    assert found.settled == [(waiting, closed)]
