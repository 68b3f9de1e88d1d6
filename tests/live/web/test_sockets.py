"""Does a WebSocket carry what its client asks and is owed, in order, and within bounds?"""

import asyncio
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from socket import socket

import pytest

from headgate import Action, Filter, Rule
from headgate.live.web.limits import WebLimits
from headgate.live.web.sockets import Socket
from tests.live.web.servers import JANE, TOM, Site, may_all, site, stuck, until


def test_a_client_publishes_and_receives_on_one_socket(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            assert await talk.any() == {
                "is": "connected", "broker": "b", "principal": "jane", "version": 1,
            }  # fmt: skip
            await talk.say({"do": "subscribe", "request": 1, "subscription": 7, "filter": "a > 1"})
            assert await talk.next("subscribed") == {
                "is": "subscribed", "request": 1, "subscription": 7, "attachment": 0,
            }  # fmt: skip
            assert (await talk.next("started"))["stream"] == "events"
            assert (await talk.next("started"))["stream"] == "orders"
            await talk.say(
                *({"do": "publish", "request": 2 + n, "event": {"a": n}} for n in range(4))
            )
            told = [await talk.any() for _ in range(6)]
            assert [one["request"] for one in told if one["is"] == "published"] == [2, 3, 4, 5]
            delivered = [one for one in told if one["is"] == "delivery"]
            assert [one["event"]["a"] for one in delivered] == [2, 3]
            assert delivered[0]["known"]["$stream"] == "events"

    asyncio.run(play())


def test_bytes_travel_as_base64(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.say({"do": "subscribe", "request": 1, "subscription": 1})
            await talk.next("started")
            text = b64encode(b"\x00\xff").decode()
            await talk.say({"do": "publish", "request": 2, "payload_base64": text})
            found = await talk.next("delivery")
            assert found["payload_base64"] == text
            assert "event" not in found

    asyncio.run(play())


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ({"do": "publish", "request": 5}, "expected `event`, or else `payload_base64`"),
        ({"do": "publish", "request": 5, "event": {"$a": 1}}, "begins with `$`"),
        ({"do": "publish", "request": 5, "event": 1, "stream": "no"}, "hosts no stream `no`"),
        ({"do": "subscribe", "request": 5, "subscription": 1, "filter": "a >"}, "(filter"),
        ({"do": "subscribe", "request": 5, "subscription": 1, "after": "?"}, "in a cursor"),
        ({"do": "advertise", "request": 5, "filter": "a >"}, "(filter"),
        ({"do": "subscribe", "request": 5, "subscription": 1, "durable": ""}, "1 to 256"),
    ],
)
def test_a_request_that_can_not_be_done_is_refused_and_the_socket_goes_on(
    tmp_path: Path, said: object, because: str
) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.next("connected")
            await talk.say(said, {"do": "publish", "request": 6, "event": {}})
            refused = await talk.next("refused")
            assert refused["request"] == 5
            assert because in refused["because"]
            assert (await talk.next("published"))["request"] == 6

    asyncio.run(play())


