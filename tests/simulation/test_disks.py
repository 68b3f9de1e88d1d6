"""Does a disk take its time, keep what it has synced, and lose the rest with its machine?"""

from random import Random

from headgate.broker.effects import Append, Keep, Read
from headgate.log.digests import START, with_chain
from headgate.log.records import Record
from headgate.simulation.disks import Disk, Write
from headgate.simulation.timeline import SECOND, Timeline


class Process:
    """What uses a disk: it notes what it is told."""

    def __init__(self, timeline: Timeline, disk: Disk) -> None:
        self.stored: list[tuple[int, list[int]]] = []
        self.failed: list[str] = []
        self.read: list[tuple[int, tuple[Record, ...]]] = []
        self._timeline = timeline
        disk.use(self._stored, self.failed.append)

    def _stored(self, writes: list[Write]) -> None:
        self.stored.append((self._timeline.now, [write.ticket for write in writes]))

    def was_read(self, number: int, records: tuple[Record, ...]) -> None:
        self.read.append((number, records))


def setting() -> tuple[Timeline, Disk, Process]:
    timeline = Timeline(1_000)
    disk = Disk(timeline, Random(1), sync_us=1_000, read_us=500)
    return timeline, disk, Process(timeline, disk)


def record() -> Record:
    return with_chain(START, Record("orders", "i", 1, 0, 0, "pam", "e", b"{}", True, {}, {}))


def test_what_comes_during_a_sync_is_stored_together_by_the_next_one() -> None:
    timeline, disk, process = setting()
    for ticket in (1, 2, 3):
        disk.write(Keep(ticket, "key", b"%d" % ticket))
    assert process.stored == []
    timeline.run_until(SECOND)
    assert [tickets for _, tickets in process.stored] == [[1], [2, 3]]
    assert all(moment > 0 for moment, _ in process.stored)
    assert disk.log.kept() == {"key": b"3"}


def test_a_read_finds_what_is_synced() -> None:
    timeline, disk, process = setting()
    disk.write(Append(1, (record(),)))
    disk.read(Read(1, "orders", 0, 10), process.was_read)
    timeline.run_until(SECOND)
    disk.read(Read(2, "orders", 0, 10), process.was_read)
    timeline.run_until(2 * SECOND)
    assert [(number, len(found)) for number, found in process.read][-1] == (2, 1)


def test_a_full_disk_says_so_and_takes_none_of_what_waits() -> None:
    timeline, disk, process = setting()
    disk.log.full = True
    disk.write(Keep(1, "one", b""))
    disk.write(Keep(2, "two", b""))
    timeline.run_until(SECOND)
    assert len(process.failed) == 1
    disk.log.full = False
    disk.write(Keep(3, "three", b""))
    timeline.run_until(2 * SECOND)
    assert [tickets for _, tickets in process.stored] == [[3]]
    assert disk.log.kept() == {"three": b""}


def test_a_crash_takes_what_is_not_synced_and_nobody_hears_of_it() -> None:
    timeline, disk, process = setting()
    disk.write(Keep(1, "kept", b""))
    timeline.run_until(SECOND)
    disk.write(Keep(2, "lost", b""))
    disk.write(Keep(3, "lost, too", b""))
    disk.read(Read(1, "orders", 0, 10), process.was_read)
    assert disk.crash() == 2
    timeline.run_until(2 * SECOND)
    assert [tickets for _, tickets in process.stored] == [[1]]
    assert process.read == []
    assert "kept" in disk.log.kept()
    assert "lost, too" not in disk.log.kept()
