"""Does a program iterate over what it gets, and learn how it ends?"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from headgate.client.deliveries import Delivery, Lost, Start
from headgate.client.errors import RefusedError, SubscriptionEndedError
from headgate.client.subscriptions import YIELD_AFTER, Subscription
from headgate.client.wishes import Wish
from headgate.stores.acl import UnknownOutcomeError
from tests.client.brokers import Net
from tests.client.stage import Stage
from tests.live.nodes import run


class Given:
    """A subscription at a pretended broker; its conversation moves when it is woken."""

    def __init__(self, patience_s: float = 10, **wanted: Any) -> None:
        self.stage = Stage(Net(left=["orders"]))
        self.stage.meet()
        self.wish: Wish = self.stage.conversation.subscribe("", self.stage.now, **wanted)
        self.subscription = Subscription(
            self.wish, self.stage.conversation, lambda: None, patience_s
        )

    def talk(self) -> None:
        self.stage.talk()
        self.subscription.wake()

    def publish(self, *bodies: bytes) -> None:
        for body in bodies:
            self.stage.conversation.publish(body, self.stage.now)
        self.talk()


def within(work: Callable[[], Any]) -> Any:
    async def started() -> Any:
        return await work()

    return run(started())


def test_starts_and_deliveries_come_in_their_order() -> None:
    async def work() -> None:
        given = Given()
        given.talk()
        given.publish(b'{"a":1}', b'{"a":2}')
        items = [await given.subscription.next_item() for _ in range(3)]
        assert items[0] == Start("orders", "i1", 0)
        assert [one.body["a"] for one in items[1:] if isinstance(one, Delivery)] == [1, 2]
        assert given.subscription.starts == {"orders": Start("orders", "i1", 0)}

    within(work)


def test_who_waits_is_woken() -> None:
    async def work() -> None:
        given = Given()
        waiting = [
            asyncio.ensure_future(given.subscription.begun("orders")),
            asyncio.ensure_future(given.subscription.begun()),
            asyncio.ensure_future(anext(given.subscription)),
        ]
        await asyncio.sleep(0)
        assert not any(one.done() for one in waiting)
        given.talk()
        given.publish(b"{}")
        await asyncio.gather(*waiting)

    within(work)


def test_entering_it_waits_until_it_is_accepted_and_a_refusal_is_raised() -> None:
    async def work() -> None:
        given = Given()
        entering = asyncio.ensure_future(given.subscription.__aenter__())
        await asyncio.sleep(0)
        given.stage.conversation.data_to_send()
        number = given.wish.request
        given.stage.say(b'{"is":"refused","request":%d,"because":"no rule"}' % number)
        given.subscription.wake()
        with pytest.raises(RefusedError, match="no rule"):
            await entering
        with pytest.raises(RefusedError, match="no rule"):
            await given.subscription.begun()

    within(work)


def test_what_came_before_the_end_is_handed_out_before_it_is_raised() -> None:
    async def work() -> None:
        given = Given()
        given.talk()
        given.publish(b'{"a":1}')
        given.stage.say(
            b'{"is":"ended","subscription":%d,"because":"so"}' % given.wish.subscription
        )
        assert (await anext(given.subscription)).body == {"a": 1}
        for _ in range(2):
            with pytest.raises(SubscriptionEndedError, match="so"):
                await anext(given.subscription)

    within(work)


def test_a_loss_is_told_and_logged_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        given = Given()
        given.talk()
        text = '{"is":"lost","subscription":%d,"stream":"orders","incarnation":"i1",%s}'
        place = '"after":0,"up_to":5'
        given.stage.say((text % (given.wish.subscription, place)).encode())
        assert isinstance(await given.subscription.next_item(), Start)
        assert await given.subscription.next_item() == Lost("orders", "i1", 0, 5)

    with caplog.at_level(logging.WARNING, logger="headgate.client"):
        within(work)
    assert "up_to=5" in caplog.text


def test_an_acknowledgement_returns_when_it_is_kept() -> None:
    async def work() -> None:
        given = Given(durable="desk", by_hand=True)
        given.talk()
        given.publish(b"{}", b"{}")
        await anext(given.subscription)
        second = await anext(given.subscription)
        acknowledging = asyncio.ensure_future(second.acknowledge())
        await asyncio.sleep(0)
        assert not acknowledging.done()
        given.talk()
        await acknowledging
        assert given.stage.net.durables["desk"].positions == {"orders": 2}

    within(work)


def test_an_acknowledgement_without_answer_may_be_kept_or_not() -> None:
    async def work() -> None:
        given = Given(durable="desk", by_hand=True, patience_s=0.01)
        given.talk()
        given.publish(b"{}")
        one = await anext(given.subscription)
        with pytest.raises(UnknownOutcomeError, match="offset 1 of `orders`"):
            await one.acknowledge()

    within(work)


def test_what_is_not_durable_has_nothing_to_keep() -> None:
    async def work() -> None:
        given = Given()
        given.talk()
        given.publish(b"{}")
        await (await anext(given.subscription)).acknowledge()

    within(work)


def test_others_have_their_turn_while_much_waits_here() -> None:
    async def work() -> None:
        given = Given()
        given.talk()
        given.publish(*[b"{}"] * 4)
        for _ in range(YIELD_AFTER):
            given.wish.ready.append(given.wish.ready[-1])
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.ensure_future(other())
        for _ in range(YIELD_AFTER):
            await anext(given.subscription)
        assert turns > 0
        beside.cancel()

    within(work)


def test_forgetting_it_waits_until_it_is_over() -> None:
    async def work() -> None:
        given = Given(durable="desk")
        given.talk()
        forgetting = asyncio.ensure_future(given.subscription.forget())
        await asyncio.sleep(0)
        assert not forgetting.done()
        given.talk()
        await forgetting
        assert given.stage.net.durables == {}

    within(work)
