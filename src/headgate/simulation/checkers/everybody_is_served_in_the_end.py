"""When everything is healed: has everybody got all that is owed, and an answer to each request?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, final

from headgate.simulation.checkers.ledger import Attachment, Ledger
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.sessions import Session


class Patron(Protocol):
    """A client, as far as it has to be served."""

    name: str
    is_wanted: bool
    session: Session | None

    @property
    def is_idle(self) -> bool: ...

    @property
    def is_connected(self) -> bool: ...


@final
class EverybodyIsServedInTheEnd(Checker):
    """Asked again and again while the world calms down, and for good at its end."""

    promise = "everybody_is_served_in_the_end"

    def __init__(
        self,
        ledger: Ledger,
        streams: Sequence[str],
        own: Sequence[str] = (),
        *,
        all_start: bool = True,
    ) -> None:
        self._ledger = ledger
        self._own = own
        """The brokers' own streams: by them it is seen which version a broker has reached."""
        self._all_start = all_start
        """Whether a subscription starts on all streams, or where something is advertised."""
        self._streams = streams
        self._patrons: Sequence[Patron] = ()
        self._may_connect: MayConnect = _everybody

    def serve(self, patrons: Sequence[Patron], may_connect: MayConnect) -> None:
        self._patrons, self._may_connect = patrons, may_connect

    def at_rest(self) -> None:
        for who, expected, came in self.unserved():
            raise self.broken(who, expected, came)

    @property
    def is_done(self) -> bool:
        return next(self.unserved(), None) is None

    def unserved(self) -> Iterator[tuple[str, str, str]]:
        """Who waits, for what, and what there is instead."""
        yield from self._streams_behind()
        for patron in self._patrons:
            if not patron.is_wanted or not self._may_connect(patron):
                continue
            if not patron.is_connected:
                yield patron.name, "a connection", "none"
            elif not patron.is_idle:
                yield patron.name, "an answer to each request", "none to some"
            elif patron.session is not None:
                for attachment in patron.session.attachments.values():
                    yield from self._owed(attachment)

    def _streams_behind(self) -> Iterator[tuple[str, str, str]]:
        """Each stream has reached the newest version."""
        newest = len(self._ledger.history)
        for stream in (*self._streams, *self._own):
            log = self._ledger.logs.get(stream)
            reached = 0 if log is None or not log.records else log.records[-1].version
            if reached < newest:
                yield stream, f"version {newest} to begin", f"version {reached}"

    def _owed(self, attachment: Attachment) -> Iterator[tuple[str, str, str]]:
        if attachment.is_over or attachment.unsubscribed:
            return
        for stream in self._streams:
            if stream not in attachment.cursors and self._must_start(attachment, stream):
                yield str(attachment), f"to start on {stream}", "no start"
        for stream, up_to in attachment.lost.items():
            yield str(attachment), f"to start on {stream} after {up_to}", "no start"
        for stream, cursor in attachment.cursors.items():
            log = self._ledger.logs.get(stream)
            if log is not None:
                owed = self._ledger.next_owed(
                    attachment.reader, stream, cursor.position, log.last + 1
                )
                if owed is not None:
                    yield str(attachment), f"{stream} {owed}", f"nothing after {cursor.position}"

    def _must_start(self, attachment: Attachment, stream: str) -> bool:
        """Where publishers advertise, a stream is passed over that has nothing for it."""
        log = self._ledger.logs.get(stream)
        if self._all_start or log is None:
            return self._all_start
        since = attachment.since.get(stream, 0)
        return self._ledger.next_owed(attachment.reader, stream, since, log.last + 1) is not None


class MayConnect(Protocol):
    """Whether somebody has the right to be connected at all."""

    def __call__(self, patron: Patron) -> bool: ...


def _everybody(patron: Patron) -> bool:
    return True
