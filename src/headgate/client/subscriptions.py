"""What does a program iterate over? A subscription, over all the connections that it lives through.

Nothing comes twice, and nothing is left out. How much waits here is bounded by what the broker
sends without an acknowledgement: a slow loop holds up its own subscription alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, final

from headgate.client.conversation import Conversation
from headgate.client.deliveries import Delivery, Item, Lost, Start
from headgate.client.errors import ClosedError
from headgate.client.wishes import Coming, Phase, Wish
from headgate.http import socket_messages
from headgate.stores.acl import UnknownOutcomeError

_log: Final = logging.getLogger("headgate.client")
YIELD_AFTER: Final = 64
"""So many deliveries are taken in a row before others have their turn."""


@final
class Subscription:
    """An asynchronous iterator over deliveries, made by `Network.subscribe`."""

    def __init__(
        self,
        wish: Wish,
        conversation: Conversation,
        wake: Callable[[], None],
        patience_s: float,
    ) -> None:
        self.starts: dict[str, Start] = {}
        """Where it began on each stream, the last time; known once it was iterated up to there."""
        self._wish = wish
        self._conversation = conversation
        self._wake_network = wake
        self._patience_s = patience_s
        self._changed = asyncio.Event()
        self._taken = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery:
        while True:
            item = await self.next_item()
            if isinstance(item, Delivery):
                return item

    async def next_item(self) -> Item:
        """What comes next: a delivery, a start on a stream, or a loss.

        What the broker has ended raises `SubscriptionEndedError` or `DroppedError`, and what it
        refused `RefusedError`, after all that came before.
        """
        self._taken += 1
        if self._taken % YIELD_AFTER == 0:
            await asyncio.sleep(0)
        while True:
            found = self._conversation.take(self._wish)
            self._wake_network()  # taking one acknowledges the one before
            if found is not None:
                return self._as_item(found)
            if self._wish.error is not None:
                raise self._ending()
            await self._change()

    def _as_item(self, found: Coming) -> Item:
        if isinstance(found, socket_messages.Delivery):
            return Delivery(found, self._acknowledge)
        if isinstance(found, socket_messages.Lost):
            lost = Lost(found.stream, found.incarnation, found.after, found.up_to)
            _log.warning("what was owed isn't kept any more: %s", lost)
            return lost
        start = Start(found.stream, found.incarnation, found.after)
        self.starts[start.stream] = start
        return start

    def _ending(self) -> Exception:
        error = self._wish.error
        assert error is not None
        return StopAsyncIteration() if isinstance(error, ClosedError) else error

    async def __aenter__(self) -> Self:
        """Wait until the broker has accepted it."""
        while self._wish.phase is not Phase.ACTIVE:
            if self._wish.error is not None:
                raise self._wish.error
            await self._change()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    async def begun(self, *streams: str) -> None:
        """Wait until it has begun on these streams, or on any: what is published now will come."""
        while not self._has_begun(streams):
            if self._wish.error is not None:
                raise self._wish.error
            await self._change()

    def _has_begun(self, streams: tuple[str, ...]) -> bool:
        began = self._wish.began_on
        return began >= set(streams) if streams else bool(began)

    def leave(self) -> None:
        """Receive no more of it. A durable one is kept, and owed what is published from now on."""
        self._conversation.leave(self._wish)
        self._wake_network()

    async def forget(self) -> None:
        """End a durable subscription: nothing of it is kept, and nothing is owed to it."""
        self._conversation.forget_durable(self._wish)
        self._wake_network()
        while self._wish.error is None:
            await self._change()

    async def _acknowledge(self, said: socket_messages.Delivery) -> None:
        self._conversation.acknowledge(self._wish, said)
        self._wake_network()
        if self._wish.durable is None:
            return
        try:
            async with asyncio.timeout(self._patience_s):
                while not self._wish.is_kept(said):
                    if self._wish.error is not None:
                        raise self._wish.error
                    await self._change()
        except TimeoutError:
            raise UnknownOutcomeError(
                f"offset {said.offset} of `{said.stream}` may be acknowledged or not: no answer "
                f"within {self._patience_s:g} s"
            ) from None

    def wake(self) -> None:
        """Something has changed."""
        self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
