"""Two ends of TLS without a socket: what one writes, the other reads."""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Agreed:
    """What the two ends see of each other."""

    version: str | None
    protocol: str | None
    server_seen: bytes | None
    client_seen: bytes | None


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str | None = None) -> Agreed:
    """Both ends after a handshake; an `SSLError` of either is raised."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    dialling = client.wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(6):
        for end in (dialling, serving):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    # With TLS 1.3 the server's verdict on the client's certificate comes after its handshake.
    serving.write(b"welcome")
    assert dialling.read() == b"welcome"
    return Agreed(
        serving.version(),
        serving.selected_alpn_protocol(),
        serving.getpeercert(binary_form=True),
        dialling.getpeercert(binary_form=True),
    )
