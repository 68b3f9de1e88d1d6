"""Is one connection good for many requests, and for none that takes too long?"""

import asyncio
from pathlib import Path

from headgate.live.web.limits import WebLimits
from tests.live.web.servers import site, until

ASKING = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"


def test_a_connection_bears_request_after_request(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
            writer.write(ASKING * 50)
            answers = b""
            async with asyncio.timeout(20):
                while answers.count(b'{"status":"ok"}') < 50:
                    answers += await reader.read(65_536)
            assert made.server.connections == 1
            writer.close()

    asyncio.run(play())


def test_an_idle_connection_is_ended(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(idle_s=0.1)) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
            writer.write(ASKING)
            async with asyncio.timeout(20):
                assert (await reader.read()).endswith(b'{"status":"ok"}')
            writer.close()

    asyncio.run(play())


def test_a_second_head_that_takes_too_long_is_cut_off_too(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(request_s=0.2)) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
            writer.write(ASKING)
            async with asyncio.timeout(20):
                await reader.readuntil(b'"ok"}')
                writer.write(ASKING[:10])
                assert await reader.read() == b""
            writer.close()
            await until(lambda: made.server.connections == 0)

    asyncio.run(play())


def test_what_is_no_request_is_answered_like_all_that_is_refused(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
            writer.write(b"nonsense\r\n\r\n")
            async with asyncio.timeout(20):
                answer = await reader.read()
            assert b"application/problem+json" in answer
            assert b"aiohttp" not in answer
            writer.close()

    asyncio.run(play())
