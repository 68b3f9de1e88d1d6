"""Is it written to `$subscriptions` where a subscription starts, before its client is told?"""

from __future__ import annotations

from typing import final

import msgspec

from headgate.broker.effects import Message, Started
from headgate.log.records import SUBSCRIPTIONS, Record
from headgate.simulation.checkers.ledger import Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.sessions import Session


@final
class StartsAreWrittenDown(Checker):
    """Keeps what was written: for whom, on which stream, after which offset."""

    promise = "starts_are_written_down"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._written: set[tuple[object, ...]] = set()

    def logged(self, machine: Machine, record: Record) -> None:
        if record.stream.startswith(SUBSCRIPTIONS) and record.body is not None:
            said = msgspec.json.decode(record.body)
            if said["change"] == "started":
                self._written.add(
                    (
                        machine.name, said["client"], said["subscription"], said["principal"],
                        said["attachment"], said["stream"], said["incarnation"], said["after"],
                    )
                )  # fmt: skip

    def told(self, session: Session, message: Message) -> None:
        if not isinstance(message, Started):
            return
        attachment = self._ledger.attachment(session, message.subscription)
        key = (
            session.host.name, session.id, message.subscription, session.principal,
            attachment.number, message.stream, message.incarnation, message.after,
        )  # fmt: skip
        if key not in self._written:
            raise self.broken(
                attachment,
                f"the start on {message.stream} after {message.after} to be written down",
                "word of it before",
            )
