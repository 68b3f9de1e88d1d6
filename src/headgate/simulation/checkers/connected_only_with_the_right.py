"""Is nobody connected whom no rule lets connect, then and in the end?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from headgate.broker.effects import Connected, Message
from headgate.simulation.checkers.ledger import Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.service_model import rights
from headgate.simulation.sessions import Session


@final
class ConnectedOnlyWithTheRight(Checker):
    """Those connected when everything is healed have the right under the newest version."""

    promise = "connected_only_with_the_right"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._connected: dict[int, Session] = {}

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Connected):
            if not self._may_connect(session, message.version):
                raise self.broken(session, f"a right to connect at {message.version}", "none")
            self._connected[session.id] = session

    def gone(self, session: Session, because: str) -> None:
        self._connected.pop(session.id, None)

    def at_rest(self) -> None:
        for session in self.unlawful():
            newest = len(self._ledger.history)
            raise self.broken(session, f"no connection at version {newest}", "one")

    def unlawful(self) -> Iterator[Session]:
        """Those who are connected though they have lost the right: for a while they may be."""
        newest = len(self._ledger.history)
        for session in self._connected.values():
            if session.is_held_by_broker and not self._may_connect(session, newest):
                yield session

    def _may_connect(self, session: Session, version: int) -> bool:
        return self.may_connect(session.principal, session.domain, version)

    def may_connect(self, principal: str, domain: str | None, version: int) -> bool:
        """The principal, and the domain it is connected through."""
        history = self._ledger.history[:version]
        return all(
            any(
                rule["action"] == "connect" and rule.get("allow", True)
                for rule in rights(history, name)
            )
            for name in (principal, domain)
            if name is not None
        )
