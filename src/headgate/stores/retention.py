"""Which sealed files may go? The old ones and the many, but nothing that somebody is still owed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headgate.stores.manifest import Sealed

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long, and how much, is kept; `None` sets no bound."""

    seconds: float | None = None
    bytes: int | None = None
    """Of the whole log: the oldest files go first."""
    own_seconds: float | None = None
    """For the streams of the broker itself (`$…`), by which deliveries are judged: they are spared
    by the bounds above."""
    removes_owed: bool = False
    """Whether the bounds count for more than what durable subscribers are owed."""


@dataclass(frozen=True, slots=True)
class Removable:
    """What goes now."""

    files: tuple[Sealed, ...]
    owed: tuple[Sealed, ...]
    """Of these: the ones with records that a durable subscriber was still owed."""
    held_back: tuple[Sealed, ...]
    """What would go if nobody were owed it."""


def removable(
    files: Sequence[Sealed],
    log_bytes: int,
    now_us: int,
    owed: Mapping[str, int],
    retention: Retention,
) -> Removable:
    """Choose what goes; `owed` is, by stream, up to where all durable subscribers have got.

    From each stream only the oldest files go, so that what is left has no gap, and never the last
    one, so that the stream isn't forgotten.
    """
    going: list[Sealed] = []
    held_back: list[Sealed] = []
    stopped: set[str] = set()
    left = Counter(one.stream for one in files)
    left_bytes = log_bytes
    for newest_us, one in _oldest_first(files):
        if one.stream in stopped or left[one.stream] == 1:
            continue
        if not _is_over(one, newest_us, left_bytes, now_us, retention):
            stopped.add(one.stream)
        elif _is_owed(one, owed) and not retention.removes_owed:
            stopped.add(one.stream)
            held_back.append(one)
        else:
            going.append(one)
            left[one.stream] -= 1
            left_bytes -= one.bytes
    return Removable(tuple(going), tuple(_owed(going, owed)), tuple(held_back))


def _oldest_first(files: Sequence[Sealed]) -> Iterable[tuple[int, Sealed]]:
    """All files with their age; none is older than the one before it in its stream."""
    newest_us: dict[str, int] = {}
    aged: list[tuple[int, str, int, Sealed]] = []
    for one in sorted(files, key=lambda one: (one.stream, one.first)):
        # Clocks are put back; the records of a stream still go in the order of their offsets.
        newest_us[one.stream] = max(one.newest_us, newest_us.get(one.stream, one.newest_us))
        aged.append((newest_us[one.stream], one.stream, one.first, one))
    return ((age, one) for age, _, _, one in sorted(aged, key=lambda some: some[:3]))


def _is_over(
    one: Sealed, newest_us: int, log_bytes: int, now_us: int, retention: Retention
) -> bool:
    own = one.stream.startswith("$")
    seconds = retention.own_seconds if own else retention.seconds
    if seconds is not None and newest_us < now_us - seconds * _MICROSECONDS:
        return True
    return not own and retention.bytes is not None and log_bytes > retention.bytes


def _is_owed(one: Sealed, owed: Mapping[str, int]) -> bool:
    return one.stream in owed and one.last > owed[one.stream]


def _owed(files: Iterable[Sealed], owed: Mapping[str, int]) -> Iterable[Sealed]:
    return (one for one in files if _is_owed(one, owed))
