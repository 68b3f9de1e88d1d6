"""Does a durable subscription go on exactly where it was acknowledged, wherever it is attached?

Nothing that it is owed is removed, unless somebody has decided that. What counts is what it had
been told of its start when its broker asked what may go: one that is made from an old offset while
the answer is under way may lose something, and is told.
"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import (
    Acknowledged,
    Delivery,
    Lost,
    Message,
    Started,
    Subscribed,
)
from headgate.model.events import Event
from headgate.simulation.checkers.exactly_what_the_gate_gives import seen
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.sessions import Session


@final
class _Durable:
    """One durable subscription, over all its attachments."""

    __slots__ = (
        "attached", "first", "kept", "lost", "lost_after", "numbers", "sent", "started", "views",
    )  # fmt: skip

    def __init__(self) -> None:
        self.attached: Attachment | None = None
        """The latest attachment: what earlier ones acknowledge doesn't count any more."""
        self.numbers: set[int] = set()
        self.started: set[str] = set()
        self.first: dict[str, int] = {}
        """From where on it is owed something: where it started, or would have."""
        self.lost_after: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        """What was said to be kept."""
        self.sent: dict[str, int] = {}
        """What was acknowledged, or may have been."""
        self.lost: dict[str, int] = {}
        """Up to where it was told that what it was owed is gone."""
        self.views: dict[tuple[str, int], Event] = {}

    def done(self, stream: str) -> int:
        """Up to here it is owed no more, as far as anybody may know."""
        return max(one.get(stream, 0) for one in (self.first, self.sent, self.lost))


@final
class DurablePositionsAreKept(Checker):
    """Positions only grow, kept ones are never lost, and what comes again looks the same."""

    promise = "durable_positions_are_kept"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._durables: dict[tuple[str, str], _Durable] = {}
        self._made_anew: set[tuple[str, str]] = set()
        self._considered: dict[str, list[tuple[_Durable, tuple[str, ...]]]] = {}
        """By broker, who had started on which streams when it asked what may be removed."""

    def acknowledging(self, session: Session, subscription: int, stream: str, offset: int) -> None:
        attachment = session.attachments.get(subscription)
        durable = None if attachment is None else self._of(attachment)
        if durable is not None:
            durable.sent[stream] = max(durable.sent.get(stream, 0), offset)

    def unsubscribing(self, session: Session, subscription: int) -> None:
        """It is forgotten for good, sooner or later: nothing is promised of it any more."""
        attachment = session.attachments.get(subscription)
        if attachment is not None and attachment.asked.durable is not None:
            key = (session.principal, attachment.asked.durable)
            self._made_anew.add(key)
            self._durables.pop(key, None)

    def considering(self, machine: Machine) -> None:
        self._considered[machine.name] = [
            (durable, tuple(durable.started)) for durable in self._durables.values()
        ]

    def removing(self, machine: Machine, up_to: dict[str, int], forced: bool) -> None:
        if forced:
            return
        there = set(self._durables.values())
        for durable, streams in self._considered.get(machine.name, ()):
            attachment = durable.attached
            if durable not in there or attachment is None:
                continue
            for stream in up_to.keys() & streams:
                log = self._ledger.logs[stream]
                done = max(durable.done(stream), log.taken)
                owed = self._ledger.next_owed(attachment.reader, stream, done, up_to[stream] + 1)
                if owed is not None:
                    raise self.broken(
                        attachment, f"{stream} {owed} to stay", f"all up to {up_to[stream]} to go"
                    )

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Subscribed | Started | Lost | Delivery | Acknowledged):
            attachment = session.attachments.get(message.subscription)
            durable = None if attachment is None else self._of(attachment)
            if attachment is None or durable is None:
                return
            if isinstance(message, Subscribed):
                self._subscribed(durable, attachment)
            elif isinstance(message, Started):
                self._started(durable, attachment, message)
            elif isinstance(message, Lost):
                self._lost(durable, attachment, message)
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
        self._goes_on(durable, attachment, stream, after)
        if stream not in durable.started:
            durable.started.add(stream)
            was_lost = stream in attachment.lost
            durable.first[stream] = durable.lost_after[stream] if was_lost else after

    def _lost(self, durable: _Durable, attachment: Attachment, message: Lost) -> None:
        stream = message.stream
        if attachment is not durable.attached:
            return
        if stream not in attachment.cursors and stream not in attachment.lost:
            durable.lost_after[stream] = message.after
            durable.lost.setdefault(stream, 0)
            self._goes_on(durable, attachment, stream, message.after)
        durable.lost[stream] = max(durable.lost.get(stream, 0), message.up_to)

    def _goes_on(self, durable: _Durable, attachment: Attachment, stream: str, after: int) -> None:
        """It would start here, or be told that it can't."""
        if stream in durable.started:
            least = max(durable.first[stream], durable.kept.get(stream, 0))
            most = durable.done(stream)
        else:
            asked = (attachment.asked.after or {}).get(stream)
            key = (attachment.session.principal, attachment.asked.durable)
            if asked is None or key in self._made_anew:
                return
            least, most = asked, max(asked, durable.lost.get(stream, 0))
        nearest = min(max(after, least), most)
        if after == nearest or self._only_passed(durable, attachment, stream, after, nearest):
            return
        where = f"{least}" if least == most else f"{least} to {most}"
        raise self.broken(attachment, f"to start on {stream} after {where}", f"after {after}")

    def _only_passed(
        self, durable: _Durable, attachment: Attachment, stream: str, one: int, other: int
    ) -> bool:
        """Whether it was told of a loss, and is owed nothing of what lies between two offsets."""
        first, last = sorted((one, other))
        owed = self._ledger.next_owed(attachment.reader, stream, first, last + 1)
        return stream in durable.lost and owed is None

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
        sent = durable.done(stream)
        if offset > sent:
            raise self.broken(attachment, f"at most {sent} of {stream} to be kept", f"{offset}")
        if attachment is durable.attached:
            durable.kept[stream] = max(durable.kept.get(stream, 0), offset)
