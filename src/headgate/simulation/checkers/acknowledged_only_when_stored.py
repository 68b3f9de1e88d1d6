"""Is everything that was acknowledged on a disk, to stay there until it is removed?"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import Message, Published
from headgate.log.records import Record
from headgate.model.errors import EventError
from headgate.model.events import Event
from headgate.simulation.checkers.ledger import Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.sessions import PublicationAsked, Session


@final
class AcknowledgedOnlyWhenStored(Checker):
    """Publications, when they are answered, after each start of their broker, and at the end."""

    promise = "acknowledged_only_when_stored"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._acknowledged: dict[str, list[Record]] = {}
        self._machines: dict[str, Machine] = {}

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Published):
            self._published(session, message)

    def _published(self, session: Session, message: Published) -> None:
        asked = session.asked.get(message.request)
        where = f"{message.stream} {message.offset}"
        if not isinstance(asked, PublicationAsked):
            raise self.broken(session, "an answer to a publication", f"{where} for something else")
        log = self._ledger.logs.get(message.stream)
        record = None if log is None else log.at(message.offset)
        if log is None or record is None:
            raise self.broken(session, f"{where} to be on disk", "an acknowledgement before")
        if log.host != session.host.name:
            raise self.broken(session, f"a stream of {session.host.name}", where)
        # Of a repeated one the broker remembers where it stands, not under which version.
        version = record.version if message.repeated else message.version
        came = (record.publisher, record.event_id, record.version)
        if came != (session.principal, asked.event_id, version):
            raise self.broken(
                session,
                f"{asked.event_id} of {session.principal} under version {message.version} at "
                f"{where}",
                f"{record.event_id} of {record.publisher} under version {record.version}",
            )
        if record.body is None or not same_content(record.body, asked):
            raise self.broken(session, f"{asked.body!r} at {where}", f"{record.body!r}")
        self._acknowledged.setdefault(session.host.name, []).append(record)

    def started(self, machine: Machine) -> None:
        self._machines[machine.name] = machine
        self._check(machine)

    def at_rest(self) -> None:
        for machine in self._machines.values():
            self._check(machine)

    def _check(self, machine: Machine) -> None:
        """All that was ever acknowledged there is there."""
        found = machine.disk.log
        for record in self._acknowledged.get(machine.name, ()):
            log = self._ledger.logs[record.stream]
            if record.offset <= log.removed:
                continue
            kept = found.read(record.stream, record.offset - 1, 1)
            if kept != (record,):
                raise self.broken(
                    machine.name,
                    f"{record.stream} {record.offset} to be kept as acknowledged",
                    f"{kept[0].event_id} there" if kept else "nothing there",
                )


def same_content(body: bytes, asked: PublicationAsked) -> bool:
    """Whether a record holds what was asked for: JSON may be written otherwise."""
    if body == asked.body or not asked.is_json:
        return body == asked.body
    try:
        return Event.from_json(body) == Event.from_json(asked.body)
    except EventError:
        return False
