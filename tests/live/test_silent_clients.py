"""Across modules: what do those who don't read cost a broker? Little, and not for long."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.live.brokers import BrokerProcess, alone, grants
from tests.live.sockets import HEARD_S, Reader, connected
from tests.live.watching import (
    ALLOWED,
    MEBIBYTE,
    UPGRADE,
    Memory,
    Regular,
    counted,
    flood,
    frame,
    get,
    running,
    said,
    silent,
    until,
)
from tests.proofs import COUNTED, proof_size

WINDOW = 64
BODY_BYTES = 40_000
SILENT = 20
EVENTS = 400
LIMITS = f"[limits]\nsilent_s = 1.5\n[tuning]\nwindow = {WINDOW}\n"
SILENT_BYTES = (SILENT + 1) * (WINDOW * BODY_BYTES + MEBIBYTE) + 48 * MEBIBYTE
"""A window for each, what the socket holds, and 48 MiB for the newest records and the rest. Had
they been given all, it were sixteen megabytes for each: more than three times as much."""


def test_subscribers_that_read_nothing_are_let_go_and_the_others_served(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with running(alone(tmp_path, LIMITS)) as broker:
        record_property(COUNTED, asyncio.run(_let_the_silent_go(broker)))


async def _let_the_silent_go(broker: BrokerProcess) -> str:
    await broker.ready()
    token = broker.settings.token
    changes = [*ALLOWED, *grants("p0", "publish"), *grants("r0", "subscribe")]
    for number in range(SILENT):
        # Each has a view of its own, so that nothing of it can be shared.
        reads = {"action": "subscribe", "attributes": ["body", "n", f"extra{number}"]}
        rule = {"principal": f"s{number}", **reads}
        changes += [{"grant": {"principal": f"s{number}", "action": "connect"}}, {"grant": rule}]
    await broker.administer(*changes)
    durable = json.dumps({"do": "subscribe", "request": 1, "subscription": 1, "durable": "r0"})
    quiet = [
        await silent(
            broker.http, get("/v1/socket", token("r0"), *UPGRADE) + frame(durable.encode())
        )
    ]
    wanted = frame(b'{"do":"subscribe","request":1,"subscription":1}')
    for number in range(SILENT):
        who = token(f"s{number}")
        opening = (
            get("/v1/subscribe", who) if number % 2 else get("/v1/socket", who, *UPGRADE) + wanted
        )
        quiet.append(await silent(broker.http, opening))
    await counted(broker, "headgate_subscriptions", SILENT + 1)
    memory = Memory(broker.pid)
    async with Regular(broker) as regular:
        talker = await connected(broker.url, token("p0"))
        body = "x" * BODY_BYTES
        for number in range(EVENTS):
            event = {"n": number, "body": body, f"extra{number % SILENT}": "y"}
            assert (await talker.ask("publish", event=event))["is"] == "published"
        # All but the durable one: its client acknowledges nothing, and so gets no more than that.
        dropped = await counted(broker, "headgate_http_silent_total", SILENT)
        await regular.served()
        grown = memory.check(SILENT_BYTES)
        # It depends on what was under way whether they are missed by what they take or by a ping.
        await said(broker, "a subscriber was dropped", "it took nothing for 1.5 s")
        assert dropped <= SILENT + 1
        reader = Reader("r0", broker.url, token("r0"))
        reading = asyncio.create_task(reader.run())
        await until(lambda: sum("body" in one["event"] for one in reader.deliveries) >= EVENTS)
        reader.finish()
        await asyncio.wait_for(reading, HEARD_S)
        found = [one["event"]["n"] for one in reader.deliveries if "body" in one["event"]]
        assert sorted(set(found)) == list(range(EVENTS))
        await talker.close()
    for one in quiet:
        one.close()
    assert broker.stop() == 0, broker.last_words()
    return f"{SILENT} silent subscribers, {grown}, {regular.rounds} rounds of who reads"


FLOOD_BYTES = 24 * MEBIBYTE
"""For all those who flood: a few thousand publications and answers, and what sockets hold."""
IN_FLIGHT = 100


def _publications() -> Iterator[bytes]:
    for first in count(0, 500):
        yield b"".join(
            frame(b'{"do":"publish","request":%d,"event":{"n":%d}}' % (n, n))
            for n in range(first, first + 500)
        )


def _again_and_again(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece


def _many(message: bytes) -> bytes:
    return frame(b"[" + b",".join([message] * 1_000) + b"]")


FLOODS: dict[str, Callable[[], Iterator[bytes]]] = {
    "publications": _publications,
    "refused where they are read": lambda: _again_and_again(_many(b'{"do":"publish","request":1}')),
    "refused by the core": lambda: _again_and_again(
        _many(b'{"do":"subscribe","request":1,"subscription":1,"filter":"a > 1"}')
    ),
    "advertisements": lambda: _again_and_again(
        _many(b'{"do":"advertise","request":1,"filter":"a > 1"}')
    ),
    "pings": lambda: _again_and_again(frame(b"x" * 100, 0x89) * 500),
}


def test_who_floods_and_reads_no_answers_is_not_read_any_more(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    limits = f'[limits]\nin_flight = {IN_FLIGHT}\nsilent_s = 6\n[logging]\nlevel = "warning"\n'
    with running(alone(tmp_path, limits)) as broker:
        record_property(COUNTED, asyncio.run(_flood(broker, proof_size(test=1, soak=20))))


async def _flood(broker: BrokerProcess, each: int) -> str:
    await broker.ready()
    await broker.administer(*ALLOWED, *grants("eve", "publish", "subscribe"))
    opening = get("/v1/socket", broker.settings.token("eve"), *UPGRADE)
    memory = Memory(broker.pid)
    async with Regular(broker) as regular:
        sockets: list[socket.socket] = []
        floods: list[asyncio.Task[int]] = []
        for pieces in [*FLOODS.values()] * each:
            sockets.append(await silent(broker.http, opening))
            floods.append(asyncio.create_task(flood(sockets[-1], pieces())))
        # Pipelined requests, whose answers nobody reads, are a flood that needs no right.
        asked = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n" * 500
        sockets.append(await silent(broker.http, b""))
        floods.append(asyncio.create_task(flood(sockets[-1], _again_and_again(asked))))
        # Whoever floods and takes nothing is ended by the broker; only then does its flood end.
        ended = asyncio.gather(*floods[:-1])
        rounds = regular.rounds
        sent = await asyncio.wait_for(ended, HEARD_S)
        await regular.served()
        floods[-1].cancel()
        for one in sockets:
            one.close()
        grown = memory.check(FLOOD_BYTES)
        assert regular.rounds > rounds
    await said(broker, "a subscriber was dropped")
    await counted(broker, "headgate_http_silent_total", each * len(FLOODS))
    assert broker.stop() == 0, broker.last_words()
    total = sum(sent) / MEBIBYTE
    return f"{len(floods)} floods of {total:.1f} MiB, {grown}, {regular.rounds} rounds of who reads"


pytestmark = pytest.mark.proof
