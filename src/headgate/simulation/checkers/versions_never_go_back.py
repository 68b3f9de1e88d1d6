"""Do versions only grow: in each log, for each subscription on a stream, at each broker?"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import BatchApplied, Connected, Delivery, Message
from headgate.log.records import Record
from headgate.simulation.checkers.ledger import Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.sessions import Session


@final
class VersionsNeverGoBack(Checker):
    """And none is ahead of the ACL database."""

    promise = "versions_never_go_back"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._of_logs: dict[str, int] = {}
        self._of_brokers: dict[tuple[str, int], int] = {}

    def logged(self, machine: Machine, record: Record) -> None:
        who = f"{record.stream} {record.offset}"
        before = self._of_logs.get(record.stream, 0)
        if record.version < before:
            raise self.broken(who, f"version {before} or later", f"version {record.version}")
        if record.version > before and not record.is_marker:
            raise self.broken(who, f"a marker before version {record.version}", "a publication")
        if record.is_marker and record.version == before:
            raise self.broken(who, f"one marker of version {before}", "another one")
        self._check_exists(who, record.version)
        self._of_logs[record.stream] = record.version

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Delivery):
            attachment = self._ledger.attachment(session, message.subscription)
            cursor = attachment.cursors.get(message.stream)
            if cursor is not None:
                if message.version < cursor.version:
                    raise self.broken(
                        attachment,
                        f"version {cursor.version} or later on {message.stream}",
                        f"version {message.version} at {message.offset}",
                    )
                cursor.version = message.version
        elif isinstance(message, Connected):
            self._connected(session, message.version)
        elif isinstance(message, BatchApplied):
            self._check_exists(str(session), message.version)

    def _connected(self, session: Session, version: int) -> None:
        self._check_exists(str(session), version)
        key = (session.host.name, session.boot)
        before = self._of_brokers.get(key, 0)
        if version < before:
            raise self.broken(session, f"version {before} or later", f"version {version}")
        self._of_brokers[key] = version

    def _check_exists(self, who: str, version: int) -> None:
        newest = len(self._ledger.history)
        if version > newest:
            raise self.broken(who, f"version {newest} or earlier", f"version {version}")
