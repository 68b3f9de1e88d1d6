"""Where does an index come from without keeping anybody waiting? It is loaded beside the work.

To load what an index needs takes about a second, and half a minute where it has to be compiled
first. A process that serves others has that done beside its work; until it is done there is no
index, and whoever wants one does without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, final

if TYPE_CHECKING:
    from headgate.matching.index import FilterIndex

Begin: TypeAlias = Callable[[Callable[[], None]], None]
"""Begins some work, and doesn't wait for it."""


@final
class Loading:
    """How far the loading has got."""

    def __init__(self) -> None:
        self._begin: Begin | None = None
        self._is_done = True
        self._fault: BaseException | None = None

    def beside(self, begin: Begin) -> None:
        """From now on nobody waits: when the first wants an index, loading it is begun so."""
        self._begin = begin
        self._is_done = False

    def index(self) -> FilterIndex | None:
        """An index without any filter, or nothing while it is being loaded."""
        begin, self._begin = self._begin, None
        if begin is not None:
            begin(self._load)
        if self._fault is not None:
            raise self._fault
        if not self._is_done:
            return None
        from headgate.matching.index import FilterIndex

        return FilterIndex()

    def _load(self) -> None:
        try:
            from headgate.matching.warming import warm_up

            warm_up()
        except BaseException as fault:  # whoever wants an index is told
            self._fault = fault
        else:
            self._is_done = True


LOADING = Loading()
"""Of this process."""
