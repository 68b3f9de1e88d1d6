"""How much may come from outside over HTTP, and how long may it take?"""

from __future__ import annotations

from dataclasses import dataclass

CHUNK_BYTES = 64 * 1024
"""What is written out at once to a subscriber, and how much of it may wait in the socket."""
LOGIN_BYTES_MAX = 4_096
"""The body of those who haven't said yet who they are."""


@dataclass(frozen=True)
class WebLimits:
    """The limits of one web server."""

    connections: int = 20_000
    connections_per_address: int = 20_000
    header_bytes: int = 16_384
    """Of one line of a request's head."""
    headers: int = 64
    body_bytes: int = 8 * 1024 * 1024
    bodies_bytes: int = 256 * 1024 * 1024
    """Of all bodies that are here at once."""
    frame_bytes: int = 2 * 1024 * 1024
    """Of one message on a WebSocket."""
    in_flight: int = 1_024
    """Publications of one WebSocket that wait for their answers: then nothing more is read."""
    request_s: float = 30
    """For the head of a request, for its body, and for the TLS handshake, each."""
    idle_s: float = 75
    """How long a connection may wait for its next request."""
    heartbeat_s: float = 15
    """How long a subscriber hears nothing, at most."""
    silent_s: float = 60
    """A subscriber that takes nothing of what waits for it is dropped after this."""
    stop_s: float = 10
