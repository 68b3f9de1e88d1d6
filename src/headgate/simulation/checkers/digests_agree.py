"""Does each checkpoint say what its subscription was really owed, and sent?"""

from __future__ import annotations

from typing import Any, final

import msgspec

from headgate.broker.effects import Message, Subscribed
from headgate.log.digests import RunningDigest, view_bytes
from headgate.log.records import DELIVERIES, Record
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.sessions import Session


@final
class DigestsAgree(Checker):
    """The digest of each checkpoint is worked out again from the service model's views."""

    promise = "digests_agree"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._attachments: dict[tuple[str, int, int], Attachment] = {}
        self._reached: dict[tuple[str, int, int, str], int] = {}

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Subscribed):
            key = (session.host.name, session.id, message.subscription)
            self._attachments[key] = session.attachments[message.subscription]

    def logged(self, machine: Machine, record: Record) -> None:
        if record.stream.startswith(DELIVERIES) and record.body is not None:
            self._check(machine.name, record, msgspec.json.decode(record.body))

    def _check(self, broker: str, record: Record, said: dict[str, Any]) -> None:
        who = f"{record.stream} {record.offset}"
        key = (broker, said["client"], said["subscription"])
        attachment = self._attachments.get(key)
        if attachment is None:
            raise self.broken(who, "a checkpoint of a subscription", f"one of client {key[1]}")
        stream, first, last = said["stream"], said["from"], said["to"]
        reached = self._reached.get((*key, stream), 0)
        if not reached < first <= last:
            raise self.broken(who, f"{stream} after {reached}", f"{first} to {last}")
        self._reached[(*key, stream)] = last
        expected = self._digest(attachment, stream, first, last, said["version"])
        if (said["count"], said["digest"]) != (expected.count, expected.digest.hex()):
            raise self.broken(
                who,
                f"{expected.count} views of {stream} {first} to {last} for {attachment}, "
                f"{expected.digest.hex()[:12]}",
                f"{said['count']} views, {said['digest'][:12]}",
            )

    def _digest(
        self, attachment: Attachment, stream: str, first: int, last: int, version: int
    ) -> RunningDigest:
        """Of the views at this version; one of another version is not in this checkpoint."""
        log = self._ledger.logs.get(stream)
        digest = RunningDigest()
        for offset in range(first, last + 1):
            record = None if log is None else log.at(offset)
            if record is not None and record.version == version:
                view = self._ledger.view(attachment.reader, stream, offset)
                if view is not None:
                    digest = digest.add(offset, version, view_bytes(view))
        return digest
