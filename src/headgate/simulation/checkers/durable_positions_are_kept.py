"""Does a durable subscription go on exactly where it was acknowledged, wherever it is attached?"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import (
    Acknowledged,
    Delivery,
    Message,
    Started,
    Subscribed,
    SubscriptionEnded,
)
from headgate.model.events import Event
from headgate.simulation.checkers.exactly_what_the_gate_gives import seen
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.sessions import Session


@final
class _Durable:
    """One durable subscription, over all its attachments."""

    __slots__ = ("attached", "kept", "numbers", "sent", "started", "views")

    def __init__(self) -> None:
        self.attached: Attachment | None = None
        """The latest attachment: what earlier ones acknowledge doesn't count any more."""
        self.numbers: set[int] = set()
        self.started: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        """What was said to be kept."""
        self.sent: dict[str, int] = {}
        """What was acknowledged, or may have been."""
        self.views: dict[tuple[str, int], Event] = {}


@final
class DurablePositionsAreKept(Checker):
    """Positions only grow, kept ones are never lost, and what comes again looks the same."""

    promise = "durable_positions_are_kept"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._durables: dict[tuple[str, str], _Durable] = {}

    def acknowledging(self, session: Session, subscription: int, stream: str, offset: int) -> None:
        attachment = session.attachments.get(subscription)
        durable = None if attachment is None else self._of(attachment)
        if durable is not None:
            durable.sent[stream] = max(durable.sent.get(stream, 0), offset)

    def unsubscribing(self, session: Session, subscription: int) -> None:
        """It is forgotten for good, sooner or later: nothing is promised of it any more."""
        attachment = session.attachments.get(subscription)
        if attachment is not None and attachment.asked.durable is not None:
            self._durables.pop((session.principal, attachment.asked.durable), None)

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Subscribed | Started | Delivery | Acknowledged | SubscriptionEnded):
            attachment = session.attachments.get(message.subscription)
            durable = None if attachment is None else self._of(attachment)
            if attachment is None or durable is None:
                return
            if isinstance(message, Subscribed):
                self._subscribed(durable, attachment)
            elif isinstance(message, Started):
                self._started(durable, attachment, message)
            elif isinstance(message, Delivery):
                self._delivered(durable, attachment, message)
            elif isinstance(message, Acknowledged):
                self._acknowledged(durable, attachment, message)

    def _of(self, attachment: Attachment) -> _Durable | None:
        name = attachment.asked.durable
        if name is None or attachment.unsubscribed:
            return None
        return self._durables.setdefault((attachment.session.principal, name), _Durable())

    def _subscribed(self, durable: _Durable, attachment: Attachment) -> None:
        # An attachment that was overtaken by another one may still hear of itself.
        if attachment.number in durable.numbers:
            raise self.broken(attachment, "a number of its own", f"{attachment.number} again")
        durable.numbers.add(attachment.number)
        if attachment.number == max(durable.numbers):
            durable.attached = attachment

    def _started(self, durable: _Durable, attachment: Attachment, message: Started) -> None:
        stream, after = message.stream, message.after
        if attachment is not durable.attached:
            return  # overtaken: what it hears doesn't count any more
        first = durable.started.setdefault(stream, after)
        least = max(first, durable.kept.get(stream, 0))
        most = max(first, durable.sent.get(stream, 0))
        if not least <= after <= most:
            where = f"{least}" if least == most else f"{least} to {most}"
            raise self.broken(attachment, f"to start on {stream} after {where}", f"after {after}")

    def _delivered(self, durable: _Durable, attachment: Attachment, message: Delivery) -> None:
        key = (message.stream, message.offset)
        before = durable.views.setdefault(key, message.event)
        if before != message.event:
            raise self.broken(
                attachment,
                f"{seen(before)} of {message.stream} {message.offset}, as before",
                seen(message.event),
            )

    def _acknowledged(
        self, durable: _Durable, attachment: Attachment, message: Acknowledged
    ) -> None:
        stream, offset = message.stream, message.offset
        sent = max(durable.sent.get(stream, 0), durable.started.get(stream, 0))
        if offset > sent:
            raise self.broken(attachment, f"at most {sent} of {stream} to be kept", f"{offset}")
        if attachment is durable.attached:
            durable.kept[stream] = max(durable.kept.get(stream, 0), offset)
