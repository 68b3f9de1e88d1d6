"""Does nobody receive a record at or after the point from which on no right of theirs grants it?

Where a version begins is taken from what was reported to the administrators, not from the records;
and a broker that can't be reached may go on under an old version for no longer than its lease.
"""

from __future__ import annotations

from typing import final

from headgate.broker.effects import Delivery, Message
from headgate.log.records import Record
from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.machines import Machine
from headgate.simulation.service_model import Said, attributes, grants, rights
from headgate.simulation.sessions import Session
from headgate.simulation.timeline import SECOND, Timeline

SLACK_US = 2 * SECOND
"""For what a lease's clock may be wrong, and for the way of the question and its answer."""


@final
class NothingAfterTheStartingPointOfARevocation(Checker):
    """Of each version the earliest reported start on a stream, and all later ones, decide."""

    promise = "nothing_after_the_starting_point_of_a_revocation"

    def __init__(self, ledger: Ledger, timeline: Timeline) -> None:
        self._ledger = ledger
        self._timeline = timeline
        self._starts: dict[str, list[tuple[int, int]]] = {}
        self._told_at: list[int] = []
        self._rules: dict[tuple[str, int], list[Said]] = {}

    def starting_point(self, version: int, stream: str, offset: int) -> None:
        self._starts.setdefault(stream, []).append((version, offset))

    def policy_told(self, version: int) -> None:
        now = self._timeline.now
        self._told_at += [now] * (version - len(self._told_at))

    def appending(self, machine: Machine, records: tuple[Record, ...]) -> None:
        """A version that the policy's host has had for longer than a lease must be known."""
        for record in records:
            is_own = record.is_marker or record.stream.startswith("$")
            if is_own or record.version >= len(self._told_at):
                continue  # a broker may always note what it does itself
            overtaken_us = self._timeline.now - self._told_at[record.version]
            lease_us = machine.settings.lease_us
            if overtaken_us > lease_us * 11 // 10 + SLACK_US + machine.clock.jumped_back_us:
                raise self.broken(
                    machine.name,
                    f"version {record.version + 1} or later of {record.stream} {record.offset}: "
                    f"that is {overtaken_us / SECOND:.1f} s old, the lease {lease_us / SECOND:g} s",
                    f"version {record.version}",
                )

    def told(self, session: Session, message: Message) -> None:
        if isinstance(message, Delivery):
            self._delivered(self._ledger.attachment(session, message.subscription), message)

    def _delivered(self, attachment: Attachment, message: Delivery) -> None:
        began = [
            version
            for version, offset in self._starts.get(message.stream, ())
            if offset <= message.offset
        ]
        log = self._ledger.logs.get(message.stream)
        if not began or log is None or not 0 < message.offset <= log.last:
            return
        version = max(began)
        modelled = log.modelled[message.offset - 1]
        if modelled is None or version <= message.version:
            return
        event = attributes(modelled.body, modelled.known)
        if not any(
            rule["action"] == "subscribe" and grants(rule, event)
            for rule in self._rules_of(attachment.session.principal, version)
        ):
            raise self.broken(
                attachment,
                f"nothing of {message.stream} {message.offset}: version {version} begins there or "
                "before, and takes the right",
                f"a view under version {message.version}",
            )

    def _rules_of(self, principal: str, version: int) -> list[Said]:
        key = (principal, version)
        found = self._rules.get(key)
        if found is None:
            found = self._rules[key] = rights(self._ledger.history[:version], principal)
        return found
