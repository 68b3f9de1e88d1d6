"""Who asks how a broker is hears what is true of it at that moment."""

from pathlib import Path

import msgspec
import pytest

from headgate.broker.effects import Delivery, RequestRefused, Started
from headgate.filters.filter import Filter
from headgate.live.node import NodeError
from headgate.live.status import StartStatus, SubscriptionStatus
from headgate.log.memory import MemoryLog
from tests.live.link_certificates import Authority
from tests.live.nodes import allowed, alone, connected, run, until
from tests.live.test_links import a_network


def test_a_broker_alone_says_what_it_hosts_and_knows(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        node = alone(tmp_path, log)
        with pytest.raises(NodeError, match="isn't running"):
            node.status()
        await node.start()
        await node.administer(allowed(), None)
        client, ear = await connected(node)
        await until(lambda: node.status().streams["events"].version == 1)
        status = node.status()
        assert (status.broker, status.boot, status.version) == ("b", "boot1", 1)
        assert status.leased
        assert status.ready
        assert status.neighbours == {}
        assert status.known_streams == ("events",)
        assert (status.clients, status.subscriptions) == (1, 0)
        assert status.policy.host == "b"
        assert status.policy.problem is None
        assert status.streams["events"].first == 1
        assert set(status.streams) == {"events", "$subscriptions/b", "$deliveries/b"}
        assert status.counts["starting point"] >= 1
        assert msgspec.json.decode(msgspec.json.encode(status))["log"]["problem"] is None
        log.full = True
        client.publish(1, b"{}", "e1")
        await ear.next(RequestRefused)
        assert "full" in str(node.status().log.problem)
        assert not node.status().ready
        log.full = False
        client.publish(2, b"{}", "e2")
        await until(lambda: node.status().ready)
        await node.stop()

    run(work())


def test_a_subscription_is_told_with_where_it_is(tmp_path: Path) -> None:
    async def work() -> None:
        node = alone(tmp_path)
        await node.start()
        await node.administer(allowed(), None)
        client, ear = await connected(node)
        client.subscribe(1, 7, Filter.parse("n > 1"), durable="mine")
        (start,) = await ear.next(Started)
        for number in range(4):
            client.publish(2 + number, b'{"n":%d}' % number, f"e{number}")
        await ear.next(Delivery, 2)
        (found,) = node.subscriptions()
        last = node.status().streams["events"].last
        assert found == SubscriptionStatus(
            client=client.number,
            subscription=7,
            principal="jane",
            domain=None,
            filter="n > 1",
            durable="mine",
            causal=False,
            streams={"events": StartStatus("boot1", start.after, last, 2)},
        )
        await node.stop()

    run(work())


def test_a_broker_that_lost_the_policys_host_is_not_ready(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    ahead = [0]

    async def work() -> None:
        nodes = await a_network(tmp_path, authority.tls, "ab")
        other = nodes["b"]
        assert not other.status().ready  # it knows nothing yet
        await nodes["a"].administer(allowed(), None)
        await until(lambda: other.status().ready and other.status().version == 1)
        assert other.status().neighbours == {"a": True}
        await nodes["a"].stop()
        await until(lambda: not other.status().neighbours["a"])
        now = other._now
        ahead[0] = other.settings.lease_us
        other._now = lambda: now() + ahead[0]
        assert not other.status().leased
        assert not other.status().ready
        await other.stop()

    run(work())
