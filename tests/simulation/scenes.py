"""How does one show a checker what happens, by hand? A broker, clients, what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headgate.broker.effects import (
    Acknowledged,
    Append,
    Connected,
    Delivery,
    Message,
    Published,
    Started,
    Subscribed,
    SubscriptionEnded,
)
from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.log.memory import MemoryLog
from headgate.log.records import Record
from headgate.model.events import Event
from headgate.simulation.administering import batch_of
from headgate.simulation.checkers.ledger import Ledger
from headgate.simulation.checkers.promises import Checker, Observers
from headgate.simulation.clocks import EPOCH_US, Clock
from headgate.simulation.sessions import PublicationAsked, Session, SubscriptionAsked
from headgate.simulation.timeline import Timeline

ANN_READS = {"grant": {"principal": "ann", "action": "subscribe", "filter": "price < 5"}}
ANN_NO_LONGER = {"revoke": {"principal": "ann", "action": "subscribe", "filter": "price < 5"}}
ALL_CONNECT = {"grant": {"principal": "ann", "action": "connect", "allow": True}}
PAM_WRITES = {"grant": {"principal": "pam", "action": "publish", "filter": "price >= 0"}}


class _Disk:
    def __init__(self) -> None:
        self.log = MemoryLog()


class AMachine:
    """As much of a machine as checkers look at."""

    def __init__(self, name: str = "b1", **settings: Any) -> None:
        self.name = name
        self.settings = Settings(name, Topology.alone(name), name, ("orders",), **settings)
        self.disk = _Disk()
        self.clock = Clock()

    def hear(self, session: Session, act: Callable[..., None]) -> None: ...
    def client_gone(self, session: Session) -> None: ...


class AClient:
    """As much of a client as checkers look at."""

    def __init__(self, name: str) -> None:
        self.name = name

    def hear(self, session: Session, message: Message) -> None: ...
    def lost(self, session: Session, because: str) -> None: ...


class Scene:
    """One broker with the stream `orders`, whose log is what is written here."""

    def __init__(self, make: Callable[[Ledger, Timeline], Checker] | None = None) -> None:
        self.timeline = Timeline(1_000)
        self.observers = Observers()
        self.ledger = Ledger(self.observers, lambda host, broker: ())
        self.observers.add(self.ledger)
        self.machine: Any = AMachine()
        self._sessions = 0
        self._requests = 0
        if make is not None:
            self.observers.add(make(self.ledger, self.timeline))

    def see(self, name: str, *arguments: Any) -> None:
        for hook in getattr(self.observers, name):
            hook(*arguments)

    # What is written down.

    def version(self, *changes: dict[str, Any]) -> int:
        number = len(self.ledger.history) + 1
        self.see("batch_stored", number, batch_of(changes, "ada", self.timeline.now))
        self.see("policy_told", number)
        return number

    def record(self, body: Any, version: int = 1, **said: Any) -> Record:
        """The next of `orders` (or another stream), not yet on disk; no body for a marker."""
        stream = said.get("stream", "orders")
        log = self.ledger.logs.get(stream)
        offset = 1 if log is None else log.last + 1
        return Record(
            stream,
            said.get("incarnation", "first"),
            said.get("offset", offset),
            version,
            EPOCH_US + self.timeline.now,
            said.get("publisher", "pam"),
            said.get("event_id", f"e{offset}"),
            None if body is None else msgspec.json.encode(body),
            is_json=True,
            known={},
            vector={},
        )

    def store(self, record: Record) -> int:
        self.see("stored", self.machine, [Append(1, (record,))])
        return record.offset

    def log(self, body: Any, version: int = 1, **said: Any) -> int:
        return self.store(self.record(body, version, **said))

    # What clients ask and hear.

    def session(self, principal: str = "ann", domain: str | None = None) -> Session:
        self._sessions += 1
        client = AClient(f"client{self._sessions}")
        session = Session(self._sessions, client, self.machine, principal, domain)
        session.is_held_by_broker = True
        return session

    def tell(self, session: Session, message: Message) -> None:
        self.see("told", session, message)

    def connect(self, version: int, principal: str = "ann") -> Session:
        session = self.session(principal)
        self.tell(session, Connected(version))
        return session

    def subscribe(self, session: Session, filter_: str = "TRUE", **asked: Any) -> int:
        """Accepted at once, and started on `orders` after 0."""
        number = self._requests = self._requests + 1
        wanted = SubscriptionAsked(
            number, "key", filter_, asked.get("durable"), asked.get("causal", False),
            asked.get("after"),
        )  # fmt: skip
        session.asked[number] = wanted
        self.see("asked", session, number, wanted)
        self.tell(session, Subscribed(number, number, asked.get("attachment", 0)))
        for stream, after in asked.get("starts", {"orders": 0}).items():
            self.tell(session, Started(number, stream, "first", after))
        return number

    def ask_to_publish(self, session: Session, body: Any, event_id: str) -> int:
        number = self._requests = self._requests + 1
        asked = PublicationAsked(None, event_id, msgspec.json.encode(body), True, {})
        session.asked[number] = asked
        self.see("asked", session, number, asked)
        return number

    def published(self, session: Session, request: int, offset: int, **said: Any) -> None:
        message = Published(request, said.get("stream", "orders"), offset, said.get("version", 1))
        self.tell(session, message)
        self.see("heard", session, message)

    def deliver(self, session: Session, number: int, offset: int, **said: Any) -> None:
        """The view that is owed, if nothing else is said."""
        stream = said.get("stream", "orders")
        log = self.ledger.logs.get(stream)
        record = None if log is None else log.at(offset)
        event = said.get("event")
        if event is None and record is not None and not record.is_marker:
            event = record.event
        version = said.get("version", 0 if record is None else record.version)
        message = Delivery(number, stream, "first", offset, version, event or Event.of({}))
        self.tell(session, message)
        self.see("heard", session, message)

    def acknowledge(self, session: Session, number: int, offset: int, *, keep: bool = True) -> None:
        self.see("acknowledging", session, number, "orders", offset)
        if keep:
            self.tell(session, Acknowledged(number, "orders", offset))

    def end(self, session: Session, number: int, after: int) -> None:
        self.tell(session, SubscriptionEnded(number, "enough", (("orders", after),)))
