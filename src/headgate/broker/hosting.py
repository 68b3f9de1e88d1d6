"""How does a publication become a record? Decide, record, hold until stored, acknowledge.

The streams of this broker are written in the order of its decisions. A version that was learnt is a
record, too: its offset is the version's starting point, and what is published after it carries it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, final

import msgspec
from msgspec import Struct

from headgate.broker.advertisements import Advertised, with_another
from headgate.broker.clock import Clock
from headgate.broker.effects import Recovered
from headgate.broker.feeds import HostedFeed
from headgate.broker.outbox import Lost, Outbox, Stored
from headgate.broker.settings import Settings
from headgate.filters.filter import Filter
from headgate.log.digests import with_chain
from headgate.log.records import (
    DELIVERIES,
    SUBSCRIPTIONS,
    KnownValue,
    LogError,
    Record,
    checked_bytes,
    moment_of,
)
from headgate.model.events import Event
from headgate.rights.rules import parse_filter

Published = Callable[[Record | None, str, int], None]
"""Called with the stored record; or with nothing, and why it could not be stored."""
_REPORTED: Final = "starting points/"
_INCARNATION: Final = "incarnation/"
_ADVERTISED: Final = "advertised/"


@dataclass
class _Written:
    """The end of one stream: what is stored, and what is decided beyond it."""

    feed: HostedFeed
    offset: int
    version: int
    chain: bytes
    stored: tuple[int, int, bytes]
    recent: OrderedDict[tuple[str, str], tuple[int, int]] = field(default_factory=OrderedDict)
    """By publisher and event id the offset and version, also of what is not stored yet."""
    advertised: Advertised = ()


class Publication(Struct, frozen=True):
    """What is to be written, as it was checked."""

    publisher: str
    event_id: str
    body: bytes
    is_json: bool = True
    known: Mapping[str, KnownValue] = msgspec.field(default_factory=dict)
    vector: Mapping[str, tuple[str, int]] = msgspec.field(default_factory=dict)
    event: Event | None = None
    """What the record's event will be, where it was read already."""


