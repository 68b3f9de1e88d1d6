"""Is each way in which a certificate or a key can be wrong said in a sentence?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from headgate.live import authority as module
from headgate.live.authority import DevelopmentAuthority
from headgate.live.certificate_problems import certificate_problems, key_file_problems
from headgate.live.config import Config, read_config, with_section


@pytest.fixture
def good(tmp_path: Path) -> Config:
    """A configuration with a certificate of another authority than the broker's own."""
    authority = DevelopmentAuthority(tmp_path / "authority")
    authority.for_http(tmp_path / "http.pem", ["localhost"])
    return of(tmp_path / "http.pem", tmp_path / "http.pem")


def of(certificate: Path, key: Path) -> Config:
    return with_section(Config(), "tls", certificate=str(certificate), key=str(key))


def only(config: Config) -> str:
    found = list(certificate_problems(config))
    assert len(found) == 1, found
    return found[0]


def test_a_pair_that_belongs_together_is_no_problem(good: Config) -> None:
    assert list(certificate_problems(good)) == []
    assert list(certificate_problems(Config())) == []


def test_a_key_of_another_certificate_is_found(good: Config, tmp_path: Path) -> None:
    DevelopmentAuthority(tmp_path / "authority").for_http(tmp_path / "other.pem", ["localhost"])
    said = only(of(tmp_path / "http.pem", tmp_path / "other.pem"))
    assert said.startswith("`tls.key`: the key in ")
    assert "isn't that of the certificate" in said


@pytest.mark.parametrize(
    ("days", "said"),
    [(-1, "isn't valid before"), (800, "expires on"), (900, "expired on")],
)
def test_the_time_of_a_certificate_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, said: str
) -> None:
    monkeypatch.setattr(module, "_now", lambda: datetime.now(UTC) - timedelta(days=days))
    DevelopmentAuthority(tmp_path / "authority").for_http(tmp_path / "http.pem", ["localhost"])
    found = only(of(tmp_path / "http.pem", tmp_path / "http.pem"))
    assert found.startswith("`tls.certificate`: the certificate in ")
    assert said in found


def test_a_key_that_others_may_read_is_found(good: Config, tmp_path: Path) -> None:
    (tmp_path / "http.pem").chmod(0o644)
    assert only(good).endswith("http.pem`: `chmod 600` it")
    assert list(key_file_problems("x", tmp_path / "none")) == []


def test_an_encrypted_key_is_found_before_somebody_is_asked_for_its_password(
    good: Config, tmp_path: Path
) -> None:
    key = serialization.load_pem_private_key((tmp_path / "http.pem").read_bytes(), None)
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"geheim"),
        )
    )
    assert "is encrypted" in only(of(tmp_path / "http.pem", tmp_path / "key.pem"))


def test_files_that_hold_something_else_are_found(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing")
    found = list(certificate_problems(of(tmp_path / "text", tmp_path / "text")))
    assert [said.split(" in `")[0] for said in found] == [
        "`tls.certificate`: expected certificates in PEM",
        "`tls.key`: expected a private key in PEM",
    ]
    found = list(certificate_problems(of(tmp_path / "none", tmp_path)))
    assert "there is no file" in found[0]
    assert "can't be read" in found[1]


def test_authorities_are_looked_at(good: Config, tmp_path: Path) -> None:
    config = with_section(good, "tls", client_authorities=str(tmp_path / "none"))
    assert only(config).startswith("`tls.client_authorities`: there is no file")
    config = with_section(good, "tls", client_authorities=str(tmp_path / "authority" / "ca.pem"))
    assert list(certificate_problems(config)) == []
    assert "is of no use" in only(with_section(config, "http", tls="off"))


def test_a_link_certificate_names_its_broker(tmp_path: Path) -> None:
    authority = DevelopmentAuthority(tmp_path / "authority")
    authority.for_link(tmp_path / "link.pem", "b1")
    file = tmp_path / "network.toml"
    file.write_text(
        '[network]\npolicy_host = "b1"\n[network.nodes]\na = ["b1", "b2"]\n'
        "[network.brokers.b1]\n[network.brokers.b2]\n"
        '[tls]\nlink_certificate = "link.pem"\nlink_key = "link.pem"\n'
        f'link_authorities = "{authority.certificate_file}"\n'
    )
    assert list(certificate_problems(read_config(file, {}, "b1"))) == []
    assert "expected the alternative name `URI:urn:headgate:broker:b2`" in only(
        read_config(file, {}, "b2")
    )
    authority.for_http(tmp_path / "link.pem", ["localhost"])
    assert "found none: neighbours would not believe it" in only(read_config(file, {}, "b1"))
