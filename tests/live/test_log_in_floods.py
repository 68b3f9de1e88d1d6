"""Across modules: who tries passwords is limited, and whoever has the right one gets in."""

from __future__ import annotations

import asyncio
import subprocess
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from tests.live.brokers import HEADGATE, BrokerProcess, alone, grants
from tests.live.sockets import HEARD_S
from tests.live.watching import ALLOWED, MEBIBYTE, Memory, Regular, numbers, running
from tests.proofs import COUNTED, proof_size

PASSWORD = "correct horse battery"
ATTEMPTS = 10
PER_ADDRESS = 20
AT_ONCE = 40
BOUND_BYTES = (2 * 64 + 32) * MEBIBYTE
"""Two passwords are checked at once, with 64 MiB each; the rest is for the connections."""
LIMITS = f"""
[limits]
log_in_attempts = {ATTEMPTS}
log_in_attempts_per_address = {PER_ADDRESS}
log_in_window_s = 30
"""


@pytest.mark.proof
def test_a_flood_of_wrong_passwords_keeps_nobody_out_who_comes_from_elsewhere(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    broker = alone(tmp_path, LIMITS)
    for name in ("jane", "tom"):
        subprocess.run(
            [HEADGATE, "user", "add", name, "--data", tmp_path / "data", "--password-file", "-"],
            input=PASSWORD, text=True, check=True, capture_output=True,
        )  # fmt: skip
    with running(broker):
        record_property(COUNTED, asyncio.run(_flood(broker, proof_size(test=600, soak=20_000))))


def elsewhere(last: int) -> aiohttp.ClientSession:
    """Somebody at another address of this machine."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(local_addr=(f"127.0.0.{last}", 0), limit=AT_ONCE)
    )


async def log_in(
    session: aiohttp.ClientSession, broker: BrokerProcess, name: str, password: str
) -> tuple[int, float]:
    """The status, and when to come back."""
    said = "Basic " + b64encode(f"{name}:{password}".encode()).decode()
    async with session.post(f"{broker.url}/v1/token", headers={"Authorization": said}) as reply:
        await reply.read()
        return reply.status, float(reply.headers.get("Retry-After", 0))


async def _flood(broker: BrokerProcess, count: int) -> str:
    await broker.ready()
    await broker.administer(*ALLOWED, *grants("jane", "publish"))
    memory = Memory(broker.pid)
    statuses: Counter[int] = Counter()
    async with Regular(broker) as regular, elsewhere(2) as flooding, elsewhere(3) as other:

        async def guess(first: int) -> None:
            for number in range(first, count, AT_ONCE):
                # Half of them for a user there is, half for names that nobody has.
                name = "tom" if number % 2 else f"nobody{number}"
                status, again_s = await log_in(flooding, broker, name, f"wrong {number}")
                statuses[status] += 1
                assert status != 429 or again_s >= 1

        guessing = asyncio.gather(*(guess(first) for first in range(AT_ONCE)))
        # Meanwhile somebody else gets in with the right password; it may have to wait its turn.
        async with asyncio.timeout(HEARD_S):
            while (answer := await log_in(other, broker, "jane", PASSWORD))[0] != 200:
                assert answer[0] == 429, answer
                await asyncio.sleep(answer[1])
        await asyncio.wait_for(guessing, HEARD_S * max(1, count // 1_000))
        answers = regular.answers
        await regular.served()
        assert set(statuses) == {401, 429}, statuses
        # While it was going on a few attempts came back, as the window goes by.
        assert statuses[401] <= PER_ADDRESS * 2
        found = await numbers(broker)
        assert found["headgate_log_ins_failed_total{unknown}"] == statuses[401]
        assert found["headgate_log_ins_failed_total{too often}"] >= statuses[429]
        # Whose name was tried gets in as well, when the time is over that it is told.
        async with asyncio.timeout(HEARD_S):
            while (answer := await log_in(other, broker, "tom", PASSWORD))[0] != 200:
                assert answer[0] == 429, answer
                await asyncio.sleep(answer[1])
        grown = memory.check(BOUND_BYTES)
    assert broker.stop() == 0, broker.last_words()
    return (
        f"{count} wrong passwords, {statuses[401]} of them looked at, {answers} answers to others "
        f"meanwhile, {grown}"
    )
