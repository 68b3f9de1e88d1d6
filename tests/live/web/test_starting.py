"""Does a subscription begin where its reader was, even if the stream isn't what it was?"""

import asyncio
from pathlib import Path

import pytest

from headgate.http.cursors import CursorError, Position
from headgate.live.web.starting import offsets_of, positions_of
from tests.live.web.servers import site, until


def test_a_beginning_is_said_in_four_ways(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            node = made.node
            assert positions_of(node, None) == {}
            assert positions_of(node, {"events": 3}) == {"events": Position("", 3)}
            assert positions_of(node, "events@boot1.3") == {"events": Position("boot1", 3)}
            assert positions_of(node, "start") == {
                "events": Position("boot1", 0),
                "orders": Position("boot1", 0),
            }
            with pytest.raises(CursorError):
                positions_of(node, "the beginning")

    asyncio.run(play())


def test_a_stream_in_another_life_begins_anew(tmp_path: Path) -> None:
    async def play() -> None:
        async with site(tmp_path) as made:
            await until(lambda: {"events", "orders"} <= set(made.node.core.streams.names()))
            said = {
                "events": Position("boot1", 3),
                "orders": Position("gone", 3),
                "unknown": Position("x", 3),
            }
            assert offsets_of(made.node, said) == {"events": 3, "orders": 0, "unknown": 3}
            assert offsets_of(made.node, {"orders": Position("", 3)}) == {"orders": 3}

    asyncio.run(play())
