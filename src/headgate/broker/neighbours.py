"""Which links are there to the brokers around, and what goes over them?

Of two neighbours the one whose name comes first dials. A broker has one link at a time; a newer one
takes the place of the older.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from headgate.broker.effects import Close, Dial, Send
from headgate.broker.outbox import Outbox
from headgate.broker.settings import Settings
from headgate.peering.errors import LocalError, PeerError
from headgate.peering.frames import PROTOCOL, Frame, Hello
from headgate.peering.links import Link

Heard = Callable[[str, Frame, int], None]
Changed = Callable[[str, int], None]


@final
class Neighbours:
    """The links of one broker, by number and by the broker at their other end."""

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        boot: str,
        now: int,
        *,
        heard: Heard,
        found: Changed,
        lost: Changed,
    ) -> None:
        self._settings = settings
        self._outbox = outbox
        self._hello = Hello(PROTOCOL, settings.broker, boot, settings.frame_bytes_max)
        self._heard, self._found, self._lost = heard, found, lost
        self._around = settings.topology.neighbours(settings.broker)
        self._links: dict[int, Link] = {}
        self._dialled: dict[int, str] = {}
        self._by_broker: dict[str, int] = {}
        self._blocked: set[int] = set()
        self._unsent: dict[int, None] = {}
        self._dial_at = {name: now for name in self._around if settings.broker < name}
        """When to dial whom; who is being dialled, or is there, is not in it."""

    def reachable(self, brokers: Sequence[str]) -> list[str]:
        return [broker for broker in brokers if broker in self._by_broker]

    def all(self) -> list[str]:
        return sorted(self._by_broker)

    def writable(self, broker: str) -> bool:
        number = self._by_broker.get(broker)
        return number is not None and number not in self._blocked

    def send(self, broker: str, frame: Frame, now: int) -> bool:
        """Send a frame, unless the link is gone: whoever cares hears of that by itself."""
        number = self._by_broker.get(broker)
        if number is None:
            return False
        try:
            self._links[number].send(frame, now)
        except LocalError:
            # Larger than the other end takes.
            self._outbox.count("frame too large")
            return False
        self._unsent[number] = None
        return True

    def flush(self) -> None:
        """One write for each link, however many frames came up."""
        unsent, self._unsent = self._unsent, {}
        for number in unsent:
            link = self._links.get(number)
            if link is not None:
                data = link.data_to_send()
                if data:
                    self._outbox.add(Send(number, data))

    # what the world says

    def link_up(self, number: int, now: int, dialled: str | None, named: str | None = None) -> None:
        expected = dialled if dialled is not None else named
        self._links[number] = Link(self._hello, now, self._settings.heartbeat_us, expected)
        if dialled is not None:
            self._dialled[number] = dialled
        self._unsent[number] = None

    def has_met(self, number: int) -> bool:
        """Whether the other end of a link has said who it is."""
        link = self._links.get(number)
        return link is not None and link.peer is not None

    def dial_failed(self, broker: str, now: int) -> None:
        self._dial_at[broker] = now + self._settings.redial_us

    def link_down(self, number: int, now: int) -> None:
        link = self._links.pop(number, None)
        if link is None:
            return
        self._blocked.discard(number)
        self._unsent.pop(number, None)
        dialled = self._dialled.pop(number, None)
        broker = link.peer.broker if link.peer is not None else dialled
        if broker is None:
            return
        if self._by_broker.get(broker) == number:
            del self._by_broker[broker]
            self._lost(broker, now)
        if broker not in self._by_broker and self._settings.broker < broker:
            self._dial_at.setdefault(broker, now + self._settings.redial_us)

    def receive(self, number: int, data: bytes, now: int) -> None:
        link = self._links.get(number)
        if link is None:
            return
        try:
            frames = link.receive(data, now)
        except PeerError as error:
            self._outbox.count("nonsense refused")
            self.close(number, str(error), now)
            return
        met = link.peer
        known = met is None or self._by_broker.get(met.broker) == number
        if not known and met is not None and not self._welcome(number, met, now):
            return
        for frame in frames:
            if number not in self._links or link.peer is None:
                return
            try:
                self._heard(link.peer.broker, frame, now)
            except PeerError as error:
                self._outbox.count("nonsense refused")
                self.close(number, str(error), now)

    def _welcome(self, number: int, hello: Hello, now: int) -> bool:
        if hello.broker not in self._around:
            self.close(number, f"expected a neighbour, found `{hello.broker}`", now)
            return False
        before = self._by_broker.pop(hello.broker, None)
        if before is not None:
            self._lost(hello.broker, now)
            self.close(before, "another link took its place", now)
        self._by_broker[hello.broker] = number
        self._dial_at.pop(hello.broker, None)
        self._found(hello.broker, now)
        return True

    def close(self, number: int, because: str, now: int) -> None:
        link = self._links.get(number)
        if link is None:
            return
        data = link.data_to_send()
        if data:
            self._outbox.add(Send(number, data))
        link.close(because)
        self._outbox.add(Close(number, because))
        self.link_down(number, now)

    def set_writable(self, number: int, writable: bool) -> str | None:
        """Whose link can be written to again, if one can."""
        link = self._links.get(number)
        if link is None:
            return None
        if not writable:
            self._blocked.add(number)
            return None
        self._blocked.discard(number)
        return link.peer.broker if link.peer is not None else None

    # time

    def next_timer(self) -> int | None:
        times = [link.next_timer() for link in self._links.values()]
        times += self._dial_at.values()
        return min((one for one in times if one is not None), default=None)

    def on_timer(self, now: int) -> None:
        for number, link in list(self._links.items()):
            link.on_timer(now)
            if link.closed_because is not None:
                self.close(number, link.closed_because, now)
            else:
                self._unsent[number] = None
        for broker in [one for one, at in self._dial_at.items() if at <= now]:
            del self._dial_at[broker]
            self._outbox.add(Dial(broker))
