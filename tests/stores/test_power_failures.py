"""Across modules: when the power goes, what was synced stays, and of the rest a beginning."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headgate.log.entries import Kept, Write
from headgate.log.records import LogError, Record
from headgate.log.store import StoreFullError
from headgate.stores.disk_log import DiskLog
from headgate.stores.kept_values import KeptValues
from headgate.stores.log_options import LogOptions
from headgate.stores.retention import Retention
from tests.log.streams import following
from tests.proofs import COUNTED, proof_size
from tests.stores.log_disks import memory
from tests.stores.power import Disk, DiskState, Operation, RecordingFiles

pytestmark = pytest.mark.proof

TINY = LogOptions(segment_bytes=900, row_group_rows=2, retention=Retention(seconds=1))
LATE_US = 1_790_000_000_000_000 + 3_600 * 1_000_000


@pytest.fixture
def place() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="headgate-power-", dir=memory()))
    yield made
    shutil.rmtree(made)


class Life:
    """What was written to a log, and at which operation of its disk it was promised."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, forgets: str | None = None
    ) -> None:
        self.files = RecordingFiles(root, forgets)
        self.synced: list[Write] = []
        self.waiting: list[Write] = []
        self.moments: list[tuple[int, tuple[Write, ...], tuple[Write, ...]]] = [(0, (), ())]
        """From this many operations on: what was promised, and what may be there besides."""
        self.removing_at = 10**9
        """From this operation on, old records may be gone."""
        record_databases(monkeypatch, self.files)
        self.log = DiskLog(root / "log", TINY, self.files)

    def append(self, *records: Record) -> None:
        self.waiting += records
        self.log.append(records)

    def keep(self, key: str, value: bytes | None) -> None:
        self.waiting.append(Kept(key, value))
        self.log.keep(key, value)

    def sync(self, *, is_full: bool = False) -> None:
        self._note()
        self.files.full = is_full
        with pytest.raises(StoreFullError) if is_full else contextlib.nullcontext():
            self.log.sync()
        self.files.full = False
        self.synced += [] if is_full else self.waiting
        self.waiting = []
        self._note()

    def synced_ends(self) -> dict[str, Record]:
        return {one.stream: one for one in self.synced if isinstance(one, Record)}

    def _note(self) -> None:
        done = len(self.files.operations)
        self.moments.append((done, tuple(self.synced), tuple(self.waiting)))

    def maintain(self, now_us: int = 0) -> None:
        if now_us:
            self.removing_at = len(self.files.operations)
        done = self.log.maintain(now_us, {})
        assert done.problem is None
        for stream, up_to in done.cuts.items():
            self.log.remove(stream, up_to)

    def check(self, log: DiskLog, done: int) -> int:
        """What this log shows may be there after so many operations; the writes that it shows."""
        _, synced, waiting = [one for one in self.moments if one[0] <= done][-1]
        for count in range(len(waiting), -1, -1):
            if shows(log, [*synced, *waiting[:count]], may_lack=done > self.removing_at):
                return len(synced) + count
        raise AssertionError(f"after operation {done}: what was synced, or a beginning, is missing")


def shows(log: DiskLog, writes: list[Write], *, may_lack: bool) -> bool:
    streams: dict[str, list[Record]] = {}
    kept: dict[str, bytes | None] = {}
    for write in writes:
        if isinstance(write, Record):
            streams.setdefault(write.stream, []).append(write)
        else:
            kept[write.key] = write.value
    return (
        log.kept() == {key: value for key, value in kept.items() if value is not None}
        and dict(log.streams()) == {name: some[0].incarnation for name, some in streams.items()}
        and all(
            log.last(name) == some[-1]
            and log.read(name, 0, 10_000) == tuple(some[log.first(name) - 1 :])
            and (may_lack or log.first(name) == 1)
            for name, some in streams.items()
        )
    )


def record_databases(monkeypatch: pytest.MonkeyPatch, files: RecordingFiles) -> None:
    plain_store = KeptValues.store

    def store(self: KeptValues, *said: object) -> None:
        plain_store(self, *said)  # type: ignore[arg-type]
        files.store_database(self._file)

    monkeypatch.setattr(KeptValues, "store", store)


def a_life(root: Path, monkeypatch: pytest.MonkeyPatch, forgets: str | None = None) -> Life:
    """Streams that grow together, segments that are sealed, values, and what is too old."""
    life = Life(root, monkeypatch, forgets)
    last: dict[str, Record] = {}

    def add(stream: str, **said: Any) -> None:
        before = last.get(stream)
        first = {} if before is not None else {"stream": stream}
        last[stream] = following(before, **first, **said)
        life.append(last[stream])

    for number in range(9):
        life.keep("position", b"%d" % number)
        for stream in ("orders", "trades", "orders")[: 1 + number % 3]:
            add(stream, body=b'{"number": %d}' % number)
        if number == 2:
            life.sync(is_full=True)
            last = life.synced_ends()
            continue
        if number == 4:
            life.keep("other", b"x")
        if number == 6:
            life.keep("other", None)
            add("orders", version=2, body=None)
        life.sync()
        if number in (3, 6, 7):
            life.maintain()
    life.maintain(LATE_US)
    life.log.close()
    monkeypatch.undo()
    return life


