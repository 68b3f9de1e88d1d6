"""Old records are read and let go beside the loop, and a damaged one is named."""

import asyncio

import pytest

from headgate.broker.effects import MayRemove, Read, Remove
from headgate.live.log_reading import LogReading
from headgate.log.memory import MemoryLog
from headgate.log.records import LogError, Record
from tests.live.nodes import Disk, run
from tests.log.streams import stream_of


class Damaged(Disk):
    """A disk that names what it can't give back."""

    def read(self, stream: str, after: int, count_max: int) -> tuple[Record, ...]:
        raise LogError(f"offset {after + 1} of `{stream}` is damaged")


def a_log() -> MemoryLog:
    log = MemoryLog()
    log.append(stream_of(10))
    log.sync()
    return log


def test_records_are_read_and_removed() -> None:
    async def work() -> None:
        log = a_log()
        (stream,) = log.streams()
        reading = LogReading(log)
        found = await reading.read(Read(1, stream, 3, 4))
        assert [record.offset for record in found] == [4, 5, 6, 7]
        await reading.remove(Remove({stream: 5}))
        assert [record.offset for record in await reading.read(Read(2, stream, 0, 2))] == [6, 7]
        await reading.stop()

    run(work())


def test_damage_is_named() -> None:
    async def work() -> None:
        reading = LogReading(Damaged(a_log()))
        with pytest.raises(LogError, match="offset 4 of `orders` is damaged"):
            await reading.read(Read(1, "orders", 3, 4))
        await reading.stop()

    run(work())


def test_everybody_who_asks_hears_what_may_go() -> None:
    async def work() -> None:
        reading = LogReading(a_log())
        asked = [reading.ask() for _ in range(3)]
        asked[0].cancel()
        reading.answer(MayRemove({"orders": 5}))
        assert await asyncio.gather(*asked[1:]) == [{"orders": 5}] * 2
        reading.answer(MayRemove({"orders": 6}))  # nobody asked
        await reading.stop()

    run(work())
