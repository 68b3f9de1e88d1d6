"""What is done beside the writing? Full segments are sealed, and what is to go goes.

Readers go on all the while: they are shown a sealed file and no longer the journal, or a file no
longer, in one moment; who had found the way to a file that went away looks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import final

import msgspec

from headgate.stores.damage import Damage
from headgate.stores.files import Files, ensure_directory
from headgate.stores.holdings import Holdings
from headgate.stores.journal import segment_name
from headgate.stores.kept_values import KeptValues
from headgate.stores.manifest import Manifest, Sealed, write_manifest
from headgate.stores.retention import Removable, Retention, removable
from headgate.stores.sealing import (
    DIRECTORY,
    Segment,
    chain_before,
    orphans,
    read_segment,
    seal_stream,
)


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What was done."""

    sealed: tuple[Sealed, ...] = ()
    may_go: tuple[Sealed, ...] = ()
    """What is old, or too much: it is removed once everybody has been told."""
    taken_though_owed: tuple[Sealed, ...] = ()
    """Of these, what a durable subscriber hasn't got."""
    held_back: tuple[Sealed, ...] = ()
    """What would have gone if no durable subscriber were owed it."""
    damaged: tuple[Damage, ...] = ()
    """Why a segment can't be sealed: it stays in the journal."""
    problem: str | None = None
    """Why not everything was done; it is tried again the next time."""

    @property
    def cuts(self) -> dict[str, int]:
        """By stream, up to where its records may go."""
        return {one.stream: one.last for one in self.may_go}


@final
class Maintainer:
    """The sealed part of a log; one thread at a time changes it."""

    def __init__(
        self,
        directory: Path,
        files: Files,
        manifest: Manifest,
        values: KeptValues,
        held: dict[str, Holdings],
        lock: Lock,
        sizes: dict[int, int],
    ) -> None:
        self.manifest = manifest
        self.sealed_bytes = sum(one.bytes for one in manifest.files)
        self._directory = directory
        self._journals = directory / "journal"
        self._files = files
        self._values = values
        self._held = held
        self._lock = lock
        self._sizes = sizes
        """How long each full segment of the journal is."""

    def clear(self) -> None:
        """Take away what was being written, removed or sealed when the log was last closed."""
        ensure_directory(self._files, self._directory / DIRECTORY)
        for path in orphans(self._directory, self.manifest.files):
            self._files.remove(path)
            self._files.sync_directory(path.parent)

    def next_to_seal(self) -> int:
        return self._values.segment + 1

    def seal(self, number: int, row_group_rows: int) -> tuple[Sealed, ...]:
        """Make Parquet of the oldest segment, and remove it from the journal."""
        segment = read_segment(self._journals, number)
        sealed: tuple[Sealed, ...] = ()
        if self.manifest.sealed_through < number:  # else this was broken off after it
            sealed = tuple(
                seal_stream(
                    self._directory,
                    self._files,
                    records,
                    chain_before(records[0], self._values.ends.get(stream)),
                    row_group_rows,
                )
                for stream, records in segment.streams.items()
            )
            self._replace_manifest((*self.manifest.files, *sealed), number)
            self._show(segment, sealed)
        self._values.store(number, segment.kept, segment.ends)
        self._files.remove(self._journals / segment_name(number))
        self._files.sync_directory(self._journals)
        with self._lock:
            self._sizes.pop(number, None)
        return sealed

    def removable(
        self, log_bytes: int, now_us: int, owed: Mapping[str, int], retention: Retention
    ) -> Removable:
        """What is old enough, or too much."""
        return removable(self.manifest.files, log_bytes, now_us, owed, retention)

    def remove(self, stream: str, up_to: int) -> None:
        """Remove the files of a stream that hold nothing behind an offset, but for its last one."""
        files = sorted(
            (one for one in self.manifest.files if one.stream == stream), key=lambda one: one.first
        )
        gone = {one for one in files[:-1] if one.last <= up_to}
        if not gone:
            return
        left = tuple(one for one in self.manifest.files if one not in gone)
        self._replace_manifest(left, self.manifest.sealed_through)
        with self._lock:
            held = self._held[stream]
            held.sealed = [one for one in held.sealed if one not in gone]
        for one in gone:
            self._files.remove(self._directory / one.path)
        for folder in {(self._directory / one.path).parent for one in gone}:
            self._files.sync_directory(folder)

    def _replace_manifest(self, files: tuple[Sealed, ...], sealed_through: int) -> None:
        new = msgspec.structs.replace(self.manifest, files=files, sealed_through=sealed_through)
        write_manifest(self._directory, self._files, new)
        self.manifest = new
        self.sealed_bytes = sum(one.bytes for one in files)

    def _show(self, segment: Segment, sealed: tuple[Sealed, ...]) -> None:
        with self._lock:
            for one in sealed:
                held = self._held[one.stream]
                held.sealed = [*held.sealed, one]
                held.parts = [part for part in held.parts if part.number != segment.number]
