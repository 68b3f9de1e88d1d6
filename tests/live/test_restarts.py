"""Across modules: does a broker that can't start like this say so, and lose nothing by it?"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.live.brokers import HEADGATE, BrokerProcess, alone, grants
from tests.live.sockets import connected
from tests.live.watching import ALLOWED, Regular, numbers, running, said
from tests.proofs import COUNTED

EVENTS = 300
SEALED = "[log]\nsegment_s = 0.1\nmaintenance_s = 0.1\n"
"""Full after a moment, and made into Parquet in the next."""


def up(broker: BrokerProcess, file: Path | None = None) -> tuple[int, str]:
    """Start it where it can't: the exit code, and what it said."""
    done = subprocess.run(
        [HEADGATE, "up", "--config", file or broker.settings.file],
        capture_output=True, text=True, check=False, cwd=broker.settings.directory, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


async def _publish(broker: BrokerProcess) -> list[int]:
    await broker.ready()
    await broker.administer(
        *ALLOWED, *grants("p0", "publish"), *grants("r0", "subscribe", filter_="n >= 0")
    )
    talker = await connected(broker.url, broker.settings.token("p0"))
    offsets = [
        (await talker.ask("publish", event={"n": number}))["offset"] for number in range(EVENTS)
    ]
    await talker.close()
    return offsets


async def _read(broker: BrokerProcess, until: int) -> list[int]:
    """The offsets of everything from the start on, up to an offset."""
    talker = await connected(broker.url, broker.settings.token("r0"))
    await talker.ask("subscribe", subscription=1, after={"events": 0})
    await talker.until(lambda one: one["is"] == "delivery" and one["offset"] == until)
    found = [one["offset"] for one in talker.heard if one["is"] == "delivery"]
    await talker.close()
    return found


def test_a_broken_configuration_is_named_and_all_is_there_when_it_is_mended(
    tmp_path: Path,
) -> None:
    broker = alone(tmp_path)
    with running(broker):
        offsets = asyncio.run(_publish(broker))
        assert broker.stop() == 0
    good = broker.settings.file.read_text()
    for broken, sentence in (
        (good.replace("[http]", "[http"), "is no TOML"),
        (good.replace("streams =", "steams ="), "did you mean `streams`?"),
        (good.replace('tls = "off"', 'tls = "no"'), "http.tls"),
        (good.replace("[http]", "[limits]\nconnections = -1\n[http]"), "limits.connections"),
        (good.replace('"HS256"', '"HS257"'), "HS257"),
    ):
        assert broken != good
        broker.settings.file.write_text(broken)
        code, complaint = up(broker)
        assert code == 2, complaint
        assert sentence in complaint
        assert len(complaint.splitlines()) == 1
    broker.settings.file.write_text(good)

    async def again() -> None:
        await broker.ready()
        assert await _read(broker, offsets[-1]) == offsets

    with running(broker):
        asyncio.run(again())
        assert broker.stop() == 0, broker.last_words()


def test_a_second_broker_on_the_same_directory_is_refused_and_the_first_goes_on(
    tmp_path: Path,
) -> None:
    async def play(broker: BrokerProcess) -> None:
        await broker.ready()
        await broker.administer(*ALLOWED)
        async with Regular(broker) as regular:
            await regular.served()
            text = broker.settings.file.read_text()
            other = tmp_path / "other.toml"
            other.write_text(text.replace(f"port = {broker.http}", "port = 0"))
            for file in (other, broker.settings.file):
                code, complaint = await asyncio.to_thread(up, broker, file)
                assert code == 2, complaint
                expected = "another broker works on" if file == other else "can't be listened at"
                assert expected in complaint
                assert len(complaint.splitlines()) == 1
            await regular.served()

    with running(alone(tmp_path)) as broker:
        asyncio.run(play(broker))
        assert broker.stop() == 0, broker.last_words()


def test_who_reaches_a_damaged_sealed_segment_is_told_and_nobody_else_minds(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    broker = alone(tmp_path, SEALED)
    log = tmp_path / "data" / "log"

    async def seal() -> list[int]:
        offsets = await _publish(broker)
        while not list(log.glob("sealed/*/*.parquet")):
            broker.check_alive()
            await asyncio.sleep(0.05)
        return offsets

    with running(broker):
        offsets = asyncio.run(seal())
        assert broker.stop() == 0, broker.last_words()
    (file,) = [
        one for one in log.glob("sealed/*/*.parquet") if one.stat().st_size == max(
            other.stat().st_size for other in log.glob("sealed/events*/*.parquet"))
    ]  # fmt: skip
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)

    async def reach() -> str:
        await broker.ready()
        async with Regular(broker) as regular:
            talker = await connected(broker.url, broker.settings.token("r0"))
            await talker.ask("subscribe", subscription=1, after={"events": 0})
            ended = await talker.until(lambda one: one["is"] == "ended")
            found = [one["offset"] for one in talker.heard if one["is"] == "delivery"]
            assert found == offsets[: len(found)]
            assert str(file.relative_to(log)) in ended["because"], ended
            # It may go on behind the damage, and everybody else never noticed.
            after = {"events": offsets[-1]}
            again = await talker.ask("subscribe", subscription=2, after=after)
            assert again["is"] == "subscribed", again
            await regular.served()
            await talker.close()
        await said(broker, "can't read the log", "damaged")
        assert (await numbers(broker))["headgate_log_reads_total"] > 0
        return f"{len(found)} of {len(offsets)} read before the damage"

    with running(broker):
        record_property(COUNTED, asyncio.run(reach()))
        assert broker.stop() == 0, broker.last_words()
