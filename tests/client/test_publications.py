"""Does each publication get one outcome that can be relied on?"""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from headgate.client.errors import ClosedError, RefusedError, UnreachableError
from headgate.client.publications import REST_MAX_US, Outcome, Publications, rest_us
from headgate.http.socket_messages import Publish, Published, Refused
from headgate.stores.acl import UnknownOutcomeError

SECOND = 1_000_000


class Given:
    """Publications with a patience of 60 s, three of which may be in flight."""

    def __init__(self) -> None:
        self.all = Publications("n", 3, 60 * SECOND, Random(1))
        self.requests = count(1)

    def add(self, *bodies: bytes, now: int = 0) -> None:
        for body in bodies:
            self.all.add(body, True, "", None, now)

    def sent(self, bytes_max: int = 1_000_000) -> list[Publish]:
        return self.all.next(self.requests, bytes_max)

    def outcomes(self) -> list[Outcome]:
        return [outcome for _, outcome in self.all.settled]


@pytest.fixture
def given() -> Given:
    return Given()


def ids(messages: list[Publish]) -> list[str]:
    return [message.id for message in messages]


def test_nothing_is_sent_before_a_broker_is_known(given: Given) -> None:
    given.add(b"{}")
    assert not given.all.waiting
    assert given.sent() == []
    given.all.connected("left")
    assert given.all.waiting
    assert ids(given.sent()) == ["n-1"]


def test_an_id_of_its_own_is_kept(given: Given) -> None:
    given.all.connected("left")
    given.all.add(b"{}", True, "mine", "orders", 0)
    (message,) = given.sent()
    assert (message.id, message.stream) == ("mine", "orders")


def test_bytes_that_are_no_json_are_sent_as_bytes(given: Given) -> None:
    given.all.connected("left")
    given.all.add(b"\xff", False, "", None, 0)
    (message,) = given.sent()
    assert message.payload_base64 == b"\xff"
    assert not bytes(message.event)


def test_no_more_are_in_flight_than_may_be(given: Given) -> None:
    given.all.connected("left")
    given.add(*[b"{}"] * 5)
    assert ids(given.sent()) == ["n-1", "n-2", "n-3"]
    assert not given.all.waiting
    given.all.published(Published(2, "orders", 1, 1))
    assert ids(given.sent()) == ["n-4"]


def test_a_text_has_a_bounded_size_but_one_publication_at_least(given: Given) -> None:
    given.all.connected("left")
    given.add(b'{"a":"%s"}' % (b"x" * 5_000), b"{}", b"{}")
    assert ids(given.sent(1_000)) == ["n-1"]
    assert ids(given.sent(1_000)) == ["n-2", "n-3"]


def test_what_has_no_answer_is_sent_again_to_the_same_broker_only(given: Given) -> None:
    given.all.connected("left")
    given.add(b"{}", b"{}")
    given.sent()
    given.all.disconnected()
    given.add(b"{}")
    given.all.connected("right")
    assert ids(given.sent()) == ["n-3"]
    given.all.disconnected()
    given.all.connected("left")
    assert ids(given.sent()) == ["n-1", "n-2"]


def test_what_was_refused_for_now_may_go_to_any_broker(given: Given) -> None:
    given.all.connected("left")
    given.add(b"{}")
    given.sent()
    given.all.refused(Refused(1, "no lease", temporary=True), 0)
    assert given.outcomes() == []
    given.all.disconnected()
    at = given.all.next_timer()
    assert at is not None
    given.all.on_timer(at)
    given.all.connected("right")
    assert ids(given.sent()) == ["n-1"]


def test_what_may_have_been_stored_before_it_was_refused_for_now_stays_with_its_broker(
    given: Given,
) -> None:
    given.all.connected("left")
    given.add(b"{}")
    given.sent()
    given.all.disconnected()
    given.all.connected("left")
    given.sent()
    given.all.refused(Refused(2, "no lease", temporary=True), 0)
    given.all.on_timer(10 * SECOND)
    given.all.disconnected()
    given.all.connected("right")
    assert given.sent() == []


def test_it_rests_before_it_is_tried_again(given: Given) -> None:
    given.all.connected("left")
    given.add(b"{}")
    given.sent()
    given.all.refused(Refused(1, "no lease", temporary=True), 0)
    assert given.sent() == []
    at = given.all.next_timer()
    assert at is not None
    given.all.on_timer(at - 1)
    assert given.sent() == []
    given.all.on_timer(at)
    assert ids(given.sent()) == ["n-1"]


def test_a_refusal_is_the_outcome(given: Given) -> None:
    given.all.connected("left")
    given.add(b"{}")
    given.sent()
    assert given.all.refused(Refused(1, "no rule allows it"), 0)
    (outcome,) = given.outcomes()
    assert isinstance(outcome, RefusedError)
    assert (outcome.because, outcome.temporary) == ("no rule allows it", False)
    assert len(given.all) == 0


def test_answers_to_others_are_for_others(given: Given) -> None:
    assert not given.all.published(Published(7, "orders", 1, 1))
    assert not given.all.refused(Refused(7, "no"), 0)


@pytest.mark.parametrize(
    ("happened", "kind", "words"),
    [
        ("nothing", UnreachableError, "no broker could be reached within 60 s"),
        ("refused", RefusedError, "no lease (tried for 60 s)"),
        ("sent", UnknownOutcomeError, "no answer from broker `left` within 60 s"),
    ],
)
def test_when_its_time_is_over_it_says_what_is_known(
    given: Given, happened: str, kind: type[Exception], words: str
) -> None:
    given.add(b"{}")
    if happened != "nothing":
        given.all.connected("left")
        given.sent()
    if happened == "refused":
        given.all.refused(Refused(1, "no lease", temporary=True), 59 * SECOND)
    given.all.on_timer(60 * SECOND - 1)
    assert given.outcomes() == []
    given.all.on_timer(60 * SECOND)
    (outcome,) = given.outcomes()
    assert isinstance(outcome, kind)
    assert words in str(outcome)
    assert given.all.next_timer() is None


def test_an_unknown_outcome_names_the_id_with_which_it_can_be_tried_again(given: Given) -> None:
    given.all.connected("left")
    given.add(b"{}")
    given.sent()
    given.all.end(ClosedError("closed"))
    (outcome,) = given.outcomes()
    assert isinstance(outcome, UnknownOutcomeError)
    assert "`n-1`" in str(outcome)


def test_what_was_never_sent_ends_for_the_reason_that_all_ends_for(given: Given) -> None:
    given.add(b"{}")
    closed = ClosedError("closed")
    given.all.end(closed)
    assert given.outcomes() == [closed]


def test_what_nobody_waits_for_is_not_sent(given: Given) -> None:
    given.all.connected("left")
    one = given.all.add(b"{}", True, "", None, 0)
    given.all.forget(one)
    assert given.sent() == []
    assert given.outcomes() == []


def test_rests_grow_up_to_a_limit_and_no_two_are_alike() -> None:
    chance = Random(1)
    few = [rest_us(0, chance) for _ in range(100)]
    assert 100_000 <= min(few) < max(few) <= 200_000
    assert max(rest_us(60, chance) for _ in range(100)) <= REST_MAX_US
