"""Does a causal subscription receive nothing before what it was caused by?

What caused a publication is taken from what its client had heard on that connection, and had
published on it, not from the vectors of the brokers.
"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import Delivery, Message, Published
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.sessions import Asked, PublicationAsked, Session

Vector = dict[str, int]


@final
class CausalOrderIsKept(Checker):
    """Keeps vectors of its own, for each connection and each record."""

    promise = "causal_order_is_kept"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._knows: dict[int, Vector] = {}
        """What each connection has heard or published, by its id."""
        self._causes: dict[tuple[str, str], Vector] = {}
        """Of each publication, by its publisher and event id."""
        self._seen: dict[tuple[int, int], Vector] = {}

    def asked(self, session: Session, request: int, asked: Asked) -> None:
        if isinstance(asked, PublicationAsked):
            key = (session.principal, asked.event_id)
            knows = self._knows.get(session.id, {})
            before = self._causes.get(key)
            if before is None:
                self._causes[key] = dict(knows)
            else:  # asked more than once: only what was known each time is sure to be a cause
                self._causes[key] = {
                    stream: min(offset, knows[stream])
                    for stream, offset in before.items()
                    if stream in knows
                }

    def heard(self, session: Session, message: Message) -> None:
        """What a client publishes from now on may be caused by this."""
        if isinstance(message, Delivery | Published):
            knows = self._knows.setdefault(session.id, {})
            _merge(knows, self._causes_of(message.stream, message.offset))
            _merge(knows, {message.stream: message.offset})

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Delivery):
            attachment = self._ledger.attachment(session, message.subscription)
            if attachment.asked.causal:
                self._delivered(attachment, message)

    def _delivered(self, attachment: Attachment, message: Delivery) -> None:
        key = (attachment.session.id, message.subscription)
        if self._ledger.crosses_border(attachment.reader, message.stream):
            return  # nothing is said in one domain of what caused something in another
        seen = self._seen.setdefault(key, {})
        if seen.get(message.stream, 0) >= message.offset:
            raise self.broken(
                attachment, f"{message.stream} {message.offset} before what it caused", "it after"
            )
        causes = self._causes_of(message.stream, message.offset)
        _merge(seen, {stream: at for stream, at in causes.items() if stream != message.stream})

    def _causes_of(self, stream: str, offset: int) -> Vector:
        log = self._ledger.logs.get(stream)
        record = None if log is None else log.at(offset)
        return {} if record is None else self._causes.get((record.publisher, record.event_id), {})


def _merge(into: Vector, vector: Vector) -> None:
    for stream, offset in vector.items():
        into[stream] = max(into.get(stream, 0), offset)
