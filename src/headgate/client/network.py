"""How does a program publish and subscribe? One object, whatever becomes of its connections.

What is said and what comes is decided by the conversation; here it meets sockets and the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, final

from headgate.client.access import Access
from headgate.client.advertisements import Advertisement
from headgate.client.conversation import Conversation
from headgate.client.deliveries import Published
from headgate.client.effects import (
    AdvertisementSettled,
    Dial,
    Effect,
    Greeted,
    HangUp,
    Over,
    Parted,
    Ping,
    Settled,
    Woken,
)
from headgate.client.publications import Publication
from headgate.client.settings import SECOND, Settings
from headgate.client.sockets import Sockets
from headgate.client.subscriptions import Subscription
from headgate.client.wishes import Beginning, Wish
from headgate.filters.filter import Filter
from headgate.http import socket_messages
from headgate.model.errors import HeadgateError
from headgate.model.events import Event

FLUSH_S: Final = 2.0
"""So long what is still to be said may take when the program is done."""


@final
class Network:
    """The brokers, as one program sees them; to be used in one event loop, with `async with`."""

    def __init__(self, settings: Settings, access: Access) -> None:
        for url in settings.urls:
            access.check_for(url)
        self.greeting: Greeted | None = None
        """With which broker there is a connection, as whom, since which version."""
        self.on_change: Callable[[Greeted | Parted], None] = lambda change: None
        """Called when a connection is there, and when it is lost."""
        self._settings = settings
        self._access = access
        self._conversation: Conversation
        self._sockets: Sockets
        self._turn: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: int | None = None
        self._first: asyncio.Future[None]
        self._answers: dict[Publication, asyncio.Future[Published]] = {}
        self._advertised: dict[Advertisement, asyncio.Future[None]] = {}
        self._subscriptions: dict[Wish, Subscription] = {}

    @property
    def error(self) -> HeadgateError | None:
        """Why nothing will come any more, if so."""
        return self._conversation.error

    # It comes and goes.

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect; this returns when a broker has said who it is."""
        self._loop = asyncio.get_running_loop()
        self._first = self._loop.create_future()
        chance = secrets.SystemRandom()
        self._conversation = Conversation(
            self._settings, secrets.token_hex(12), chance, self._now()
        )
        self._sockets = Sockets(self._access, self._conversation, self._now, self._wake)
        self._wake()
        try:
            await self._first
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Say what is left to say, and part; whoever still waits for something is told."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await self._sockets.flush()
        self._conversation.close()
        self._take_turn()
        if self._timer is not None:
            self._timer.cancel()
        await self._sockets.close()

    # What a program does.

    async def publish(
        self, event: Event | Mapping[str, object] | bytes, *, id: str = "",
        stream: str | None = None,
    ) -> Published:  # fmt: skip
        """Publish an event; this returns when it is stored.

        Many may be under way at once. An event without an `id` gets one, so that it is stored once
        however often it has to be sent; `stream` is one of the broker's, by default its first.
        """
        if isinstance(event, bytes):
            body, is_json = event, False
        else:
            event = event if isinstance(event, Event) else Event.of(event)
            body, is_json = event.to_json(), True
        publication = self._conversation.publish(
            body, self._now(), is_json=is_json, event_id=id, stream=stream
        )
        answer: asyncio.Future[Published] = self._loop.create_future()
        self._answers[publication] = answer
        self._wake()
        try:
            return await answer
        finally:
            del self._answers[publication]
            self._conversation.forget(publication)

    async def advertise(self, advertised: Filter | str) -> None:
        """Say what is going to be published; this returns when the broker has agreed."""
        one = self._conversation.advertise(str(advertised))
        answer = self._advertised[one] = self._loop.create_future()
        self._wake()
        try:
            await answer
        finally:
            del self._advertised[one]

    def subscribe(
        self,
        wanted: Filter | str = "",
        *,
        durable: str | None = None,
        after: Beginning = None,
        causal: bool = False,
        by_hand: bool = False,
    ) -> Subscription:
        """Receive the events that match a filter, as far as they may be seen.

        `durable` is the name under which the subscription outlives this program: what is published
        in between comes when it subscribes again. A delivery of it is acknowledged when the next
        one is asked for, or with `by_hand` by its own `acknowledge`. `after` says where one that
        isn't durable begins: a mapping from streams to offsets, a cursor, or `"start"`; without it,
        with what is published from now on. With `causal`, an event comes after all that its
        publisher had seen.
        """
        if durable is not None and after is not None:
            raise HeadgateError("a durable subscription goes on where it was: leave out `after`")
        wish = self._conversation.subscribe(
            str(wanted), self._now(), durable=durable, after=after, causal=causal, by_hand=by_hand
        )
        found = self._subscriptions[wish] = Subscription(
            wish, self._conversation, self._wake, self._settings.patience_us / SECOND
        )
        self._wake()
        return found

    # The conversation.

    def _now(self) -> int:
        return int(self._loop.time() * SECOND)

    def _wake(self) -> None:
        if self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        """Once in each turn of the loop, so that what is asked together is sent together."""
        self._turn = None
        for effect in self._conversation.effects():
            _PERFORM[effect.__class__](self, effect)
        self._sockets.write()
        self._plan(self._conversation.next_timer())

    def _plan(self, at: int | None) -> None:
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, at
        if at is not None:
            # A clock in floats may be a little behind what it was asked for.
            self._timer = self._loop.call_at(at / SECOND + 1e-6, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = self._timer_at = None
        self._conversation.on_timer(self._now())
        self._wake()

    def _dial(self, effect: Dial) -> None:
        self._sockets.dial(effect.url, is_first=not self._first.done())

    def _hang_up(self, effect: HangUp) -> None:
        self._sockets.hang_up()

    def _ping(self, effect: Ping) -> None:
        self._sockets.ping()

    def _greeted(self, effect: Greeted) -> None:
        self.greeting = effect
        if not self._first.done():
            self._first.set_result(None)
        self.on_change(effect)

    def _parted(self, effect: Parted) -> None:
        self.greeting = None
        self.on_change(effect)

    def _over(self, effect: Over) -> None:
        self.greeting = None
        if not self._first.done():
            self._first.set_exception(effect.because)

    def _settled(self, effect: Settled) -> None:
        answer = self._answers.get(effect.publication)
        if answer is None or answer.done():
            return
        outcome = effect.outcome
        if isinstance(outcome, socket_messages.Published):
            answer.set_result(
                Published(outcome.stream, outcome.offset, outcome.version, outcome.repeated)
            )
        else:
            answer.set_exception(outcome)

    def _advertisement_settled(self, effect: AdvertisementSettled) -> None:
        answer = self._advertised.get(effect.advertisement)
        if answer is None or answer.done():
            return
        if effect.error is None:
            answer.set_result(None)
        else:
            answer.set_exception(effect.error)

    def _woken(self, effect: Woken) -> None:
        subscription = self._subscriptions.get(effect.wish)
        if subscription is not None:
            subscription.wake()
            if effect.wish.error is not None:
                del self._subscriptions[effect.wish]


_PERFORM: Final[Mapping[type[Effect], Callable[[Network, Any], None]]] = {
    Dial: Network._dial,
    HangUp: Network._hang_up,
    Ping: Network._ping,
    Greeted: Network._greeted,
    Parted: Network._parted,
    Over: Network._over,
    Settled: Network._settled,
    AdvertisementSettled: Network._advertisement_settled,
    Woken: Network._woken,
}
