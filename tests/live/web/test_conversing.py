"""Does a WebSocket open only for those who speak our protocol, and end with a reason?"""

import asyncio
import time
from pathlib import Path

import aiohttp
import pytest

from headgate.live.web.limits import WebLimits
from tests.live.web.servers import JANE, site


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{}", 1007),
        ("[" * 100_000, 1007),
        ('[{"do":"publish","request":1,"event":' + "[" * 100_000, 1007),
        ("[" + '{"do":"unsubscribe","subscription":1},' * 10_000 + "{}]", 1007),
    ],
)
def test_what_is_no_message_ends_the_socket_with_the_reason(
    tmp_path: Path, text: str, code: int
) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.socket.send_str(text)
            dropped = await talk.next("dropped")
            assert "expected messages of a client" in dropped["because"]
            assert await talk.close_code() == code

    asyncio.run(play())


def test_bytes_are_no_message(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.socket.send_bytes(b"{}")
            assert await talk.close_code() == 1003

    asyncio.run(play())


def test_a_message_that_is_too_large_ends_the_socket(tmp_path: Path) -> None:
    async def play() -> None:
        limits = WebLimits(frame_bytes=10_000)
        async with site(tmp_path, limits=limits) as made, made.talk() as talk:
            await talk.socket.send_str("x" * 20_000)
            assert await talk.close_code() == 1009

    asyncio.run(play())


def test_nothing_is_compressed_whatever_the_client_offers(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk(compress=15) as talk:
            assert talk.socket.compress == 0
            assert talk.socket.protocol == "headgate.v1"

    asyncio.run(play())


def test_who_wants_no_websocket_is_told_so(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            status, problem = await made.ask("GET", "/v1/socket")
            assert (status, problem["status"]) == (426, 426)
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await made.http.ws_connect(
                    made.url + "/v1/socket", headers=JANE, protocols=("mqtt",)
                )
            assert refused.value.status == 400
            bad = {"Upgrade": "websocket", "Connection": "upgrade", "Sec-WebSocket-Version": "13"}
            assert (await made.ask("GET", "/v1/socket", headers=bad))[0] == 400

    asyncio.run(play())


def test_a_page_of_another_origin_opens_no_socket(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                async with made.talk({**JANE, "Origin": "https://evil.example"}):
                    pass
            assert refused.value.status == 403
            async with made.talk({**JANE, "Origin": made.url}) as talk:
                await talk.next("connected")

    asyncio.run(play())


def test_a_token_that_expires_ends_the_socket(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            made.people.tokens["short-jane"] = int((time.time() + 0.3) * 1_000_000)
            async with made.talk({"Authorization": "Bearer short-jane"}) as talk:
                assert "expired" in (await talk.next("dropped"))["because"]
                assert await talk.close_code() == 1008

    asyncio.run(play())


def test_a_client_that_closes_is_gone(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            async with made.talk() as talk:
                await talk.next("connected")
                await talk.socket.close()
                assert talk.socket.close_code == 1000
            async with asyncio.timeout(20):
                while made.node.clients:
                    await asyncio.sleep(0)

    asyncio.run(play())


def test_a_broker_that_stops_says_so(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.next("connected")
            stopping = asyncio.create_task(made.server.stop())
            assert (await talk.next("dropped"))["because"] == "the broker is stopping"
            assert await talk.close_code() == 1001
            await stopping

    asyncio.run(play())
