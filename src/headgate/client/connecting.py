"""How does a program come to its brokers? By their addresses, and with what says who it is."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from headgate.client.access import Access, broker_url
from headgate.client.errors import ClientError
from headgate.client.network import Network
from headgate.client.settings import SECOND, Settings

PathText: TypeAlias = str | PathLike[str]


def connect(
    url: str | Sequence[str],
    *,
    principal: str | None = None,
    password: str | None = None,
    token: str | None = None,
    ca: PathText | None = None,
    certificate: PathText | tuple[PathText, PathText] | None = None,
    patience_s: float = 60,
    connect_s: float = 10,
) -> Network:
    """The brokers at these addresses, to be entered with `async with`.

    Several addresses are those of several brokers of one network: where one can't be reached, the
    next one is tried. Who we are is said by a `principal` and its `password`, by a `token`, or by a
    `certificate` (a PEM file that holds its key too, or a pair of files). Brokers prove who they
    are; `ca` names the authorities that are trusted, instead of those of the machine.

    A publication waits up to `patience_s` for its answer, over lost connections too, and the first
    connection is tried for `connect_s`. A connection that is lost is made again for as long as it
    takes.
    """
    urls = (url,) if isinstance(url, str) else tuple(url)
    if not urls:
        raise ClientError("expected the address of a broker, found none")
    if not (patience_s > 0 and connect_s >= 0):
        raise ClientError(f"expected times to wait, found {patience_s} and {connect_s}")
    own = certificate if isinstance(certificate, tuple) else (certificate, None)
    access = Access(principal, password, token, _path(ca), _path(own[0]), _path(own[1]))
    settings = Settings(
        tuple(map(broker_url, urls)),
        patience_us=int(patience_s * SECOND),
        connect_us=int(connect_s * SECOND),
    )
    return Network(settings, access)


def _path(said: PathText | None) -> Path | None:
    return None if said is None else Path(said)