@final
class Hosting:
    """The streams of this broker."""

    def __init__(
        self, settings: Settings, outbox: Outbox, recovered: Recovered, boot: str, clock: Clock
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.outbox = outbox
        self.known = 0
        """The version that is to be written to every stream."""
        own = (SUBSCRIPTIONS + settings.broker, DELIVERIES + settings.broker)
        self._streams = {
            name: self._open(name, recovered, boot) for name in (*settings.streams, *own)
        }
        self.unreported = {name: self._left_to_report(name, recovered) for name in self._streams}
        """Starting points of which the policy's host hasn't said yet that it keeps them."""
        self.retry_at: int | None = None
        self.removed = {
            name: up_to for name, up_to in recovered.removed.items() if name in self._streams
        }
        """Up to where the records of a stream are gone, or about to be."""

    def _open(self, name: str, recovered: Recovered, boot: str) -> _Written:
        kept = recovered.kept.get(_INCARNATION + name, boot.encode()).decode()
        incarnation = recovered.incarnations.get(name, kept)
        if _INCARNATION + name not in recovered.kept:
            self.outbox.keep(_INCARNATION + name, incarnation.encode())
        last = recovered.streams.get(name)
        end = (last.offset, last.version, last.chain) if last is not None else (0, 0, b"")
        feed = HostedFeed(name, incarnation, self.settings, self.outbox, end[0], end[1])
        written = _Written(feed, *end, stored=end)
        for publisher, event_id, offset, version in recovered.recent.get(name, ()):
            if event_id:
                written.recent[publisher, event_id] = offset, version
        kept_ads = recovered.kept.get(_ADVERTISED + name, b"[]")
        written.advertised = tuple(
            (parse_filter(text), after)
            for text, after in msgspec.json.decode(kept_ads, type=list[tuple[str, int]])
        )
        return written

    def _left_to_report(self, stream: str, recovered: Recovered) -> dict[int, int]:
        kept = recovered.kept.get(_REPORTED + stream)
        points = msgspec.json.decode(kept, type=dict[int, int]) if kept is not None else {}
        # They are kept just before their markers are stored, which a crash may have prevented.
        end = self._streams[stream].offset
        return {version: offset for version, offset in points.items() if offset <= end}

    def __contains__(self, stream: object) -> bool:
        return stream in self._streams

    def feeds(self) -> Iterator[HostedFeed]:
        return (written.feed for written in self._streams.values())

    def incarnation_of(self, stream: str) -> str | None:
        written = self._streams.get(stream)
        return written.feed.incarnation if written is not None else None

    def feed(self, stream: str) -> HostedFeed | None:
        written = self._streams.get(stream)
        return written.feed if written is not None else None

    def removable(self, up_to: Mapping[str, int]) -> dict[str, int]:
        """What of it there still is to remove; the last record stays, for others follow it."""
        cut = {
            stream: min(offset, self.stored_end(stream) - 1)
            for stream, offset in up_to.items()
            if stream in self._streams
        }
        return {stream: at for stream, at in cut.items() if at > self.removed.get(stream, 0)}

    def moment(self, now: int) -> datetime:
        """The time that a record bears which is written now."""
        return moment_of(self.clock.wall(now))

    # versions

    def learn(self, version: int, now: int) -> None:
        """Let a version begin at the next offset of every stream."""
        self.known = max(self.known, version)
        self.retry_at = None
        for stream in self._streams:
            self._mark(stream, now)

    def _mark(self, stream: str, now: int) -> None:
        written = self._streams[stream]
        if written.version >= self.known:
            return
        record = self._next(written, self.known, now, None, Publication("", "", b""))
        points = {**self.unreported[stream], record.version: record.offset}
        self.outbox.keep(_REPORTED + stream, msgspec.json.encode(points))

        def marked(stored: Record | None, because: str, now: int) -> None:
            if stored is not None:
                self.outbox.count("starting point")
                self.unreported[stream][stored.version] = stored.offset
            elif self.retry_at is None:
                self.retry_at = now + self.settings.ask_again_us

        self._write(written, record, marked)

    def reported(self, stream: str, versions: Iterable[int]) -> None:
        """The policy's host keeps these starting points."""
        points = self.unreported.get(stream, {})
        for version in versions:
            points.pop(version, None)
        self.outbox.keep(_REPORTED + stream, msgspec.json.encode(points) if points else None)

    def on_timer(self, now: int) -> None:
        """Try again to write the markers that could not be stored."""
        if self.retry_at is not None and now >= self.retry_at:
            self.learn(self.known, now)

    # advertisements

    def advertised(self, stream: str) -> Advertised | None:
        """What may be published on a stream; `None` for anything."""
        free = not self.settings.advertised_only or stream not in self.settings.streams
        return None if free else self._streams[stream].advertised

    def advertise(self, one: Filter, then: Stored, lost: Lost, now: int) -> None:
        """Let what is advertised be published on the streams here, once that can't be forgotten."""
        for stream in self.settings.streams:
            written = self._streams[stream]
            more = with_another(written.advertised, one, written.offset)
            if more != written.advertised:
                written.advertised = more
                said = msgspec.json.encode([(str(kept), after) for kept, after in more])
                self.outbox.keep(_ADVERTISED + stream, said)
        self.outbox.when_stored(then, lost, now)

    # publications

    def stored_end(self, stream: str) -> int:
        """The last offset of a stream that is stored."""
        return self._streams[stream].stored[0]

    def repeated(self, stream: str, publisher: str, event_id: str) -> tuple[int, int] | None:
        """Where this event id was published, and its version; perhaps it is not stored yet."""
        return self._streams[stream].recent.get((publisher, event_id))

    def publish(self, stream: str, publication: Publication, now: int, then: Published) -> Record:
        """Write a publication that was allowed at the known version."""
        self._mark(stream, now)
        written = self._streams[stream]
        record = self._next(written, written.version, now, publication.body, publication)
        size = checked_bytes(record)
        if size > self.settings.record_bytes_max:
            raise LogError(
                f"expected a publication of at most {self.settings.record_bytes_max:,} bytes with "
                f"all that is known of it, found {size:,}"
            )
        if publication.event_id:
            self._remember(written, record)
        if publication.event is not None and written.feed.consumers:
            record.__dict__["event"] = publication.event  # as if it had been asked for
        self._write(written, record, then)
        return record

    def note(self, stream: str, body: Mapping[str, object], now: int, then: Published) -> None:
        """Write what the broker itself has to say to one of its own streams."""
        text = msgspec.json.encode(body, order="sorted")
        self.publish(stream, Publication(self.settings.broker, "", text), now, then)

    def _next(
        self, written: _Written, version: int, now: int, body: bytes | None, said: Publication
    ) -> Record:
        plain = Record(
            written.feed.stream, written.feed.incarnation, written.offset + 1, version,
            self.clock.wall(now),
            said.publisher, said.event_id, body, said.is_json, dict(said.known),
            dict(said.vector),
        )  # fmt: skip
        return with_chain(written.chain, plain)

    def _write(self, written: _Written, record: Record, then: Published) -> None:
        written.offset, written.version, written.chain = record.offset, record.version, record.chain

        def stored(now: int) -> None:
            written.stored = record.offset, record.version, record.chain
            written.feed.extend(record, now)
            then(record, "", now)

        def lost(because: str, now: int) -> None:
            written.offset, written.version, written.chain = written.stored
            key = record.publisher, record.event_id
            if written.recent.get(key) == (record.offset, record.version):
                del written.recent[key]
            then(None, because, now)

        self.outbox.append((record,), stored, lost)

    def _remember(self, written: _Written, record: Record) -> None:
        written.recent[record.publisher, record.event_id] = record.offset, record.version
        while len(written.recent) > self.settings.repeat_window:
            written.recent.popitem(last=False)
