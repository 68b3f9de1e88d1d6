"""What stands in the sealed files? Row groups are decoded when asked for, and kept a while.

A file is checked whole against its SHA-256 when it is opened for the first time; after that each
page that is read is checked by its own checksum.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.log.digests import check_chain
from headgate.log.records import LogError, Record
from headgate.stores.damage import Damage, DamagedLogError
from headgate.stores.holdings import READ_ADVICE
from headgate.stores.manifest import Sealed
from headgate.stores.parquet import records_of

_FILES_MAX: Final = 256
_GROUPS_MAX: Final = 64


@final
class SealedFiles:
    """The sealed files of one log, for any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = Lock()
        self._opened: OrderedDict[str, Any] = OrderedDict()
        """What is known of each file that was checked: where its row groups are."""
        self._groups: OrderedDict[tuple[str, int], list[Record]] = OrderedDict()

    def read(self, sealed: Sealed, first: int, last: int) -> list[Record]:
        """The records from one offset to another; all of them are in this file.

        A `FileNotFoundError` says that the file went away; damage is named.
        """
        try:
            metadata = self._metadata(sealed)
            records: list[Record] = []
            begins = sealed.first
            for number in range(metadata.num_row_groups):
                rows = metadata.row_group(number).num_rows
                if begins <= last and begins + rows > first:
                    group = self._group(sealed, metadata, number, begins)
                    records += group[max(0, first - begins) : last + 1 - begins]
                begins += rows
        except (pa.ArrowException, OSError, ValueError) as problem:
            if isinstance(problem, FileNotFoundError):
                raise
            said = " ".join(str(problem).split())
            raise damaged(sealed, f"it can't be read ({said})") from problem
        return records

    def check(self, sealed: Sealed) -> Damage | None:
        """Read a file whole, its checksum and the chain of its records."""
        with self._lock:
            self._opened.pop(sealed.path, None)
            for key in [key for key in self._groups if key[0] == sealed.path]:
                del self._groups[key]
        try:
            records = self.read(sealed, sealed.first, sealed.last)
            check_chain(bytes.fromhex(sealed.before), records)
        except FileNotFoundError:
            return damaged(sealed, "it is missing").damages[0]
        except DamagedLogError as problem:
            return problem.damages[0]
        except LogError as problem:
            return damaged(sealed, str(problem)).damages[0]
        return None

    def _metadata(self, sealed: Sealed) -> Any:
        with self._lock:
            known = self._opened.get(sealed.path)
            if known is not None:
                self._opened.move_to_end(sealed.path)
                return known
        data = (self._directory / sealed.path).read_bytes()
        if sha256(data).hexdigest() != sealed.sha256:
            raise damaged(sealed, "its SHA-256 isn't that of the manifest")
        metadata = pq.read_metadata(pa.BufferReader(data))
        with self._lock:
            self._opened[sealed.path] = metadata
            while len(self._opened) > _FILES_MAX:
                self._opened.popitem(last=False)
        return metadata

    def _group(self, sealed: Sealed, metadata: Any, number: int, begins: int) -> list[Record]:
        key = (sealed.path, number)
        with self._lock:
            known = self._groups.get(key)
            if known is not None:
                self._groups.move_to_end(key)
                return known
        with pq.ParquetFile(
            self._directory / sealed.path, metadata=metadata, page_checksum_verification=True
        ) as file:
            records = records_of(file.read_row_group(number, use_threads=False))
        offsets = [one.offset for one in records]
        if offsets != list(range(begins, begins + len(records))):
            raise damaged(sealed, "its offsets don't follow one another")
        with self._lock:
            self._groups[key] = records
            while len(self._groups) > _GROUPS_MAX:
                self._groups.popitem(last=False)
        return records


def damaged(sealed: Sealed, because: str) -> DamagedLogError:
    named = Damage(sealed.path, because, sealed.stream, sealed.first, sealed.last)
    return DamagedLogError([named], READ_ADVICE)
