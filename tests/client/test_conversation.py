"""Does a conversation go on over one connection after the other, and end with a reason?"""

from __future__ import annotations

import pytest
from msgspec import Raw

from headgate.client.conversation import SAID_TOGETHER
from headgate.client.effects import Greeted, HangUp, Over, Parted, Settled
from headgate.client.errors import (
    ClosedError,
    DroppedError,
    NotAuthenticatedError,
    RefusedError,
    SubscriptionEndedError,
    UnreachableError,
)
from headgate.client.settings import SECOND
from headgate.client.states import State
from headgate.client.wishes import Phase
from headgate.http.socket_messages import (
    NOT_ALLOWED,
    STOPPING,
    TRY_AGAIN,
    Advertise,
    Connected,
    Delivery,
    Dropped,
    Published,
    Started,
    Subscribe,
    Unsubscribe,
    encode,
    read_from_client,
)
from headgate.stores.acl import UnknownOutcomeError
from tests.client.brokers import Net
from tests.client.stage import Stage


def open_stage(**settings: int) -> Stage:
    stage = Stage(Net(left=["orders"]), **settings)
    stage.meet()
    return stage


def over(stage: Stage) -> Exception:
    """Why it is over."""
    (effect,) = stage.of(Over)
    assert isinstance(effect, Over)
    assert stage.conversation.state is State.OVER
    assert stage.conversation.error is effect.because
    assert stage.conversation.next_timer() is None
    return effect.because


def test_it_greets_and_says_with_whom() -> None:
    stage = open_stage()
    assert stage.of(Greeted) == [Greeted("left", "left", "jane", 1)]
    assert stage.conversation.state is State.OPEN


def test_many_publications_are_one_text() -> None:
    stage = open_stage()
    for number in range(100):
        stage.conversation.publish(b'{"a":%d}' % number, stage.now)
    assert len(read_from_client(stage.conversation.data_to_send())) == 100
    assert stage.conversation.data_to_send() == b""


def test_requests_are_apart_from_publications_and_few_in_a_text() -> None:
    stage = open_stage()
    stage.conversation.publish(b"{}", stage.now)
    for _ in range(SAID_TOGETHER + 1):
        stage.conversation.subscribe("", stage.now)
    texts = [read_from_client(stage.conversation.data_to_send()) for _ in range(3)]
    assert [len(text) for text in texts] == [SAID_TOGETHER, 1, 1]


def test_nothing_is_said_before_the_broker_has_said_who_it_is() -> None:
    stage = Stage(Net(left=["orders"]))
    stage.conversation.publish(b"{}", stage.now)
    stage.conversation.subscribe("", stage.now)
    stage.answer_dial_from_afar()
    assert stage.conversation.state is State.OPENING
    assert stage.conversation.data_to_send() == b""


def test_a_broker_that_does_not_answer_is_pinged_and_then_given_up() -> None:
    stage = open_stage(silence_us=10 * SECOND, answer_us=5 * SECOND)
    stage.wait(9 * SECOND)
    assert stage.pings == 0
    stage.wait(1 * SECOND)
    assert stage.pings == 1
    stage.wait(4 * SECOND)
    assert stage.conversation.state is State.OPEN
    stage.wait(1 * SECOND)
    assert stage.of(Parted) == [Parted("left: it doesn't answer")]
    assert len(stage.of(HangUp)) == 1


def test_any_word_of_the_broker_will_do() -> None:
    stage = open_stage(silence_us=10 * SECOND, answer_us=5 * SECOND)
    for _ in range(10):
        stage.wait(12 * SECOND)
        stage.conversation.heard(stage.now)
    assert stage.pings == 10
    assert stage.of(Parted) == []


def test_who_never_says_who_it_is_is_given_up() -> None:
    stage = Stage(Net(left=["orders"]), answer_us=5 * SECOND, connect_us=60 * SECOND)
    stage.answer_dial_from_afar()
    stage.wait(5 * SECOND)
    assert stage.of(Parted) == [Parted("left: it doesn't answer")]


