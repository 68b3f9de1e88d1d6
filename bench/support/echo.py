"""What does the library alone cost? A WebSocket on aiohttp that says again what it hears.

python -m bench.support.echo

Prints the port that it listens on, and goes when its standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop
from aiohttp import WSMsgType, web


async def _echo(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse(protocols=("headgate.v1",), compress=False, decode_text=False)
    await socket.prepare(request)
    await socket.send_str("connected")
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            await socket.send_frame(message.data, WSMsgType.TEXT)
    return socket


async def main() -> None:
    application = web.Application()
    application.router.add_get("/echo", _echo)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    uvloop.run(main())