def states(operations: list[Operation], state: DiskState) -> Iterator[tuple[int, Disk]]:
    """All that may be left after any number of operations; what is left again is left out."""
    before: set[Disk] = set()
    for done in range(len(operations) + 1):
        if done:
            state.apply(operations[done - 1])
        now = set(state.left())
        for disk in sorted(now - before, key=hash):
            yield done, disk
        # A promise may have been given in between: what is the same is only passed over once.
        before = now if done and len(now) > 1 else set()


def chosen(found: list[tuple[int, Disk]], count: int) -> list[tuple[int, Disk]]:
    return found if len(found) <= count else Random(1).sample(found, count)


@contextlib.contextmanager
def put(disk: Disk, place: Path) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(dir=place))
    disk.put(root)
    yield root
    shutil.rmtree(root)


def test_whatever_a_power_failure_leaves_keeps_the_promise(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    life = a_life(place, monkeypatch)
    found = list(states(life.files.operations, DiskState()))
    shown = set()
    for number, (done, disk) in enumerate(found):
        with put(disk, place) as root, closing(DiskLog(root / "log", TINY)) as log:
            shown.add(life.check(log, done))
            assert log.recovery.damaged == ()
            if number % 20 == 0:
                goes_on(log, root)
    assert {*range(len(life.synced) + 1)} - shown == set(), "some beginnings never came up"
    record_property(COUNTED, f"{len(found)} states of {len(life.files.operations)} operations")


@pytest.mark.parametrize(
    "forgotten",
    ["journal/*.log", "manifest.json.new", "sealed/*/*.parquet", "journal", "log", "log/sealed",
     "sealed/orders"],
)  # fmt: skip
def test_without_any_of_the_syncs_the_promise_is_broken(
    place: Path, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    life = a_life(place, monkeypatch, forgets=forgotten)
    # The first steps tell the most: later on there is much that was never synced.
    for done, disk in states(life.files.operations, DiskState()):
        with put(disk, place) as root:
            try:
                with closing(DiskLog(root / "log", TINY)) as log:
                    life.check(log, done)
                    if log.recovery.damaged:
                        return
            except (AssertionError, LogError):
                return
    raise AssertionError(f"nobody would notice that `{forgotten}` isn't synced")


def goes_on(log: DiskLog, root: Path) -> None:
    """It takes more, seals, and has all of it when it is opened again."""
    log.append([following(log.last("orders"))])
    log.sync()
    log.end_segment()
    assert log.maintain(0, {}).problem is None
    assert log.verify() == ()
    seen = log.read("orders", 0, 10_000), log.kept()
    log.close()
    log = DiskLog(root / "log", TINY)
    assert (log.read("orders", 0, 10_000), log.kept()) == seen
    log.close()


def test_a_power_failure_during_recovery_changes_nothing_of_the_promise(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    life = a_life(place, monkeypatch)
    found = list(states(life.files.operations, DiskState()))
    tried = again = 0
    for done, disk in chosen(found, proof_size(test=100, soak=5_000)):
        with put(disk, place) as root:
            files = RecordingFiles(root)
            state = disk.state(files, root)
            log = DiskLog(root / "log", TINY, files)
            shown = life.check(log, done)
            operations = list(files.operations)
            log.close()
        tried += 1
        left = list(states(operations, state))
        for steps, disk_then in chosen(left, proof_size(test=20, soak=200)):
            with put(disk_then, place) as root:
                log = DiskLog(root / "log", TINY)
                count = life.check(log, done)
                assert steps < len(operations) or count == shown, "what was shown is gone"
                log.close()
            again += 1
    record_property(COUNTED, f"{again} states from {tried} recoveries")


def test_what_a_killed_process_left_is_synced_before_it_is_shown(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    life = a_life(place, monkeypatch)
    state = DiskState()
    count = 0
    for done, operation in enumerate(life.files.operations, 1):
        state.apply(operation)
        then = state.copy()
        root = Path(tempfile.mkdtemp(dir=place))
        files = RecordingFiles(root, first_number=10**7)
        then.put_cached(files, root)
        # The process starts again; the machine has been running all the while.
        with closing(DiskLog(root / "log", TINY, files)) as log:
            shown = life.check(log, done)
            for one in files.operations:
                then.apply(one)
        for disk in set(then.left()):
            with put(disk, place) as after, closing(DiskLog(after / "log", TINY)) as log:
                assert life.check(log, done) == shown, "what was shown is gone"
                count += 1
    record_property(COUNTED, f"{count} states after {done} kills")
