"""What does a program say to its brokers, and what does it say again after a connection was lost?

A conversation takes messages and the time, and gives messages and effects; it has no socket and no
clock. What may happen in which state stands in `states.py`. Everything that the program asked for
outlives connections: on the next one it is asked for again, so that nothing is stored twice and
nothing is handed to the program twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from typing import Any, Final, final

from headgate.client.advertisements import Advertisement, Advertisements
from headgate.client.dialling import Dialling
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
from headgate.client.errors import (
    ClosedError,
    DroppedError,
    RefusedError,
    SubscriptionEndedError,
    UnreachableError,
)
from headgate.client.publications import Publication, Publications, rest_us
from headgate.client.settings import Settings
from headgate.client.states import TABLE, Happening, State
from headgate.client.wishes import Beginning, Coming, Phase, Wish
from headgate.http.socket_messages import (
    NOT_ALLOWED,
    TOO_LARGE,
    UNREADABLE,
    Acknowledged,
    Advertised,
    BrokerMessage,
    ClientMessage,
    Connected,
    Delivery,
    Dropped,
    Ended,
    Lost,
    Published,
    Refused,
    SocketError,
    Started,
    Subscribed,
    Unsubscribe,
    encode,
    read_from_broker,
)
from headgate.model.errors import HeadgateError

SAID_TOGETHER: Final = 16
"""So many requests are in one text, without publications: each may have a long cursor."""


@final
class Conversation:
    """What a program has to say to its brokers, over one connection after the other."""

    def __init__(self, settings: Settings, names: str, chance: Random, now: int) -> None:
        self.state = State.APART
        self.error: HeadgateError | None = None
        """Why it is over."""
        self._settings = settings
        self._dialling = Dialling(settings.urls, chance, now)
        self._chance = chance
        self._numbers = count(1)
        self._wishes: list[Wish] = []
        self._by_subscription: dict[int, Wish] = {}
        self._with_unsaid: dict[Wish, None] = {}
        self._publications = Publications(
            names, settings.in_flight_max, settings.patience_us, chance
        )
        self._advertisements = Advertisements(chance)
        self._to_say: list[ClientMessage] = []
        self._effects: list[Effect] = []
        self._woken: dict[Wish, None] = {}
        self._url = ""
        self._broker: Connected | None = None
        self._parting = ""
        """What the broker said last, before it ended the connection."""
        self._first_until: int | None = now + settings.connect_us
        self._answer_until: int | None = None
        self._heard_at = now

    # What the program wants.

    def publish(
        self, body: bytes, now: int, *, is_json: bool = True, event_id: str = "",
        stream: str | None = None,
    ) -> Publication:  # fmt: skip
        self._check_not_over()
        return self._publications.add(body, is_json, event_id, stream, now)

    def forget(self, publication: Publication) -> None:
        """Nobody waits for it any more."""
        self._publications.forget(publication)

    def advertise(self, filter_: str) -> Advertisement:
        self._check_not_over()
        return self._advertisements.add(filter_, is_open=self.state is State.OPEN)

    def subscribe(
        self, filter_: str, now: int, *, durable: str | None = None, causal: bool = False,
        after: Beginning = None, by_hand: bool = False,
    ) -> Wish:  # fmt: skip
        self._check_not_over()
        wish = Wish(
            next(self._numbers), filter_, durable=durable, causal=causal, after=after,
            by_hand=by_hand,
        )  # fmt: skip
        wish.give_up_at = now + self._settings.patience_us
        self._wishes.append(wish)
        if self.state is State.OPEN:
            self._ask(wish)
        return wish

    def take(self, wish: Wish) -> Coming | None:
        """What a wish has next, if anything."""
        found = wish.take()
        if wish.has_unsaid:
            self._with_unsaid[wish] = None
        return found

    def acknowledge(self, wish: Wish, one: Delivery) -> None:
        wish.acknowledge(one)
        if wish.has_unsaid:
            self._with_unsaid[wish] = None

    def leave(self, wish: Wish) -> None:
        """Receive no more of it; a durable one stays where it is, and is owed what follows.

        It stays attached as long as the connection lasts: its window fills, and no more comes.
        """
        if wish.durable is None and self._is_asked(wish):
            self._to_say.append(Unsubscribe(wish.subscription))
        self._drop_wish(wish, ClosedError("the program has left the subscription"))

    def forget_durable(self, wish: Wish) -> None:
        """End a durable subscription: its broker keeps nothing of it."""
        wish.is_unwanted = True
        if wish.phase is Phase.ACTIVE:
            self._to_say.append(Unsubscribe(wish.subscription))

    def close(self) -> None:
        """The program has had enough."""
        if self.state is not State.OVER:
            self._end(Happening.CLOSE, ClosedError("the program has closed the connection"))

    # What happens on the connection.

    def connected(self, now: int) -> None:
        """The connection that was dialled is there."""
        self._become(Happening.CONNECTED)
        self._heard_at = now
        self._answer_until = now + self._settings.answer_us

    def receive(self, text: bytes | str, now: int) -> None:
        """A text comes. What it says is done in its order."""
        if self.state not in (State.OPENING, State.OPEN):
            return
        self.heard(now)
        try:
            messages = read_from_broker(text)
        except SocketError as problem:
            self._end(Happening.DROPPED, DroppedError(f"it can't be understood: {problem}"))
            return
        for message in messages:
            if self.state in (State.OPENING, State.OPEN):
                self._take(message, now)

    def heard(self, now: int) -> None:
        """Something came, were it only the answer to a ping."""
        self._heard_at = now
        if self.state is State.OPEN:
            self._answer_until = None

    def lost(self, because: str, now: int, wait_us: int = 0) -> None:
        """The connection is lost, or none could be made."""
        if Happening.LOST in TABLE[self.state]:
            self._part(Happening.LOST, because, now, wait_us)

    def closed(self, code: int | None, because: str, now: int) -> None:
        """The broker has closed the connection, with this code (RFC 6455, 7.4.1)."""
        said = self._parting or because or f"it closed the connection (code {code})"
        if code in _FOR_GOOD:
            self.dropped(DroppedError(said))
        else:
            self.lost(said, now)

    def dropped(self, because: HeadgateError) -> None:
        """There is no use in trying again."""
        if self.state is not State.OVER:
            self._end(Happening.DROPPED, because)

    # What goes out.

    def data_to_send(self) -> bytes:
        """The next text for the broker; nothing when there is nothing to say."""
        if self.state is not State.OPEN:
            return b""
        messages: list[ClientMessage] = []
        for wish in self._with_unsaid:
            messages += wish.say()
        self._with_unsaid.clear()
        if self._advertisements.waiting:
            messages += self._advertisements.next(self._numbers)
        asked = self._to_say[:SAID_TOGETHER]
        messages += asked
        del self._to_say[:SAID_TOGETHER]
        if not asked and self._publications.waiting and self._advertisements.all_known:
            messages += self._publications.next(self._numbers, self._settings.text_bytes_max)
        return encode(messages) if messages else b""

    def effects(self) -> list[Effect]:
        """What is to be done since the last call, in order."""
        effects = self._effects
        effects += [Woken(wish) for wish in self._woken]
        effects += [Settled(*one) for one in self._publications.settled]
        effects += [AdvertisementSettled(*one) for one in self._advertisements.settled]
        self._publications.settled.clear()
        self._advertisements.settled.clear()
        self._woken.clear()
        self._effects = []
        return effects

    # Time.

    def next_timer(self) -> int | None:
        if self.state is State.OVER:
            return None
        times = [self._publications.next_timer(), self._advertisements.next_timer()]
        times += [wish.next_timer() for wish in self._wishes]
        if self.state is State.APART:
            times.append(self._dialling.at)
        else:
            times.append(self._answer_until)
            if self.state is State.OPEN and self._answer_until is None:
                times.append(self._heard_at + self._settings.silence_us)
        return min((at for at in times if at is not None), default=None)

    def on_timer(self, now: int) -> None:
        if self.state is State.OVER:
            return
        self._publications.on_timer(now)
        self._advertisements.on_timer(now)
        for wish in list(self._wishes):
            self._look_at(wish, now)
        if self.state is State.APART:
            if now >= self._dialling.at:
                self._dial(now)
        elif self._answer_until is not None and now >= self._answer_until:
            self._effects.append(HangUp("no answer"))
            self._part(Happening.SILENCE, "it doesn't answer", now)
        elif self._answer_until is None and now >= self._heard_at + self._settings.silence_us:
            self._answer_until = now + self._settings.answer_us
            self._effects.append(Ping())

    def _look_at(self, wish: Wish, now: int) -> None:
        if wish.retry_at is not None and now >= wish.retry_at and self.state is State.OPEN:
            self._ask(wish)
        if wish.give_up_at is not None and now >= wish.give_up_at:
            patience = f"{self._settings.patience_us / 1e6:g} s"
            said = f"{wish.because or 'no broker has accepted it'} (tried for {patience})"
            self._drop_wish(wish, RefusedError(said, temporary=True))

    # Within.

    def _dial(self, now: int) -> None:
        self._become(Happening.DIAL)
        self._url = self._dialling.next_url()
        self._answer_until = now + self._settings.answer_us
        self._effects.append(Dial(self._url))

    def _take(self, message: BrokerMessage, now: int) -> None:
        if self.state is State.OPENING:
            if isinstance(message, Connected):
                self._greet(message, now)
            elif isinstance(message, Dropped):
                self._parting = message.because
            else:
                said = f"expected `connected` first, got `{message.__class__.__name__.lower()}`"
                self._end(Happening.DROPPED, DroppedError(f"it can't be understood: {said}"))
        else:
            _TAKE[message.__class__](self, message, now)

    def _greet(self, said: Connected, now: int) -> None:
        self._become(Happening.GREETED)
        self._broker, self._answer_until, self._first_until = said, None, None
        self._dialling.connected(now)
        self._advertisements.connected()
        self._publications.connected(said.broker)
        for wish in self._wishes:
            self._ask(wish)
        self._effects.append(Greeted(self._url, said.broker, said.principal, said.version))

    def _ask(self, wish: Wish) -> None:
        number = next(self._numbers)
        self._by_subscription[number] = wish
        self._to_say.append(wish.ask(number, number))

    def _is_asked(self, wish: Wish) -> bool:
        return self.state is State.OPEN and wish.phase in (Phase.ASKED, Phase.ACTIVE)

    def _drop_wish(self, wish: Wish, because: HeadgateError) -> None:
        self._by_subscription.pop(wish.subscription, None)
        self._with_unsaid.pop(wish, None)
        if wish in self._wishes:
            self._wishes.remove(wish)
        wish.end(because)
        self._woken[wish] = None

    def _part(self, happening: Happening, because: str, now: int, wait_us: int = 0) -> None:
        self._become(happening)
        self._without_connection()
        self._dialling.lost(now, wait_us)
        too_late = self._first_until is not None and now >= self._first_until
        if too_late and self._dialling.tried_all:
            self._end(Happening.DROPPED, UnreachableError(f"{self._url}: {because}"))
        else:
            self._effects.append(Parted(f"{self._url}: {because}"))

    def _without_connection(self) -> None:
        self._publications.disconnected()
        self._advertisements.disconnected()
        for wish in self._wishes:
            wish.disconnected()
        self._by_subscription.clear()
        self._with_unsaid.clear()
        self._to_say.clear()
        self._broker, self._parting, self._answer_until = None, "", None

    def _end(self, happening: Happening, because: HeadgateError) -> None:
        is_connected = self.state in (State.DIALLING, State.OPENING, State.OPEN)
        self._become(happening)
        self.error = because
        if is_connected:
            self._effects.append(HangUp(str(because)))
        self._without_connection()
        self._publications.end(because)
        self._advertisements.end(because)
        for wish in list(self._wishes):
            self._drop_wish(wish, because)
        self._effects.append(Over(because))

    def _become(self, happening: Happening) -> None:
        assert happening in TABLE[self.state], f"{happening} in {self.state}"
        self.state = TABLE[self.state][happening]

    def _check_not_over(self) -> None:
        if self.error is not None:
            raise self.error

    # Messages.

    def _wish_of(self, subscription: int) -> Wish | None:
        return self._by_subscription.get(subscription)

    def _published(self, said: Published, now: int) -> None:
        self._publications.published(said)

    def _advertised(self, said: Advertised, now: int) -> None:
        self._advertisements.advertised(said.request)

    def _refused(self, said: Refused, now: int) -> None:
        if self._publications.refused(said, now) or self._advertisements.refused(said, now):
            return
        wish = self._wish_of(said.request)
        if wish is None or wish.request != said.request:
            return
        del self._by_subscription[said.request]
        if said.temporary:
            wish.refused_for_now(said.because, now + rest_us(wish.refusals, self._chance))
        else:
            self._drop_wish(wish, RefusedError(said.because))

    def _subscribed(self, said: Subscribed, now: int) -> None:
        wish = self._wish_of(said.subscription)
        if wish is not None:
            wish.accepted(said.attachment)
            if wish.is_unwanted:
                self._to_say.append(Unsubscribe(wish.subscription))
            self._woken[wish] = None

    def _started(self, said: Started, now: int) -> None:
        wish = self._wish_of(said.subscription)
        if wish is not None:
            wish.started(said)
            self._woken[wish] = None

    def _delivered(self, said: Delivery, now: int) -> None:
        wish = self._wish_of(said.subscription)
        if wish is not None:
            wish.delivered(said)
            if wish.has_unsaid:
                self._with_unsaid[wish] = None
            self._woken[wish] = None

    def _lost(self, said: Lost, now: int) -> None:
        wish = self._wish_of(said.subscription)
        if wish is not None:
            wish.lost(said)
            self._woken[wish] = None

    def _ended(self, said: Ended, now: int) -> None:
        wish = self._wish_of(said.subscription)
        if wish is not None:
            self._drop_wish(wish, SubscriptionEndedError(said.because))

    def _acknowledged(self, said: Acknowledged, now: int) -> None:
        wish = self._wish_of(said.subscription)
        if wish is not None:
            wish.acknowledged(said.stream, said.offset)
            self._woken[wish] = None

    def _dropped(self, said: Dropped, now: int) -> None:
        self._parting = said.because

    def _greeted_twice(self, said: Connected, now: int) -> None:
        self._end(
            Happening.DROPPED, DroppedError("it can't be understood: expected one `connected`")
        )


_FOR_GOOD: Final = frozenset({NOT_ALLOWED, UNREADABLE, TOO_LARGE})

_TAKE: Final[Mapping[type, Callable[[Conversation, Any, int], None]]] = {
    Connected: Conversation._greeted_twice,
    Published: Conversation._published,
    Refused: Conversation._refused,
    Subscribed: Conversation._subscribed,
    Started: Conversation._started,
    Delivery: Conversation._delivered,
    Lost: Conversation._lost,
    Ended: Conversation._ended,
    Acknowledged: Conversation._acknowledged,
    Advertised: Conversation._advertised,
    Dropped: Conversation._dropped,
}
