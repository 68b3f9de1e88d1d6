"""Who is connected here, and what may they do? Connecting, publishing, advertising, subscribing.

Whatever a client asks is decided by the version that is known here, and refused when the policy's
host could not be asked for too long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from headgate.broker.asking import Asking
from headgate.broker.effects import (
    Acknowledged,
    Advertised,
    Connected,
    Published,
    RequestRefused,
)
from headgate.broker.effects import Subscribed as ToldSubscribed
from headgate.broker.hosting import Hosting, Publication
from headgate.broker.outbox import Outbox
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.questions import (
    Answer,
    KeepPositions,
    Positions,
    PositionsKept,
    Take,
    Taken,
    TakenOver,
)
from headgate.broker.settings import Settings
from headgate.broker.subscriptions import Subscribed, Subscriptions
from headgate.filters.filter import Filter
from headgate.log.records import OFFSET_MAX, KnownValue, LogError, Record
from headgate.model.errors import HeadgateError, named
from headgate.model.events import Event
from headgate.rights.requests import (
    Refused,
    may_advertise,
    may_connect,
    may_publish,
    may_subscribe,
)
from headgate.rights.rules import PolicyError
from headgate.rights.subscriptions import Subscription

NO_LEASE = (
    "this broker has had no answer from the policy's host for too long to know what is allowed: "
    "try again, or at another broker"
)
_NAME_CHARS_MAX = 256
_OWN_NAMES = ("$stream", "$publisher", "$time")


@dataclass(frozen=True)
class Asked:
    """What a client says of a subscription that it wants."""

    number: int
    wanted: Filter
    durable: str | None = None
    causal: bool = False
    after: Mapping[str, int] = field(default_factory=dict)
    """The offsets after which it is to begin; on other streams it begins live."""


@dataclass
class Client:
    """A connection, as whom it was made, and what it has asked for."""

    number: int
    principal: str
    domain: str | None
    waiting_for: int = 0
    connected: bool = False
    subscribed: dict[int, Subscribed | None] = field(default_factory=dict)
    """By the client's number for it; nothing yet while a durable one is being attached."""
    advertised: list[Filter] = field(default_factory=list)
    vector: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def principals(self) -> tuple[str, ...]:
        return (self.principal,) if self.domain is None else (self.principal, self.domain)


@dataclass
class _Kept:
    """What of a durable subscription's positions is on its way to be kept."""

    saved: Positions = field(default_factory=dict)
    unsaved: Positions = field(default_factory=dict)
    asking: bool = False


