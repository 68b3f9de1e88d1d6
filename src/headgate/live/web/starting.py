"""Where is a subscription to begin? After a cursor's positions, or at the start of all streams."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.http.cursors import Position, read_cursor
from headgate.live.node import Node

START = "start"


def positions_of(said: Mapping[str, int] | str | None) -> dict[str, Position] | None:
    """What somebody says of where to begin; nothing where that is the `start`."""
    if said == START:
        return None
    if isinstance(said, str):
        return read_cursor(said)
    return {stream: Position("", offset) for stream, offset in (said or {}).items()}


def offsets_of(node: Node, positions: Mapping[str, Position] | None) -> dict[str, int]:
    """After which offsets the core is to begin.

    A stream that goes on under another incarnation than the one that was read begins anew: all
    that it has now is new to the reader.
    """
    lives = {
        name: feed.incarnation
        for name in node.core.streams.names()
        if (feed := node.core.streams.feed(name)) is not None
    }
    if positions is None:
        return {name: 0 for name in lives if not name.startswith("$")}
    return {
        stream: 0 if _is_another(position, lives.get(stream)) else position.offset
        for stream, position in positions.items()
    }


def _is_another(position: Position, incarnation: str | None) -> bool:
    return position.incarnation != "" and incarnation not in (None, position.incarnation)
