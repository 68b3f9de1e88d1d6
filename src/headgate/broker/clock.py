"""What time is it, whatever the clock does? Time within a core never goes back."""

from __future__ import annotations

from typing import final


@final
class Clock:
    """A clock that was put back is taken to have stood still: no timer waits for it to catch up."""

    def __init__(self, now: int) -> None:
        self._newest = now
        self._shift = 0

    def enter(self, now: int) -> int:
        """The time within the core at a moment of the world outside."""
        inside = now + self._shift
        if inside < self._newest:
            self._shift += self._newest - inside
            inside = self._newest
        self._newest = inside
        return inside

    @property
    def newest(self) -> int:
        """The time within the core at the last input."""
        return self._newest

    def inside(self, wall: int) -> int:
        """The time within the core at which the world will say this one."""
        return wall + self._shift

    def wall(self, inside: int) -> int:
        """The moment outside, as records bear it."""
        return inside - self._shift
