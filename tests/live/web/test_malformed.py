"""Across modules: does the broker stay up, and within its bounds, whatever bytes come?"""

import asyncio
import random
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from headgate.live.web.limits import WebLimits
from tests.live.web.servers import JANE, Site, site, until
from tests.proofs import proof_size

JSON = "Content-Type: application/json"
AUTHORIZATION = f"Authorization: {JANE['Authorization']}"


async def send(made: Site, data: bytes) -> bytes:
    """Everything that comes back on a connection of its own, until the broker ends it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
    got = b""
    try:
        writer.write(data)
        await writer.drain()
        async with asyncio.timeout(30):
            while more := await reader.read(65_536):
                got += more
    except OSError:
        pass  # it had enough before we were done
    finally:
        writer.close()
    return got


def head(line: str, *headers: str, close: bool = True) -> bytes:
    last = ["Connection: close"] if close else []
    return "\r\n".join([line, "Host: x", *headers, *last, "", ""]).encode("latin-1")


async def is_well(made: Site) -> None:
    assert await made.ask("GET", "/health/live") == (200, {"status": "ok"})
    assert (await made.ask("POST", "/v1/events", json={"a": 1}))[0] == 200


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"400"),
        (b"\x00" * 1_000, b"400"),
        (head("GET /" + "x" * 20_000 + " HTTP/1.1"), b"400"),
        (head("GET /health/live HTTP/1.1", "X: " + "x" * 20_000), b"400"),
        (head("GET /health/live HTTP/1.1", *(f"X{n}: 1" for n in range(1_000))), b"400"),
        (head("GET /health/live HTTP/1.1", "Content-Length: -1"), b"400"),
        (head("GET /health/live HTTP/1.1", "Content-Length: x"), b"400"),
        (head("GET http://[::1 HTTP/1.1"), b"400"),
        (head("GET * HTTP/1.1"), b"40"),
        (head("OPTIONS * HTTP/1.1"), b"404"),
        (head("CONNECT x:80 HTTP/1.1"), b"40"),
        (head("GET /health/../v1/status HTTP/1.1"), b"40"),
        (head("GET //health/live HTTP/1.1"), b"404"),
        (head("GET /v1/policy?version=\xff HTTP/1.1", AUTHORIZATION), b"40"),
        (head("GET /v1/subscribe?filter=%ff HTTP/1.1", AUTHORIZATION), b"400"),
        (head("GET /v1/whoami HTTP/1.1", "Authorization: Basic \xff"), b"40"),
        (head("GET /v1/whoami HTTP/1.1", "Authorization: Basic !!!"), b"401"),
        (head("GET /v1/whoami HTTP/1.1", "Authorization: Digest x"), b"401"),
        (head("GET /v1/whoami HTTP/1.1", AUTHORIZATION, AUTHORIZATION), b"40"),
        (head("GET /v1/whoami HTTP/1.1", "Cookie: headgate_token=\xff; ;=;"), b"401"),
        (head("BREW /v1/whoami HTTP/1.1", AUTHORIZATION), b"400"),
        (
            head("POST /v1/events HTTP/1.1", AUTHORIZATION, JSON, "Transfer-Encoding: chunked")
            + b'5\r\n{"a":\r\n',
            b"408",
        ),
        (
            head("POST /v1/events HTTP/1.1", AUTHORIZATION, JSON, "Transfer-Encoding: chunked")
            + b"zz\r\n",
            b"400",
        ),
        (
            head(
                "POST /v1/events HTTP/1.1",
                AUTHORIZATION,
                JSON,
                "Content-Length: 5",
                "Transfer-Encoding: chunked",
            ),
            b"400",
        ),
        (
            head("POST /v1/events HTTP/1.1", AUTHORIZATION, JSON, "Content-Length: 50") + b"{}",
            b"408",
        ),
    ],
)
def test_what_is_no_request_is_refused(tmp_path: Path, data: bytes, status: bytes) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(request_s=0.5)) as made:
            answer = await send(made, data)
            assert answer.split(b" ")[1].startswith(status), answer
            assert b"Traceback" not in answer
            await is_well(made)

    asyncio.run(play())


def test_a_deflate_bomb_on_a_websocket_stays_small(tmp_path: Path) -> None:
    packed = zlib.compressobj(9, wbits=-15)
    bomb = packed.compress(b" " * 50_000_000) + packed.flush(zlib.Z_SYNC_FLUSH)

    async def play() -> None:
        async with site(tmp_path) as made:
            opening = head(
                "GET /v1/socket HTTP/1.1", AUTHORIZATION, "Upgrade: websocket",
                "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                "Sec-WebSocket-Extensions: permessage-deflate", close=False,
            )  # fmt: skip
            size = len(bomb).to_bytes(8, "big")
            answer = await send(made, opening + b"\xc1\xff" + size + bytes(4) + bomb)
            assert b" 101 " in answer.split(b"\r\n")[0]
            assert b"permessage-deflate" not in answer
            await is_well(made)

    asyncio.run(play())


def test_who_sends_a_head_byte_by_byte_is_cut_off(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(request_s=0.3)) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
            async with asyncio.timeout(30):
                writer.write(b"GET /health/live HTTP/1.1\r\n")
                sending = asyncio.create_task(drip(writer))
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await reader.readexactly(1)
            sending.cancel()
            writer.close()
            await is_well(made)

    asyncio.run(play())


async def drip(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"X: 1\r\n")
        await asyncio.sleep(0.02)


def test_who_sends_a_body_byte_by_byte_is_told_and_cut_off(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(request_s=0.3)) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.server.port)
            length = "Content-Length: 1000"
            writer.write(head("POST /v1/events HTTP/1.1", AUTHORIZATION, JSON, length))
            async with asyncio.timeout(30):
                assert b" 408 " in await reader.readline()
                assert b"took longer than 0.3 s" in await reader.read()
            writer.close()

    asyncio.run(play())


def test_no_more_connections_are_taken_than_may_be(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(connections=5)) as made:
            idle = [await asyncio.open_connection("127.0.0.1", made.server.port) for _ in range(5)]
            await until(lambda: made.server.connections == 5)
            for _ in range(50):
                answer = await send(made, head("GET /health/live HTTP/1.1"))
                assert answer == b"" or b" 503 " in answer
            for _, writer in idle:
                writer.close()
            await until(lambda: made.server.connections == 0)
            await is_well(made)

    asyncio.run(play())


def test_one_address_has_no_more_connections_than_it_may(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(connections_per_address=2)) as made:
            idle = [await asyncio.open_connection("127.0.0.1", made.server.port) for _ in range(2)]
            await until(lambda: made.server.connections == 2)
            answer = await send(made, head("GET /health/live HTTP/1.1"))
            assert answer == b"" or b" 503 " in answer
            for _, writer in idle:
                writer.close()

    asyncio.run(play())


def test_a_password_is_never_said_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            wrong = "Authorization: Basic am5lOnMzY3JldA=="  # jne:s3cret
            answer = await send(made, head("GET /v1/whoami?token=s3cret HTTP/1.1", wrong))
            login = b'{"name":"jne","password":"s3cret"}'
            length = f"Content-Length: {len(login)}"
            answer += await send(made, head("POST /v1/token HTTP/1.1", JSON, length) + login)
            assert answer.count(b" 401 ") == 2
            assert b"s3cret" not in answer
            assert b"am5lOnMzY3JldA" not in answer

    asyncio.run(play())
    said = capfd.readouterr()
    assert "s3cret" not in said.out + said.err


def mutants(seed: int, count: int) -> Iterator[bytes]:
    """Requests with bytes changed, taken out, doubled and put in."""
    chance = random.Random(seed)
    whole = [
        head("GET /v1/policy?version=1 HTTP/1.1", AUTHORIZATION),
        head("POST /v1/events HTTP/1.1", AUTHORIZATION, JSON, "Content-Length: 7") + b'{"a":1}',
        head("POST /v1/events HTTP/1.1", AUTHORIZATION, "Transfer-Encoding: chunked",
             "Content-Type: application/cloudevents-batch+json") + b"2\r\n[]\r\n0\r\n\r\n",
        head("GET /v1/socket HTTP/1.1", AUTHORIZATION, "Upgrade: websocket", "Connection: Upgrade",
             "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
             close=False)
        + b"\x81\x91\0\0\0\0" + b'{"do":"publish"} ',
        head("PUT /v1/policy HTTP/1.1", AUTHORIZATION, "Content-Type: application/yaml",
             "Content-Length: 9") + b"rules: []",
    ]  # fmt: skip
    for _ in range(count):
        data = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(data))
            match chance.randrange(5):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    del data[at : at + chance.randint(1, 20)]
                case 2:
                    data[at:at] = data[at : at + chance.randint(1, 40)]
                case 3:
                    data[at:at] = chance.randbytes(chance.randint(1, 20))
                case _:
                    data[at:at] = chance.choice([b"\r\n", b"\0", b"%", b": ", b"\xff", b"{" * 50])
            data = data or bytearray(b" ")
        yield bytes(data)


@pytest.mark.proof
def test_mutated_requests_never_bring_up_a_fault(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(request_s=0.1, idle_s=0.1)) as made:
            waiting = mutants(1, proof_size(test=300, soak=30_000))
            while some := list(islice(waiting, 30)):
                for answer in await asyncio.gather(*(send(made, data) for data in some)):
                    assert b" 500 " not in answer.split(b"\r\n")[0], some
            await is_well(made)
            await until(lambda: made.server.connections <= 1)
            assert made.server.bodies_bytes == 0

    asyncio.run(play())
    assert "fault" not in capfd.readouterr().err
