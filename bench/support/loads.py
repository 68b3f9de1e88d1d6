"""Who publishes and who reads in a measurement? Clients that cost as little as they can.

They share the processors with the brokers that they load. So they look at no more of what they hear
than it takes to count it, and mask their frames with zeros, which is a mask like any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast, final

from tests.live.brokers import BrokerProcess

PUBLISHED = b'"is":"published"'
DELIVERED = b'"is":"delivery"'
ECHOED = b'"do":"publish"'
STORED = b'"offset":'
"""What there is one of in an answer to a batch of CloudEvents for each that was stored."""
_WRONG = (b'"is":"refused"', b'"is":"dropped"', b'"is":"ended"', b"HTTP/1.1 4", b"HTTP/1.1 5")
_OPEN_S = 20.0
_BATCH = "application/cloudevents-batch+json"


def event(number: int) -> str:
    return (
        f'{{"type":"quote","symbol":"S{number % 1_000}","price":{number % 997},'
        '"volume":77,"venue":"north"}'
    )


def publications(name: str, first: int, count: int) -> bytes:
    """One text that publishes so many events."""
    said = ",".join(
        f'{{"do":"publish","request":{number},"id":"{name}-{number}","event":{event(number)}}}'
        for number in range(first, first + count)
    )
    return (said if count == 1 else f"[{said}]").encode()


def cloud_events(name: str, first: int, count: int) -> bytes:
    said = ",".join(
        f'{{"specversion":"1.0","id":"{name}-{number}","source":"/bench","type":"quote",'
        f'"data":{event(number)}}}'
        for number in range(first, first + count)
    )
    return f"[{said}]".encode()


def framed(text: bytes) -> bytes:
    """A text as a client sends it (RFC 6455, 5.2)."""
    size = len(text)
    if size < 126:
        head = bytes([0x81, 0x80 | size])
    elif size < 65_536:
        head = b"\x81\xfe" + size.to_bytes(2, "big")
    else:
        head = b"\x81\xff" + size.to_bytes(8, "big")
    return head + bytes(4) + text


@final
class Line(asyncio.Protocol):
    """A connection on which something is counted that stands in what comes."""

    def __init__(self, marker: bytes, opened_by: bytes) -> None:
        self.count = 0
        self.heard: Callable[[int], None] | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._marker = marker
        self._opened_by = opened_by
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        if not self.opened.done():
            self._rest = data
            if self._opened_by in data:
                self._rest = b""
                self.opened.set_result(None)
            elif any(one in data for one in _WRONG):
                self.opened.set_exception(RuntimeError(data[:500].decode(errors="replace")))
            return
        if any(one in data for one in _WRONG):
            self._fail(RuntimeError(data[:500].decode(errors="replace")))
            return
        found = data.count(self._marker)
        # Of what may be half a marker, nothing counts twice: a whole one is longer.
        self._rest = data[-(len(self._marker) - 1) :]
        self.count += found
        if found and self.heard is not None:
            self.heard(found)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionError("the broker has ended the connection"))

    def _fail(self, problem: Exception) -> None:
        for one in (self.opened, self.lost):
            if not one.done():
                one.set_exception(problem)
                one.exception()  # whoever waits is told, and nobody has to

    def expect(self, said: bytes) -> asyncio.Future[None]:
        """Wait for something else to be said before anything is counted."""
        self._opened_by, self._rest = said, b""
        self.opened = asyncio.get_running_loop().create_future()
        return self.opened

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def close(self) -> None:
        self._transport.close()


async def open_line(port: int, path: str, token: str, marker: bytes, opened_by: bytes) -> Line:
    """A WebSocket, as soon as its other end has said a first word."""
    loop = asyncio.get_running_loop()
    _, line = await loop.create_connection(lambda: Line(marker, opened_by), "127.0.0.1", port)
    line.write(
        (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            f"Sec-WebSocket-Protocol: headgate.v1\r\nAuthorization: Bearer {token}\r\n\r\n"
        ).encode()
    )
    await asyncio.wait_for(line.opened, _OPEN_S)
    return line


async def talk(broker: BrokerProcess, principal: str, marker: bytes) -> Line:
    token = broker.settings.token(principal)
    return await open_line(broker.http, "/v1/socket", token, marker, b'"is":"connected"')


async def read(broker: BrokerProcess, principal: str, wanted: str = "") -> Line:
    """A subscription that has begun on the stream, of which deliveries are counted."""
    line = await talk(broker, principal, DELIVERED)
    started = line.expect(b'"stream":"quotes"')
    line.write(
        framed(f'{{"do":"subscribe","request":1,"subscription":1,"filter":"{wanted}"}}'.encode())
    )
    await asyncio.wait_for(started, _OPEN_S)
    return line


@final
class Publisher:
    """Publishes, waits until all of it is acknowledged, and publishes again."""

    def __init__(self, line: Line, name: str, make: Callable[[str, int, int], bytes], at_once: int):
        self.line = line
        self.latencies: list[float] = []
        self.done = 0
        self._name = name
        self._make = make
        self._at_once = at_once
        self._left = 0
        self._number = 0
        line.heard = self._heard

    def go(self, until: float) -> asyncio.Future[None]:
        """Until a moment of `time.perf_counter`; done with the last acknowledgement."""
        self.latencies, self.done = [], 0
        self._until = until
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._send()
        return self._over

    def _send(self) -> None:
        said = self._make(self._name, self._number, self._at_once)
        self._number += self._at_once
        self._left = self._at_once
        self._sent = time.perf_counter()
        self.line.write(said)

    def _heard(self, count: int) -> None:
        self._left -= count
        self.done += count
        if self._left > 0:
            return
        now = time.perf_counter()
        self.latencies.append(now - self._sent)
        if now < self._until:
            self._send()
        elif not self._over.done():
            self._over.set_result(None)


def in_frames(name: str, first: int, count: int) -> bytes:
    return framed(publications(name, first, count))


def in_request(token: str) -> Callable[[str, int, int], bytes]:
    """A batch of CloudEvents in one request."""
    head = (
        "POST /v1/events HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: {_BATCH}\r\nContent-Length: "
    )

    def made(name: str, first: int, count: int) -> bytes:
        body = cloud_events(name, first, count)
        return f"{head}{len(body)}\r\n\r\n".encode() + body

    return made


async def publishers(
    broker: BrokerProcess, principal: str, count: int, at_once: int, *, over_http: bool = False
) -> list[Publisher]:
    """So many connections of one principal, each with so many publications in flight."""
    made = []
    for number in range(count):
        # A name that comes again would make what is published a repetition.
        name = f"{time.time_ns():x}-{number}"
        if over_http:
            loop = asyncio.get_running_loop()
            _, line = await loop.create_connection(
                lambda: Line(STORED, b""), "127.0.0.1", broker.http
            )
            line.opened.set_result(None)
            make = in_request(broker.settings.token(principal))
        else:
            line = await talk(broker, principal, PUBLISHED)
            make = in_frames
        made.append(Publisher(line, name, make, at_once))
    return made


async def publish_for(some: list[Publisher], seconds: float) -> tuple[int, float, list[float]]:
    """How many were acknowledged, in how many seconds, and how long each text of them took."""
    began = time.perf_counter()
    over = [one.go(began + seconds) for one in some]
    lost = [one.line.lost for one in some]
    everything = asyncio.gather(*over)
    waiting: list[asyncio.Future[Any]] = [everything, *lost]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    for one in lost:
        if one.done():
            everything.cancel()
            one.result()
    if not everything.done():
        raise TimeoutError("the broker acknowledges no more")
    took = time.perf_counter() - began
    return (
        sum(one.done for one in some),
        took,
        sorted(each for one in some for each in one.latencies),
    )


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
