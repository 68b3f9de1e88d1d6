"""An event loop whose clock runs faster: a minute of timers in a few seconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any


class _Hurried(selectors.BaseSelector):
    """Waits a part of the time that it is asked to wait."""

    def __init__(self, pace: float) -> None:
        self._selector = selectors.DefaultSelector()
        self._pace = pace

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._selector.select(None if timeout is None else timeout / self._pace)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._selector.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._selector.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._selector.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._selector.get_map()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._selector.get_key(fileobj)

    def close(self) -> None:
        self._selector.close()


class FastLoop(asyncio.SelectorEventLoop):
    """In it everything waits `pace` times as short as it thinks."""

    def __init__(self, pace: float) -> None:
        self._pace = pace
        super().__init__(_Hurried(pace))

    def time(self) -> float:
        return super().time() * self._pace
