"""Does an event stream end when its reader's time is over, or the broker's?"""

import asyncio
import time
from pathlib import Path

from headgate.live.identities import Identity
from headgate.live.web.subscribing import seconds_left
from tests.live.web.servers import site


def test_who_comes_in_for_a_while_stays_for_a_while(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            made.people.tokens["short-jane"] = int((time.time() + 0.5) * 1_000_000)
            async with made.listen({"Authorization": "Bearer short-jane"}) as heard:
                _, said = await heard.named("ended")
                assert "expired" in said["because"]

    asyncio.run(play())


def test_a_broker_that_stops_ends_its_event_streams_with_the_reason(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made, made.listen() as heard:
            await heard.named("started")
            stopping = asyncio.create_task(made.server.stop())
            assert (await heard.named("ended"))[1] == {"because": "the broker is stopping"}
            await stopping

    asyncio.run(play())


def test_seconds_are_never_less_than_none() -> None:
    def known(expires_us: int | None) -> Identity:
        return Identity("jane", "token", False, False, expires_us)

    assert seconds_left(known(None)) is None
    assert seconds_left(known(1)) == 0
    left = seconds_left(known(int((time.time() + 100) * 1_000_000)))
    assert left is not None
    assert 0 < left <= 100
