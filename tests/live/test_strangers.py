"""Across modules: what do bytes that mean nothing do to a broker, on either of its ports?"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from headgate.peering.frames import PROTOCOL, Alive, Hello
from headgate.peering.wire import encode
from tests.live.brokers import BrokerProcess, Settings, alone, free_ports, grants
from tests.live.link_certificates import Authority
from tests.live.sockets import HEARD_S, connected
from tests.live.watching import (
    ALLOWED,
    MEBIBYTE,
    UPGRADE,
    Memory,
    Regular,
    counted,
    frame,
    get,
    numbers,
    running,
    said,
)
from tests.live.web.test_malformed import JSON, head, mutants
from tests.proofs import COUNTED, proof_size

FRAME_BYTES = 2 * MEBIBYTE
LINK_BYTES = 24 * MEBIBYTE
"""One frame of two mebibytes for each of the few that are let in at once, as it comes and whole."""
HTTP_BYTES = (4 * 32 + 48) * MEBIBYTE
"""Bodies may take 32 MiB together; while they are put together, read and refused there are copies
of each, and what is free again isn't given back at once. Those that are sent come to more."""


def three(directory: Path) -> tuple[BrokerProcess, BrokerProcess, int, Authority]:
    """Two brokers that run, and the port of the first's links; `b3`, its other neighbour, is us."""
    http1, http2, link1, link2, link3 = free_ports(5)
    authority = Authority(directory / "authority")
    for name in ("b1", "b2", "b3"):
        authority.tls(name)
    files = directory / "authority"
    settings = Settings(
        directory,
        f"""
data = "{directory / "data"}"
[http]
tls = "off"
[tls]
link_authorities = "{authority.file}"
[tuning]
heartbeat_s = 0.5
link_frame_bytes = {FRAME_BYTES}
[network]
policy_host = "b1"
edges = [["n1", "n2"], ["n1", "n3"]]
[network.nodes]
n1 = ["b1"]
n2 = ["b2"]
n3 = ["b3"]
[network.brokers.b1]
link = "127.0.0.1:{link1}"
http = "127.0.0.1:{http1}"
streams = ["events"]
[network.brokers.b2]
link = "127.0.0.1:{link2}"
http = "127.0.0.1:{http2}"
[network.brokers.b3]
link = "127.0.0.1:{link3}"
""",
    )
    brokers = [BrokerProcess(settings, http, name) for http, name in ((http1, "b1"), (http2, "b2"))]
    for one in brokers:
        file = str(files / f"{one.name}.pem")
        (files / f"{one.name}.pem").chmod(0o600)
        one.environ = {"HEADGATE_TLS_LINK_CERTIFICATE": file, "HEADGATE_TLS_LINK_KEY": file}
    return brokers[0], brokers[1], link1, authority


HELLO = encode(Hello(PROTOCOL, "b3", "boot", FRAME_BYTES))
NONSENSE: dict[str, bytes] = {
    "no frame": b"\0\0\0\x05nonse",
    "a frame of no bytes": bytes(4),
    "a first frame that is too large": b"\xff\xff\xff\xff",
    "another frame than a `Hello`": encode(Alive()),
    "the name of another broker": encode(Hello(PROTOCOL, "b2", "boot", FRAME_BYTES)),
    "the broker's own name": encode(Hello(PROTOCOL, "b1", "boot", FRAME_BYTES)),
    "a name that nobody knows": encode(Hello(PROTOCOL, "b9", "boot", FRAME_BYTES)),
    "another protocol": encode(Hello(99, "b3", "boot", FRAME_BYTES)),
    "a frame that is too large": HELLO + b"\x7f\xff\xff\xff",
    "no frame after a `Hello`": HELLO + b"\0\0\0\x05nonse",
    "a `Hello` again": HELLO + HELLO,
}
UNFINISHED: dict[str, bytes] = {
    "nothing": b"",
    "half a length": b"\0\0",
    "half a `Hello`": HELLO[:9],
    "a frame that never ends": HELLO + FRAME_BYTES.to_bytes(4) + bytes(FRAME_BYTES - 1),
}


async def until_it_ends(port: int, data: bytes, tls: ssl.SSLContext | None) -> None:
    """Say something, and wait until the other end has had enough."""
    async with asyncio.timeout(HEARD_S):
        with suppress(OSError):  # it may end it in any way, the handshake included
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
            try:
                writer.write(data)
                while await reader.read(65_536):
                    pass
            finally:
                writer.close()


