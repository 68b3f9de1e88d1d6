"""Is whoever is owed something that was removed told so, before it goes on behind it?

Nothing of a stream is owed any more from where it was lost up to where it goes on.
"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import Lost, Message, Started
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.sessions import Session


@final
class WhatIsLostIsTold(Checker):
    """Sees that each loss is true and complete, and that each start is where it was said.

    It ends the ledger's cursors, so it stands behind the checkers that look at them.
    """

    promise = "what_is_lost_is_told"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Lost):
            self._lost(self._ledger.attachment(session, message.subscription), message)
        elif isinstance(message, Started):
            self._started(self._ledger.attachment(session, message.subscription), message)

    def _lost(self, attachment: Attachment, message: Lost) -> None:
        stream, after, up_to = message.stream, message.after, message.up_to
        log = self._ledger.logs.get(stream)
        if log is None or log.incarnation != message.incarnation:
            raise self.broken(attachment, f"a loss of a stream that is there, not {stream}", "one")
        if not after < up_to <= log.cut:
            raise self.broken(
                attachment, f"at most {log.cut} of {stream} to be gone", f"{after} to {up_to}"
            )
        cursor = attachment.cursors.pop(stream, None)
        at = cursor.position if cursor is not None else self._goes_on_after(attachment, stream)
        if at is not None:
            missed = self._ledger.next_owed(attachment.reader, stream, at, after + 1)
            if after < at or missed is not None:
                raise self.broken(
                    attachment, f"{stream} to be lost after {missed or at}", f"{after}"
                )
        attachment.lost[stream] = up_to

    def _started(self, attachment: Attachment, message: Started) -> None:
        stream, after = message.stream, message.after
        expected = self._goes_on_after(attachment, stream)
        if expected is not None and after != expected:
            raise self.broken(attachment, f"to start on {stream} after {expected}", f"{after}")
        attachment.lost.pop(stream, None)

    def _goes_on_after(self, attachment: Attachment, stream: str) -> int | None:
        """Behind what it lost, or where it asked to start; a durable one where it was before."""
        asked = attachment.asked
        if stream in attachment.lost or asked.durable is not None or asked.after is None:
            return attachment.lost.get(stream)
        return asked.after.get(stream)
