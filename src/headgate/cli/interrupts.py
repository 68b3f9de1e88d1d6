"""What becomes of a long command when somebody presses Ctrl-C? It ends in good order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, final

INTERRUPTED = 130
"""The exit code of a command that was interrupted before it was done."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@final
class Interrupts:
    """While it is entered, the first interrupt calls this; a second one ends the program."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.came = False
        self._stop = stop

    def __enter__(self) -> Self:
        # Elsewhere than in the main thread nobody can be interrupted.
        with suppress(RuntimeError, ValueError, NotImplementedError):
            for number in _SIGNALS:
                asyncio.get_running_loop().add_signal_handler(number, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._let_go()

    def _interrupt(self) -> None:
        self.came = True
        self._let_go()
        self._stop()

    def _let_go(self) -> None:
        with suppress(RuntimeError, ValueError, NotImplementedError):
            for number in _SIGNALS:
                asyncio.get_running_loop().remove_signal_handler(number)
