"""Is each delivery the view that the service model gives of a stored record, and no other?"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import Delivery, Message
from headgate.model.events import Event
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.sessions import Session


@final
class ExactlyWhatTheGateGives(Checker):
    """That nothing is missing is for `in_order_without_gaps` to see."""

    promise = "exactly_what_the_gate_gives"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Delivery):
            self._delivered(self._ledger.attachment(session, message.subscription), message)

    def _delivered(self, attachment: Attachment, message: Delivery) -> None:
        stream, offset = message.stream, message.offset
        log = self._ledger.logs.get(stream)
        record = None if log is None else log.at(offset)
        where = f"{stream} {offset}"
        if record is None or record.incarnation != message.incarnation:
            raise self.broken(attachment, "a record that is stored", f"{where}, which isn't")
        if message.version != record.version:
            raise self.broken(
                attachment, f"version {record.version} of {where}", f"version {message.version}"
            )
        expected = self._ledger.view(attachment.reader, stream, offset)
        if expected is None:
            raise self.broken(attachment, f"nothing of {where}", seen(message.event))
        if expected != message.event:
            raise self.broken(attachment, f"{seen(expected)} of {where}", seen(message.event))
        self._ledger.delivered += 1


def seen(event: Event) -> str:
    """A view in words, with the names that are the broker's own."""
    own = {name: value for name, value in sorted(event.attributes.items()) if name[:1] == "$"}
    said = ", ".join(f"{name} {value}" for name, value in own.items())
    return event.to_bytes().decode("utf-8", "backslashreplace") + (f" ({said})" if said else "")
