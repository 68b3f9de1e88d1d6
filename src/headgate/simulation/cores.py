"""What does the world ask of a broker's core? The verbs of `headgate.broker.core.Broker`.

Other cores stand in for it where the world itself is tested, or a fault is planted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from headgate.broker.effects import Effect, Recovered
from headgate.broker.settings import Settings
from headgate.filters.filter import Filter
from headgate.log.records import KnownValue, Record
from headgate.rights.changes import Batch


class Core(Protocol):
    """One broker: inputs with `now`, effects to be taken after each of them."""

    @property
    def counts(self) -> Counter[str]: ...

    def records_held(self) -> int: ...
    def effects(self) -> list[Effect]: ...

    def link_up(
        self, link: int, now: int, dialled: str | None, named: str | None = None
    ) -> None: ...
    def dial_failed(self, broker: str, now: int) -> None: ...
    def link_down(self, link: int, now: int) -> None: ...
    def receive(self, link: int, data: bytes, now: int) -> None: ...
    def set_writable(self, link: int, writable: bool, now: int) -> None: ...

    def stored(self, ticket: int, now: int) -> None: ...
    def store_failed(self, because: str, now: int) -> None: ...
    def was_read(self, number: int, records: tuple[Record, ...], now: int) -> None: ...
    def batch_applied(self, number: int, refused: str | None, now: int) -> None: ...
    def starting_point_kept(self, version: int, stream: str, now: int) -> None: ...
    def policy_grew(self, batches: Sequence[tuple[int, Batch]], now: int) -> None: ...

    def next_timer(self) -> int | None: ...
    def on_timer(self, now: int) -> None: ...

    def connect(self, client: int, principal: str, now: int, domain: str | None = None) -> None: ...
    def disconnect(self, client: int, now: int) -> None: ...
    def publish(
        self,
        client: int,
        request: int,
        body: bytes,
        event_id: str,
        now: int,
        *,
        stream: str | None = None,
        is_json: bool = True,
        known: Mapping[str, KnownValue] = ...,
    ) -> None: ...
    def advertise(self, client: int, request: int, advertised: Filter, now: int) -> None: ...
    def subscribe(
        self,
        client: int,
        request: int,
        subscription: int,
        wanted: Filter,
        now: int,
        *,
        durable: str | None = None,
        causal: bool = False,
        after: Mapping[str, int] | None = None,
    ) -> None: ...
    def acknowledge(
        self, client: int, subscription: int, stream: str, offset: int, now: int
    ) -> None: ...
    def unsubscribe(self, client: int, subscription: int, now: int) -> None: ...
    def administer(
        self, client: int, request: int, batch: Batch, expected: int | None, now: int
    ) -> None: ...


MakeCore: TypeAlias = Callable[[Settings, Recovered, str, int], Core]
"""Settings, what was found on the disk, the name of this start, and the time."""
