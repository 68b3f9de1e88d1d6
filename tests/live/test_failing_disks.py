"""Across modules: what becomes of a broker whose disk is full, or doesn't keep its word?"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.live.brokers import BrokerProcess, alone, grants
from tests.live.reference import Reference, check_clients
from tests.live.sockets import HEARD_S, Publisher, Reader, Said, Talker, connected
from tests.live.watching import MEBIBYTE, Memory, numbers, running, said, until
from tests.packages import needed
from tests.proofs import COUNTED, proof_size

DISK_BYTES = 8 * MEBIBYTE
LEFT_BYTES = 256 * 1024
BODY = "x" * 8_000
BOUND_BYTES = 48 * MEBIBYTE
"""The broker keeps the newest 16 MiB of each of its streams in memory; what is refused, nowhere."""


class SmallDisk:
    """A file system of its own, of which nearly everything can be taken."""

    reason = "No space left on device"

    def __init__(self, place: Path) -> None:
        self._ballast = place / "ballast"

    def fill(self, broker: BrokerProcess) -> None:
        found = os.statvfs(self._ballast.parent)
        self._ballast.write_bytes(bytes(found.f_bavail * found.f_bsize - LEFT_BYTES))

    def make_room(self, broker: BrokerProcess) -> None:
        self._ballast.unlink()


class SmallFiles:
    """A process whose files may not grow: all that there is where nobody may mount anything."""

    reason = "File too large"

    def fill(self, broker: BrokerProcess) -> None:
        log = broker.settings.directory / "data" / "log" / "journal"
        size = max(one.stat().st_size for one in log.iterdir()) + LEFT_BYTES
        resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def make_room(self, broker: BrokerProcess) -> None:
        no_bound = resource.RLIM_INFINITY
        resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (no_bound, no_bound))


@contextmanager
def mounted(place: Path) -> Iterator[SmallDisk]:
    place.mkdir(mode=0o700)
    options = f"size={DISK_BYTES},mode=700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("no file system can be mounted here: that needs root")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture(params=["small disk", "small files"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk | SmallFiles]:
    if request.param == "small files":
        yield SmallFiles()
        return
    with mounted(tmp_path / "data") as disk:
        yield disk


def test_a_full_disk_refuses_for_now_and_goes_on_when_there_is_room(
    tmp_path: Path,
    room: SmallDisk | SmallFiles,
    record_property: Callable[[str, object], None],
) -> None:
    with running(alone(tmp_path)) as broker:
        counted = asyncio.run(_until_full_and_on(broker, room))
    record_property(COUNTED, counted)


async def _until_full_and_on(broker: BrokerProcess, room: SmallDisk | SmallFiles) -> str:
    await broker.ready()
    settings = broker.settings
    await broker.administer(*grants("p0", "publish"), *grants("r0", "subscribe"))
    reader = Reader("r0", broker.url, settings.token("r0"))
    reading = asyncio.create_task(reader.run())
    await reader.started()
    talker = await connected(broker.url, settings.token("p0"))
    memory = Memory(broker.pid)
    stored, refused = await _publish(talker, 0, 100, room.reason)
    assert not refused
    room.fill(broker)
    more, refused = await _publish(talker, 100, 200, room.reason)
    stored |= more
    assert len(refused) > 50
    await _check_it_says_so(broker, room)
    # Who reads is served all the same, with all that was acknowledged.
    await until(lambda: len(reader.deliveries) == len(stored))
    room.make_room(broker)
    for number in refused:
        answer = await _ask(talker, number)
        assert (answer["is"], answer["repeated"]) == ("published", False), answer
        stored[f"e{number}"] = answer
    await broker.ready()
    await said(broker, "disk takes writes again")
    newest = max(answer["offset"] for answer in stored.values())
    await until(lambda: reader.acknowledged.get("events", 0) >= newest)
    await broker.administer({"create_group": "later"})
    grown = memory.check(BOUND_BYTES)
    reader.finish()
    await asyncio.wait_for(reading, HEARD_S)
    await talker.close()
    assert broker.stop() == 0, broker.last_words()
    reference = Reference([settings.directory / "data" / "log"], settings.directory / "data")
    reference.check_logs()
    events = {one.event_id: one.offset for one in reference.streams["events"] if not one.is_marker}
    assert events == {event_id: answer["offset"] for event_id, answer in stored.items()}
    assert [one["offset"] for one in reader.deliveries] == sorted(events.values())
    return f"{len(refused)} publications refused, {grown}"


async def _ask(talker: Talker, number: int) -> Said:
    return await talker.ask("publish", event={"n": number, "body": BODY}, id=f"e{number}")


async def _publish(
    talker: Talker, first: int, count: int, reason: str
) -> tuple[dict[str, Said], list[int]]:
    """Publish some; the answers of those that are stored, and which were refused for now."""
    stored: dict[str, Said] = {}
    refused: list[int] = []
    for number in range(first, first + count):
        answer = await _ask(talker, number)
        if answer["is"] == "published":
            stored[f"e{number}"] = answer
        else:
            assert answer["temporary"], answer
            assert reason in answer["because"], answer
            refused.append(number)
    return stored, refused


async def _check_it_says_so(broker: BrokerProcess, room: SmallDisk | SmallFiles) -> None:
    """In its log, its numbers, its status, and to whoever asks over HTTP."""
    full = f"the log is full: {room.reason}: make room on its disk"
    assert full in await said(broker, "disk full")
    assert (await numbers(broker))["headgate_store_failures_total"] > 0
    assert (await broker.ask("GET", "/v1/status"))["log"]["problem"] == full
    headers = {"Authorization": f"Bearer {broker.settings.token('p0')}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.get(f"{broker.url}/health/live") as reply:
            assert reply.status == 200
        async with session.get(f"{broker.url}/health/ready") as reply:
            assert reply.status == 503
        body = {"body": BODY}
        async with session.post(f"{broker.url}/v1/events", json=body) as reply:
            assert reply.status == 503
            assert "Retry-After" in reply.headers
            assert full in json.loads(await reply.text())["detail"]


def test_a_policy_that_can_not_be_stored_is_refused_for_now(tmp_path: Path) -> None:
    async def play(broker: BrokerProcess, disk: SmallDisk) -> None:
        await broker.ready()
        await broker.administer(*grants("p0", "publish"))
        disk.fill(broker)
        with pytest.raises(AssertionError, match="POST /v1/policy/batches: 503"):
            await _apply_for_ever(broker)
        version = (await broker.ask("GET", "/v1/status"))["version"]
        talker = await connected(broker.url, broker.settings.token("p0"))
        await _publish(talker, 0, 100, disk.reason)
        await _check_it_says_so(broker, disk)
        disk.make_room(broker)
        assert await broker.administer(*_many_rules(version)) == version + 1
        await broker.ready()
        await talker.close()
        assert broker.stop() == 0, broker.last_words()

    with mounted(tmp_path / "data") as disk, running(alone(tmp_path)) as broker:
        asyncio.run(play(broker, disk))


async def _apply_for_ever(broker: BrokerProcess) -> None:
    version = 0
    while True:
        version = await broker.administer(*_many_rules(version))


def _many_rules(version: int) -> list[Said]:
    return [
        {"grant": {"principal": f"{version}-{number}", "action": "connect"}}
        for number in range(500)
    ]


@pytest.mark.proof
def test_after_a_failed_fdatasync_the_broker_ends_and_has_all_that_it_acknowledged(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    strace = needed("strace", "strace")
    stored = 0
    times = proof_size(test=2, soak=40)
    for number in range(times):
        directory = tmp_path / str(number)
        directory.mkdir()
        # Each thread counts by itself: it is the one that writes the log that gets so far.
        failing = f"inject=fdatasync:error=EIO:when={20 + 37 * number}"
        under = (strace, "-D", "-f", "--seccomp-bpf", "-q", "-o", os.devnull, "-e", failing)
        with running(alone(directory), *under) as broker:
            stored += asyncio.run(_until_it_fails_and_on(broker))
    record_property(COUNTED, f"{times} failures, {stored} stored")


async def _until_it_fails_and_on(broker: BrokerProcess) -> int:
    await broker.ready()
    settings, url = broker.settings, broker.url
    versions = [await broker.administer(*grants("p0", "publish"), *grants("r0", "subscribe"))]
    publisher = Publisher("p0", url, settings.token("p0"))
    publisher.in_flight_max = 16
    reader = Reader("r0", url, settings.token("r0"))
    reading = asyncio.create_task(reader.run())
    await reader.started()
    publishing = asyncio.create_task(publisher.run(lambda count: {"n": count}))
    assert broker.process is not None
    code = await asyncio.wait_for(asyncio.to_thread(broker.process.wait), HEARD_S)
    assert code == 1, broker.last_words()
    last = broker.last_words().splitlines()[-1]
    assert last.startswith(
        "headgate: the log can't be written any more: the disk of the log failed (Input/output "
        "error): nobody knows what it has kept"
    )
    claimed = set(publisher.stored)
    broker.process = None
    broker.start()
    await broker.ready()
    await until(lambda: len(publisher.stored) > len(claimed) + 100)
    publisher.finish()
    await asyncio.wait_for(publishing, HEARD_S)
    newest = max(at for _, at, _ in publisher.stored.values())
    await until(lambda: reader.acknowledged.get("events", 0) >= newest)
    reader.finish()
    await asyncio.wait_for(reading, HEARD_S)
    assert broker.stop() == 0, broker.last_words()
    check_clients(settings.directory / "data", [publisher], [reader], versions)
    return len(publisher.stored)
