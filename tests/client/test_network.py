"""Does a program publish and subscribe at a real broker, over connections that break?"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate import Action, EventError, HeadgateError, Rule
from headgate.client.effects import Greeted, Parted
from headgate.client.errors import (
    ClosedError,
    DroppedError,
    NotAuthenticatedError,
    RefusedError,
    UnreachableError,
)
from headgate.client.network import Network
from headgate.rights.changes import Batch, Revoke
from headgate.stores.acl import UnknownOutcomeError
from tests.client.running import PASSWORD, Site, aborted, site
from tests.live.nodes import NOON, run


def tried(directory: Path, work: Callable[[Site], Awaitable[Any]], **more: Any) -> Any:
    """Do something with a broker that runs."""

    async def with_site() -> Any:
        async with site(directory, **more) as made:
            return await work(made)

    return run(with_site())


def jane(made: Site, **more: Any) -> Network:
    return headgate.connect(made.url, principal="jane", password=PASSWORD, **more)


def test_importing_headgate_brings_no_sockets() -> None:
    code = "import sys, headgate; sys.exit('aiohttp' in sys.modules or 'asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert "connect" in headgate.__all__
    with pytest.raises(AttributeError, match="no attribute `conect`"):
        headgate.conect  # noqa: B018


def test_what_is_published_is_stored_and_delivered(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            assert net.greeting is not None
            assert (net.greeting.broker, net.greeting.principal) == ("b", "jane")
            async with net.subscribe("price > 100") as quotes:
                await quotes.begun("events", "orders")
                said = await net.publish({"price": 23})
                assert (said.stream, said.version, said.repeated) == ("events", 1, False)
                dear = await net.publish({"price": 101, "who": {"desk": 7}}, stream="orders")
                async for delivery in quotes:
                    assert (delivery.stream, delivery.offset) == ("orders", dear.offset)
                    assert delivery.body == {"price": 101, "who": {"desk": 7}}
                    assert delivery.event.attributes["who.desk"] == 7
                    assert delivery.known["$publisher"] == "jane"
                    break

    tried(tmp_path, work)


def test_bytes_are_delivered_as_they_were(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net, net.subscribe() as everything:
            await everything.begun("events")
            await net.publish(b"\x00\xff")
            delivery = await anext(everything)
            assert delivery.body == b"\x00\xff"
            assert delivery.event.to_bytes() == b"\x00\xff"

    tried(tmp_path, work)


def test_a_repeated_id_is_stored_once(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            first = await net.publish({"a": 1}, id="e1")
            again = await net.publish({"a": 1}, id="e1")
            assert (again.offset, again.repeated) == (first.offset, True)

    tried(tmp_path, work)


def test_refusals_are_raised_where_they_belong(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            with pytest.raises(RefusedError, match="hosts no stream `nowhere`"):
                await net.publish({"a": 1}, stream="nowhere")
            with pytest.raises(EventError):
                await net.publish({"$a": 1})
            with pytest.raises(HeadgateError, match="leave out `after`"):
                net.subscribe(durable="desk", after="start")
            with pytest.raises(RefusedError, match="expected"):
                await anext(net.subscribe("a >"))
            await net.publish({"a": 1})

    tried(tmp_path, work)


def test_everything_comes_once_over_connections_that_break(tmp_path: Path) -> None:
    total = 300

    async def work(made: Site) -> None:
        changes: list[Greeted | Parted] = []
        async with jane(made) as net, jane(made) as other:
            net.on_change = changes.append
            plain, durable = net.subscribe("n >= 0"), net.subscribe("n >= 0", durable="desk")
            await plain.begun("events", "orders")
            await durable.begun("events", "orders")

            async def publish(by: Network, stream: str, numbers: range) -> None:
                for at in range(0, len(numbers), 10):
                    await asyncio.gather(
                        *(by.publish({"n": n}, stream=stream) for n in numbers[at : at + 10])
                    )

            publishing = asyncio.gather(
                publish(net, "events", range(total)), publish(other, "orders", range(total))
            )
            came: dict[str, list[int]] = {}
            for subscription in (plain, durable):
                for count in range(2 * total):
                    delivery = await anext(subscription)
                    came.setdefault(delivery.stream, []).append(delivery.body["n"])
                    if count % 100 == 50:
                        aborted(made)
                assert came == {"events": list(range(total)), "orders": list(range(total))}
                came.clear()
            await publishing
        # It isn't there at every cut, but at some.
        assert len([change for change in changes if isinstance(change, Parted)]) > 3

    tried(tmp_path, work, core={"window": 32})


def test_a_durable_subscription_goes_on_in_the_next_program(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            first = net.subscribe(durable="desk")
            await first.begun("events")
            for n in range(5):
                await net.publish({"n": n})
            assert [(await anext(first)).body["n"] for _ in range(3)] == [0, 1, 2]
        async with jane(made) as net:
            second = net.subscribe(durable="desk", by_hand=True)
            delivery = await anext(second)
            assert delivery.body == {"n": 2}  # the program ended with it in hand
            await delivery.acknowledge()
            assert (await anext(second)).body == {"n": 3}
        async with jane(made) as net:
            third = net.subscribe(durable="desk")
            assert (await anext(third)).body == {"n": 3}
            await third.forget()
            with pytest.raises(HeadgateError):
                await anext(third)

    tried(tmp_path, work)


def test_a_program_may_publish_while_it_takes_its_time_over_a_delivery(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            questions = net.subscribe("kind = 'question'")
            await questions.begun("events")
            await asyncio.gather(*(net.publish({"kind": "question"}) for _ in range(200)))
            for _ in range(200):
                await anext(questions)
                await net.publish({"kind": "answer"})

    tried(tmp_path, work, core={"window": 8})


def test_a_slow_loop_holds_no_more_than_the_window(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            slow, quick = net.subscribe(), net.subscribe()
            await slow.begun("events")
            await quick.begun("events")
            await asyncio.gather(*(net.publish({"n": n}) for n in range(100)))
            assert [(await anext(quick)).body["n"] for _ in range(100)] == list(range(100))
            assert len(slow._wish.ready) <= 8 + 2  # the starts on two streams
            assert [(await anext(slow)).body["n"] for _ in range(100)] == list(range(100))

    tried(tmp_path, work, core={"window": 8})


def test_whose_right_to_connect_ends_is_told_and_does_not_come_back(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            everything = net.subscribe()
            await everything.begun("events")
            await net.publish({"n": 1})
            await made.node.administer(
                Batch((Revoke(Rule("jane", Action.CONNECT)),), "root", NOON), None
            )
            assert (await anext(everything)).body == {"n": 1}
            with pytest.raises(DroppedError, match="no rule lets `jane` connect at version 2"):
                await anext(everything)
            with pytest.raises(DroppedError):
                await net.publish({"n": 2})
        with pytest.raises(DroppedError, match="no rule lets `jane` connect"):
            await jane(made).open()

    tried(tmp_path, work)


def test_who_is_not_known_is_told_at_once(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        strangers = {
            "the name `jane` and its password": headgate.connect(
                made.url, principal="jane", password="wrong"
            ),
            "the token is not accepted": headgate.connect(made.url, token="hgt_unknown"),
            "wants to know who is asking": headgate.connect(made.url),
        }
        for words, stranger in strangers.items():
            with pytest.raises(NotAuthenticatedError, match=words):
                await stranger.open()

    tried(tmp_path, work)


def test_where_nobody_listens_another_broker_is_tried(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        nowhere = "http://127.0.0.1:1"
        urls = [nowhere, made.url]
        async with headgate.connect(urls, principal="jane", password=PASSWORD) as net:
            assert net.greeting is not None
            assert net.greeting.url == made.url
        with pytest.raises(UnreachableError, match="can't connect"):
            async with headgate.connect(nowhere, connect_s=0):
                raise AssertionError("nobody should be there")

    tried(tmp_path, work)


def test_a_publication_without_answer_has_an_unknown_outcome(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            made.node.log.sync = lambda: None  # type: ignore[method-assign]
            publishing = asyncio.create_task(net.publish({"n": 1}))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await net.close()
            with pytest.raises((UnknownOutcomeError, ClosedError)):
                await publishing

    tried(tmp_path, work)


def test_who_cancels_waits_no_more(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            publishing = asyncio.create_task(net.publish({"n": 1}))
            await asyncio.sleep(0)
            publishing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await publishing
            assert (await net.publish({"n": 2})).stream == "events"

    tried(tmp_path, work)


def test_what_is_advertised_may_be_published_on_the_next_connection_too(tmp_path: Path) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            with pytest.raises(RefusedError, match="advertised"):
                await net.publish({"a": 1})
            await net.advertise("a = 1")
            await net.publish({"a": 1})
            aborted(made)
            await net.publish({"a": 1})

    tried(tmp_path, work, core={"advertised_only": True})


def test_leaving_ends_the_iteration_and_the_connection_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    async def work(made: Site) -> None:
        async with jane(made) as net:
            async with net.subscribe() as everything:
                await everything.begun("events")
            assert [delivery async for delivery in everything] == []
            other = net.subscribe()
        assert [delivery async for delivery in other] == []
        with pytest.raises(ClosedError):
            await net.publish({"a": 1})
        while made.node.clients:
            await asyncio.sleep(0.001)

    tried(tmp_path, work)
    gc.collect()  # what was left open would be warned about here
