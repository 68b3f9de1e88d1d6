"""Does a conversation hear what happens on its socket, whatever answers at the other end?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from socket import EAI_NONAME, gaierror
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from aiohttp.client_reqrep import ConnectionKey

import headgate
from headgate.client.effects import Greeted, Parted
from headgate.client.errors import DroppedError, NotAuthenticatedError, UnreachableError
from headgate.client.network import Network
from headgate.client.sockets import in_words
from headgate.http.socket_messages import PROTOCOL, Connected, encode
from tests.live.nodes import run, until

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
GREETING = encode([Connected("b", "jane", 1)])


def answered(handle: Handler, work: Callable[[Network], Awaitable[Any]]) -> Any:
    """Connect to something that answers in a way of its own."""

    async def served() -> Any:
        application = web.Application()
        application.router.add_route("GET", "/behind/v1/socket", handle)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            return await work(headgate.connect(f"http://{host}:{port}/behind", connect_s=0))
        finally:
            await runner.cleanup()

    return run(served())


async def accepted(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=(PROTOCOL,), autoping=False)
    await socket.prepare(request)
    return socket


async def greeted(request: web.Request) -> web.WebSocketResponse:
    socket = await accepted(request)
    await socket.send_frame(GREETING, WSMsgType.TEXT)
    return socket


def status(code: int, **headers: str) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, headers=headers)

    return answer


async def entered(net: Network) -> None:
    async with net:
        raise AssertionError("nothing should have greeted us")


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (401, NotAuthenticatedError, "wants to know who is asking"),
        (403, DroppedError, "doesn't let us connect"),
        (404, UnreachableError, "is no broker of Headgate: it answers 404"),
        (503, UnreachableError, "it answers 503"),
        (429, UnreachableError, "it answers 429"),
    ],
)
def test_a_status_instead_of_a_socket_says_why(
    code: int, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        answered(status(code), entered)


def test_a_broker_that_says_when_to_come_back_is_believed() -> None:
    calls: list[float] = []

    async def busy_once(request: web.Request) -> web.StreamResponse:
        calls.append(asyncio.get_running_loop().time())
        if len(calls) == 2:
            return web.Response(status=503, headers={"Retry-After": "1"})
        socket = await greeted(request)
        if len(calls) == 3:
            await socket.receive()
        return socket

    async def work(net: Network) -> None:
        changes: list[Greeted | Parted] = []
        net.on_change = changes.append
        async with net:
            await until(lambda: len([one for one in changes if isinstance(one, Greeted)]) == 2)

    answered(busy_once, work)
    assert calls[2] - calls[1] >= 1


def test_a_text_of_several_messages_and_a_ping_are_heard_and_answered() -> None:
    heard: list[Any] = []

    async def pinging(request: web.Request) -> web.StreamResponse:
        socket = await greeted(request)
        await socket.ping(b"are you there")
        heard.append(await socket.receive())
        return socket

    async def work(net: Network) -> None:
        async with net:
            await until(lambda: heard)

    answered(pinging, work)
    assert (heard[0].type, heard[0].data) == (WSMsgType.PONG, b"are you there")


def test_who_sends_bytes_is_no_broker() -> None:
    async def sending_bytes(request: web.Request) -> web.StreamResponse:
        socket = await accepted(request)
        await socket.send_bytes(GREETING)
        await socket.receive()
        return socket

    with pytest.raises(DroppedError, match="expected texts, got bytes"):
        answered(sending_bytes, entered)


def test_the_reason_of_a_broker_that_closes_is_heard() -> None:
    async def closing(request: web.Request) -> web.StreamResponse:
        socket = await accepted(request)
        await socket.close(code=1008, message=b"not you")
        return socket

    with pytest.raises(DroppedError, match="not you"):
        answered(closing, entered)


def test_one_that_closes_for_now_is_tried_again() -> None:
    calls: list[int] = []

    async def closing_once(request: web.Request) -> web.StreamResponse:
        calls.append(1)
        socket = await greeted(request)
        if len(calls) > 1:
            await socket.receive()
        await socket.close(code=1001)
        return socket

    async def work(net: Network) -> None:
        async with net:
            await until(lambda: len(calls) == 2)

    answered(closing_once, work)


def test_what_is_said_last_is_written_before_it_is_closed() -> None:
    heard: list[Any] = []

    async def listening(request: web.Request) -> web.StreamResponse:
        socket = await greeted(request)
        async for said in socket:
            heard.append(said.data)
        return socket

    async def work(net: Network) -> None:
        async with net:
            publishing = asyncio.ensure_future(net.publish({"a": 1}))
            await asyncio.sleep(0)
        with pytest.raises(headgate.HeadgateError):
            await publishing
        await until(lambda: heard)

    answered(listening, work)
    assert '"event":{"a":1}' in heard[0]


def test_problems_are_one_line() -> None:
    assert in_words(ConnectionResetError("it\nbroke")) == "it?broke"
    assert (
        in_words(aiohttp.ServerDisconnectedError()) == "it closed the connection without an answer"
    )
    assert in_words(OSError()) == "OSError"


def test_a_name_that_nobody_knows_is_said_as_resolvers_say_it() -> None:
    key = ConnectionKey("nowhere.invalid", 7080, True, True, None, None, None)
    unknown = gaierror(EAI_NONAME, "Name or service not known")
    problem = aiohttp.ClientConnectorDNSError(key, unknown)
    assert in_words(problem) == "can't connect: name or service not known"
