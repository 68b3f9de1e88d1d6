"""Do requests of one principal share a connection to the core, and end with it?"""

import asyncio
from pathlib import Path

import pytest

from headgate.broker.effects import Published
from headgate.http.cloudevents import Publication
from headgate.http.problems import RefusedError
from headgate.live.web import calling
from headgate.live.web.calling import Callers, dropped
from tests.live.web.servers import site, until

EVENT = Publication(b'{"a":1}', True, "")


def test_requests_of_one_principal_share_a_connection(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            callers = Callers(made.node)
            first, second = callers.of("jane"), callers.of("jane")
            assert first is second
            told = await asyncio.gather(*(first.publish([EVENT], "events") for _ in range(3)))
            assert [one.offset for (one,) in told if isinstance(one, Published)] == [2, 3, 4]
            assert made.node.clients == 1

    asyncio.run(play())


def test_a_connection_that_nobody_uses_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "KEPT_S", 0.01)

    async def play() -> None:
        async with site(tmp_path) as made:
            callers = Callers(made.node)
            caller = callers.of("jane")
            callers.release("jane", caller)
            await until(lambda: made.node.clients == 0)
            assert callers.of("jane") is not caller

    asyncio.run(play())


def test_who_may_not_connect_is_refused_and_may_try_again_later(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            callers = Callers(made.node)
            caller = callers.of("tom")
            with pytest.raises(RefusedError) as refused:
                await caller.publish([EVENT], None)
            assert refused.value.status == 403
            assert callers.of("tom") is not caller

    asyncio.run(play())


def test_what_ends_a_connection_says_whether_to_try_again() -> None:
    assert dropped("the broker is stopping: try again, or at another broker").status == 503
    assert dropped("this broker has 7 clients already").status == 503
    assert dropped("`tom` has no right to connect at version 3").status == 403
