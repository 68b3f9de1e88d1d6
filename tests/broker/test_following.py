"""Is a stream of another broker complete for what is served from it, whichever way it comes?"""

from __future__ import annotations

from headgate.broker.following import FollowedFeed
from headgate.broker.interests import ALWAYS
from headgate.broker.outbox import Outbox
from headgate.broker.settings import SECOND
from headgate.peering.frames import LATEST, Attach, Data, Detach, Frame, Silence, Subscribe, Vouched
from tests.broker.parts import NOW, Paths, Reader, record, settings, wishes


class Stream:
    """A followed stream, and what its parents were sent."""

    def __init__(self, **said: int) -> None:
        self.paths = Paths()
        self.outbox = Outbox()
        self.feed = FollowedFeed("orders", "boot", settings(**said), self.outbox, self.paths)

    def add(self, *filters: str, at: int | None = None) -> Reader:
        reader = Reader(wishes(*filters), at)
        self.feed.add(reader, NOW)
        self.paths.ask()
        return reader

    def remove(self, reader: Reader) -> None:
        self.feed.remove(reader, NOW)
        self.paths.ask()

    def sent(self) -> list[Frame]:
        self.paths.ask()
        sent, self.paths.sent = self.paths.sent, []
        return [frame for _, frame in sent]

    def vouch(self, epoch: int, after: int, previous: int | None = None, session: int = 1) -> None:
        previous = after if previous is None else previous
        self.feed.on_vouched(Vouched(session, epoch, previous, after, 1), NOW)

    def data(self, previous: int, offset: int, a: int = 1) -> None:
        self.feed.on_data(Data(1, previous, record(offset, a)), NOW)


def test_it_attaches_for_what_is_wanted_and_starts_where_that_is_vouched_for() -> None:
    stream = Stream()
    reader = stream.add("a = 1")
    (attach,) = stream.sent()
    assert isinstance(attach, Attach)
    assert (attach.after, attach.entries) == (LATEST, (((0, "a = 1"),),))
    stream.vouch(attach.epoch, 7)
    stream.data(7, 9)
    assert reader.said == ["vouched 0 after 7", "record 9"]


def test_nobody_attaches_for_nothing_and_what_nobody_wants_is_let_go() -> None:
    stream = Stream()
    assert stream.sent() == []
    reader = stream.add("a = 1")
    stream.sent()
    stream.remove(reader)
    assert stream.sent() == []
    stream.feed.let_go(NOW)
    assert stream.sent() == [Detach(1)]


def test_what_is_covered_is_vouched_for_at_once_and_costs_nothing() -> None:
    stream = Stream()
    stream.add("a < 9")
    stream.vouch(1, 7)
    stream.sent()
    assert stream.add("a = 1").said == ["vouched 0 after 7"]
    assert stream.sent() == []


def test_who_filters_at_the_edge_only_asks_for_everything_once() -> None:
    stream = Stream(filters_at_edge_only=True)
    assert stream.sent() == [], "of what nobody wants nothing is asked for"
    first = stream.add("a = 1")
    (attach,) = stream.sent()
    assert isinstance(attach, Attach)
    assert (attach.known, attach.entries) == (ALWAYS, (((0, "TRUE"),),))
    stream.vouch(attach.epoch, 7)
    second = stream.add("a = 2")
    stream.feed.want(second, wishes("a = 3", known=5), 1, NOW)
    stream.data(7, 8, a=1)
    stream.data(8, 9, a=3)
    stream.data(9, 10, a=4)
    assert stream.sent() == []
    assert (first.records(), second.records()) == ([8], [9])


def test_what_is_only_asked_for_is_not_vouched_for() -> None:
    stream = Stream()
    stream.add("a = 1")
    stream.vouch(1, 7)
    reader = stream.add("a = 2")
    like = stream.add("a = 2")
    subscribe = stream.sent()[-1]
    assert isinstance(subscribe, Subscribe)
    assert reader.said == like.said == []
    stream.vouch(subscribe.epoch, 9, previous=7)
    assert reader.said == like.said == ["vouched 0 after 9"]


def test_a_narrower_set_on_the_way_vouches_for_nothing_wider() -> None:
    stream = Stream()
    stream.add("a = 1")
    wide = stream.add("a < 9")
    epoch = stream.feed._epoch
    stream.vouch(epoch, 7)
    stream.remove(wide)
    assert stream.add("a = 2").said == []


def test_a_vouch_brings_up_to_its_offset_first() -> None:
    stream = Stream()
    stream.add("a = 1")
    stream.vouch(1, 7)
    reader = stream.add("a = 2")
    stream.vouch(2, 12, previous=7)
    stream.data(12, 13, a=2)
    assert reader.said == ["vouched 0 after 12", "record 13"]


