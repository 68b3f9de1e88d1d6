"""Does the server listen where it is told to, and take no more connections than it may?"""

import asyncio
import socket
import ssl
from pathlib import Path

from headgate.live.authority import DevelopmentAuthority
from headgate.live.web.limits import WebLimits
from tests.live.web.servers import JANE, site, until


def context(directory: Path) -> tuple[ssl.SSLContext, Path]:
    """What a server with a development certificate says, and whom its clients trust."""
    authority = DevelopmentAuthority(directory)
    both = directory / "server.pem"
    authority.for_http(both, ["localhost", "127.0.0.1"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(both)
    return tls, authority.certificate_file


def test_both_families_get_the_port_that_is_free(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, settings={"host": "localhost"}) as made:
            for family, kind, _, _, address in await asyncio.get_running_loop().getaddrinfo(
                "localhost", made.server.port, type=socket.SOCK_STREAM
            ):
                with socket.socket(family, kind) as trying:
                    trying.setblocking(False)
                    await asyncio.get_running_loop().sock_connect(trying, address)

    asyncio.run(play())


def test_a_connection_that_ends_makes_room(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(connections=1)) as made:
            for _ in range(5):
                _, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
                await until(lambda: made.server.connections == 1)
                writer.close()
                await until(lambda: made.server.connections == 0)

    asyncio.run(play())


def test_whoever_never_ends_its_handshake_is_counted_and_cut_off(tmp_path: Path) -> None:
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
            assert (await made.ask("GET", "/v1/whoami", who=JANE, ssl=trust))[0] == 200

    asyncio.run(play())