@final
class Clients:
    """The clients of this broker."""

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        policy: PolicyFollowing,
        hosting: Hosting,
        asking: Asking,
        boot: str,
        advertised: Callable[[int], None],
    ) -> None:
        self._settings = settings
        self._advertised = advertised
        self._outbox = outbox
        self._policy = policy
        self._hosting = hosting
        self._asking = asking
        self._boot = boot
        self.subscriptions: Subscriptions
        self._clients: dict[int, Client] = {}
        self._kept: dict[Subscribed, _Kept] = {}

    # connections

    def connect(self, number: int, principal: str, domain: str | None, now: int) -> None:
        if self._settings.routes_only:
            self._outbox.drop(number, "this broker only routes: connect to another one")
            return
        if len(self._clients) >= self._settings.clients_max:
            self._outbox.drop(number, f"this broker has {len(self._clients):,} clients already")
            return
        if not self._policy.leased(now):
            self._outbox.count("lease lost")
            self._outbox.drop(number, NO_LEASE)
            return
        try:
            Subscription(principal, domain=domain)  # checks the names
        except PolicyError as refusal:
            self._outbox.drop(number, str(refusal))
            return
        client = self._clients[number] = Client(number, principal, domain)
        client.waiting_for = len(client.principals)
        for name in client.principals:
            self._policy.hold(name, lambda then: self._ready(client, then), now)

    def _ready(self, client: Client, now: int) -> None:
        client.waiting_for -= 1
        if client.waiting_for or self._clients.get(client.number) is not client:
            return
        if self._may_stay(client, now):
            client.connected = True
            self._outbox.tell(client.number, Connected(self._policy.known))

    def _may_stay(self, client: Client, now: int) -> bool:
        known = self._policy.known
        if not all(map(self._policy.ready, client.principals)):
            self._drop(client, f"the rights of `{client.principal}` are too large to be told", now)
            return False
        answer = may_connect(self._policy.rights.rights_at(client.principal, known))
        if isinstance(answer, Refused):
            self._outbox.count("connection ended by a version")
            self._drop(client, f"{answer.because} at version {known}", now)
            return False
        return True

    def _drop(self, client: Client, because: str, now: int) -> None:
        self.disconnect(client.number, now)
        self._outbox.drop(client.number, because)

    def disconnect(self, number: int, now: int) -> None:
        client = self._clients.pop(number, None)
        if client is None:
            return
        for one in list(client.subscribed.values()):
            if one is not None:
                self.subscriptions.end(one, "the client is gone", now, tell=False)
                self._kept.pop(one, None)
        for name in client.principals:
            self._policy.release(name, now)

    def changed(self, touched: Iterable[str], now: int) -> None:
        """The rights of some are others now: those who may not connect any more, are ended."""
        names = set(touched)
        for client in list(self._clients.values()):
            if client.connected and not names.isdisjoint(client.principals):
                self._may_stay(client, now)

    def _serves(self, number: int, request: int, now: int) -> Client | None:
        """The client, if it may ask for something now."""
        client = self._clients.get(number)
        if client is None or not client.connected:
            self._refuse(number, request, "connect first, and wait for the answer")
            return None
        if not self._policy.leased(now):
            self._outbox.count("lease lost")
            self._refuse(number, request, NO_LEASE, temporary=True)
            return None
        return client

    def _refuse(self, number: int, request: int, because: str, *, temporary: bool = False) -> None:
        self._outbox.tell(number, RequestRefused(request, because, temporary))

    # publishing

    def publish(
        self,
        number: int,
        request: int,
        body: bytes,
        event_id: str,
        now: int,
        stream: str | None,
        is_json: bool,
        known: Mapping[str, KnownValue],
    ) -> None:
        client = self._serves(number, request, now)
        if client is None:
            return
        if stream is None:
            if not self._settings.streams:
                self._refuse(number, request, "this broker hosts no stream")
                return
            stream = self._settings.streams[0]
        if stream not in self._settings.streams:
            self._refuse(number, request, f"this broker hosts no stream {named(stream)}")
            return
        if event_id and self._repeated(client, request, stream, event_id, now):
            return
        try:
            event = self._event(client, body, is_json, known, stream, now)
            content = event.to_json() if is_json else bytes(body)
        except HeadgateError as refusal:
            self._refuse(number, request, str(refusal))
            return
        because = self._unpublishable(client, event)
        if because is not None:
            self._refuse(number, request, because)
            return
        said = Publication(
            client.principal, event_id, content, is_json, dict(known), dict(client.vector), event
        )

        def stored(record: Record | None, because: str, now: int) -> None:
            if record is None:
                self._unsee(client, stream)
            self._answer_publication(number, request, record, because)

        try:
            record = self._hosting.publish(stream, said, now, stored)
        except LogError as refusal:
            self._refuse(number, request, str(refusal))
        else:
            client.vector[stream] = (record.incarnation, record.offset)

    def _event(
        self,
        client: Client,
        body: bytes,
        is_json: bool,
        known: Mapping[str, KnownValue],
        stream: str,
        now: int,
    ) -> Event:
        """What is to be published, with everything that its record will say of it."""
        for name in known:
            if name in _OWN_NAMES:
                raise PolicyError(f"`{name}` is what the broker itself says: leave it out")
        plain = Event.from_json(body) if is_json else Event.from_bytes(body)
        own = {
            "$stream": stream,
            "$publisher": client.principal,
            "$time": self._hosting.moment(now),
        }
        return plain.with_known({**known, **own})

    def _answer_publication(
        self, number: int, request: int, record: Record | None, because: str
    ) -> None:
        if record is None:
            self._refuse(number, request, f"it could not be stored: {because}", temporary=True)
        else:
            self._outbox.tell(
                number, Published(request, record.stream, record.offset, record.version)
            )

    def _repeated(self, client: Client, request: int, stream: str, event_id: str, now: int) -> bool:
        """Answer again what was published before under this event id."""
        found = self._hosting.repeated(stream, client.principal, event_id)
        if found is None:
            return False
        self._outbox.count("repeated publication")
        offset, version = found
        feed = self._hosting.feed(stream)
        seen = client.vector.get(stream)
        if feed is not None and (seen is None or seen < (feed.incarnation, offset)):
            client.vector[stream] = (feed.incarnation, offset)
        number = client.number

        def stored(now: int) -> None:
            self._outbox.tell(number, Published(request, stream, offset, version, repeated=True))

        def lost(because: str, now: int) -> None:
            self._unsee(client, stream)
            self._refuse(number, request, f"it could not be stored: {because}", temporary=True)

        self._outbox.when_stored(stored, lost, now)
        return True

    def _unsee(self, client: Client, stream: str) -> None:
        """What was lost is the cause of nothing: its offset will be that of another record."""
        seen, end = client.vector.get(stream), self._hosting.stored_end(stream)
        if seen is not None and seen[1] > end:
            client.vector[stream] = (seen[0], end)

    def _unpublishable(self, client: Client, event: Event) -> str | None:
        rights = self._policy.rights.rights_at(client.principal, self._policy.known)
        answer = may_publish(rights, event)
        if isinstance(answer, Refused):
            return answer.because
        if self._settings.advertised_only and not any(
            one.advertises(event) for one in client.advertised
        ):
            return "the event is not within what this publisher has advertised"
        return None

    def advertise(self, number: int, request: int, one: Filter, now: int) -> None:
        client = self._serves(number, request, now)
        if client is None:
            return
        rights = self._policy.rights.rights_at(client.principal, self._policy.known)
        answer = may_advertise(rights, one)
        if isinstance(answer, Refused):
            self._refuse(number, request, answer.because)
            return
        if len(client.advertised) >= self._settings.subscriptions_max:
            self._refuse(number, request, f"{len(client.advertised):,} advertisements are enough")
            return

        def stored(now: int) -> None:
            client.advertised.append(one)
            self._outbox.tell(number, Advertised(request))
            self._advertised(now)

        def lost(because: str, now: int) -> None:
            self._refuse(number, request, f"it could not be stored: {because}", temporary=True)

        if self._settings.advertised_only:
            self._hosting.advertise(one, stored, lost, now)
        else:
            stored(now)

    # subscribing

    def subscribe(self, number: int, request: int, asked: Asked, now: int) -> None:
        client = self._serves(number, request, now)
        if client is None:
            return
        because = self._unacceptable(client, asked)
        if because is not None:
            self._refuse(number, request, because)
            return
        one = Subscribed(
            number,
            asked.number,
            Subscription(client.principal, asked.wanted, client.domain),
            causal=asked.causal,
            durable=asked.durable,
            after={stream: ("", offset) for stream, offset in asked.after.items()},
            vector=client.vector,
        )
        rights = self._policy.rights.rights_at(client.principal, self._policy.known)
        answer = may_subscribe(rights, one.subscription.filter)
        because = answer.because if isinstance(answer, Refused) else None
        if one.durable is not None:
            client.subscribed[one.number] = None
            self._take(client, request, one, because, now)
        elif because is not None:
            self._refuse(number, request, because)
        else:
            self._begin(client, request, one, now)

    def _unacceptable(self, client: Client, asked: Asked) -> str | None:
        if asked.number in client.subscribed:
            return f"there is a subscription {asked.number} already"
        if len(client.subscribed) >= self._settings.subscriptions_max:
            return f"{len(client.subscribed):,} subscriptions are enough"
        if asked.durable is not None and not 0 < len(asked.durable) <= _NAME_CHARS_MAX:
            return (
                f"expected a name of 1 to {_NAME_CHARS_MAX} characters, found {len(asked.durable)}"
            )
        for stream, offset in asked.after.items():
            if not 0 <= offset <= OFFSET_MAX:
                return f"expected an offset of 0 or more of {named(stream)}, found {offset}"
        return None

    def _begin(self, client: Client, request: int, one: Subscribed, now: int) -> None:
        client.subscribed[one.number] = one
        self._outbox.tell(client.number, ToldSubscribed(request, one.number, one.attachment))
        self.subscriptions.add(one, now)

    def _take(
        self, client: Client, request: int, one: Subscribed, no_right: str | None, now: int
    ) -> None:
        """Attach a durable subscription: its positions are with the policy's host.

        Who has no right to make it (any more) may still take what there is: it was made under
        another version, and is owed what that one granted.
        """
        assert one.durable is not None
        asked = Take(
            client.principal, client.domain, one.durable, str(one.subscription.filter), one.causal,
            self._settings.broker, self._boot, self._outbox.next_number(),
            existing=no_right is not None,
        )  # fmt: skip

        def answered(said: Answer, asked_at: int, now: int) -> None:
            if not isinstance(said, Taken) or self._clients.get(client.number) is not client:
                return
            if one.number not in client.subscribed:
                return
            if said.refused:
                del client.subscribed[one.number]
                self._refuse(client.number, request, no_right or said.refused)
                return
            one.attachment, one.after = said.attachment, {**one.after, **said.positions}
            self._kept[one] = _Kept(dict(said.positions))
            self._begin(client, request, one, now)

        self._asking.ask(self._settings.policy_host, asked, answered, now)

    def unsubscribe(self, number: int, subscription: int, now: int) -> None:
        client = self._clients.get(number)
        if client is None or subscription not in client.subscribed:
            return
        one = client.subscribed.pop(subscription)
        if one is None:
            return
        self.subscriptions.end(one, "the client has ended it", now, tell=True)
        if one.durable is not None:
            self._kept.pop(one, None)
            asked = KeepPositions(
                one.subscription.principal, one.durable, one.attachment, {}, forget=True
            )
            self._asking.ask(self._settings.policy_host, asked, lambda *_: None, now)

    # durable subscriptions

    def keep_start(
        self,
        one: Subscribed,
        stream: str,
        incarnation: str,
        after: int,
        then: Callable[[int], None],
        now: int,
    ) -> None:
        """A durable subscription begins on a stream once that can't be forgotten."""
        assert one.durable is not None
        positions: Positions = {stream: (incarnation, after)}
        asked = KeepPositions(one.subscription.principal, one.durable, one.attachment, positions)

        def answered(said: Answer, asked_at: int, now: int) -> None:
            if isinstance(said, PositionsKept) and said.current:
                then(now)
            else:
                self._lost(one, "another attachment has taken it over", now)

        self._asking.ask(self._settings.policy_host, asked, answered, now)

    def acknowledge(
        self, number: int, subscription: int, stream: str, offset: int, now: int
    ) -> None:
        client = self._clients.get(number)
        one = client.subscribed.get(subscription) if client is not None else None
        if one is None:
            return
        self.subscriptions.acknowledge(one, stream, offset, now)
        kept = self._kept.get(one)
        delivery = one.deliveries.get(stream)
        if kept is not None and delivery is not None and delivery.start is not None:
            saved = kept.saved.get(stream)
            if saved is None or saved[0] != delivery.incarnation or delivery.done > saved[1]:
                kept.unsaved[stream] = (delivery.incarnation, delivery.done)
                self._save(one, kept, now)

    def _save(self, one: Subscribed, kept: _Kept, now: int) -> None:
        """Have positions kept, all that have grown at once, and one question at a time."""
        if kept.asking or not kept.unsaved:
            return
        assert one.durable is not None
        kept.asking = True
        positions, kept.unsaved = kept.unsaved, {}
        asked = KeepPositions(one.subscription.principal, one.durable, one.attachment, positions)

        def answered(said: Answer, asked_at: int, now: int) -> None:
            kept.asking = False
            if not (isinstance(said, PositionsKept) and said.current):
                self._lost(one, "another attachment has taken it over", now)
                return
            kept.saved.update(positions)
            if one in self._kept:
                for stream, (_, offset) in sorted(positions.items()):
                    self._outbox.tell(one.client, Acknowledged(one.number, stream, offset))
            self._save(one, kept, now)

        self._asking.ask(self._settings.policy_host, asked, answered, now)

    def taken_over(self, said: TakenOver, now: int) -> None:
        """A later attachment has one of our durable subscriptions."""
        for one in list(self._kept):
            same = (one.subscription.principal, one.durable) == (said.principal, said.name)
            if same and one.attachment < said.attachment:
                because = f"attached again at broker `{said.broker}`"
                self._lost(one, "it was ended for good" if said.ended else because, now)

    def _lost(self, one: Subscribed, because: str, now: int) -> None:
        if one in self._kept:
            self.give_up(one, because, now)

    def give_up(self, one: Subscribed, because: str, now: int) -> None:
        """End a subscription from here, and say why."""
        self._kept.pop(one, None)
        client = self._clients.get(one.client)
        if client is not None:
            client.subscribed.pop(one.number, None)
            self.subscriptions.end(one, because, now, tell=True)
