"""Does a publication become one record, at one offset, under the version that is known?"""

from __future__ import annotations

import msgspec
import pytest

from headgate.broker.clock import Clock
from headgate.broker.effects import Recovered
from headgate.broker.hosting import Hosting, Publication
from headgate.broker.outbox import Outbox
from headgate.broker.topology import Topology
from headgate.log.digests import START, check_chain
from headgate.log.records import Record
from tests.broker.parts import NOTHING_FOUND, NOW, Disk, settings
from tests.broker.pump import network, reader, writer

SAID = Publication("eve", "event-1", b'{"a":1}')


class Host:
    def __init__(self, found: Recovered = NOTHING_FOUND, boot: str = "boot-1") -> None:
        self.outbox = Outbox()
        self.disk = Disk(self.outbox)
        self.clock = Clock(NOW)
        self.hosting = Hosting(settings(repeat_window=2), self.outbox, found, boot, self.clock)
        self.answers: list[int | str] = []

    def publish(self, said: Publication = SAID) -> Record:
        def then(stored: Record | None, because: str, now: int) -> None:
            self.answers.append(because if stored is None else stored.offset)

        return self.hosting.publish("orders", said, NOW, then)

    def orders(self) -> list[Record]:
        return [one for one in self.disk.records if one.stream == "orders"]

    def found(self) -> Recovered:
        """What a restart would find."""
        last: dict[str, Record | None] = {one.stream: one for one in self.disk.records}
        kept = {key: value for key, value in self.disk.kept.items() if value is not None}
        recent = tuple(
            (one.publisher, one.event_id, one.offset, one.version)
            for one in self.orders()
            if one.body is not None
        )
        incarnations = {one.stream: one.incarnation for one in self.disk.records}
        return Recovered(last, incarnations, {"orders": recent}, kept)


def test_a_record_is_seen_and_acknowledged_when_it_is_stored() -> None:
    host = Host()
    record = host.publish()
    feed = host.hosting.feed("orders")
    assert feed is not None
    assert (record.offset, feed.position, host.answers) == (1, 0, [])
    host.disk.store()
    assert (feed.position, host.answers) == (1, [1])


def test_a_version_begins_at_a_marker_of_every_stream_before_what_follows_it() -> None:
    host = Host()
    host.publish()
    host.hosting.learn(3, NOW)
    host.publish()
    host.hosting.learn(3, NOW)
    host.disk.store()
    assert [(one.offset, one.version, one.is_marker) for one in host.orders()] == [
        (1, 0, False), (2, 3, True), (3, 3, False)
    ]  # fmt: skip
    assert {one.stream for one in host.disk.records if one.is_marker} == {
        "orders", "$subscriptions/p", "$deliveries/p"
    }  # fmt: skip
    assert host.hosting.unreported["orders"] == {3: 2}


def test_a_starting_point_is_reported_until_it_is_kept_and_also_after_a_restart() -> None:
    host = Host()
    host.hosting.learn(3, NOW)
    host.disk.store()
    again = Host(host.found(), "boot-2")
    assert again.hosting.unreported["orders"] == {3: 1}
    again.hosting.reported("orders", [3])
    again.disk.store()
    assert again.hosting.unreported["orders"] == {}
    assert again.disk.kept["starting points/orders"] is None


def test_a_starting_point_whose_marker_was_lost_is_no_starting_point() -> None:
    host = Host()
    host.hosting.learn(3, NOW)
    host.disk.store()
    found = host.found()
    found = msgspec.structs.replace(found, streams={}, incarnations={})
    assert Host(found, "boot-2").hosting.unreported["orders"] == {}


