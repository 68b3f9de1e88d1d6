"""What should everybody have received? Computed from the stored records and batches alone.

The records are read from the brokers' disks after they have stopped, the batches from the ACL
database; what each subscription is owed comes from the service model of the simulation, which
shares nothing with the brokers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headgate.log.digests import START, check_chain
from headgate.log.records import Record
from headgate.simulation.checkers.ledger import as_modelled
from headgate.simulation.service_model import Wish, view
from headgate.stores.disk_log import DiskLog
from headgate.stores.opening import open_acl_store
from tests.live.sockets import Publisher, Reader

ALL = 10**9


class Reference:
    """All that is stored, once the brokers have ended."""

    def __init__(self, logs: Iterable[Path], policy: Path) -> None:
        self.streams: dict[str, tuple[Record, ...]] = {}
        for directory in logs:
            log = DiskLog(directory)
            try:
                for stream in log.streams():
                    assert stream not in self.streams, f"`{stream}` has two hosts"
                    self.streams[stream] = log.read(stream, 0, ALL)
            finally:
                log.close()
        store = open_acl_store(policy, create=False)
        try:
            self.batches = [batch.to_json() for _, batch in store.history().batches()]
            self.starting_points = store.starting_points()
        finally:
            store.close()
        self._views: dict[tuple[str, str, str, int], Any] = {}

    def check_logs(self) -> None:
        """Offsets leave none out, versions never go back, chains hold, no event id comes twice."""
        for stream, records in self.streams.items():
            assert [one.offset for one in records] == list(range(1, len(records) + 1)), stream
            check_chain(START, records)
            versions = [one.version for one in records]
            assert versions == sorted(versions), stream
            ids = [(one.publisher, one.event_id) for one in records if one.event_id]
            assert len(ids) == len(set(ids)), f"an event of `{stream}` is stored twice"

    def owed(
        self, principal: str, filter_: str, starts: Mapping[str, int]
    ) -> dict[str, list[tuple[int, int, Any]]]:
        """By stream: offset, version and body of each view after its start."""
        found: dict[str, list[tuple[int, int, Any]]] = {}
        for stream, after in starts.items():
            found[stream] = [
                (one.offset, one.version, body)
                for one in self.streams[stream]
                if one.offset > after and not one.is_marker
                if (body := self._view(principal, filter_, stream, one)) is not None
            ]
        return found

    def _view(self, principal: str, filter_: str, stream: str, record: Record) -> Any:
        key = principal, filter_, stream, record.offset
        if key not in self._views:
            seen = view(
                self.batches,
                record.version,
                as_modelled(record),
                Wish(principal, filter_ or "TRUE"),
            )
            self._views[key] = None if seen is None else _plain(seen[0])
        return self._views[key]


def received(deliveries: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[int, int, Any]]]:
    """What was heard, in the same form."""
    found: dict[str, list[tuple[int, int, Any]]] = {}
    for one in deliveries:
        found.setdefault(one["stream"], []).append((one["offset"], one["version"], one["event"]))
    return found


def _plain(body: Any) -> Any:
    return json.loads(json.dumps(body))


def check_clients(
    data: Path, publishers: list[Publisher], readers: list[Reader], versions: list[int]
) -> None:
    """All that clients were told, of one broker that has ended, is so, and they were told all."""
    reference = Reference([data / "log"], data)
    reference.check_logs()
    for publisher in publishers:
        assert not publisher.refused, publisher.refused
        assert publisher.versions == sorted(publisher.versions), "versions never go back"
        for event_id, (stream, offset, version) in publisher.stored.items():
            record = reference.streams[stream][offset - 1]
            assert (record.event_id, record.version) == (event_id, version), event_id
    assert versions == sorted(versions)
    assert len(reference.batches) >= versions[-1]
    for reader in readers:
        assert reader.versions == sorted(reader.versions)
        assert not reader.again, f"{reader.name} got again what it was done with"
        starts = {one["stream"]: one["after"] for one in reversed(reader.starts)}
        owed = reference.owed(reader.name, reader.filter, starts)
        once = received({(one["stream"], one["offset"]): one for one in reader.deliveries}.values())
        for stream, expected in owed.items():
            until = reader.acknowledged.get(stream, 0)
            got = [one for one in once.get(stream, []) if one[0] <= until]
            assert got == [one for one in expected if one[0] <= until], (reader.name, stream)
