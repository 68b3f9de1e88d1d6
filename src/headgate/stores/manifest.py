"""Which sealed files are there? A list that is replaced whole, so that a crash leaves one or one.

`manifest.json` is for everybody who reads the Parquet files: what it doesn't name is no part of the
log, and may go away at any moment.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from headgate.log.records import LogError
from headgate.stores.damage import Damage, DamagedLogError
from headgate.stores.files import Files, write_new

FILE: Final = "manifest.json"
FORMAT: Final = 1
_NEW: Final = "manifest.json.new"

ADVICE: Final = (
    "restore its directory from a backup, or move it away to begin new streams: see "
    "`docs/storage.md`"
)


class Sealed(Struct, frozen=True, forbid_unknown_fields=True):
    """A Parquet file: the records of one stream from one offset to another."""

    stream: str
    incarnation: str
    first: int
    last: int
    path: str
    """From the directory of the log on."""
    sha256: str
    bytes: int
    newest_us: int
    """The latest time of its records, in microseconds since 1970."""
    before: str
    """The digest of the chain before its first record, in hexadecimal digits."""
    state: Literal["sealed", "damaged"] = "sealed"


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What is sealed: files by stream and offset, made of the journal up to a segment."""

    format: int = FORMAT
    sealed_through: int = 0
    """The last segment of the journal whose records are all in these files."""
    files: tuple[Sealed, ...] = ()
    checksum: str = ""
    """The SHA-256 of all that with an empty checksum, as JSON without spaces."""

    def checked(self) -> Manifest:
        """The same with its checksum."""
        return msgspec.structs.replace(self, checksum=_checksum(self))

    def packed(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self.checked()), indent=1) + b"\n"


def read_manifest(directory: Path) -> Manifest | None:
    """What the manifest says; `None` where there is none."""
    try:
        data = (directory / FILE).read_bytes()
    except FileNotFoundError:
        return None
    try:
        found = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise _damaged(f"it can't be read ({problem})") from None
    if found.checksum != _checksum(found):
        raise _damaged("it doesn't say what was written")
    if found.format != FORMAT:
        raise LogError(f"the log has format {found.format}, this Headgate reads {FORMAT}")
    return found


def write_manifest(directory: Path, files: Files, manifest: Manifest) -> None:
    """Put a manifest in the place of the one before."""
    new = directory / _NEW
    if new.exists():  # from an attempt that was broken off
        files.remove(new)
    write_new(files, new, manifest.packed())
    files.rename(new, directory / FILE)
    files.sync_directory(directory)


def _checksum(manifest: Manifest) -> str:
    plain = msgspec.structs.replace(manifest, checksum="")
    return sha256(msgspec.json.encode(plain)).hexdigest()


def _damaged(because: str) -> DamagedLogError:
    return DamagedLogError([Damage(FILE, because)], ADVICE)