def test_records_continue_the_chain_through_versions_failures_and_restarts() -> None:
    host = Host()
    host.publish()
    host.hosting.learn(1, NOW)
    host.disk.store()
    host.publish()
    host.publish()
    host.outbox.take()
    host.outbox.store_failed("full", NOW)
    host.publish()
    host.disk.store()
    again = Host(host.found(), "boot-2")
    again.disk.records = host.disk.records
    again.publish()
    again.disk.store()
    assert [one.offset for one in again.orders()] == [1, 2, 3, 4]
    assert {one.incarnation for one in again.orders()} == {"boot-1"}
    check_chain(START, again.orders())


def test_what_could_not_be_stored_leaves_its_offset_to_what_is_stored_next() -> None:
    host = Host()
    host.publish()
    host.outbox.take()
    host.outbox.store_failed("full", NOW)
    assert host.answers == ["full"]
    assert host.hosting.repeated("orders", "eve", "event-1") is None
    assert host.publish().offset == 1


def test_a_marker_that_could_not_be_stored_is_written_a_little_later() -> None:
    host = Host()
    host.hosting.learn(1, NOW)
    host.outbox.take()
    host.outbox.store_failed("full", NOW)
    assert host.hosting.retry_at is not None
    host.hosting.on_timer(host.hosting.retry_at)
    host.disk.store()
    assert [one.version for one in host.orders()] == [1]


def test_a_publication_is_known_by_its_event_id_within_the_window() -> None:
    host = Host()
    host.publish()
    assert host.hosting.repeated("orders", "eve", "event-1") == (1, 0)
    host.disk.store()
    assert host.hosting.repeated("orders", "eve", "event-1") == (1, 0)
    assert host.hosting.repeated("orders", "ann", "event-1") is None
    assert Host(host.found()).hosting.repeated("orders", "eve", "event-1") == (1, 0)
    for number in (2, 3):
        host.publish(msgspec.structs.replace(SAID, event_id=f"event-{number}"))
    assert host.hosting.repeated("orders", "eve", "event-1") is None


def test_who_gives_no_event_id_repeats_nothing() -> None:
    host = Host()
    for _ in range(2):
        host.publish(msgspec.structs.replace(SAID, event_id=""))
    host.disk.store()
    assert host.answers == [1, 2]


def test_a_stream_on_an_empty_disk_has_the_incarnation_of_the_start_that_made_it() -> None:
    host = Host(boot="boot-1")
    host.disk.store()
    again = Host(host.found(), "boot-2")
    feeds = {feed.stream: feed.incarnation for feed in again.hosting.feeds()}
    assert set(feeds.values()) == {"boot-1"}
    assert "orders" in again.hosting
    assert "news" not in again.hosting
    assert again.hosting.feed("news") is None


@pytest.mark.parametrize("shift", [0, -3_600_000_000])
def test_what_the_broker_says_itself_is_a_record_like_others(shift: int) -> None:
    host = Host()
    host.clock.enter(NOW + shift)
    host.hosting.note("$deliveries/p", {"b": 2, "a": 1}, host.clock.newest, lambda *_: None)
    host.disk.store()
    (record,) = host.disk.records
    assert record.body == b'{"a":1,"b":2}'
    assert (record.publisher, record.time_us) == ("p", NOW + shift)
    assert msgspec.json.decode(record.event.to_json()) == {"a": 1, "b": 2}


def test_the_event_of_a_record_is_the_one_that_was_published() -> None:
    pump = network(Topology.alone("p"), *writer(), *reader("ann"))
    eve = pump.connect("p", "eve")
    ann = pump.connect("p", "ann")
    pump.subscribe("p", ann)
    body = b'{"b": 1.0, "a": {"x": [1, "y"], "none": null}, "at": "2026-01-31T00:00:00Z", "n": 1e2}'
    pump.publish("p", eve, body, known={"$topic": "a/b"})
    feed = pump.brokers["p"].hosting.feed("orders")
    assert feed is not None
    kept = feed._cache[-1]
    assert "event" in kept.__dict__
    assert kept.event == pump.logs["p"].read("orders", 1, 1)[0].event
    assert msgspec.structs.replace(kept).event == kept.event
