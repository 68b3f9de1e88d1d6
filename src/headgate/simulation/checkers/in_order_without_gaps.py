"""Does each subscription receive all it is owed of a stream, once and in order?"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import Delivery, Message, SubscriptionEnded
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.sessions import Session


@final
class InOrderWithoutGaps(Checker):
    """Sees each gap when what follows it is delivered, or when the subscription ends.

    It moves the ledger's cursors, so it stands behind the checkers that look at them.
    """

    promise = "in_order_without_gaps"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Delivery):
            self._delivered(self._ledger.attachment(session, message.subscription), message)
        elif isinstance(message, SubscriptionEnded):
            attachment = self._ledger.attachment(session, message.subscription)
            self._ended(attachment, message)
            attachment.is_over = True

    def _delivered(self, attachment: Attachment, message: Delivery) -> None:
        stream, offset = message.stream, message.offset
        cursor = attachment.cursors.get(stream)
        if cursor is None:
            raise self.broken(attachment, f"`Started` on {stream} first", f"offset {offset}")
        if offset <= cursor.position:
            raise self.broken(
                attachment, f"an offset after {cursor.position} of {stream}", f"{offset}"
            )
        missed = self._ledger.next_owed(attachment.reader, stream, cursor.position, offset)
        if missed is not None:
            raise self.broken(attachment, f"{stream} {missed} next", f"{offset}")
        cursor.position = offset

    def _ended(self, attachment: Attachment, message: SubscriptionEnded) -> None:
        for stream, end in message.after:
            cursor, log = attachment.cursors.get(stream), self._ledger.logs.get(stream)
            if cursor is None or log is None:
                continue
            if end < cursor.position:
                raise self.broken(
                    attachment, f"an end at {cursor.position} or later of {stream}", f"{end}"
                )
            before = min(end, log.last) + 1
            missed = self._ledger.next_owed(attachment.reader, stream, cursor.position, before)
            if missed is not None:
                raise self.broken(attachment, f"{stream} {missed} before its end", f"end {end}")