def test_the_first_connection_is_tried_for_a_while_and_at_every_broker() -> None:
    net = Net(left=["orders"], right=["quotes"])
    for broker in net.brokers.values():
        broker.is_up = False
    stage = Stage(net, connect_us=0)
    stage.answer_dial()
    assert stage.conversation.state is State.APART
    stage.wait(SECOND)
    stage.answer_dial()
    assert isinstance(over(stage), UnreachableError)


def test_after_it_was_there_once_a_connection_is_tried_for_ever() -> None:
    stage = open_stage(connect_us=0)
    stage.net.brokers["left"].is_up = False
    stage.cut()
    for _ in range(100):
        stage.wait(60 * SECOND)
        stage.answer_dial()
    stage.net.brokers["left"].is_up = True
    stage.meet()
    assert len(stage.of(Greeted)) == 2


@pytest.mark.parametrize("code", [STOPPING, TRY_AGAIN, 1006, None])
def test_a_broker_that_stops_is_left_for_another_try(code: int | None) -> None:
    stage = open_stage()
    stage.conversation.receive(encode([Dropped("the broker is stopping")]), stage.now)
    stage.conversation.closed(code, "", stage.now)
    stage.settle()
    assert stage.of(Parted) == [Parted("left: the broker is stopping")]
    assert stage.conversation.state is State.APART


def test_who_may_not_connect_any_more_is_told_why_and_does_not_try_again() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now)
    publication = stage.conversation.publish(b"{}", stage.now)
    stage.conversation.data_to_send()
    stage.conversation.data_to_send()
    stage.conversation.receive(encode([Dropped("no rule lets `jane` connect")]), stage.now)
    stage.conversation.closed(NOT_ALLOWED, "", stage.now)
    stage.settle()
    because = over(stage)
    assert isinstance(because, DroppedError)
    assert because.because == "no rule lets `jane` connect"
    assert wish.error is because
    (settled,) = stage.of(Settled)
    assert isinstance(settled, Settled)
    assert settled.publication is publication
    assert isinstance(settled.outcome, UnknownOutcomeError)
    with pytest.raises(DroppedError):
        stage.conversation.publish(b"{}", stage.now)
    with pytest.raises(DroppedError):
        stage.conversation.subscribe("", stage.now)
    with pytest.raises(DroppedError):
        stage.conversation.advertise("a = 1")


def test_what_the_world_finds_out_ends_it_too() -> None:
    stage = open_stage()
    stage.conversation.dropped(NotAuthenticatedError("the token has expired"))
    stage.settle()
    assert isinstance(over(stage), NotAuthenticatedError)
    stage.conversation.dropped(ClosedError("later"))
    stage.conversation.close()
    assert isinstance(stage.conversation.error, NotAuthenticatedError)


@pytest.mark.parametrize(
    "text",
    [b"nonsense", b'{"is":"nothing"}', encode([Connected("left", "jane", 1)])],
)
def test_a_broker_that_cannot_be_understood_is_not_tried_again(text: bytes) -> None:
    stage = open_stage()
    stage.conversation.receive(text, stage.now)
    stage.settle()
    assert isinstance(over(stage), DroppedError)
    stage.conversation.receive(b"more of it", stage.now)


def test_who_says_something_else_first_is_no_broker() -> None:
    stage = Stage(Net(left=["orders"]))
    stage.answer_dial_from_afar()
    stage.conversation.receive(encode([Published(1, "orders", 1, 1)]), stage.now)
    stage.settle()
    assert "expected `connected` first, got `published`" in str(over(stage))


def test_who_is_refused_at_the_door_is_told_why() -> None:
    stage = Stage(Net(left=["orders"]))
    stage.answer_dial_from_afar()
    stage.conversation.receive(encode([Dropped("no rule lets `jane` connect")]), stage.now)
    stage.conversation.closed(NOT_ALLOWED, "", stage.now)
    stage.settle()
    assert "no rule lets `jane` connect" in str(over(stage))


def test_a_subscription_that_is_refused_ends_with_the_reason() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now)
    (asked,) = read_from_client(stage.conversation.data_to_send())
    assert isinstance(asked, Subscribe)
    stage.say(b'{"is":"refused","request":%d,"because":"no rule"}' % asked.request)
    assert isinstance(wish.error, RefusedError)
    assert wish.error.because == "no rule"


