"""How is a log kept? What may be chosen, with what is chosen otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from headgate.stores.files import Files, FilesWithoutSync, RealFiles
from headgate.stores.retention import Retention


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is kept."""

    durability: Literal["fsync", "unsafe_no_fsync"] = "fsync"
    segment_bytes: int = 2**26
    """From this size on a segment of the journal is full."""
    segment_s: float = 3_600.0
    """After this time `maintain` ends a segment that isn't full."""
    row_group_rows: int = 1_024
    """So many records of a sealed file are decoded at once."""
    retention: Retention = field(default_factory=Retention)
    bytes_max: int | None = None
    """How large the log may grow before it refuses to store more."""

    @property
    def syncs(self) -> bool:
        return self.durability == "fsync"

    def files(self) -> Files:
        return RealFiles() if self.syncs else FilesWithoutSync()
