"""What is true in this run? Who was told what, what stands in the logs, and what each one is owed.

What is owed comes from the service model, from the stored records and the batches as they were
written down; nothing of it comes from a core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, final

import msgspec

from headgate.broker.effects import Append, Message, Started, Subscribed, SubscriptionEnded
from headgate.log.records import Record
from headgate.model.events import Event
from headgate.rights.changes import Batch
from headgate.simulation import service_model
from headgate.simulation.checkers.promises import Checker, Observers, PromiseBroken
from headgate.simulation.disks import Write
from headgate.simulation.machines import Machine
from headgate.simulation.service_model import Wish, attributes, grants, rights, view
from headgate.simulation.sessions import Session, SubscriptionAsked

_READ_MAX: Final = 1_000_000
_UNKNOWN: Final = object()

Through = Callable[[str, str], tuple[tuple[str, str], ...]]
"""The borders between a host and a broker, from the host on: `into` or `out of` which domain."""
INTO: Final = "into"
OUT_OF: Final = "out of"


@final
class Log:
    """A stream as it is stored."""

    __slots__ = (
        "cut", "host", "incarnation", "modelled", "records", "removed", "stream", "taken",
    )  # fmt: skip

    def __init__(self, stream: str, host: str, incarnation: str) -> None:
        self.stream = stream
        self.host = host
        self.incarnation = incarnation
        self.records: list[Record] = []
        self.modelled: list[service_model.Record | None] = []
        """As the service model has them; `None` for a marker."""
        self.cut = 0
        """Up to here its records are gone from the disk, or may be going."""
        self.taken = 0
        """Up to here they were taken by force, whoever was owed them."""
        self.removed = 0
        """Up to here they are gone."""

    @property
    def last(self) -> int:
        return len(self.records)

    def at(self, offset: int) -> Record | None:
        return self.records[offset - 1] if 0 < offset <= len(self.records) else None

    def add(self, record: Record) -> None:
        self.records.append(record)
        self.modelled.append(None if record.is_marker else as_modelled(record))


def as_modelled(record: Record) -> service_model.Record:
    """The same record in the words of the service model."""
    assert record.body is not None
    body: Any = msgspec.json.decode(record.body) if record.is_json else record.body
    known = {
        **record.known,
        "$stream": record.stream,
        "$publisher": record.publisher,
        "$time": record.time,
    }
    return service_model.Record(record.stream, record.offset, body, known)


@final
class Reader:
    """Whoever asked for the same as the same principal at the same place: all are owed the same."""

    __slots__ = ("broker", "views", "wish")

    def __init__(self, wish: Wish, broker: str) -> None:
        self.wish = wish
        self.broker = broker
        self.views: dict[str, list[Any]] = {}

    def __str__(self) -> str:
        domain = f" of {self.wish.domain}" if self.wish.domain else ""
        return f"{self.wish.principal}{domain} for {self.wish.filter}"


@final
class Cursor:
    """How far a subscription has come on one stream."""

    __slots__ = ("incarnation", "position", "start", "version")

    def __init__(self, start: int, incarnation: str) -> None:
        self.start = start
        self.position = start
        """The last offset delivered."""
        self.incarnation = incarnation
        self.version = 0


@final
class Attachment:
    """A subscription of one connection, from `Subscribed` to its end."""

    __slots__ = (
        "asked", "cursors", "is_over", "lost", "number", "reader", "session", "since",
        "unsubscribed",
    )  # fmt: skip

    def __init__(
        self, session: Session, asked: SubscriptionAsked, number: int, reader: Reader
    ) -> None:
        self.session = session
        self.asked = asked
        self.number = number
        """How often a durable subscription was attached, with this time."""
        self.reader = reader
        self.cursors: dict[str, Cursor] = {}
        self.lost: dict[str, int] = {}
        """Streams on which it was told of a loss, and not yet that it starts behind it."""
        self.since: dict[str, int] = {}
        """Where each stream stood when it was accepted."""
        self.is_over = False
        self.unsubscribed = False

    def __str__(self) -> str:
        name = self.asked.durable or self.asked.key
        return f"{name} of {self.session} ({self.reader})"


@final
class Ledger(Checker):
    """The facts that the checkers judge by."""

    promise = "what_is_said_makes_sense"

    def __init__(self, observers: Observers, through: Through) -> None:
        self.logs: dict[str, Log] = {}
        self.history: list[dict[str, Any]] = []
        """The batches as they were written down, from version 1 on."""
        self.attachments: list[Attachment] = []
        self.delivered = 0
        self._observers = observers
        self._through = through
        self._readers: dict[tuple[str, str, str | None, str], Reader] = {}

    # What is written down.

    def stored(self, machine: Machine, writes: list[Write]) -> None:
        for write in writes:
            if isinstance(write, Append):
                for record in write.records:
                    self._log(machine, record)

    def started(self, machine: Machine) -> None:
        """A crash may have left more than the broker was told of."""
        for stream in machine.disk.log.streams():
            log = self.logs.get(stream)
            for record in machine.disk.log.read(stream, 0 if log is None else log.last, _READ_MAX):
                self._log(machine, record)

    def _log(self, machine: Machine, record: Record) -> None:
        log = self.logs.get(record.stream)
        if log is None:
            log = Log(record.stream, machine.name, record.incarnation)
            self.logs[record.stream] = log
        if log.host != machine.name:
            raise self.broken(machine.name, f"{record.stream} to be {log.host}'s", "a record")
        log.add(record)
        for hook in self._observers.logged:
            hook(machine, record)

    def removing(self, machine: Machine, up_to: dict[str, int], forced: bool) -> None:
        for stream, offset in up_to.items():
            log = self.logs[stream]
            log.cut = max(log.cut, offset)
            if forced:
                log.taken = max(log.taken, log.cut)

    def removed(self, machine: Machine, stream: str, up_to: int) -> None:
        log = self.logs[stream]
        if up_to > log.cut:
            raise self.broken(machine.name, f"at most {log.cut} of {stream} to go", f"{up_to}")
        log.removed = max(log.removed, up_to)

    def batch_stored(self, version: int, batch: Batch) -> None:
        assert version == len(self.history) + 1
        self.history.append(batch.to_json())

    # Who is told what.

    def told(self, session: Session, message: Message) -> None:
        kind = message.__class__
        if kind is Subscribed:
            assert isinstance(message, Subscribed)
            self._subscribed(session, message)
        elif kind is Started:
            assert isinstance(message, Started)
            self._started(session, message)
        elif kind is SubscriptionEnded:
            assert isinstance(message, SubscriptionEnded)
            self.attachment(session, message.subscription)

    def gone(self, session: Session, because: str) -> None:
        for attachment in session.attachments.values():
            attachment.is_over = True

    def unsubscribing(self, session: Session, subscription: int) -> None:
        attachment = session.attachments.get(subscription)
        if attachment is not None:
            attachment.unsubscribed = True

    def attachment(self, session: Session, subscription: int) -> Attachment:
        found = session.attachments.get(subscription)
        if found is None:
            raise self.broken(session, "`Subscribed` first", f"word of subscription {subscription}")
        assert isinstance(found, Attachment)
        if found.is_over:
            raise self.broken(found, "no more after its end", "more")
        return found

    def _subscribed(self, session: Session, message: Subscribed) -> None:
        asked = session.asked.get(message.request)
        if not isinstance(asked, SubscriptionAsked) or asked.subscription != message.subscription:
            raise self.broken(session, "an answer to a request", str(message))
        if message.subscription in session.attachments:
            raise self.broken(session, "one answer", f"another one: {message}")
        reader = self.reader(session, asked.filter)
        attachment = Attachment(session, asked, message.attachment, reader)
        attachment.since = {stream: log.last for stream, log in self.logs.items()}
        session.attachments[message.subscription] = attachment
        self.attachments.append(attachment)

    def _started(self, session: Session, message: Started) -> None:
        attachment = self.attachment(session, message.subscription)
        before = attachment.cursors.get(message.stream)
        if before is not None and before.incarnation == message.incarnation:
            raise self.broken(attachment, f"one start on {message.stream}", "another one")
        log = self.logs.get(message.stream)
        if log is not None and message.incarnation != log.incarnation:
            raise self.broken(
                attachment, f"the incarnation {log.incarnation}", f"{message.incarnation}"
            )
        attachment.cursors[message.stream] = Cursor(message.after, message.incarnation)

    # What is owed.

    def reader(self, session: Session, text: str) -> Reader:
        key = (session.principal, text, session.domain, session.host.name)
        found = self._readers.get(key)
        if found is None:
            wish = Wish(session.principal, text, session.domain)
            found = self._readers[key] = Reader(wish, session.host.name)
        return found

    def view(self, reader: Reader, stream: str, offset: int) -> Event | None:
        """What a reader sees of the record at an offset; nothing where it is withheld."""
        views = reader.views.get(stream)
        if views is None:
            views = reader.views[stream] = []
        if len(views) < offset:
            views += [_UNKNOWN] * (offset - len(views))
        found = views[offset - 1]
        if found is _UNKNOWN:
            found = views[offset - 1] = self._view(reader, self.logs[stream], offset)
        assert found is None or isinstance(found, Event)
        return found

    def next_owed(self, reader: Reader, stream: str, after: int, before: int) -> int | None:
        """The first offset between two others that a reader has a view of."""
        for offset in range(after + 1, before):
            if self.view(reader, stream, offset) is not None:
                return offset
        return None

    def _view(self, reader: Reader, log: Log, offset: int) -> Event | None:
        record, modelled = log.records[offset - 1], log.modelled[offset - 1]
        if modelled is None:
            return None
        for way, domain in self._through(log.host, reader.broker):
            crossed = self._crossed(way, domain, record.version, modelled)
            if crossed is None:
                return None
            modelled = crossed
        seen = view(self.history, record.version, modelled, reader.wish)
        return None if seen is None else event_of(*seen)

    def _crossed(
        self, way: str, domain: str, version: int, modelled: service_model.Record
    ) -> service_model.Record | None:
        """What is left of a record behind a border; nothing where it doesn't get across."""
        if way == OUT_OF:
            event = attributes(modelled.body, modelled.known)
            rules = rights(self.history[:version], domain)
            return modelled if any(may_publish(rule, event) for rule in rules) else None
        seen = view(self.history, version, modelled, Wish(domain))
        return None if seen is None else replace(modelled, body=seen[0], known=seen[1])

    def crosses_border(self, reader: Reader, stream: str) -> bool:
        """Whether a stream comes to a reader from another domain, or through one."""
        log = self.logs.get(stream)
        return log is not None and bool(self._through(log.host, reader.broker))


def may_publish(rule: service_model.Said, event: dict[str, Any]) -> bool:
    """Whether a rule lets publish an event: by its upper bound, and by what may be written."""
    if rule["action"] != "publish" or not grants(rule, event):
        return False
    writable = rule.get("attributes")
    return writable is None or all(name in writable for name in event if name[:1] != "$")


def event_of(body: Any, known: Any) -> Event:
    """An event as the service model gives it."""
    if isinstance(body, bytes):
        return Event.from_bytes(body).with_known(known)
    plain = Event.of(body) if isinstance(body, dict) else Event.from_json(msgspec.json.encode(body))
    return plain.with_known(known)


__all__ = ["Attachment", "Cursor", "Ledger", "Log", "PromiseBroken", "Reader"]
