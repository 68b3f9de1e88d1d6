"""Does the log in memory keep what any log store promises, and lose what a disk would lose?"""

from random import Random

import pytest
from hypothesis import settings

from headgate.log.entries import entry
from headgate.log.memory import MemoryLog
from headgate.log.store import LogStore, StoreFullError
from tests.log.store_checks import StoreChecks, StoreMachine, synced
from tests.log.streams import following, stream_of
from tests.proofs import proof_size


class MemoryDisk:
    """A log in memory, as the checks of every store want it."""

    def __init__(self) -> None:
        self.log = MemoryLog()

    def open(self) -> LogStore:
        return self.log

    def crash(self, random: Random) -> LogStore:
        self.log.crash(random)
        return self.log

    def fill(self, full: bool) -> None:
        self.log.full = full


class TestMemoryLog(StoreChecks):
    @pytest.fixture
    def disk(self) -> MemoryDisk:
        return MemoryDisk()


class MemoryMachine(StoreMachine):
    new_disk = MemoryDisk


TestMemoryMachine = pytest.mark.proof(MemoryMachine.TestCase)
TestMemoryMachine.settings = settings(
    max_examples=proof_size(test=100, soak=5_000), stateful_step_count=30
)


def test_a_crash_sometimes_leaves_a_torn_entry_that_is_cut_off() -> None:
    log = MemoryLog()
    torn = []
    for seed in range(100):
        log.append([following(log.last("orders"))])
        size = len(entry(following(log.last("orders"))))
        log.crash(Random(seed))
        torn.append(log.torn_bytes)
        assert log.torn_bytes <= size
    assert 10 < torn.count(0) < 90


def test_a_crash_is_the_same_for_the_same_chance() -> None:
    def life(seed: int) -> tuple[object, ...]:
        log, random = MemoryLog(), Random(seed)
        for _ in range(20):
            log.append([following(log.last("orders"))])
            log.keep("key", random.randbytes(4))
            log.crash(random)
        return log.read("orders", 0, 100), log.kept(), log.torn_bytes

    assert [life(seed) for seed in range(5)] == [life(seed) for seed in range(5)]


def test_a_log_holds_no_more_bytes_than_it_may() -> None:
    records = stream_of(3)
    size = sum(len(entry(one)) for one in records[:2])
    log = MemoryLog(bytes_max=size)
    synced(log, records[:2])
    assert log.stored_bytes == size
    log.append(records[2:])
    with pytest.raises(StoreFullError, match=f"the log is full: it holds {size} bytes"):
        log.sync()
    assert log.stored_bytes == size
    log.bytes_max = None
    synced(log, records[2:])
    assert log.last("orders") == records[2]
