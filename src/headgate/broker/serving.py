"""What is sent to the broker at the other end of a session? The parent's side.

Records in order, each with the offset before it that the child knows of; silence where nothing was
owed, and only when nothing else is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from headgate.broker.feeds import Consumer, Offer
from headgate.broker.interests import Interest, InterestSet
from headgate.broker.outbox import Outbox
from headgate.log.records import Record
from headgate.model.errors import HeadgateError
from headgate.peering.errors import PeerError
from headgate.peering.frames import LATEST, Attach, Data, Frame, Silence, Steps, Subscribe, Vouched


class Mouth(Protocol):
    """How a session speaks to its child."""

    outbox: Outbox

    def send(self, broker: str, frame: Frame, now: int) -> bool:
        """Send a frame; false where it can't be, since the link is gone or takes no such frame."""
        ...

    def writable(self, broker: str) -> bool: ...

    def quiet(self, session: ChildSession, now: int) -> None:
        """Something passed that is not owed: tell it when nothing else is said for a while."""
        ...

    def burst(self, session: ChildSession, now: int) -> None:
        """A record was sent: if it was the last for a while, say so."""
        ...

    def child_ended(self, session: ChildSession, because: str, now: int) -> None: ...


class ChildSession(Consumer):
    """One session with a child."""

    listens = True

    def __init__(self, mouth: Mouth, child: str, frame: Attach) -> None:
        wanted = InterestSet(frame.known, _interests(frame.entries))
        after = None if frame.after == LATEST else frame.after
        super().__init__(wanted, frame.epoch, after, frame.version)
        self.has_seen = not frame.apart
        self.mouth = mouth
        self.child = child
        self.session = frame.session
        self.stream = frame.stream
        self.told = after
        """Up to where the child knows that it has everything."""
        self.silent_at: int | None = None
        self._said_last = True
        """Whether it would know by now that it misses the last record it was sent."""
        self.waits = False

    def changed(self, frame: Subscribe) -> InterestSet | None:
        """The set after a change, which has to fit what was there; nothing if it came twice."""
        if frame.epoch == self.epoch:
            return None
        return change_of(self.wanted, frame, self.epoch)

    def epoch_of(self, frame: Subscribe) -> int:
        return frame.epoch

    def offer(self, record: Record, now: int) -> Offer:
        if not self.mouth.writable(self.child):
            self.waits = True
            return Offer.BLOCKED
        assert self.told is not None
        if record.version > self.granted.known:
            self.mouth.outbox.count("conservative send")
        elif record.version < self.granted.known:
            self.mouth.outbox.count("match at an old version")
        return self._send(record, now)

    def _send(self, record: Record, now: int) -> Offer:
        assert self.told is not None
        if not self.mouth.send(self.child, Data(self.session, self.told, record), now):
            self.ended(f"the link doesn't take the record at offset {record.offset}", now)
            return Offer.BLOCKED
        self.told = record.offset
        self._said_last = False
        self.mouth.burst(self, now)
        return Offer.TAKEN

    def reached(self, up_to: int, version: int, now: int) -> None:
        self.mouth.quiet(self, now)

    def vouched(self, after: int, version: int, now: int) -> None:
        previous = after if self.told is None else self.told
        self.mouth.send(
            self.child, Vouched(self.session, self.epoch, previous, after, version), now
        )
        self.told = after
        self.silent_at = None

    def break_silence(self, now: int) -> None:
        """Say how far the stream has got."""
        self.silent_at = None
        feed = self.feed
        at = feed.where(self) if feed is not None else None
        if feed is None or at is None or self.told is None or at < self.told:
            return
        if at == self.told and self._said_last:
            return
        if not self.mouth.writable(self.child):
            self.waits = True
            return
        version = feed.version if self.live else self.version
        self.mouth.send(self.child, Silence(self.session, self.told, at, version), now)
        self.told = at
        self._said_last = True

    def ended(self, because: str, now: int) -> None:
        self.mouth.child_ended(self, because, now)


def change_of(before: InterestSet, frame: Subscribe, epoch: int) -> InterestSet:
    add, remove = _interests(frame.add), _interests(frame.remove)
    if not remove <= before.entries or frame.epoch <= epoch:
        raise PeerError(
            f"expected a change of what session {frame.session} asked for before, found one of "
            "something else"
        )
    return InterestSet(frame.known, (before.entries - remove) | add)


def _interests(entries: Iterable[Steps]) -> frozenset[Interest]:
    try:
        return frozenset(Interest.from_wire(steps) for steps in entries)
    except HeadgateError as problem:
        raise PeerError(f"expected filters that can be read: {problem}") from None
