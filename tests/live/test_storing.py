"""One thread writes and syncs: in order, many at once, nothing decided in ignorance."""

import asyncio

import pytest

from headgate.broker.effects import Append, Keep
from headgate.live.storing import GroupCommit, Synced, Write
from headgate.log.digests import with_chain
from headgate.log.memory import MemoryLog
from headgate.log.records import Record
from headgate.log.store import LogStore
from tests.live.nodes import Broken, Held, run, until


class Told:
    """What the loop was told."""

    def __init__(self, log: LogStore) -> None:
        self.synced: list[Synced] = []
        self.full: list[str] = []
        self.broken: list[BaseException] = []
        self.room = 0
        self.disk = GroupCommit(
            log,
            asyncio.get_running_loop(),
            stored=self.synced.append,
            full=self.full.append,
            broken=self.broken.append,
            room=self._room,
            look_again_s=0.01,
        )
        self.disk.start()

    def _room(self) -> None:
        self.room += 1

    @property
    def ticket(self) -> int:
        return self.synced[-1].ticket if self.synced else 0


def kept(ticket: int) -> Write:
    return Keep(ticket, f"key {ticket}", b"value")


def records(count: int) -> list[Record]:
    chain, found = b"", list[Record]()
    for offset in range(1, count + 1):
        plain = Record("s", "i", offset, 1, 0, "jane", f"e{offset}", b"{}", True, {}, {})
        found.append(with_chain(chain, plain))
        chain = found[-1].chain
    return found


def test_what_is_told_to_be_stored_is_on_the_disk() -> None:
    async def work() -> None:
        log = MemoryLog()
        told = Told(log)
        told.disk.submit([Append(1, (records(1)[0],)), kept(2)])
        await until(lambda: told.ticket == 2)
        assert log.read("s", 0, 9) == tuple(records(1))
        assert log.kept() == {"key 2": b"value"}
        await asyncio.to_thread(told.disk.stop)

    run(work())


def test_writes_that_come_during_a_sync_share_the_next_one() -> None:
    async def work() -> None:
        log = Held(MemoryLog())
        told = Told(log)
        told.disk.submit([kept(1)])
        await asyncio.to_thread(log.syncing.wait)
        for ticket in range(2, 100):
            told.disk.submit([kept(ticket)])
        assert told.disk.waiting == 98
        log.go.set()
        await until(lambda: told.ticket == 99)
        assert [synced.writes for synced in told.synced] == [1, 98]
        assert all(synced.seconds >= 0 for synced in told.synced)
        await asyncio.to_thread(told.disk.stop)

    run(work())


def test_a_stop_under_load_stores_everything_and_says_so() -> None:
    async def work() -> None:
        log = Held(MemoryLog())
        told = Told(log)
        told.disk.submit([kept(1)])
        await asyncio.to_thread(log.syncing.wait)
        told.disk.submit([kept(ticket) for ticket in range(2, 50)])
        stopping = asyncio.create_task(asyncio.to_thread(told.disk.stop))
        log.go.set()
        await stopping
        assert told.ticket == 49
        assert len(log.kept()) == 49

    run(work())


def test_to_flush_is_to_wait_for_all_that_was_submitted() -> None:
    async def work() -> None:
        log = Held(MemoryLog())
        told = Told(log)
        told.disk.submit([kept(1)])
        flushing = asyncio.create_task(asyncio.to_thread(told.disk.flush))
        await asyncio.to_thread(log.syncing.wait)
        assert not flushing.done()
        log.go.set()
        await flushing
        await asyncio.sleep(0)
        assert told.ticket == 1
        await asyncio.to_thread(told.disk.stop)

    run(work())


def test_what_is_abandoned_is_not_written() -> None:
    async def work() -> None:
        log = Held(MemoryLog())
        told = Told(log)
        told.disk.submit([kept(1)])
        await asyncio.to_thread(log.syncing.wait)
        told.disk.submit([kept(2)])
        ending = asyncio.create_task(asyncio.to_thread(told.disk.abandon))
        await until(lambda: not told.disk.waiting)
        log.go.set()
        await ending
        assert set(log.kept()) == {"key 1"}

    run(work())


