"""Is what a store holds what was stored? Each version is sealed with all that came before it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec

from headgate.model.errors import HeadgateError, named
from headgate.rights.changes import Batch
from headgate.rights.rules import PolicyError, canonical
from headgate.stores.acl import StoreError

START = "0" * 64
"""What the first version follows."""

_UNREADABLE = (
    HeadgateError, msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """A version as a store keeps it: the time and the changes as text, and the seal."""

    version: int
    author: str
    time: str
    why: str
    changes: str
    digest: str

    @classmethod
    def of(cls, batch: Batch, version: int, previous: str) -> Record:
        """Write a batch down as the version that follows another one."""
        said = batch.to_json()
        check_writable("the reason of the batch", batch.why)
        try:
            changes = canonical(said["changes"]).decode()
        except UnicodeEncodeError as problem:
            raise PolicyError(f"half a character in the changes: {problem.reason}") from None
        author, time, why = said["author"], said["time"], said["why"]
        digest = _digest(previous, version, author, time, why, changes)
        return cls(version, author, time, why, changes, digest)

    def follows(self, previous: str) -> bool:
        """Whether this is what was stored after the version with that digest."""
        columns: tuple[Any, ...] = (self.author, self.time, self.why, self.changes, self.digest)
        return (
            all(isinstance(column, str) for column in columns)
            and _digest(previous, self.version, *columns[:-1]) == self.digest
        )

    def batch(self) -> Batch:
        try:
            return Batch.from_json(
                {
                    "author": self.author,
                    "time": self.time,
                    "why": self.why,
                    "changes": msgspec.json.decode(self.changes),
                }
            )
        except _UNREADABLE as problem:
            raise StoreError(
                f"version {self.version} can't be read ({problem}): was it stored by a newer "
                "Headgate?"
            ) from None


def check_writable(what: str, text: str) -> None:
    """Refuse what not every database can keep as it is."""
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise PolicyError(f"{what} holds a character that can't be stored: {named(text)}")


def _digest(previous: str, version: int, author: str, time: str, why: str, changes: str) -> str:
    said = {
        "previous": previous,
        "version": version,
        "author": author,
        "time": time,
        "why": why,
        "changes": changes,
    }
    return hashlib.sha256(canonical(said)).hexdigest()
