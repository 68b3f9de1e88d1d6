"""A process that writes to a log until it is ended: `python -m tests.stores.log_writer DIRECTORY`.

It says `stored N` when N records are on the disk, and `broken` or `full` with what it was told.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread

from headgate.log.store import StoreFullError
from headgate.stores.damage import LogBrokenError
from headgate.stores.disk_log import DiskLog
from headgate.stores.log_options import LogOptions
from tests.log.streams import following

SMALL = LogOptions(segment_bytes=20_000, row_group_rows=16)
GROUPS = (1, 3, 40)
FOREVER = 10**9


def main(directory: str, records_max: int) -> int:
    try:
        log = DiskLog(Path(directory), SMALL)
        last = log.last("orders")
        number = last.offset if last is not None else 0
        sealing = Thread(target=maintain_for_ever, args=(log,), daemon=True)
        sealing.start()
        while number < records_max:
            group = []
            for _ in range(GROUPS[number % len(GROUPS)]):
                last = following(last)
                group.append(last)
            log.append(group)
            log.keep("position", b"%d" % group[-1].offset)
            print("writing", group[-1].offset, flush=True)
            log.sync()
            number = group[-1].offset
            print("stored", number, flush=True)
        return 0
    except LogBrokenError as broken:
        print("broken", broken, flush=True)
        return 3
    except StoreFullError as full:
        print("full", full, flush=True)
        return 4


def maintain_for_ever(log: DiskLog) -> None:
    try:
        while True:
            log.maintain(0, {})
    except LogBrokenError:
        pass  # the writer is told by its next sync


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else FOREVER))
