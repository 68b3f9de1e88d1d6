"""Bytes get from broker to broker in order, from the broker that is meant, or the link ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from headgate.broker.effects import Delivery, Started
from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.live.links import LinkLimits, LinkTls, TcpLinks
from headgate.live.node import Node
from headgate.log.memory import MemoryLog
from headgate.stores.opening import open_acl_store
from tests.live.link_certificates import Authority
from tests.live.nodes import EVERYTHING, LOOPS, allowed, connected, run, until

MANY = 8 * 1024 * 1024


class Post:
    """A broker's end that remembers what its links brought."""

    def __init__(self) -> None:
        self.up: dict[int, tuple[str | None, str | None]] = {}
        self.down: list[int] = []
        self.came: dict[int, bytearray] = {}
        self.writable: list[bool] = []
        self.failed: list[str] = []
        self.met: set[int] = set()

    def link_up(self, link: int, dialled: str | None, named: str | None) -> None:
        self.up[link] = (dialled, named)
        self.came[link] = bytearray()

    def link_down(self, link: int) -> None:
        self.down.append(link)

    def dial_failed(self, broker: str) -> None:
        self.failed.append(broker)

    def receive(self, link: int, data: bytes) -> None:
        assert link not in self.down
        self.came[link] += data

    def set_writable(self, link: int, *, writable: bool) -> None:
        self.writable.append(writable)

    def has_met(self, link: int) -> bool:
        return link in self.met


async def listening(
    tls: LinkTls | None = None, limits: LinkLimits | None = None
) -> tuple[TcpLinks, Post]:
    links, post = TcpLinks("127.0.0.1", 0, {}, tls, limits), Post()
    await links.start(post)
    return links, post


