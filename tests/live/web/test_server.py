"""Does the web server begin and end in good order?"""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from headgate.live.web.server import WebServer, WebSettings
from tests.live.web.servers import site, until


def test_it_stops_with_everybody_told_and_the_port_free(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            port = made.server.port
            async with made.talk() as talk, made.listen() as heard:
                await talk.next("connected")
                await heard.named("started")
                stopping = asyncio.create_task(made.server.stop())
                assert await talk.close_code() == 1001
                assert (await heard.named("ended"))[1]["because"] == "the broker is stopping"
                await stopping
            await until(lambda: made.server.connections == 0)
            with pytest.raises(aiohttp.ClientError):
                await made.ask("GET", "/health/live")
            again = WebServer(made.node, made.node, made.people, WebSettings(port=port))
            await again.start()
            made.server = again
            assert (await made.ask("GET", "/health/live"))[0] == 200
            await again.stop()

    asyncio.run(play())


def test_what_was_asked_is_answered_before_it_ends(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            asking = [
                asyncio.create_task(made.ask("POST", "/v1/events", json={"a": n}))
                for n in range(20)
            ]
            await until(lambda: made.server.connections == 20)
            await made.server.stop()
            told = await asyncio.gather(*asking, return_exceptions=True)
            stored = [one for one in made.node.log.read("events", 0, 100) if not one.is_marker]
            answered = [one for one in told if not isinstance(one, BaseException)]
            assert len(stored) >= len(answered)
            assert all(status == 200 for status, _ in answered)

    asyncio.run(play())
