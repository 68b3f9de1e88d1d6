"""A door asks for a client and hears what the core answers, until one of the two goes."""

from pathlib import Path

import pytest

from headgate.broker.effects import (
    Advertised,
    Delivery,
    Published,
    RequestRefused,
    Started,
    Subscribed,
    SubscriptionEnded,
)
from headgate.filters.filter import Filter
from headgate.live.node import NodeError
from headgate.log.memory import MemoryLog
from tests.live.nodes import EVERYTHING, Ear, Held, allowed, alone, connected, run


def test_everything_that_a_client_may_ask_is_answered(tmp_path: Path) -> None:
    async def work() -> None:
        node = alone(tmp_path)
        await node.start()
        await node.administer(allowed(), None)
        client, ear = await connected(node)
        client.advertise(1, EVERYTHING)
        await ear.next(Advertised)
        client.subscribe(2, 1, Filter.parse("a > 1"))
        assert (await ear.next(Subscribed))[0].subscription == 1
        await ear.next(Started)
        for a in range(4):
            client.publish(10 + a, b'{"a":%d}' % a, f"e{a}", stream="events")
        assert [one.request for one in await ear.next(Published, 4)] == [10, 11, 12, 13]
        first, second = await ear.next(Delivery, 2)
        assert (first.event.attributes["a"], second.event.attributes["a"]) == (2, 3)
        client.acknowledge(1, "events", second.offset)
        client.unsubscribe(1)
        client.publish(20, b"\xff", "e20", is_json=False, known={"$topic": "t"})
        await ear.next(Published, 5)
        assert len(ear.of(Delivery)) == 2
        assert [one.after for one in ear.of(SubscriptionEnded)] == [(("events", 5),)]
        client.close()
        client.close()
        await node.stop()
        assert ear.dropped_because is None

    run(work())


def test_a_client_of_a_broker_that_stops_is_refused_for_now(tmp_path: Path) -> None:
    async def work() -> None:
        disk = Held(MemoryLog())
        disk.go.set()
        node = alone(tmp_path, disk)
        await node.start()
        await node.administer(allowed(), None)
        client, ear = await connected(node)
        node.is_stopping = True
        client.publish(1, b"{}", "e1")
        client.advertise(2, EVERYTHING)
        client.subscribe(3, 1, EVERYTHING)
        refused = await ear.next(RequestRefused, 3)
        assert [one.request for one in refused] == [1, 2, 3]
        assert all(one.temporary for one in refused)
        await node.stop()

    run(work())


def test_a_client_of_a_broker_that_is_gone_hears_so(tmp_path: Path) -> None:
    async def work() -> None:
        node = alone(tmp_path)
        await node.start()
        await node.administer(allowed(), None)
        client, ear = await connected(node)
        await node.stop()
        assert await ear.end() == "the broker is stopping"
        with pytest.raises(NodeError, match="isn't running"):
            client.acknowledge(1, "events", 1)
        with pytest.raises(NodeError, match="isn't running"):
            node.connect("jane", Ear())
        client.close()

    run(work())
