"""What did a subscriber ask for, and through whom?"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.filters.filter import Filter
from headgate.rights.rules import EVERYTHING, check_principal


@dataclass(frozen=True, slots=True)
class Subscription:
    """A principal's wish to receive what a filter matches."""

    principal: str
    filter: Filter = EVERYTHING
    domain: str | None = None
    """The untrusted domain through which it is connected, which has to have the right, too."""

    def __post_init__(self) -> None:
        check_principal(self.principal)
        if self.domain is not None:
            check_principal(self.domain)