@asynccontextmanager
async def two(
    one: LinkTls | None = None, other: LinkTls | None = None, limits: LinkLimits | None = None
) -> AsyncIterator[tuple[TcpLinks, Post, TcpLinks, Post]]:
    """Brokers `a` and `b`; `a` knows where `b` is."""
    left, heard_left = await listening(one, limits)
    right, heard_right = await listening(other, limits)
    left.place("b", "127.0.0.1", right.port)
    yield left, heard_left, right, heard_right
    await left.stop()
    await right.stop()


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("with_tls", [True, False])
def test_what_is_sent_arrives_whole_and_who_sent_it_is_known(
    tmp_path: Path, loop: str, with_tls: bool
) -> None:
    authority = Authority(tmp_path)
    one, other = (authority.tls(name) if with_tls else None for name in "ab")

    async def work() -> None:
        async with two(one, other) as (left, heard_left, right, heard_right):
            left.dial("b")
            await until(lambda: heard_left.up and heard_right.up)
            assert heard_left.up == {1: ("b", "b" if with_tls else None)}
            assert heard_right.up == {1: (None, "a" if with_tls else None)}
            sent = bytes(range(256)) * 4_096
            left.send(1, sent)
            right.send(1, b"back")
            await until(lambda: len(heard_right.came[1]) == len(sent))
            await until(lambda: heard_left.came[1] == b"back")
            assert heard_right.came[1] == sent
            left.close(1, "enough")
            await until(lambda: heard_left.down and heard_right.down)
            assert left.counts.bytes_out == right.counts.bytes_in == len(sent)

    run(work(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_what_was_sent_before_a_close_arrives(tmp_path: Path, loop: str) -> None:
    authority = Authority(tmp_path)

    async def work() -> None:
        one, other = (authority.tls(name) for name in "ab")
        async with two(one, other) as (left, heard_left, _, heard_right):
            left.dial("b")
            await until(lambda: heard_left.up and heard_right.up)
            left.send(1, bytes(MANY))
            left.close(1, "enough")
            left.send(1, b"too late")
            await until(lambda: heard_right.down)
            assert len(heard_right.came[1]) == MANY

    run(work(), loop)


def test_a_broker_of_another_authority_is_no_neighbour(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")

    async def work() -> None:
        stranger = theirs.tls("a", trusting=ours)
        async with two(stranger, ours.tls("b")) as (left, heard_left, right, heard_right):
            left.dial("b")
            # In TLS 1.3 who dials hears of the refusal only behind its own handshake.
            await until(lambda: heard_left.failed or heard_left.down)
            await until(lambda: right.counts.refused)
            assert right.counts.refused == {"no handshake": 1}
            assert not heard_right.up

    run(work())


@pytest.mark.parametrize("loop", LOOPS)
def test_who_is_dialled_must_show_that_it_is_meant(tmp_path: Path, loop: str) -> None:
    authority = Authority(tmp_path)

    async def work() -> None:
        async with two(authority.tls("a"), authority.tls("c")) as (left, heard_left, _, _):
            left.dial("b")
            await until(lambda: heard_left.failed)
            assert heard_left.failed == ["b"]
            assert left.counts.refused == {"wrong certificate": 1}
            assert not heard_left.up

    run(work(), loop)


def test_a_neighbour_that_is_not_there_is_not_reached(tmp_path: Path) -> None:
    async def work() -> None:
        async with two() as (left, heard_left, right, _):
            await right.stop()
            left.dial("b")
            left.dial("nobody knows where")
            await until(lambda: len(heard_left.failed) == 2)
            assert set(heard_left.failed) == {"b", "nobody knows where"}

    run(work())


@pytest.mark.parametrize("loop", LOOPS)
def test_an_end_that_does_not_read_is_offered_nothing_until_it_does(
    tmp_path: Path, loop: str
) -> None:
    async def work() -> None:
        left, heard = await listening(limits=LinkLimits(buffer_bytes=1024))
        deaf = await dialled(left.port, buffer_bytes=4_096)
        await until(lambda: heard.up)
        left.send(1, bytes(MANY))
        await until(lambda: heard.writable == [False])
        taken = 0
        while taken < MANY:
            taken += len(await asyncio.get_running_loop().sock_recv(deaf, 1 << 16))
        await until(lambda: heard.writable == [False, True])
        deaf.close()
        await left.stop()

    run(work(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_end_that_never_reads_is_given_up_before_it_takes_all_memory(loop: str) -> None:
    async def work() -> None:
        left, heard = await listening(limits=LinkLimits(buffer_bytes_max=MANY))
        deaf = await dialled(left.port, buffer_bytes=4_096)
        await until(lambda: heard.up)
        for _ in range(100):
            left.send(1, bytes(1 << 20))
        await until(lambda: heard.down)
        assert left.counts.bytes_out < 5 * MANY
        deaf.close()
        await left.stop()

    run(work(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_end_that_never_reads_does_not_keep_a_close_waiting(loop: str) -> None:
    async def work() -> None:
        left, heard = await listening(limits=LinkLimits(close_s=0.01))
        deaf = await dialled(left.port, buffer_bytes=4_096)
        await until(lambda: heard.up)
        left.send(1, bytes(MANY))
        left.close(1, "enough")
        await until(lambda: heard.down)
        deaf.close()
        await left.stop()

    run(work(), loop)


@pytest.mark.parametrize("limits", [LinkLimits(strangers=3), LinkLimits(strangers_per_address=3)])
def test_of_those_who_do_not_say_who_they_are_only_some_are_let_in(limits: LinkLimits) -> None:
    async def work() -> None:
        right, heard = await listening(limits=limits)
        strangers = [await dialled(right.port) for _ in range(10)]
        await until(lambda: right.counts.refused.total() == 7)
        assert len(heard.up) == 3
        heard.met = {1, 2, 3}  # who has said so is none
        strangers.append(await dialled(right.port))
        await until(lambda: len(heard.up) == 4)
        for stranger in strangers:
            stranger.close()
        await right.stop()

    run(work())


@pytest.mark.parametrize("loop", LOOPS)
def test_who_begins_no_tls_is_let_go(tmp_path: Path, loop: str) -> None:
    authority = Authority(tmp_path)

    async def work() -> None:
        limits = LinkLimits(handshake_s=0.05, strangers=1)
        right, heard = await listening(authority.tls("b"), limits)
        silent = await dialled(right.port)
        await until(lambda: right.counts.refused["no handshake"])
        noisy = await dialled(right.port)
        await asyncio.get_running_loop().sock_sendall(noisy, b"GET / HTTP/1.1\r\n\r\n")
        await until(lambda: right.counts.refused["no handshake"] == 2)
        assert not heard.up
        silent.close()
        noisy.close()
        await right.stop()

    run(work(), loop)


def test_links_that_are_aborted_are_down_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        async with two() as (left, heard_left, _, heard_right):
            left.dial("b")
            await until(lambda: heard_left.up and heard_right.up)
            left.abort()
            await until(lambda: heard_left.down and heard_right.down)

    run(work())


async def dialled(port: int, buffer_bytes: int = 0) -> socket.socket:
    """A connection of somebody who says nothing."""
    made = socket.socket()
    made.setblocking(False)
    if buffer_bytes:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
    return made


# Brokers.


async def a_network(
    directory: Path, tls: Callable[[str], LinkTls | None], names: Sequence[str] = "abc"
) -> dict[str, Node]:
    """Brokers in a row, each in its node, the first with the policy."""
    edges = frozenset(frozenset(pair) for pair in pairwise(names))
    topology = Topology({name: (name,) for name in names}, edges)
    links = {name: TcpLinks("127.0.0.1", 0, {}, tls(name)) for name in names}
    for one in links.values():
        await one.listen()
    nodes = {}
    for name in names:
        for other in topology.neighbours(name):
            links[name].place(other, "127.0.0.1", links[other].port)
        store = open_acl_store(directory / "policy") if name == names[0] else None
        settings = Settings(name, topology, names[0], (f"from {name}",), redial_us=10_000)
        nodes[name] = Node(settings, MemoryLog(), store, f"{name}.1", links=links[name])
        await nodes[name].start()
    return nodes


@pytest.mark.parametrize("loop", LOOPS)
def test_an_event_gets_through_a_chain_of_brokers(tmp_path: Path, loop: str) -> None:
    authority = Authority(tmp_path)

    async def work() -> None:
        nodes = await a_network(tmp_path, authority.tls)
        await nodes["a"].administer(allowed(), None)
        reader, ear = await connected(nodes["c"])
        reader.subscribe(1, 1, EVERYTHING)
        await ear.next(Started, 3)
        writer, _ = await connected(nodes["a"])
        for number in range(100):
            writer.publish(number, b'{"n":%d}' % number, f"e{number}")
        found = await ear.next(Delivery, 100)
        assert [one.event.attributes["n"] for one in found] == list(range(100))
        for node in nodes.values():
            await node.stop()

    run(work(), loop)


def test_a_broker_that_says_it_is_another_than_its_certificate_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def work() -> None:
        # `a` shows the certificate of `x`, which is no neighbour of anybody.
        nodes = await a_network(
            tmp_path, lambda name: authority.tls("x" if name == "a" else name), "ab"
        )
        links = nodes["b"].links
        assert isinstance(links, TcpLinks)
        await until(lambda: links.counts.accepted > 1)
        assert nodes["b"].core.neighbours.all() == []
        # It learns that it was refused a little later.
        await until(lambda: nodes["a"].core.neighbours.all() == [])
        for node in nodes.values():
            await node.stop()

    run(work())
