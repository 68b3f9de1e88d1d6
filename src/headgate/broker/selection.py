"""Who of the many at the end of a stream is owed this record?

A few are asked one after the other, and many while no index is loaded yet. Of many, the filters
that hold at the version of the record are in an index, each once however many consumers have it;
with another version the index is made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, final

from headgate.broker.interests import InterestSet
from headgate.filters.filter import Filter
from headgate.log.records import Record
from headgate.matching.loading import LOADING

if TYPE_CHECKING:
    from headgate.matching.index import FilterIndex

ASKED_MAX: Final = 24
"""Up to so many interests are asked one after the other."""


class Owed(Protocol):
    """Somebody who is owed a set."""

    granted: InterestSet


C = TypeVar("C", bound=Owed)


@final
class Selection(Generic[C]):
    """Consumers, and the index of what they are owed at one version."""

    def __init__(self) -> None:
        self._consumers: dict[C, tuple[Filter, ...] | None] = {}
        """With the filters under which they are in the index; `None` for who is owed everything."""
        self._asked = 0
        self._counted: dict[C, int] = {}
        self._order: dict[C, int] = {}
        self._added = 0
        self._index: FilterIndex | None = None
        self._version = -1
        self._numbers: dict[Filter, int] = {}
        self._of_number: dict[int, tuple[Filter, dict[C, None]]] = {}
        self._everything: dict[C, None] = {}
        self._free: list[int] = []

    def __contains__(self, consumer: object) -> bool:
        return consumer in self._consumers

    def __iter__(self) -> Iterator[C]:
        return iter(self._consumers)

    def add(self, consumer: C) -> None:
        self._consumers[consumer] = ()
        self._count(consumer)
        self._order[consumer] = self._added = self._added + 1
        if self._index is not None:
            self._put(consumer)

    def remove(self, consumer: C) -> None:
        if self._index is not None:
            self._take_out(consumer)
        del self._consumers[consumer], self._order[consumer]
        self._asked -= self._counted.pop(consumer)

    def changed(self, consumer: C) -> None:
        """What a consumer is owed is another set now."""
        self._count(consumer)
        if self._index is not None:
            filters = self._filters(consumer)
            if filters != self._consumers[consumer]:
                self._take_out(consumer)
                self._put(consumer)

    def _count(self, consumer: C) -> None:
        before, count = self._counted.get(consumer, 0), len(consumer.granted.entries) or 1
        self._counted[consumer] = count
        self._asked += count - before

    def owed(self, record: Record) -> Sequence[C]:
        """Those who are owed a record, in the order in which they came; a marker nobody is."""
        if record.body is None:
            return ()
        if self._asked <= ASKED_MAX:
            self._index = None
            return [one for one in self._consumers if one.granted.wants(record)]
        if self._index is None:
            # Who has few to serve does without what the index needs.
            self._index = LOADING.index()
            if self._index is None:
                return [one for one in self._consumers if one.granted.wants(record)]
            self._numbers, self._of_number, self._everything, self._free = {}, {}, {}, []
            self._consumers = dict.fromkeys(self._consumers, ())
            self._rebuild(record.version)
        elif record.version != self._version:
            self._rebuild(record.version)
        found = dict(self._everything)
        for number in self._index.match_events((record.event,)).ids.tolist():
            found.update(self._of_number[number][1])
        return sorted(found, key=self._order.__getitem__)

    def _rebuild(self, version: int) -> None:
        self._version = version
        for consumer in list(self._consumers):
            self.changed(consumer)

    def _filters(self, consumer: C) -> tuple[Filter, ...] | None:
        granted = consumer.granted
        if not granted.entries:
            return ()
        if self._version > granted.known:
            return None
        found: dict[Filter, None] = {}
        for entry in granted.entries:
            one = entry.at(self._version)
            if one is None:
                return None
            found[one] = None
        return tuple(found)

    def _put(self, consumer: C) -> None:
        filters = self._consumers[consumer] = self._filters(consumer)
        if filters is None:
            self._everything[consumer] = None
            return
        assert self._index is not None
        for one in filters:
            number = self._numbers.get(one)
            if number is None:
                number = self._free.pop() if self._free else len(self._of_number)
                self._numbers[one] = number
                self._of_number[number] = one, {}
                self._index.add(number, one)
            self._of_number[number][1][consumer] = None

    def _take_out(self, consumer: C) -> None:
        filters = self._consumers[consumer]
        if filters is None:
            del self._everything[consumer]
            return
        assert self._index is not None
        for one in filters:
            number = self._numbers[one]
            of_number = self._of_number[number][1]
            del of_number[consumer]
            if not of_number:
                del self._numbers[one], self._of_number[number]
                self._free.append(number)
                self._index.remove(number)
