"""Does nobody wait for what an index needs, once that was asked for?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.matching import warming
from headgate.matching.loading import Loading


def test_who_may_wait_gets_an_index_at_once() -> None:
    assert Loading().index() is not None


def test_while_it_is_loaded_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "warm_up", lambda: None)
    begun: list[Callable[[], None]] = []
    loading = Loading()
    loading.beside(begun.append)
    assert not begun
    assert loading.index() is None
    assert loading.index() is None
    (load,) = begun
    load()
    assert loading.index() is not None
    assert len(begun) == 1


def test_what_can_not_be_loaded_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("no room for the code")

    monkeypatch.setattr(warming, "warm_up", fail)
    loading = Loading()
    loading.beside(lambda load: load())
    with pytest.raises(OSError, match="no room"):
        loading.index()
