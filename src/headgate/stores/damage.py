"""What is wrong with what was stored? Damage is named by file, stream and offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from headgate.log.records import LogError
from headgate.model.errors import named, printable


@dataclass(frozen=True, slots=True)
class Damage:
    """One place where a file doesn't hold what was written to it."""

    file: str
    """Its path from the directory of the log on."""
    because: str
    stream: str | None = None
    """Whose records are concerned; `None` where that can't be said."""
    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        whose = ""
        if self.stream is not None and self.first is not None:
            offsets = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
            whose = f", `{printable(self.stream)}` offset {offsets}"
        return f"{named(self.file, 300)}{whose}: {self.because}"


@final
class DamagedLogError(LogError):
    """What was stored isn't there as it was written: here nothing can be served, or nothing at all.

    A damaged sealed file concerns its own records alone. Damage of the journal, the manifest or the
    kept values leaves open what was decided last, so that the log isn't opened at all.
    """

    def __init__(self, damages: Iterable[Damage], advice: str) -> None:
        self.damages = tuple(damages)
        shown = "; ".join(str(damage) for damage in self.damages[:5])
        more = f"; and {len(self.damages) - 5} more" if len(self.damages) > 5 else ""
        super().__init__(f"the log is damaged: {shown}{more}: {advice}")


@final
class LogBrokenError(LogError):
    """The disk didn't keep its word: the process has to end, and to recover when it starts again.

    After a failed `fdatasync` nobody knows what is on the disk, and one that is repeated may say
    that all is well though the data is gone.
    """
