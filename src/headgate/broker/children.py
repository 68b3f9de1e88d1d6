"""Whom does this broker serve over its links? The sessions that its neighbours have with it."""

from __future__ import annotations

from typing import Final, final

from headgate.broker.following import FollowedFeed
from headgate.broker.foreign import ForeignChild
from headgate.broker.hosting import Hosting
from headgate.broker.neighbours import Neighbours
from headgate.broker.outbox import Outbox
from headgate.broker.policy_following import PolicyFollowing
from headgate.broker.serving import ChildSession
from headgate.broker.settings import Settings
from headgate.broker.streams import Streams
from headgate.log.records import POLICY
from headgate.model.errors import named
from headgate.peering.frames import Attach, Ended, Frame, Subscribe

_SESSIONS_MAX: Final = 100_000


@final
class Children:
    """All sessions in which this broker is the parent."""

    policy: PolicyFollowing

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        neighbours: Neighbours,
        hosting: Hosting,
        streams: Streams,
    ) -> None:
        self.settings = settings
        self.outbox = outbox
        self._neighbours = neighbours
        self._hosting = hosting
        self._streams = streams
        self._children: dict[tuple[str, int], ChildSession] = {}
        self._quiet: dict[ChildSession, None] = {}
        self._parentless: dict[ChildSession, str] = {}

    # what neighbours ask for

    def attach(self, broker: str, frame: Attach, now: int) -> None:
        key = broker, frame.session
        if key in self._children:
            return  # the frame came twice
        feed = self._streams.feed(frame.stream)
        because = None
        if feed is None:
            because = f"the stream {named(frame.stream)} is not known here"
        elif feed.incarnation != frame.incarnation:
            because = f"{named(frame.stream)} has another incarnation here"
        elif frame.stream in self._hosting and frame.after > (feed.position or 0):
            because = f"{named(frame.stream)} ends at {feed.position}, before {frame.after}"
        elif len(self._children) >= _SESSIONS_MAX:
            because = f"this broker serves {_SESSIONS_MAX:,} sessions already"
        if because is not None:
            self._neighbours.send(broker, Ended(frame.session, because), now)
            return
        assert feed is not None
        domain = self.settings.foreign.get(broker)
        if domain is None:
            child = ChildSession(self, broker, frame)
        else:
            child = ForeignChild(self, broker, frame, domain, self.policy)
        self._children[key] = child
        upstream = isinstance(feed, FollowedFeed)
        feed.add(child, now)
        self.outbox.count(
            "attach upstream" if upstream and child.granted_epoch < 0 else "attach served here"
        )

    def subscribe(self, broker: str, frame: Subscribe, now: int) -> None:
        child = self._children.get((broker, frame.session))
        if child is not None and child.home is not None:
            wanted = child.changed(frame)
            if wanted is not None:
                child.home.want(child, wanted, child.epoch_of(frame), now)

    def drop(self, key: tuple[str, int], now: int) -> None:
        child = self._children.pop(key, None)
        if child is not None:
            self._quiet.pop(child, None)
            if child.home is not None:
                child.home.remove(child, now)

    def neighbour_lost(self, broker: str, now: int) -> None:
        for key in [key for key in self._children if key[0] == broker]:
            self.drop(key, now)

    def writable_again(self, broker: str, now: int) -> None:
        """A link takes more: go on with those who had to wait for that."""
        for child in list(self._children.values()):
            if child.child == broker and child.waits and child.feed is not None:
                child.waits = False
                child.feed.serve(child, now)
                child.break_silence(now)

    def learnt(self, now: int) -> None:
        """Another version is known, or what an untrusted domain may do."""
        if self.settings.foreign:
            for child in list(self._children.values()):
                if isinstance(child, ForeignChild):
                    child.learnt(now)

    # what a session asks for

    def send(self, broker: str, frame: Frame, now: int) -> bool:
        return self._neighbours.send(broker, frame, now)

    def writable(self, broker: str) -> bool:
        return self._neighbours.writable(broker)

    def quiet(self, session: ChildSession, now: int) -> None:
        wait = 0 if session.stream == POLICY else self.settings.silence_us
        if session.silent_at is None or now + wait < session.silent_at:
            session.silent_at = now + wait
            self._quiet[session] = None

    def burst(self, session: ChildSession, now: int) -> None:
        session.silent_at = now + self.settings.silence_us
        self._quiet[session] = None

    def child_ended(self, session: ChildSession, because: str, now: int) -> None:
        self._parentless[session] = because

    # time, and after each input

    def next_timer(self) -> int | None:
        times = (child.silent_at for child in self._quiet)
        return min((one for one in times if one is not None), default=None)

    def on_timer(self, now: int) -> None:
        for child in list(self._quiet):
            if child.silent_at is not None and child.silent_at <= now:
                child.break_silence(now)

    def part(self, now: int) -> bool:
        """Tell those who can't be served here to look elsewhere, if there are any."""
        parentless, self._parentless = self._parentless, {}
        for child, because in parentless.items():
            key = child.child, child.session
            if self._children.get(key) is child:
                self.drop(key, now)
                self._neighbours.send(child.child, Ended(child.session, because), now)
        return bool(parentless)

    def speak(self, now: int) -> None:
        """Of `$policy` every silence is told at once: versions begin when they are known."""
        for child in list(self._quiet):
            if child.silent_at is None:
                del self._quiet[child]
            elif child.stream == POLICY and child.silent_at <= now:
                child.break_silence(now)
                del self._quiet[child]
