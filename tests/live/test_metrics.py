"""What is counted is what happened; no stranger makes the list of numbers longer."""

import re
from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from headgate.broker.effects import Delivery, Published, RequestRefused, Started
from headgate.filters.filter import Filter
from headgate.live.links import TcpLinks
from headgate.live.metrics import Histogram, registry_of
from headgate.live.node import Node
from headgate.live.web.counting import WebCounts
from headgate.log.memory import MemoryLog
from tests.doc_blocks import ROOT
from tests.live.link_certificates import Authority
from tests.live.nodes import EVERYTHING, Ear, allowed, alone, connected, run, until
from tests.live.test_links import a_network


def asked(node: Node) -> dict[str, float]:
    """What Prometheus would be told, by names with their labels."""
    text = generate_latest(registry_of(node)).decode()
    return {
        sample.name + "".join(f" {value}" for _, value in sorted(sample.labels.items())): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_histogram_counts_what_is_at_most_a_bound() -> None:
    histogram = Histogram((1, 10))
    for value in (0.5, 1, 1.5, 10, 11):
        histogram.add(value)
    assert histogram.counts == [2, 2, 1]
    family = histogram.family("name", "about")
    samples = {(sample.name, *sample.labels.values()): sample.value for sample in family.samples}
    assert samples == {
        ("name_bucket", "1"): 2,
        ("name_bucket", "10"): 4,
        ("name_bucket", "+Inf"): 5,
        ("name_count",): 5,
        ("name_sum",): 24,
    }


def test_what_clients_did_is_counted(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        node = alone(tmp_path, log)
        await node.start()
        await node.administer(allowed(["jane", "bob"]), None)
        client, ear = await connected(node)
        client.subscribe(1, 1, EVERYTHING)
        client.subscribe(2, 2, Filter.parse("n < 3"))
        await ear.next(Started, 2)
        for number in range(10):
            client.publish(10 + number, b'{"n":%d}' % number, f"e{number}")
        await ear.next(Delivery, 13)
        client.publish(30, b"{", "e30")
        await ear.next(RequestRefused)
        log.full = True
        client.publish(31, b"{}", "e31")
        await ear.next(RequestRefused, 2)
        log.full = False
        node.connect("nobody", stranger := Ear())
        await stranger.end()
        found = asked(node)
        assert len(ear.of(Published)) == found["headgate_publications_total"] == 10
        assert found["headgate_deliveries_total"] == 13
        assert found["headgate_requests_refused_total for good"] == 1
        assert found["headgate_requests_refused_total for now"] == 1
        assert found["headgate_store_failures_total"] == 1
        assert found["headgate_clients_dropped_total"] == 1
        assert found["headgate_clients"] == 1
        assert found["headgate_subscriptions"] == 2
        assert found["headgate_policy_version"] == 1
        assert found["headgate_leased"] == 1
        assert found["headgate_ready"] == 0  # its disk was full when it was asked last
        assert found["headgate_record_body_bytes_total"] >= 70
        assert found["headgate_log_group_writes_count"] > 0
        assert found["headgate_log_sync_seconds_count"] == found["headgate_log_group_writes_count"]
        assert found["headgate_core_turn_seconds_sum"] > 0
        assert found["headgate_core_branches_total starting point"] >= 1
        await node.stop()
        assert "headgate_clients" not in asked(node)

    run(work())


def test_no_principal_client_stream_or_filter_is_a_label(tmp_path: Path) -> None:
    async def work() -> None:
        node = alone(tmp_path)
        await node.start()
        await node.administer(allowed(["jane"]), None)
        before = set(asked(node))
        client, ear = await connected(node)
        client.subscribe(1, 1, Filter.parse("price > 1"))
        await ear.next(Started)
        client.publish(2, b'{"price":2}', "e1")
        await ear.next(Delivery)
        text = " ".join(asked(node))
        assert not any(word in text for word in ("jane", "price", "events", "e1"))
        more = {name for name in set(asked(node)) - before if "branches" not in name}
        assert not more
        await node.stop()

    run(work())


def test_every_metric_is_in_the_documentation_and_no_other(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "observing.md").read_text()

    async def work() -> None:
        node = alone(tmp_path, links=TcpLinks("127.0.0.1", 0, {}, None))
        await node.start()
        registry = registry_of(node)
        WebCounts(registry)
        found = set(
            re.findall(
                "^# TYPE (headgate_\\w+?)(?<!_created) ", generate_latest(registry).decode(), re.M
            )
        )
        assert set(re.findall(r"`(headgate_\w+)", page)) - {"headgate_log_bytes"} == found
        await node.stop()

    run(work())


def test_links_are_counted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def work() -> None:
        nodes = await a_network(tmp_path, authority.tls, "ab")
        one, other = nodes["a"], nodes["b"]
        await until(lambda: one.core.neighbours.all() and other.core.neighbours.all())
        found = asked(one)
        assert found["headgate_links_up"] == found["headgate_neighbours"] == 1
        assert found["headgate_links_made_total dialled"] == 1
        assert asked(other)["headgate_links_made_total accepted"] == 1
        assert found["headgate_link_bytes_total out"] > 0
        assert isinstance(other.links, TcpLinks)
        other.links.counts.refused["no handshake"] += 1
        assert asked(other)["headgate_links_refused_total no handshake"] == 1
        for node in nodes.values():
            await node.stop()

    run(work())