def test_a_subscription_that_is_refused_for_now_is_asked_for_until_its_time_is_over() -> None:
    stage = open_stage(patience_us=60 * SECOND)
    assert stage.line is not None
    stage.line.refuses_for_now = 1_000
    wish = stage.conversation.subscribe("", stage.now)
    for _ in range(59):
        stage.talk()
        stage.wait(SECOND)
        stage.conversation.heard(stage.now)
    assert wish.error is None
    assert 990 < stage.line.refuses_for_now + wish.refusals <= 1_000
    stage.wait(SECOND)
    assert isinstance(wish.error, RefusedError)
    assert "not just now" in str(wish.error)
    assert wish.error.temporary


def test_once_it_was_accepted_a_subscription_waits_for_its_broker_for_ever() -> None:
    stage = open_stage(patience_us=60 * SECOND)
    wish = stage.conversation.subscribe("", stage.now)
    stage.talk()
    stage.cut()
    stage.wait(1_000 * SECOND)
    assert wish.error is None
    stage.meet()
    assert wish.phase is Phase.ACTIVE


def test_what_the_broker_ends_is_over() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now, durable="desk")
    stage.talk()
    stage.say(b'{"is":"ended","subscription":%d,"because":"attached again"}' % wish.subscription)
    assert isinstance(wish.error, SubscriptionEndedError)
    stage.cut()
    stage.meet()
    assert not stage.line_of().readings


def test_what_comes_for_an_earlier_connection_is_for_nobody() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now)
    stage.talk()
    before = wish.subscription
    stage.cut()
    stage.meet()
    assert wish.subscription != before
    for said in (Started(before, "orders", "i1", 7), Delivery(before, "orders", "i1", 8, 1, Raw())):
        stage.say(encode([said]))
    while wish.take() is not None:
        pass
    assert wish.ask(99, 99).after == "orders@i1.0"


def test_who_leaves_a_subscription_gets_no_more_of_it() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now)
    stage.talk()
    stage.conversation.leave(wish)
    (said,) = read_from_client(stage.conversation.data_to_send())
    assert isinstance(said, Unsubscribe)
    assert isinstance(wish.error, ClosedError)
    stage.cut()
    stage.meet()
    assert not stage.line_of().readings


def test_who_leaves_a_durable_subscription_does_not_end_it() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now, durable="desk")
    stage.talk()
    stage.conversation.leave(wish)
    stage.talk()
    assert "desk" in stage.net.durables


def test_a_durable_subscription_is_forgotten_even_if_the_connection_is_lost_meanwhile() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now, durable="desk")
    stage.talk()
    stage.conversation.forget_durable(wish)
    stage.cut()
    assert "desk" in stage.net.durables
    stage.meet()
    assert "desk" not in stage.net.durables
    assert wish.phase is Phase.OVER


def test_what_is_advertised_is_known_before_anything_is_published() -> None:
    stage = open_stage()
    stage.conversation.advertise("a = 1")
    stage.talk()
    assert [effect.error for effect in stage.advertised()] == [None]
    stage.conversation.publish(b'{"a":1}', stage.now)
    stage.cut()
    stage.answer_dial_after(SECOND)
    stage.down()
    (said,) = read_from_client(stage.conversation.data_to_send())
    assert isinstance(said, Advertise)
    assert stage.conversation.data_to_send() == b""
    stage.line_of().hear(encode([said]))
    stage.talk()
    assert len(stage.of(Settled)) == 1


def test_who_closes_it_parts_from_the_broker() -> None:
    stage = open_stage()
    wish = stage.conversation.subscribe("", stage.now)
    stage.conversation.close()
    stage.settle()
    assert isinstance(over(stage), ClosedError)
    assert isinstance(wish.error, ClosedError)
    assert len(stage.of(HangUp)) == 1
    stage.conversation.lost("it is gone", stage.now)
    stage.conversation.on_timer(stage.now)
    assert stage.settle() == []


def test_what_may_not_happen_in_a_state_is_a_fault() -> None:
    with pytest.raises(AssertionError):
        open_stage().conversation.connected(0)
