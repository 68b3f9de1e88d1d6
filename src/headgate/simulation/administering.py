"""How does an administrator work? One batch after the other, some against the version they know."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, final

from headgate.broker.effects import BatchApplied, BatchRefused, RequestRefused
from headgate.rights.changes import Batch, change_from_json
from headgate.simulation.schedules import Administer
from headgate.simulation.sessions import BatchAsked

if TYPE_CHECKING:
    from headgate.simulation.clients import Client

NOON: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
_TRIES_MAX: Final = 6


def batch_of(changes: Administer | tuple[dict[str, object], ...], author: str, now: int) -> Batch:
    """The batch that asks for these changes at a true time."""
    said = changes.changes if isinstance(changes, Administer) else changes
    time = NOON + timedelta(microseconds=now)
    return Batch(tuple(change_from_json(change) for change in said), author, time)


@final
class Office:
    """The batches that an administrator still has to bring through."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: deque[Administer] = deque()
        self._request: int | None = None
        self._resting = False
        self._tries = 0
        self._version: int | None = None
        """The latest it knows of."""

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def add(self, wanted: Administer) -> None:
        self._waiting.append(wanted)
        self.connected()

    def connected(self) -> None:
        client = self._client
        if not client.is_connected or not self._waiting or self._request is not None:
            return
        if self._resting:
            return
        wanted = self._waiting[0]
        batch = batch_of(wanted, client.plan.principal, client.timeline.now)
        expected = self._version if wanted.serially else None
        self._request = client.ask(
            BatchAsked(batch, expected),
            lambda core, id_, request, now: core.administer(id_, request, batch, expected, now),
        )
        client.timeline.after(2 * client.plan.patience_us, self._lose_patience, self._request)

    def disconnected(self) -> None:
        self._request = None

    def applied(self, answer: BatchApplied) -> None:
        if answer.request == self._request:
            self._version = answer.version
            self._done()

    def batch_refused(self, answer: BatchRefused) -> None:
        """Another one was first: look again, and decide the same."""
        if answer.request != self._request:
            return
        self._client.counts["batch refused"] += 1
        stale = self._waiting[0].serially and self._version != answer.current
        self._version = answer.current
        if stale and self._tries < _TRIES_MAX:
            self._client.counts["batch against an old version"] += 1
            self._rest()
        else:
            self._done()

    def refused(self, answer: RequestRefused) -> None:
        if answer.request != self._request:
            return
        if answer.temporary and self._tries < _TRIES_MAX:
            self._rest()
        else:
            self._done()

    def _done(self) -> None:
        self._waiting.popleft()
        self._request = None
        self._tries = 0
        self.connected()

    def _rest(self) -> None:
        self._request = None
        self._tries += 1
        self._resting = True
        self._client.timeline.after(self._client.backoff(), self._go_on)

    def _go_on(self) -> None:
        self._resting = False
        self.connected()

    def _lose_patience(self, request: int) -> None:
        session = self._client.session
        if request == self._request and session is not None:
            self._client.give_up(session, "a batch has no answer")
