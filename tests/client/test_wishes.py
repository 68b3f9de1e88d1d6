"""Does a subscription go on where it was, and drop what comes twice?"""

from __future__ import annotations

from msgspec import Raw

from headgate.client.errors import ClosedError, SubscriptionEndedError
from headgate.client.wishes import ACKNOWLEDGED_TOGETHER, Phase, Wish
from headgate.http.socket_messages import Acknowledge, Delivery, Lost, Started


def active(wish: Wish, number: int = 1) -> Wish:
    wish.ask(number, number)
    wish.accepted(0)
    return wish


def deliver(wish: Wish, *offsets: int, stream: str = "s", incarnation: str = "i") -> None:
    for offset in offsets:
        wish.delivered(Delivery(wish.subscription, stream, incarnation, offset, 1, Raw(b"{}")))


def start(wish: Wish, after: int, stream: str = "s", incarnation: str = "i") -> None:
    wish.started(Started(wish.subscription, stream, incarnation, after))


def taken(wish: Wish) -> list[int]:
    """The offsets of all that waits."""
    found = []
    while (one := wish.take()) is not None:
        if isinstance(one, Delivery):
            found.append(one.offset)
    return found


def test_it_says_what_it_wants() -> None:
    asked = Wish(1, "a > 1", causal=True, after={"s": 3}).ask(7, 8)
    assert (asked.request, asked.subscription, asked.filter) == (7, 8, "a > 1")
    assert (asked.causal, asked.after, asked.paced, asked.durable) == (True, {"s": 3}, True, None)


def test_a_durable_one_says_its_name_and_no_place() -> None:
    wish = active(Wish(1, "", durable="desk"))
    start(wish, 5)
    asked = wish.ask(2, 2)
    assert (asked.durable, asked.after, asked.paced) == ("desk", None, False)


def test_it_goes_on_after_what_came_and_where_nothing_came_after_its_start() -> None:
    wish = active(Wish(1, ""))
    start(wish, 5)
    start(wish, 9, "t")
    deliver(wish, 6, 7)
    assert wish.ask(2, 2).after == "s@i.7,t@i.9"


def test_what_it_was_to_begin_with_holds_for_streams_that_have_not_begun() -> None:
    wish = active(Wish(1, "", after={"s": 3, "t": 4}))
    start(wish, 3)
    deliver(wish, 6)
    assert wish.ask(2, 2).after == {"s": 6, "t": 4}
    start(wish, 4, "t")
    assert wish.ask(3, 3).after == "s@i.6,t@i.4"
    begun = Wish(1, "", after="start")
    assert begun.ask(1, 1).after == begun.ask(2, 2).after == "start"


def test_another_life_of_a_stream_begins_anew() -> None:
    wish = active(Wish(1, ""))
    start(wish, 5)
    deliver(wish, 6)
    start(wish, 0, incarnation="j")
    deliver(wish, 1, 2, incarnation="j")
    assert taken(wish) == [6, 1, 2]
    assert wish.ask(2, 2).after == "s@j.2"


def test_what_comes_twice_is_dropped() -> None:
    wish = active(Wish(1, "", durable="desk"))
    start(wish, 5)
    deliver(wish, 6, 7)
    assert wish.take() is not None
    wish.disconnected()
    active(wish, 2)
    start(wish, 5)
    deliver(wish, 6, 7, 8)
    assert taken(wish) == [6, 7, 8]


def test_what_is_done_and_comes_again_is_acknowledged_again() -> None:
    wish = active(Wish(1, "", durable="desk"))
    start(wish, 5)
    deliver(wish, 6, 7)
    assert taken(wish) == [6, 7]
    wish.disconnected()
    assert wish.say() == []
    active(wish, 2)
    start(wish, 5)
    assert not wish.has_unsaid
    deliver(wish, 6)
    assert wish.has_unsaid
    assert wish.say() == [Acknowledge(2, "s", 7)]


def test_what_another_attachment_has_done_is_not_handed_out() -> None:
    wish = active(Wish(1, "", durable="desk"))
    start(wish, 5)
    deliver(wish, 6, 7, 8)
    wish.disconnected()
    active(wish, 2)
    start(wish, 7)
    assert taken(wish) == [8]


def test_asking_for_the_next_acknowledges_the_one_before() -> None:
    wish = active(Wish(1, "", durable="desk"))
    start(wish, 5)
    deliver(wish, 6, 7)
    assert isinstance(wish.take(), Started)
    assert isinstance(wish.take(), Delivery)
    assert not wish.has_unsaid
    assert isinstance(wish.take(), Delivery)
    assert wish.say() == [Acknowledge(1, "s", 6)]


def test_by_hand_only_what_is_said_is_acknowledged_and_all_before_it() -> None:
    wish = active(Wish(1, "", durable="desk", by_hand=True))
    start(wish, 5)
    deliver(wish, 6, 7, 8)
    assert taken(wish) == [6, 7, 8]
    assert not wish.has_unsaid
    seven = Delivery(1, "s", "i", 7, 1)
    wish.acknowledge(seven)
    wish.acknowledge(Delivery(1, "s", "i", 6, 1))
    assert wish.say() == [Acknowledge(1, "s", 7)]
    assert not wish.is_kept(seven)
    wish.acknowledged("s", 7)
    assert wish.is_kept(seven)


def test_what_isnt_durable_is_acknowledged_together() -> None:
    wish = active(Wish(1, ""))
    start(wish, 0)
    deliver(wish, *range(1, 2 * ACKNOWLEDGED_TOGETHER))
    for _ in range(ACKNOWLEDGED_TOGETHER + 1):
        wish.take()
    assert not wish.has_unsaid
    wish.take()
    assert wish.say() == [Acknowledge(1, "s", ACKNOWLEDGED_TOGETHER)]
    taken(wish)
    assert wish.say() == [Acknowledge(1, "s", 2 * ACKNOWLEDGED_TOGETHER - 1)]


def test_what_is_lost_is_told_and_not_asked_for_again() -> None:
    wish = active(Wish(1, ""))
    start(wish, 5)
    wish.lost(Lost(1, "s", "i", 5, 8))
    assert [type(one) for one in wish.ready] == [Started, Lost]
    assert wish.ask(2, 2).after == "s@i.8"


def test_in_the_end_what_came_is_still_handed_out_unless_it_will_come_again() -> None:
    for durable, left in ((None, [6]), ("desk", [])):
        wish = active(Wish(1, "", durable=durable))
        start(wish, 5)
        deliver(wish, 6)
        ended = SubscriptionEndedError("attached again")
        wish.end(ended)
        wish.end(ClosedError("later"))
        assert (wish.phase, wish.error) == (Phase.OVER, ended)
        assert taken(wish) == left
        assert not wish.has_unsaid


def test_an_unwanted_one_takes_nothing() -> None:
    wish = active(Wish(1, "", durable="desk"))
    wish.is_unwanted = True
    deliver(wish, 6)
    assert not wish.ready


def test_it_waits_before_it_is_asked_for_again() -> None:
    wish = Wish(1, "")
    wish.give_up_at = 50
    wish.ask(1, 1)
    wish.refused_for_now("no lease", 20)
    assert (wish.phase, wish.next_timer(), wish.because) == (Phase.WAITING, 20, "no lease")
    active(wish)
    assert wish.next_timer() is None
