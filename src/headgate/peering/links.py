"""How do two brokers begin to talk, notice that the other is gone, and end it?

A link takes bytes and the time, and gives bytes and frames; it has no socket and no clock. Both
ends send their `Hello` at once. `TABLE` says what may happen in which state: what doesn't stand
there is refused. All brokers of a network have the same heartbeat: an end that has nothing to say
sends an `Alive` in each, and an end that hears nothing for three of them gives the other one up.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, final

from headgate.model.errors import named
from headgate.peering.errors import LocalError, PeerError
from headgate.peering.frames import Alive, Frame, Hello
from headgate.peering.wire import (
    HEAD_BYTES,
    HELLO_BYTES_MAX,
    FrameSplitter,
    decode,
    encode,
    protocol_of,
)

HEARTBEATS_MAX: Final = 3
"""After so many heartbeats without a word the other end is given up."""

FRAME_HEARTBEATS_MAX: Final = 12
"""So many heartbeats a single frame may take."""


class State(Enum):
    """Where a link stands."""

    OPENING = "opening"
    OPEN = "open"
    CLOSED = "closed"

    # Looked up for every frame, and `Enum` computes its own in Python.
    __hash__ = object.__hash__


class Happening(Enum):
    """What may happen to a link."""

    HELLO = "the other end's `Hello` comes"
    ALIVE = "an `Alive` comes"
    FRAME = "another frame comes"
    SEND = "a frame is to be sent"
    NONSENSE = "what comes is refused"
    SILENCE = "nothing comes for three heartbeats"
    CLOSE = "this end closes it"

    __hash__ = object.__hash__


TABLE: Final[Mapping[State, Mapping[Happening, State]]] = {
    State.OPENING: {
        Happening.HELLO: State.OPEN,
        Happening.NONSENSE: State.CLOSED,
        Happening.SILENCE: State.CLOSED,
        Happening.CLOSE: State.CLOSED,
    },
    State.OPEN: {
        Happening.ALIVE: State.OPEN,
        Happening.FRAME: State.OPEN,
        Happening.SEND: State.OPEN,
        Happening.NONSENSE: State.CLOSED,
        Happening.SILENCE: State.CLOSED,
        Happening.CLOSE: State.CLOSED,
    },
    State.CLOSED: {
        Happening.CLOSE: State.CLOSED,
    },
}

_COMES: Final[Mapping[type, Happening]] = {Hello: Happening.HELLO, Alive: Happening.ALIVE}
_ALIVE: Final = encode(Alive())


@final
class Link:
    """One end of a link between two brokers."""

    def __init__(self, mine: Hello, now: int, heartbeat_us: int, expected: str | None = None):
        assert heartbeat_us > 0, f"expected a heartbeat of at least a microsecond: {heartbeat_us}"
        self.state = State.OPENING
        self.peer: Hello | None = None
        """What the other end said of itself; known once the link was open."""
        self.closed_because: str | None = None
        self._mine = mine
        self._expected = expected
        """Whom we dialled, or who dialled by the certificate that it showed, if that is known."""
        self._heartbeat_us = heartbeat_us
        self._splitter = FrameSplitter(mine.frame_bytes_max, HELLO_BYTES_MAX)
        self._to_send = [encode(mine)]
        self._last_sent = now
        self._frame_since: int | None = None
        """Since when a frame has been under way of which not all is here."""
        self._last_heard = now
        """While opening, when it began: whoever sends its `Hello` byte by byte gains no time."""

    def send(self, frame: Frame, now: int) -> None:
        """Send a frame; `Hello` and `Alive` the link sends by itself."""
        if frame.__class__ in _COMES:
            raise LocalError(f"a `{frame.__class__.__name__}` is sent by the link itself")
        self.send_encoded(encode(frame), now)

    def send_encoded(self, data: bytes, now: int) -> None:
        """Send a frame that `encode` has made bytes of: one for many links."""
        if Happening.SEND not in TABLE[self.state] or self.peer is None:
            raise LocalError(f"expected an open link to send on, this one is {self._where()}")
        size, size_max = len(data) - HEAD_BYTES, self.peer.frame_bytes_max
        if size > size_max:
            raise LocalError(
                f"{named(self.peer.broker)} takes frames of at most {size_max:,} bytes, "
                f"this one has {size:,}"
            )
        self._to_send.append(data)
        self._last_sent = now

    def data_to_send(self) -> bytes:
        """What is to go out since the last call; of a closed link what was sent before."""
        data = b"".join(self._to_send)
        self._to_send.clear()
        return data

    def receive(self, data: bytes, now: int) -> list[Frame]:
        """The frames that become whole with this; a `PeerError` closes the link, with all in it.

        What comes after the link was closed was on the way, and is dropped.
        """
        if self.state is State.CLOSED:
            return []
        try:
            frames = [
                frame
                for content in self._splitter.feed(data)
                if (frame := self._take(content)).__class__ not in _COMES
            ]
        except PeerError as problem:
            refusal = PeerError(f"{self._who()} broke the protocol: {problem}")
            self._end(Happening.NONSENSE, str(refusal))
            raise refusal from None
        if self.state is State.OPEN:
            self._last_heard = now
        if not self._splitter.waiting_bytes:
            self._frame_since = None
        elif frames or self._frame_since is None:
            self._frame_since = now
        return frames

    def next_timer(self) -> int | None:
        """When `on_timer` has something to do, if nothing happens before."""
        if self.state is State.CLOSED:
            return None
        times = [self._last_sent + self._heartbeat_us, self._last_heard + self._patience_us]
        if self._frame_since is not None:
            times.append(self._frame_since + FRAME_HEARTBEATS_MAX * self._heartbeat_us)
        return min(times)

    def on_timer(self, now: int) -> None:
        """Give up an end that is silent, and let it hear that this one is not."""
        if self.state is State.CLOSED:
            return
        # A clock that was put back must not make an hour of silence look short.
        self._last_sent, self._last_heard = min(self._last_sent, now), min(self._last_heard, now)
        if now - self._last_heard >= self._patience_us:
            awaited = "`Hello`" if self.peer is None else "`Alive`, at least,"
            self._end(
                Happening.SILENCE,
                f"{self._who()} is silent: expected its {awaited} within "
                f"{self._patience_us / 1e6:g} s, got nothing",
            )
        elif (
            self._frame_since is not None
            and now - self._frame_since >= FRAME_HEARTBEATS_MAX * self._heartbeat_us
        ):
            # What looked like the head of a long frame may have been something else.
            self._end(
                Happening.SILENCE,
                f"{self._who()} doesn't come to the end of a frame: expected all of it within "
                f"{FRAME_HEARTBEATS_MAX * self._heartbeat_us / 1e6:g} s, got "
                f"{self._splitter.waiting_bytes:,} bytes",
            )
        elif now - self._last_sent >= self._heartbeat_us:
            self._to_send.append(_ALIVE)
            self._last_sent = now

    def close(self, because: str) -> None:
        """End it from here; the first reason that a link was closed for stays."""
        self._end(Happening.CLOSE, because)

    @property
    def _patience_us(self) -> int:
        return HEARTBEATS_MAX * self._heartbeat_us

    def _take(self, content: bytes) -> Frame:
        if self.state is State.OPENING:
            return self._meet(content)
        frame = decode(content)
        if _COMES.get(frame.__class__, Happening.FRAME) not in TABLE[self.state]:
            raise PeerError(f"expected no second `Hello`, got one of {_name(frame)}")
        return frame

    def _meet(self, content: bytes) -> Hello:
        """Read the first frame: is it who we expect, and do we speak the same protocol?"""
        protocol = protocol_of(content)
        # Of another protocol even the `Hello` may be one that can't be read here.
        if protocol is not None and protocol != self._mine.protocol:
            raise PeerError(f"expected protocol {self._mine.protocol}, got {protocol}")
        hello = decode(content)
        if not isinstance(hello, Hello):
            raise PeerError(f"expected a `Hello` first, got `{hello.__class__.__name__}`")
        if hello.broker == self._mine.broker:
            raise PeerError(f"expected another broker, got this one's name, {_name(hello)}")
        if self._expected is not None and hello.broker != self._expected:
            raise PeerError(f"expected the broker {named(self._expected)}, got {_name(hello)}")
        self.peer = hello
        self.state = TABLE[self.state][Happening.HELLO]
        return hello

    def _end(self, happening: Happening, because: str) -> None:
        self.state = TABLE[self.state][happening]
        if self.closed_because is None:
            self.closed_because = because

    def _who(self) -> str:
        if self.peer is not None:
            return named(self.peer.broker)
        return "a broker that dialled" if self._expected is None else named(self._expected)

    def _where(self) -> str:
        because = "" if self.closed_because is None else f": {self.closed_because}"
        return f"{self.state.value}{because}"


def _name(frame: Frame) -> str:
    return named(frame.broker) if isinstance(frame, Hello) else f"`{frame.__class__.__name__}`"