def test_advertisements_and_acknowledgements_are_answered(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.say({"do": "advertise", "request": 1, "filter": "a > 0"})
            assert await talk.next("advertised") == {"is": "advertised", "request": 1}
            await talk.say({"do": "subscribe", "request": 2, "subscription": 1, "durable": "desk"})
            assert (await talk.next("subscribed"))["attachment"] == 1
            await talk.next("started")
            await talk.say({"do": "publish", "request": 3, "event": {"a": 1}})
            offset = (await talk.next("delivery"))["offset"]
            done = {"do": "acknowledge", "subscription": 1, "stream": "events", "offset": offset}
            await talk.say(done)
            assert await talk.next("acknowledged") == {
                "is": "acknowledged", "subscription": 1, "stream": "events", "offset": offset,
            }  # fmt: skip
            await talk.say({"do": "unsubscribe", "subscription": 1})
            assert (await talk.next("ended"))["subscription"] == 1

    asyncio.run(play())


def test_who_says_itself_what_it_took_gets_no_more_than_the_window(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, core={"window": 3}) as made, made.talk() as talk:
            await talk.say({"do": "subscribe", "request": 1, "subscription": 1, "paced": True})
            await talk.next("started")
            await talk.say(*({"do": "publish", "request": n, "event": n} for n in range(2, 8)))
            offsets = [(await talk.next("delivery"))["offset"] for _ in range(3)]
            # Everything is published, and three are delivered: the others wait.
            await talk.say({"do": "publish", "request": 9, "event": 9})
            while (said := await talk.any())["is"] != "published" or said["request"] != 9:
                assert said["is"] != "delivery"
            done = {"do": "acknowledge", "subscription": 1, "stream": "events"}
            await talk.say({**done, "offset": offsets[-1]})
            assert (await talk.next("delivery"))["offset"] == offsets[-1] + 1

    asyncio.run(play())


def test_a_client_begins_after_offsets_a_cursor_or_at_the_start(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.say(*({"do": "publish", "request": n, "event": n} for n in range(3)))
            for number, after in enumerate(
                ({"events": 2}, "events@boot1.2", "start", "events@x.9")
            ):
                await talk.say(
                    {"do": "subscribe", "request": 5, "subscription": number, "after": after}
                )
                first = await talk.next("delivery")
                while first["subscription"] != number:
                    first = await talk.next("delivery")
                assert first["offset"] == (2 if number > 1 else 3), after

    asyncio.run(play())


def test_more_publications_than_may_be_in_flight_are_all_answered(tmp_path: Path) -> None:
    async def play() -> None:
        limits = WebLimits(in_flight=4)
        async with site(tmp_path, limits=limits) as made, made.talk() as talk:
            await talk.say(*({"do": "publish", "request": n, "event": n} for n in range(100)))
            answered = [(await talk.next("published"))["request"] for _ in range(100)]
            assert answered == list(range(100))

    asyncio.run(play())


def test_a_request_number_in_use_is_refused(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.talk() as talk:
            await talk.next("connected")
            await talk.say(*({"do": "publish", "request": 1, "event": n} for n in range(2)))
            assert "no answer yet" in (await talk.next("refused"))["because"]
            assert (await talk.next("published"))["request"] == 1

    asyncio.run(play())


def test_a_client_that_stops_reading_is_let_go(tmp_path: Path) -> None:
    async def play() -> None:
        limits = WebLimits(silent_s=0.2)
        async with site(tmp_path, limits=limits, core={"window": 50}) as made:
            wanted = b'{"do":"subscribe","request":1,"subscription":1}'
            quiet = await stuck(made, "/v1/socket", JANE, wanted)
            await until(lambda: made.node.clients == 1)
            for _ in range(100):
                assert (await made.ask("POST", "/v1/events", json={"a": "x" * 50_000}))[0] == 200
            await until(lambda: made.server.connections == 1)
            quiet.close()

    asyncio.run(play())


REFUSED = b"[" + b",".join([b'{"do":"publish","request":1}'] * 1_000) + b"]"
"""Requests that are refused where they are read."""


async def flood(made: Site) -> socket:
    """Somebody who asks, more and more, until nothing is read of it any more."""
    quiet = await stuck(made, "/v1/socket", JANE, b'{"do":"unsubscribe","subscription":1}')
    frame = b"\x81\xfe" + len(REFUSED).to_bytes(2) + bytes(4) + REFUSED
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(0.5):
                await asyncio.get_running_loop().sock_sendall(quiet, frame)
    return quiet


async def read_all(quiet: socket) -> None:
    while await asyncio.get_running_loop().sock_recv(quiet, 2**20):
        pass


def test_who_takes_no_answers_is_not_read_until_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []
    refuse = Socket._refuse

    def count(self: Socket, request: int, because: str) -> None:
        refused.append(len(self._waiting))
        refuse(self, request, because)

    monkeypatch.setattr(Socket, "_refuse", count)

    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(in_flight=100)) as made:
            quiet = await flood(made)
            assert max(refused) < 100
            before = len(refused)
            reading = asyncio.create_task(read_all(quiet))
            await until(lambda: len(refused) > before)
            reading.cancel()
            quiet.close()

    asyncio.run(play())


def test_who_takes_no_answers_and_goes_leaves_nothing_behind(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path, limits=WebLimits(in_flight=100)) as made:
            quiet = await flood(made)
            quiet.close()
            await until(lambda: made.server.connections == 0 and made.node.clients == 0)

    asyncio.run(play())


def test_a_right_to_connect_that_ends_ends_the_socket_with_the_reason(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            async with made.talk(TOM) as talk:
                assert "tom" in (await talk.next("dropped"))["because"]
                assert await talk.close_code() == 1008
            await made.grant(*may_all("tom"))
            async with made.talk(TOM) as talk:
                assert (await talk.next("connected"))["version"] == 2

    asyncio.run(play())


def test_views_are_what_the_policy_leaves_of_events(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            cut = Rule("tom", Action.SUBSCRIBE, Filter.parse("a > 1"), attributes=frozenset({"a"}))
            version = await made.grant(Rule("tom", Action.CONNECT), cut)
            await until(lambda: made.node.core.policy.known >= version)
            async with made.talk(TOM) as talk:
                await talk.say({"do": "subscribe", "request": 1, "subscription": 1})
                await talk.next("started")
                for number in (1, 2):
                    await made.ask("POST", "/v1/events", json={"a": number, "b": 1})
                assert (await talk.next("delivery"))["event"] == {"a": 2}

    asyncio.run(play())
