"""What does it cost to keep a record on the disk, to find it again, and to make Parquet of it?

python -m bench.log [--quick]

Figures with syncs are those of the disk below the temporary directory (`TMPDIR` chooses another),
and are set against a bare file that is written and synced in the same batches.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

from bench import QUICK, profile, table, times, title
from headgate.log.digests import START, with_chain
from headgate.log.entries import entry
from headgate.log.records import Record
from headgate.stores.disk_log import DiskLog
from headgate.stores.log_options import LogOptions

BATCHES = (1, 10, 100, 1_000)
SECONDS = 0.05 if QUICK else 2.0
"""So long each way of writing is measured."""
RECORDS = 2_000 if QUICK else 200_000
AT_ONCE = 512
READS = 4 if QUICK else 200
NO_SYNC = LogOptions(durability="unsafe_no_fsync")


def records(count: int, stream: str = "quotes") -> list[Record]:
    random = Random(7)
    made: list[Record] = []
    chain = START
    for offset in range(1, count + 1):
        body = b'{"type":"quote","symbol":"S%d","price":%d,"volume":%d,"venue":"north"}' % (
            random.randrange(1_000), random.randrange(1_000), random.randrange(10_000),
        )  # fmt: skip
        plain = Record(
            stream, "boot-1", offset, 3, 1_790_000_000_000_000 + offset * 50,
            f"exchange-{offset % 50}", f"{offset:032x}", body, True, {}, {},
        )  # fmt: skip
        made.append(with_chain(chain, plain))
        chain = made[-1].chain
    return made


@contextmanager
def directory() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="headgate-bench-"))
    yield made / "log"
    shutil.rmtree(made)


def written(made: list[Record], batch: int, options: LogOptions) -> tuple[float, float]:
    """Records a second, and seconds of processor for each."""
    with directory() as place, closing(DiskLog(place, options)) as log:
        started, cpu = time.perf_counter(), time.process_time()
        at = 0
        while at < len(made) and time.perf_counter() - started < SECONDS:
            log.append(made[at : at + batch])
            log.sync()
            at += batch
        done = min(at, len(made))
        return done / (time.perf_counter() - started), (time.process_time() - cpu) / done


def bare(made: list[Record], batch: int) -> float:
    """Records a second when nothing is done but writing their bytes and syncing."""
    with directory() as place:
        entries = [entry(one) for one in made]
        file = os.open(place.with_name("bare"), os.O_RDWR | os.O_CREAT)
        started, at = time.perf_counter(), 0
        while at < len(made) and time.perf_counter() - started < SECONDS:
            os.write(file, b"".join(entries[at : at + batch]))
            os.fdatasync(file)
            at += batch
        rate = min(at, len(made)) / (time.perf_counter() - started)
        os.close(file)
    return rate


def writing(made: list[Record]) -> None:
    title("Records stored a second")
    rows = []
    for batch in BATCHES:
        file = bare(made, batch)
        synced, cpu = written(made, batch, LogOptions())
        unsynced, _ = written(made, batch, NO_SYNC)
        rows.append(
            [
                f"batches of {batch:,}",
                f"{synced:,.0f}",
                f"{file:,.0f}",
                times(file / synced),
                f"{unsynced:,.0f}",
                f"{cpu * 1e6:.1f}",
            ]
        )
    table(["", "synced", "bare file", "slower", "unsafe_no_fsync", "µs of CPU each"], rows)


def keeping(made: list[Record]) -> None:
    title(f"{len(made):,} records: reading them, making Parquet of them, opening the log")
    with directory() as place:
        log = DiskLog(place, NO_SYNC)
        for at in range(0, len(made), 1_000):
            log.append(made[at : at + 1_000])
            log.sync()
        journal_bytes = log.size_bytes
        from_journal = reading(log, len(made))
        log.close()
        opening = timed(lambda: DiskLog(place, NO_SYNC).close())
        log = DiskLog(place, NO_SYNC)
        log.end_segment()
        sealing = timed(lambda: log.maintain(0, {}))
        parquet_bytes = sum(one.bytes for one in log._maintainer.manifest.files)
        log.close()
        opening_sealed = timed(lambda: DiskLog(place, NO_SYNC).close())
        log = DiskLog(place, NO_SYNC)
        from_parquet = reading(log, len(made))
        verifying = timed(log.verify)
        log.close()
    count = len(made)
    rows = [
        ["bytes each", f"{journal_bytes / count:.0f}", f"{parquet_bytes / count:.0f}"],
        ["read in order, records/s", f"{from_journal[0]:,.0f}", f"{from_parquet[0]:,.0f}"],
        [f"{AT_ONCE} read at any offset, ms", f"{from_journal[1] * 1e3:.2f}",
         f"{from_parquet[1] * 1e3:.2f}"],
        ["opening, s per million records", f"{opening / count * 1e6:.2f}",
         f"{opening_sealed / count * 1e6:.2f}"],
        ["made of the journal, records/s", "", f"{count / sealing:,.0f}"],
        ["verified, records/s", "", f"{count / verifying:,.0f}"],
    ]  # fmt: skip
    table(["", "journal", "Parquet"], rows)


def reading(log: DiskLog, count: int) -> tuple[float, float]:
    """Records a second in order, and the seconds of a read at any offset."""
    in_order = timed(
        lambda: [len(log.read("quotes", at, AT_ONCE)) for at in range(0, count, AT_ONCE)]
    )
    random = Random(3)
    places = [random.randrange(count - AT_ONCE) for _ in range(READS)]
    scattered = timed(lambda: [len(log.read("quotes", at, AT_ONCE)) for at in places])
    return count / in_order, scattered / READS


def timed(work: object) -> float:
    assert callable(work)
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def where_the_time_goes(made: list[Record]) -> None:
    part = made[: len(made) // 4]
    title("Where the time goes: storing, in batches of 1,000")
    with directory() as place, closing(DiskLog(place)) as log:

        def store() -> None:
            for at in range(0, len(part), 1_000):
                log.append(part[at : at + 1_000])
                log.sync()

        profile(store)
        log.end_segment()
        title("Where the time goes: making Parquet")
        profile(lambda: log.maintain(0, {}))
        title("Where the time goes: reading Parquet")
        profile(lambda: log.read("quotes", 0, len(part)))


def main() -> None:
    made = records(RECORDS)
    writing(made)
    keeping(made)
    where_the_time_goes(made)


if __name__ == "__main__":
    main()
