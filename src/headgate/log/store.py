"""What does a broker ask of its disk? The promises that every log store keeps.

A store is called by the adapters, never by the cores. `tests/log/store_checks.py` holds each store
to what is said here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from headgate.log.digests import START, check_chain
from headgate.log.records import LogError, Record
from headgate.model.errors import printable

FIRST_OFFSET: Final = 1

Publication: TypeAlias = tuple[str, str, int, int]
"""Publisher, event id, offset, version."""


class StoreFullError(LogError):
    """There is no room: nothing of what was not yet synced is stored, nor ever will be."""


class LogStore(Protocol):
    """The streams of one broker, and a few small values beside them.

    What `append` and `keep` take is written in the order of the calls, and seen by nobody before
    `sync` has returned. After a crash the store holds all that was synced and, of what was not,
    some of the first writes: never a later one without all before it. A call that raises has
    changed nothing, save `sync`.
    """

    def append(self, records: Sequence[Record]) -> None:
        """Add records at the ends of their streams, all or none.

        A `LogError` refuses an offset that isn't the next one (the first is 1), an incarnation
        that isn't the stream's, a version below the last one, a digest that doesn't continue the
        chain, and a record that could not be read again.
        """

    def keep(self, key: str, value: bytes | None) -> None:
        """Keep a small value under a key, in place of the one before; `None` forgets it."""

    def sync(self) -> None:
        """Return when everything up to here is on disk: now it is seen, and no crash loses it.

        With a `StoreFullError` nothing of what was not yet synced is there, and the streams go on
        after their last synced record.
        """

    def read(self, stream: str, after: int, count_max: int) -> tuple[Record, ...]:
        """The records of a stream that follow an offset, in order; none of a stream not known.

        What was removed is left out. A `LogError` says what is damaged, and where.
        """

    def first(self, stream: str) -> int:
        """The lowest offset of a stream that is still there; 1 where nothing was removed."""

    def remove(self, stream: str, up_to: int) -> None:
        """Let go of the records of a stream up to an offset, or of those that go easily.

        The last one always stays: the next follows it. What is gone is never there again.
        """

    def last(self, stream: str) -> Record | None:
        """The last record of a stream."""

    def streams(self) -> Mapping[str, str]:
        """The incarnation of each stream that has a record."""

    def recent(self, stream: str, count_max: int) -> tuple[Publication, ...]:
        """The last publications of a stream, markers left out, in order."""

    def kept(self) -> Mapping[str, bytes]:
        """Everything that is kept, by its key."""


def check_next(last: Record | None, record: Record) -> None:
    """Refuse a record that may not follow the last one of its stream."""
    expected = FIRST_OFFSET if last is None else last.offset + 1
    if record.offset != expected:
        raise LogError(f"expected offset {expected} of {_stream(record)}, got {record.offset}")
    if last is not None and record.incarnation != last.incarnation:
        raise LogError(
            f"expected the incarnation `{printable(last.incarnation)}` of {_stream(record)}, "
            f"got `{printable(record.incarnation)}`"
        )
    if last is not None and record.version < last.version:
        raise LogError(
            f"expected version {last.version} or later at offset {record.offset} of "
            f"{_stream(record)}, got {record.version}"
        )
    check_chain(START if last is None else last.chain, (record,))


def _stream(record: Record) -> str:
    return f"`{printable(record.stream)}`"