def test_what_was_submitted_before_a_full_disk_was_heard_of_is_never_written() -> None:
    async def work() -> None:
        memory = MemoryLog()
        memory.full = True
        log = Held(memory)
        told = Told(log)
        told.disk.submit([kept(1)])
        await asyncio.to_thread(log.syncing.wait)
        told.disk.submit([kept(2)])  # decided while the first was on its way
        log.go.set()
        await until(lambda: told.full)
        memory.full = False
        told.disk.submit([kept(3)])  # decided before it was heard of
        told.disk.go_on()
        told.disk.submit([kept(4)])
        await until(lambda: told.ticket == 4)
        assert set(log.kept()) == {"key 4"}
        assert len(told.full) == 1
        await asyncio.to_thread(told.disk.stop)

    run(work())


def test_a_disk_may_be_full_again_and_again() -> None:
    async def work() -> None:
        log = MemoryLog()
        told = Told(log)
        for times in range(1, 4):
            log.full = True
            told.disk.submit([kept(10 * times)])
            while len(told.full) < times:
                await asyncio.sleep(0)
            log.full = False
            told.disk.go_on()
            told.disk.submit([kept(10 * times + 1)])
            while told.ticket != 10 * times + 1:
                await asyncio.sleep(0)
        assert set(log.kept()) == {"key 11", "key 21", "key 31"}
        await asyncio.to_thread(told.disk.stop)

    run(work())


@pytest.mark.parametrize("wrong", [Broken(MemoryLog()), None])
def test_a_disk_that_does_not_keep_its_word_is_told_and_nothing_is_written_any_more(
    wrong: Broken | None,
) -> None:
    async def work() -> None:
        log: LogStore = wrong if wrong is not None else MemoryLog()
        told = Told(log)
        first, second = records(2)
        told.disk.submit([Append(1, (second,))] if wrong is None else [kept(1)])
        await until(lambda: told.broken)
        told.disk.submit([Append(2, (first,))])
        await asyncio.to_thread(told.disk.stop)
        assert not told.synced
        assert log.read("s", 0, 9) == ()

    run(work())


def test_a_loop_that_is_closed_is_told_nothing() -> None:
    loop = asyncio.new_event_loop()
    log = Held(MemoryLog())
    disk = GroupCommit(log, loop, stored=print, full=print, broken=print)
    disk.start()
    disk.submit([kept(1)])
    assert log.syncing.wait(30)
    loop.close()
    log.go.set()
    disk.stop()
    assert set(log.kept()) == {"key 1"}


def test_a_commit_that_never_began_ends() -> None:
    async def work() -> None:
        told = GroupCommit(
            MemoryLog(), asyncio.get_running_loop(), stored=print, full=print, broken=print
        )
        told.stop()

    run(work())


def test_room_is_noticed_although_nobody_writes() -> None:
    async def work() -> None:
        log = MemoryLog()
        told = Told(log)
        log.full = True
        told.disk.submit([kept(1)])
        await until(lambda: told.full != [])
        told.disk.go_on()
        assert told.room == 0
        log.full = False
        await until(lambda: told.room > 0)
        assert (told.room, told.ticket, log.kept()) == (1, 0, {})
        told.disk.submit([kept(2)])
        await until(lambda: told.ticket == 2)
        assert log.kept() == {"key 2": b"value"}
        await asyncio.to_thread(told.disk.stop)

    run(work())


def test_a_disk_that_breaks_while_it_is_full_is_told_of() -> None:
    async def work() -> None:
        log = MemoryLog()
        told = Told(log)
        log.full = True
        told.disk.submit([kept(1)])
        await until(lambda: told.full != [])
        told.disk._log = Broken(log)
        await until(lambda: told.broken != [])
        await asyncio.to_thread(told.disk.stop)

    run(work())
