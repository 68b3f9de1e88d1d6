"""Is no client sent more than a window of deliveries that it hasn't acknowledged?"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import Delivery, Lost, Message
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.sessions import Session


@final
class NoMoreThanTheWindow(Checker):
    """Counts an acknowledgement when it is sent: its broker learns of it later."""

    promise = "no_more_than_the_window"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._windows: dict[str, int] = {}
        self._waiting: dict[Attachment, dict[str, list[int]]] = {}

    def started(self, machine: Machine) -> None:
        self._windows[machine.name] = machine.settings.window

    def acknowledging(self, session: Session, subscription: int, stream: str, offset: int) -> None:
        attachment = session.attachments.get(subscription)
        waiting = self._waiting.get(attachment) if attachment is not None else None
        if waiting is not None and stream in waiting:
            waiting[stream] = [one for one in waiting[stream] if one > offset]

    def gone(self, session: Session, because: str) -> None:
        for attachment in session.attachments.values():
            self._waiting.pop(attachment, None)

    def told(self, session: Session, message: Message) -> None:
        if not isinstance(message, Delivery | Lost):
            return
        attachment = self._ledger.attachment(session, message.subscription)
        waiting = self._waiting.setdefault(attachment, {})
        if isinstance(message, Lost):
            waiting.pop(message.stream, None)  # what was sent before is no longer waited for
            return
        waiting.setdefault(message.stream, []).append(message.offset)
        count, window = sum(map(len, waiting.values())), self._windows[session.host.name]
        if count > window:
            raise self.broken(
                attachment, f"at most {window} deliveries to be acknowledged", f"{count}"
            )
