"""Where is a subscription to begin? After a cursor's positions, or at the start of all streams."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.http.cursors import Position, read_cursor
from headgate.live.node import Node

START = "start"


def positions_of(node: Node, said: Mapping[str, int] | str | None) -> dict[str, Position]:
    """What somebody says of where to begin: offsets, a cursor, `start`, or nothing."""
    if said == START:
        return {name: Position(life, 0) for name, life in _lives(node).items() if name[:1] != "$"}
    if isinstance(said, str):
        return read_cursor(said)
    return {stream: Position("", offset) for stream, offset in (said or {}).items()}


def offsets_of(node: Node, positions: Mapping[str, Position]) -> dict[str, int]:
    """After which offsets the core is to begin.

    A stream that goes on under another incarnation than the one that was read begins anew: all
    that it has now is new to the reader.
    """
    lives = _lives(node) if positions else {}
    return {
        stream: 0 if _is_another(position, lives.get(stream)) else position.offset
        for stream, position in positions.items()
    }


def _lives(node: Node) -> dict[str, str]:
    """The incarnation of each stream that is known here."""
    streams = node.core.streams
    found = ((name, streams.feed(name)) for name in streams.names())
    return {name: feed.incarnation for name, feed in found if feed is not None}


def _is_another(position: Position, incarnation: str | None) -> bool:
    return position.incarnation != "" and incarnation not in (None, position.incarnation)
