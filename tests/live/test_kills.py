"""Across modules: a broker that is killed at any moment keeps its word when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import aiohttp
import pytest

from tests.live.brokers import BrokerProcess, alone, grants
from tests.live.reference import check_clients
from tests.live.sockets import HEARD_S, Publisher, Reader, Said
from tests.proofs import COUNTED, proof_size

PUBLISHERS = 4
READERS = ("", "n < 500", "kind = 'odd' AND n > 100")


def event(publisher: int) -> Callable[[int], Said]:
    def make(count: int) -> Said:
        return {"n": count % 1_000, "kind": ("even", "odd")[count % 2], "from": publisher}

    return make


async def again_and_again(broker: BrokerProcess, random: Random, made: list[int]) -> None:
    """Change the policy again and again, as far as the broker is there to take it."""
    while True:
        await asyncio.sleep(random.uniform(0.05, 0.3))
        border = random.randrange(1_000)
        rule = {"principal": "readers", "action": "subscribe", "filter": f"n <> {border}"}
        try:
            made.append(await broker.administer({"grant": rule}))
        except (aiohttp.ClientError, OSError, AssertionError):
            continue  # it is being killed


@pytest.mark.proof
def test_kills_lose_nothing_that_was_acknowledged(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    said = asyncio.run(_kill_again_and_again(tmp_path, proof_size(test=10, soak=50)))
    record_property(COUNTED, said)


async def _kill_again_and_again(directory: Path, kills: int) -> str:
    random = Random(11)
    broker = alone(directory)
    broker.start()
    try:
        return await _under_load(broker, random, kills)
    finally:
        broker.end()


async def _under_load(broker: BrokerProcess, random: Random, kills: int) -> str:
    await broker.ready()
    settings, url = broker.settings, broker.url
    changes: list[Said] = [{"create_group": "readers"}]
    for number in range(PUBLISHERS):
        changes += grants(f"p{number}", "publish")
    for number in range(len(READERS)):
        changes += [
            {"join": {"group": "readers", "member": f"r{number}"}},
            {"grant": {"principal": f"r{number}", "action": "connect"}},
        ]
    changes.append({"grant": {"principal": "readers", "action": "subscribe", "filter": "n >= 0"}})
    versions = [await broker.administer(*changes)]
    publishers = [
        Publisher(f"p{number}", url, settings.token(f"p{number}")) for number in range(PUBLISHERS)
    ]
    readers = [
        Reader(f"r{number}", url, settings.token(f"r{number}"), wanted)
        for number, wanted in enumerate(READERS)
    ]
    reading = [asyncio.create_task(one.run()) for one in readers]
    for reader in readers:
        await reader.started()
    publishing = [
        asyncio.create_task(one.run(event(number))) for number, one in enumerate(publishers)
    ]
    administering = asyncio.create_task(again_and_again(broker, random, versions))
    caught: list[int] = []
    for _ in range(kills):
        await asyncio.sleep(random.uniform(0.1, 0.8))
        _still_running([*publishing, *reading, administering])
        caught.append(sum(len(one.unanswered) for one in publishers))
        broker.kill()
        broker.start()
        await broker.ready()
    for one in publishers:
        one.finish()
    await asyncio.wait_for(asyncio.gather(*publishing), HEARD_S)
    administering.cancel()
    await asyncio.gather(administering, return_exceptions=True)
    ends = {stream: max(at for _, at, _ in _stored(publishers, stream)) for stream in ("events",)}
    await _read_to(broker, readers, ends)
    for reader in readers:
        reader.finish()
    await asyncio.wait_for(asyncio.gather(*reading), HEARD_S)
    assert broker.stop() == 0, broker.last_words()
    check_clients(broker.settings.directory / "data", publishers, readers, versions)
    stored = sum(len(one.stored) for one in publishers)
    repeated = sum(one.repeated for one in publishers)
    some = sum(map(bool, caught))
    assert len(versions) > kills // 2, "the policy shall change between the kills"
    assert some > kills // 2, "most kills shall catch something in flight"
    return (
        f"{kills} kills, {some} of them with publications in flight ({sum(caught)} in all), "
        f"{stored} stored, {repeated} answered as repeated, {len(versions)} versions"
    )


def _stored(publishers: list[Publisher], stream: str) -> list[tuple[str, int, int]]:
    return [at for one in publishers for at in one.stored.values() if at[0] == stream]


async def _read_to(broker: BrokerProcess, readers: list[Reader], ends: dict[str, int]) -> None:
    """Wait until each reader has all: what comes last is a record that everybody is owed."""
    final = Publisher("final", broker.url, broker.settings.token("p0"))
    final.in_flight_max = 1
    task = asyncio.create_task(final.run(lambda count: {"n": 333, "kind": "odd", "from": -1}))
    while not final.stored:
        await asyncio.sleep(0.05)
    final.finish()
    await task
    last = min(offset for _, offset, _ in final.stored.values())
    async with asyncio.timeout(HEARD_S):
        while not all(any(one["offset"] >= last for one in reader.deliveries[-200:])
                      for reader in readers):  # fmt: skip
            await asyncio.sleep(0.05)
        while not all(reader.acknowledged.get("events", 0) >= last for reader in readers):
            await asyncio.sleep(0.05)


def _still_running(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            task.result()
            raise AssertionError("a client ended before its time")
