"""What of the old records may be removed, and who is told before they are gone?

What a durable subscription is owed while its client is away may be old. The policy's host keeps how
far each of them is, wherever it is attached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from headgate.broker.asking import Asking
from headgate.broker.effects import MayRemove
from headgate.broker.hosting import Hosting
from headgate.broker.outbox import Outbox
from headgate.broker.questions import Answer, AskOwed, OwedIs
from headgate.broker.settings import Settings
from headgate.broker.streams import Streams


@final
class Removal:
    """Removes nothing itself: says what may go, and announces what goes."""

    def __init__(
        self, settings: Settings, outbox: Outbox, hosting: Hosting, streams: Streams, asking: Asking
    ) -> None:
        self._settings = settings
        self._outbox = outbox
        self._hosting = hosting
        self._streams = streams
        self._asking = asking
        self._asked_until = 0

    def consider(self, now: int) -> None:
        """Ask how far the durable subscriptions are; without an answer nothing may go."""
        if now < self._asked_until:
            return
        ends = {
            feed.stream: self._hosting.stored_end(feed.stream) for feed in self._hosting.feeds()
        }

        def answered(said: Answer, asked_at: int, now: int) -> None:
            self._asked_until = 0
            assert isinstance(said, OwedIs)
            may = {stream: min(end, said.done.get(stream, end)) for stream, end in ends.items()}
            self._outbox.add(MayRemove(may))

        self._asked_until = now + self._settings.lease_us
        asked = AskOwed({feed.stream: feed.incarnation for feed in self._hosting.feeds()})
        self._asking.ask(self._settings.policy_host, asked, answered, now, until=self._asked_until)

    def remove(self, up_to: Mapping[str, int], now: int) -> None:
        """Announce what goes: on every link that is said before anything that was read later."""
        if self._hosting.removable(up_to):
            self._streams.announce(now, up_to)