@pytest.mark.proof
def test_what_is_no_neighbour_becomes_no_link(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    b1, b2, port, authority = three(tmp_path)
    with running(b1), running(b2):
        counted_ = asyncio.run(_pester(tmp_path, b1, b2, port, authority))
    record_property(COUNTED, counted_)


async def _pester(
    directory: Path, b1: BrokerProcess, b2: BrokerProcess, port: int, authority: Authority
) -> str:
    await asyncio.gather(b1.ready(), b2.ready())
    await b1.administer(*ALLOWED, *grants("r0", "subscribe"))
    us = authority.tls("b3").dialling
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nobody.check_hostname, nobody.verify_mode = False, ssl.CERT_NONE
    other = Authority(directory / "other").tls("b3", trusting=authority).dialling
    strangers = {"no TLS": None, "no certificate": nobody, "another authority": other}
    far = await connected(b2.url, b2.settings.token("r0"))
    await far.ask("subscribe", subscription=1)
    await far.until(lambda one: one["is"] == "started")
    memory = Memory(b1.pid)
    async with Regular(b1) as regular:
        for context in strangers.values():
            await until_it_ends(port, b"GET / HTTP/1.1\r\n\r\n", context)
        refused = await counted(b1, "headgate_links_refused_total{no handshake}", len(strangers))
        for data in NONSENSE.values():
            await until_it_ends(port, data, us)
        await asyncio.gather(*(until_it_ends(port, data, us) for data in UNFINISHED.values()))
        random = Random(1)
        fuzzed = proof_size(test=50, soak=5_000)
        for _ in range(fuzzed):
            content = random.randbytes(random.randint(1, 200))
            if random.random() < 0.5:
                content = bytes([0x90 + random.randint(0, 15), 0xA0 + 4]) + b"data" + content
            await until_it_ends(port, HELLO + len(content).to_bytes(4) + content, us)
        await regular.served()
        # The link to `b2` is there, and what is published here gets there.
        assert (await numbers(b1))["headgate_links_up"] == 1
        await far.until(lambda one: one["is"] == "delivery" and one["event"] != {})
        nonsense = (await numbers(b1))["headgate_core_branches_total{nonsense refused}"]
        assert nonsense >= fuzzed
        grown = memory.check(LINK_BYTES)
        await said(b1, "link closed", "expected a frame of 1 to 4,096 bytes, got 4,294,967,295")
        await said(b1, "link closed", "expected the broker `b3`, got `b2`")
        rounds = regular.rounds
        newest = {"regular": rounds}
        await far.until(lambda one: one["is"] == "delivery" and one["event"] == newest)
    await far.close()
    assert b1.stop() == 0, b1.last_words()
    assert b2.stop() == 0, b2.last_words()
    return f"{refused:.0f} strangers, {nonsense:.0f} times nonsense of a neighbour, {grown}"


@pytest.mark.proof
def test_what_is_no_request_is_refused_and_takes_no_memory(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    limits = f"""
[limits]
request_s = 2
idle_s = 2
bodies_bytes = {32 * MEBIBYTE}
[logging]
level = "warning"
"""
    with running(alone(tmp_path, limits)) as broker:
        record_property(COUNTED, asyncio.run(_fuzz(broker, proof_size(test=200, soak=20_000))))


async def answer_to(port: int, *pieces: bytes) -> bytes:
    """Whatever comes back until the broker ends it."""
    got = b""
    async with asyncio.timeout(HEARD_S):
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                with suppress(OSError):  # it needn't take all
                    for piece in pieces:
                        writer.write(piece)
                        await writer.drain()
                while more := await reader.read(65_536):
                    got += more
            finally:
                writer.close()
    return got


async def _fuzz(broker: BrokerProcess, count: int) -> str:
    await broker.ready()
    await broker.administer(*ALLOWED, *grants("eve", "publish", "subscribe"))
    token = broker.settings.token("eve")
    who = f"Authorization: Bearer {token}"
    post = "POST /v1/events HTTP/1.1"
    part = b"%x\r\n%s\r\n" % (MEBIBYTE, b"x" * MEBIBYTE)
    memory = Memory(broker.pid)
    large: dict[bytes, list[list[bytes]]] = {
        # It is too large: what it says of itself, what comes, and one message in many frames.
        b" 413 ": [
            [head(post, who, JSON, f"Content-Length: {100 * MEBIBYTE}")],
            [head(post, who, JSON, "Transfer-Encoding: chunked"), *[part] * 12],
            [head("POST /v1/token HTTP/1.1", JSON, "Content-Length: 100000")],
        ],
        # A mebibyte of brackets, which isn't an event however deep it is looked into.
        b" 422 ": [[head(post, who, JSON, f"Content-Length: {MEBIBYTE}"), b"[" * MEBIBYTE]],
        # A head that never ends, slowly or fast.
        b"": [[b"GET / HTTP/1.1\r\nHost: x\r\n"], [b"GET /" + b"x" * 10], [b""]],
        b" 400 ": [[b"GET / HTTP/1.1\r\n", *[b"X: " + b"x" * 10_000 + b"\r\n"] * 500]],
        # A message in many frames, and one that says that it is large.
        b"HTTP/1.1 101 ": [
            [get("/v1/socket", token, *UPGRADE), frame(b"x" * 60_000, 0x01)]
            + [frame(b"x" * 60_000, 0x00)] * 100,
            [get("/v1/socket", token, *UPGRADE), b"\x81\xff" + b"\x7f" + b"\xff" * 7 + bytes(4)],
        ],
    }
    async with Regular(broker) as regular:
        asked = [(status, one) for status, some in large.items() for one in some]
        answers = await asyncio.gather(*(answer_to(broker.http, *one) for _, one in asked))
        for (status, one), answer in zip(asked, answers, strict=True):
            # Who goes on sending may have the answer taken away by the end of the connection.
            assert not answer or status in answer.split(b"\r\n")[0] + b" ", (one[0], answer)
        # Many at once: those for whom there is no room are told to come again.
        whole = [head(post, who, JSON, f"Content-Length: {7 * MEBIBYTE}")]
        many = [answer_to(broker.http, *whole, *[b"x" * MEBIBYTE] * 7) for _ in range(12)]
        statuses = {answer.split(b" ")[1] for answer in await asyncio.gather(*many) if answer}
        assert statuses <= {b"400", b"413", b"503"}, statuses
        waiting = mutants(1, count)
        while some := list(islice(waiting, 20)):
            for answer in await asyncio.gather(*(answer_to(broker.http, one) for one in some)):
                assert b" 500 " not in answer.split(b"\r\n")[0], some
        await regular.served()
        grown = memory.check(HTTP_BYTES)
    found = await numbers(broker)
    refused = sum(
        value
        for name, value in found.items()
        if name.startswith("headgate_http_requests_total{") and name[-4:-3] == "4"
    )
    assert refused > 0
    assert broker.stop() == 0, broker.last_words()
    assert "fault" not in broker.last_words()
    return f"{count} mutants, {len(asked)} oversized, {refused:.0f} refused, {grown}"
