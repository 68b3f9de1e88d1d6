"""Is a broker trusted for a reason, and a password only told where it should be?"""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headgate.client.access import Access, about_tls, broker_url, is_local, local_token
from headgate.client.errors import ClientError
from headgate.live.authority import DevelopmentAuthority


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data directory of a broker that made its own authority."""
    authority = DevelopmentAuthority(tmp_path / "tls")
    authority.for_http(tmp_path / "tls" / "http.pem", ["localhost"])
    (tmp_path / "admin.token").write_text("hgt_secret\n")
    return tmp_path


def names_of(context: ssl.SSLContext) -> list[str]:
    return [str(one["subject"]) for one in context.get_ca_certs()]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("https://localhost", "https://localhost:7080"),
        ("https://localhost:1234/", "https://localhost:1234"),
        ("http://[::1]:80/behind/", "http://[::1]:80/behind"),
        ("https://Broker.Example", "https://broker.example:7080"),
    ],
)
def test_an_address_is_read(said: str, read: str) -> None:
    assert broker_url(said) == read


@pytest.mark.parametrize(
    "said",
    ["", "localhost:7080", "mqtt://localhost", "https://", "https://a:port", "https://a/?b=c",
     "https://a/#b", "https://[", "https://ann@a", "https://ann:secret@a"],
)  # fmt: skip
def test_what_is_no_address_is_refused(said: str) -> None:
    with pytest.raises(ClientError, match="expected"):
        broker_url(said)


def test_who_is_asking_is_said_in_each_request() -> None:
    assert Access("jane", password="a:ü").headers() == {"Authorization": "Basic amFuZTphOsO8"}
    assert Access(token="hgt_1").headers() == {"Authorization": "Bearer hgt_1"}
    assert Access().headers() == {}


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(Access("jane", password="secret"))
    assert "secret" not in repr(Access(token="secret"))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"principal": "a", "password": "b", "token": "c"}, "a token or a password"),
        ({"password": "b"}, "the name that the password belongs to"),
        ({"principal": "a:b", "password": "c"}, "a name without `:`"),
        ({"token": "a\r\nb"}, "printable ASCII"),
    ],
)
def test_what_says_two_things_or_nothing_is_refused(said: dict[str, str], words: str) -> None:
    with pytest.raises(ClientError, match=words):
        Access(**said)  # type: ignore[arg-type]


def test_a_secret_does_not_leave_the_machine_in_the_clear() -> None:
    jane = Access("jane", password="secret")
    with pytest.raises(ClientError, match="expected `https`"):
        jane.check_for("http://broker.example:7080")
    jane.check_for("http://127.0.0.1:7080")
    jane.check_for("https://broker.example:7080")
    Access().check_for("http://broker.example:7080")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_this_machine_is_known(host: str) -> None:
    assert is_local(urlsplit(f"https://{host}:7080"))


@pytest.mark.parametrize("host", ["localhost.example", "10.0.0.1", "127.0.0.1.example", ""])
def test_another_machine_is_not_taken_for_this_one(host: str) -> None:
    assert not is_local(urlsplit(f"https://{host}:7080"))


def test_the_development_authority_is_trusted_for_this_machine_alone(data: Path) -> None:
    local = Access(data=data).context_for("https://localhost:7080")
    assert local is not None
    assert len(names_of(local)) == 1
    afar = Access(data=data).context_for("https://broker.example:7080")
    assert afar is not None
    assert names_of(afar) != names_of(local)
    for context in (local, afar):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname
    assert Access(data=data).context_for("http://localhost:7080") is None


def test_an_authority_that_is_named_is_the_only_one(data: Path) -> None:
    named = Access(ca=data / "tls" / "ca.pem").context_for("https://broker.example:7080")
    assert named is not None
    assert len(names_of(named)) == 1


def test_where_the_authority_may_not_be_looked_for_the_machines_own_count(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_file(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", is_file)
    found = Access(data=data).context_for("https://localhost:7080")
    assert found is not None


def test_who_speaks_no_tls_is_told_of_it() -> None:
    assert about_tls("https://localhost:7080") == ""
    assert "try `https`" in about_tls("http://localhost:7080")


def test_files_that_cannot_be_read_are_named(data: Path) -> None:
    with pytest.raises(ClientError, match=r"can't read certificates from `.*nowhere.pem`: No such"):
        Access(ca=data / "nowhere.pem").context_for("https://localhost:7080")
    with pytest.raises(ClientError, match="can't read a certificate and its key from"):
        Access(certificate=data / "tls" / "ca.pem").context_for("https://localhost:7080")
    Access(certificate=data / "tls" / "http.pem").context_for("https://localhost:7080")


def test_the_administrators_token_is_found_for_this_machine_alone(data: Path) -> None:
    environment = {"HEADGATE_DATA": str(data)}
    assert local_token("https://localhost:7080", environment) == "hgt_secret"
    assert local_token("https://broker.example:7080", environment) is None
    assert local_token("https://localhost:7080", {"HEADGATE_DATA": str(data / "no")}) is None
