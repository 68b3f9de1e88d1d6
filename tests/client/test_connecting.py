"""Does `connect` say what is wrong before anything is sent?"""

from __future__ import annotations

from pathlib import Path

import pytest

import headgate
from headgate.client.connecting import connect
from headgate.client.errors import ClientError
from headgate.client.network import Network
from headgate.live.authority import DevelopmentAuthority
from tests.client.running import PASSWORD, site
from tests.live.nodes import run


def test_it_is_what_headgate_exports() -> None:
    assert headgate.connect is connect
    assert isinstance(connect("https://localhost"), Network)


@pytest.mark.parametrize(
    ("urls", "more", "words"),
    [
        ([], {}, "the address of a broker"),
        ("mqtt://localhost", {}, "an address such as"),
        ("http://broker.example", {"principal": "jane", "password": "x"}, "expected `https`"),
        ("https://localhost", {"patience_s": 0}, "times to wait"),
        ("https://localhost", {"connect_s": -1}, "times to wait"),
        ("https://localhost", {"password": "x"}, "the name that the password belongs to"),
    ],
)
def test_what_makes_no_sense_is_refused(urls: str, more: dict[str, str], words: str) -> None:
    with pytest.raises(ClientError, match=words):
        connect(urls, **more)  # type: ignore[arg-type]


def test_a_broker_is_verified_by_the_authority_that_is_named(tmp_path: Path) -> None:
    import ssl

    authority = DevelopmentAuthority(tmp_path / "tls")
    authority.for_http(tmp_path / "tls" / "http.pem", ["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "tls" / "http.pem")

    async def work() -> None:
        async with site(tmp_path, tls=context) as made:
            who = {"principal": "jane", "password": PASSWORD}
            async with connect(made.url, ca=tmp_path / "tls" / "ca.pem", **who) as net:  # type: ignore[arg-type]
                await net.publish({"a": 1})
            with pytest.raises(ClientError, match="its certificate is not to be trusted"):
                await connect(made.url, **who).open()  # type: ignore[arg-type]
            elsewhere = made.url.replace("127.0.0.1", "localhost")
            with pytest.raises(ClientError, match="its certificate is not to be trusted"):
                await connect(elsewhere, ca=tmp_path / "tls" / "ca.pem", **who).open()  # type: ignore[arg-type]

    run(work())