def test_a_gap_makes_it_attach_again_after_what_it_has() -> None:
    stream = Stream()
    reader = stream.add("a = 1")
    stream.vouch(1, 7)
    stream.data(7, 8)
    stream.sent()
    stream.data(9, 10)
    detach, attach = stream.sent()
    assert detach == Detach(1)
    assert isinstance(attach, Attach)
    assert attach.after == 8
    assert reader.records() == [8]
    stream.vouch(attach.epoch, 8, session=2)
    stream.data(8, 9)
    stream.data(9, 10)
    assert reader.records() == [8, 9, 10]


def test_a_silence_and_a_vouch_show_a_gap_as_well() -> None:
    for vouched in (False, True):
        stream = Stream()
        stream.add("a = 1")
        stream.vouch(1, 7)
        stream.add("a = 2")
        stream.sent()
        if vouched:
            stream.feed.on_vouched(Vouched(1, 2, 9, 12, 1), NOW)
        else:
            stream.feed.on_silence(Silence(1, 9, 12, 1), NOW)
        attach = stream.sent()[-1]
        assert isinstance(attach, Attach)
        assert attach.after == 7


def test_what_comes_twice_is_taken_once() -> None:
    stream = Stream()
    reader = stream.add("a = 1")
    stream.vouch(1, 7)
    for _ in range(2):
        stream.data(7, 8)
        stream.vouch(1, 7)
    stream.feed.on_silence(Silence(1, 7, 7, 1), NOW)
    assert reader.records() == [8]
    assert stream.feed.position == 8


def test_before_a_vouch_nothing_is_taken() -> None:
    stream = Stream()
    reader = stream.add("a = 1")
    stream.data(0, 8)
    stream.feed.on_silence(Silence(1, 0, 9, 1), NOW)
    assert reader.said == []
    assert stream.feed.position is None


def test_a_parent_that_is_lost_is_replaced_by_another_from_where_it_was() -> None:
    stream = Stream()
    reader = stream.add("a = 1")
    stream.vouch(1, 7)
    stream.data(7, 8)
    stream.sent()
    stream.feed.parent_lost("m1", NOW)
    (sent,) = stream.paths.sent
    assert sent[0] == "m2"
    assert isinstance(sent[1], Attach)
    assert (sent[1].after, sent[1].session) == (8, 2)
    assert stream.outbox.counts["failover"] == 1
    assert reader.records() == [8]


def test_a_parent_that_never_vouches_is_left_for_another() -> None:
    stream = Stream(attach_us=5 * SECOND)
    stream.add("a = 1")
    assert stream.feed.next_timer() == NOW + 5 * SECOND
    stream.sent()
    stream.feed.on_timer(NOW + 5 * SECOND)
    assert [broker for broker, _ in stream.paths.sent] == ["m1", "m2"]


def test_when_all_parents_refuse_those_who_could_go_elsewhere_are_told() -> None:
    stream = Stream(redial_us=SECOND)
    reader = stream.add("a = 1")
    stream.feed.session_ended(NOW)
    stream.sent()
    assert reader.said == []
    stream.feed.session_ended(NOW)
    assert reader.said == ["ended"]
    stream.feed.on_timer(NOW + SECOND)
    assert len([one for one in stream.sent() if isinstance(one, Attach)]) == 1


def test_without_any_way_it_waits_for_one() -> None:
    stream = Stream()
    stream.paths.brokers = ()
    reader = stream.add("a = 1")
    assert reader.said == ["ended"]
    stream.paths.brokers = ("m2",)
    stream.feed.parent_found(NOW)
    assert [broker for broker, _ in stream.paths.sent] == ["m2"]


def test_what_is_no_longer_here_is_fetched_apart_for_who_needs_it() -> None:
    stream = Stream()
    live = stream.add("a = 1")
    stream.vouch(1, 7)
    stream.sent()
    late = stream.add("a = 1", at=3)
    (attach,) = stream.sent()
    assert isinstance(attach, Attach)
    assert (attach.session, attach.after) == (2, 3)
    private = stream.paths.sessions[2]
    private.on_vouched(Vouched(2, attach.epoch, 3, 3, 1), NOW)
    private.on_data(Data(2, 3, record(5)), NOW)
    assert late.said[:2] == ["vouched 0 after 3", "record 5"]
    private.on_silence(Silence(2, 5, 7, 1), NOW)
    stream.data(7, 8)
    assert stream.sent() == [Detach(2)], "from here it goes on with all the others"
    assert late.records() == [5, 8]
    assert live.records() == [8]
