"""Does the server listen where it is told to, and take no more connections than it may?"""

import asyncio
import socket
import ssl
from collections.abc import Coroutine
from pathlib import Path

import aiohttp
import pytest

from headgate.live.authority import DevelopmentAuthority
from headgate.live.web.limits import WebLimits
from tests.live.nodes import LOOPS
from tests.live.web.servers import JANE, site, until


def run(loop: str, play: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(play)


def context(directory: Path) -> tuple[ssl.SSLContext, Path]:
    """What a server with a development certificate says, and whom its clients trust."""
    authority = DevelopmentAuthority(directory)
    both = directory / "server.pem"
    authority.for_http(both, ["localhost", "127.0.0.1"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(both)
    return tls, authority.certificate_file


@pytest.mark.parametrize("loop", LOOPS)
def test_both_families_get_the_port_that_is_free(tmp_path: Path, loop: str) -> None:
    async def play() -> None:
        async with site(tmp_path, settings={"host": "localhost"}) as made:
            for family, kind, _, _, address in await asyncio.get_running_loop().getaddrinfo(
                "localhost", made.server.port, type=socket.SOCK_STREAM
            ):
                with socket.socket(family, kind) as trying:
                    trying.setblocking(False)
                    await asyncio.get_running_loop().sock_connect(trying, address)

    run(loop, play())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_that_ends_makes_room(tmp_path: Path, loop: str) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(connections=1)) as made:
            for _ in range(5):
                _, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
                await until(lambda: made.server.connections == 1)
                writer.close()
                await until(lambda: made.server.connections == 0)

    run(loop, play())


@pytest.mark.parametrize("loop", LOOPS)
def test_whoever_never_ends_its_handshake_is_counted_and_cut_off(tmp_path: Path, loop: str) -> None:
    async def play() -> None:
        tls, authority = context(tmp_path / "tls")
        limits = WebLimits(connections=2, request_s=0.5)
        async with site(tmp_path, tls=tls, limits=limits) as made:
            idle = [await asyncio.open_connection("127.0.0.1", made.server.port) for _ in range(2)]
            await until(lambda: made.server.connections == 2)
            reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
            async with asyncio.timeout(20):
                assert await reader.read() == b""
            await until(lambda: made.server.connections == 0)
            for _, one in (*idle, (reader, writer)):
                one.close()
            trust = ssl.create_default_context(cafile=authority)
            for _ in range(5):  # one after the other, as two may be there
                connector = aiohttp.TCPConnector(ssl=trust, force_close=True)
                async with aiohttp.ClientSession(connector=connector) as made.http:
                    assert (await made.ask("GET", "/v1/whoami", who=JANE))[0] == 200
                await until(lambda: made.server.connections == 0)

    run(loop, play())
