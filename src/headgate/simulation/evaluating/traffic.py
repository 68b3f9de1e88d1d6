"""What goes over the links? Frames and their bytes, by what they are about."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import final

import msgspec

from headgate.log.records import POLICY
from headgate.peering.frames import (
    Attach,
    Data,
    Detach,
    Ended,
    Frame,
    Reply,
    Request,
    Silence,
    Subscribe,
    Vouched,
)
from headgate.peering.wire import HEAD_BYTES, FrameSplitter, decode


class About(Enum):
    """What a frame is there for."""

    RECORDS = "records"
    """Events on their way to subscribers."""
    SETS = "sets"
    """What is owed: asked for, changed, vouched for, ended."""
    SILENCE = "silence"
    """How far a stream has got where nothing of it was owed."""
    POLICY = "policy"
    """`$policy`, and questions to its host."""
    LINKS = "links"
    """The links themselves, and which streams there are."""


@final
@dataclass
class Traffic:
    """What went over a link."""

    frames: Counter[About] = field(default_factory=Counter)
    bytes: Counter[About] = field(default_factory=Counter)
    version_bytes: int = 0
    """Of the bytes of records those that say under which version."""

    @property
    def all_frames(self) -> int:
        return self.frames.total()

    @property
    def all_bytes(self) -> int:
        return self.bytes.total()

    @property
    def records(self) -> int:
        return self.frames[About.RECORDS]

    def add(self, other: Traffic) -> None:
        self.frames.update(other.frames)
        self.bytes.update(other.bytes)
        self.version_bytes += other.version_bytes


@final
class Tap:
    """Listens to every link of a network."""

    def __init__(self) -> None:
        self._traffic: dict[tuple[str, str], Traffic] = {}
        self._splitters: dict[tuple[str, str], FrameSplitter] = {}
        self._streams: dict[tuple[str, int], str] = {}
        """By the child and the number that it gave the session."""

    def heard(self, sender: str, receiver: str, data: bytes) -> None:
        way = sender, receiver
        splitter = self._splitters.setdefault(way, FrameSplitter(2**30))
        traffic = self._traffic.setdefault(way, Traffic())
        for content in splitter.feed(data):
            frame = decode(content)
            about = self._about(sender, receiver, frame)
            traffic.frames[about] += 1
            traffic.bytes[about] += HEAD_BYTES + len(content)
            if about is About.RECORDS:
                assert isinstance(frame, Data)
                traffic.version_bytes += len(msgspec.msgpack.encode(frame.record.version))

    def forget(self) -> None:
        """Count from here on; which session is about what stays known."""
        self._traffic.clear()

    def on(self, one: str, other: str) -> Traffic:
        """What went over the link between two brokers, both ways."""
        both = Traffic()
        for way in ((one, other), (other, one)):
            both.add(self._traffic.get(way, Traffic()))
        return both

    def _about(self, sender: str, receiver: str, frame: Frame) -> About:
        if isinstance(frame, Attach):
            self._streams[sender, frame.session] = frame.stream
        child = sender if isinstance(frame, Attach | Subscribe | Detach) else receiver
        match frame:
            case Data() | Silence() | Attach() | Subscribe() | Detach() | Vouched() | Ended():
                if self._streams[child, frame.session] == POLICY:
                    return About.POLICY
                if isinstance(frame, Data):
                    return About.RECORDS
                return About.SILENCE if isinstance(frame, Silence) else About.SETS
            case Request() | Reply():
                return About.POLICY
            case _:
                return About.LINKS
