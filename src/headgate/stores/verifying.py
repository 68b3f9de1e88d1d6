"""Is everything that is stored still what was written? All of it is read, and damage named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headgate.stores.damage import Damage, DamagedLogError
from headgate.stores.holdings import JournalPiece, read_journal
from headgate.stores.kept_values import KeptValues
from headgate.stores.manifest import FILE, Manifest, Sealed, read_manifest
from headgate.stores.sealed_files import SealedFiles


def damages_of_sealed(files: SealedFiles, sealed: Iterable[Sealed]) -> list[Damage]:
    """What isn't as it was written of the sealed files: checksums, records, and their chain."""
    return [damage for one in sealed if (damage := files.check(one)) is not None]


def damages_of_lists(directory: Path, manifest: Manifest, values: KeptValues) -> list[Damage]:
    """What isn't as it was written of the manifest and the kept values."""
    found = [damage for damage in (values.check(),) if damage is not None]
    try:
        if read_manifest(directory) != manifest.checked():
            found.append(Damage(FILE, "it doesn't say what was written"))
    except DamagedLogError as damaged:
        found += damaged.damages
    return found


def damages_of_journal(journals: Path, stream: str, piece: JournalPiece) -> list[Damage]:
    """What isn't as it was written at these places of the journal."""
    found: list[Damage] = []
    for at in range(len(piece.starts)):
        here = slice(at, at + 1)
        one = JournalPiece(piece.number, piece.first + at, piece.starts[here], piece.sizes[here])
        try:
            read_journal(journals, stream, one)
        except DamagedLogError as damaged:
            found += damaged.damages
        except FileNotFoundError:
            found.append(Damage("journal", "a segment is missing", stream, one.first, piece.last))
            break
    return found
