"""Do the right ends trust each other, and no others?"""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from headgate.live.authority import BROKER_URN, DevelopmentAuthority
from headgate.live.certificates import (
    authority,
    broker_of,
    http_context,
    http_files,
    link_contexts,
    link_files,
    names_of,
    reload,
)
from headgate.live.config import Config, read_config, with_section
from headgate.live.private_files import FileError
from tests.live.handshakes import shake_hands


def broker(data: Path, name: str) -> Config:
    nodes = '[network]\npolicy_host = "b1"\n[network.nodes]\na = ["b1", "b2"]\n'
    file = data / "network.toml"
    file.write_text(f"{nodes}[network.brokers.b1]\n[network.brokers.b2]\n")
    return read_config(file, {}, name, str(data / "kept"))


def links(config: Config) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    found = link_contexts(config)
    assert found is not None
    return found


def a_client(config: Config) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority(config).certificate_file)


def der(file: Path) -> bytes:
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    return certificate.public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_a_client_that_trusts_the_authority_is_served(tmp_path: Path, name: str) -> None:
    config = Config(data=str(tmp_path))
    serving = http_context(config)
    assert serving is not None
    client = a_client(config)
    client.set_alpn_protocols(["h2", "http/1.1"])
    agreed = shake_hands(serving, client, name)
    assert (agreed.version, agreed.protocol) == ("TLSv1.3", "http/1.1")


def test_a_client_asks_for_the_right_name(tmp_path: Path) -> None:
    config = Config(data=str(tmp_path))
    serving = http_context(config)
    assert serving is not None
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(serving, a_client(config), "elsewhere.example")


def test_old_versions_of_tls_are_refused(tmp_path: Path) -> None:
    config = Config(data=str(tmp_path))
    serving = http_context(config)
    assert serving is not None
    assert serving.minimum_version == ssl.TLSVersion.TLSv1_2
    assert all(one.minimum_version == ssl.TLSVersion.TLSv1_3 for one in links(config))
    dialling = links(config)[1]
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.load_cert_chain(*link_files(config)[:2])
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake_hands(old, dialling)


def test_without_tls_there_is_no_context() -> None:
    config = with_section(with_section(Config(), "http", tls="off"), "links", tls="off")
    assert http_context(config) is None
    assert link_contexts(config) is None


def test_neighbours_know_each_other_by_their_certificates(tmp_path: Path) -> None:
    listening, _ = links(broker(tmp_path, "b1"))
    _, dialling = links(broker(tmp_path, "b2"))
    agreed = shake_hands(listening, dialling)
    assert agreed.server_seen is not None
    assert agreed.client_seen is not None
    assert (broker_of(agreed.server_seen), broker_of(agreed.client_seen)) == ("b2", "b1")


def test_a_broker_of_another_authority_is_no_neighbour(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    listening, dialling = links(broker(tmp_path, "b1"))
    other_listening, other_dialling = links(broker(tmp_path / "other", "b2"))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(other_listening, dialling)
    other_dialling.verify_mode = ssl.CERT_NONE
    with pytest.raises(ssl.SSLError):
        shake_hands(listening, other_dialling)


def test_who_shows_no_certificate_is_no_neighbour(tmp_path: Path) -> None:
    config = broker(tmp_path, "b1")
    listening, _ = links(config)
    nobody = a_client(config)
    nobody.check_hostname = False
    with pytest.raises(ssl.SSLError):
        shake_hands(listening, nobody)


def test_a_certificate_for_http_opens_no_link(tmp_path: Path) -> None:
    config = broker(tmp_path, "b1")
    impostor = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    impostor.check_hostname = False
    impostor.verify_mode = ssl.CERT_NONE
    impostor.load_cert_chain(*http_files(config))
    with pytest.raises(ssl.SSLError, match=r"certificate purpose|CERTIFICATE_VERIFY_FAILED"):
        shake_hands(links(config)[0], impostor)
    assert broker_of(der(http_files(config)[0])) is None


def test_a_client_may_show_a_certificate_of_the_named_authorities(tmp_path: Path) -> None:
    clients = DevelopmentAuthority(tmp_path / "clients")
    clients.for_link(tmp_path / "jane.pem", "jane")
    config = with_section(
        Config(data=str(tmp_path / "kept")), "tls", client_authorities=str(clients.certificate_file)
    )
    serving = http_context(config)
    assert serving is not None
    client = a_client(config)
    assert shake_hands(serving, client, "localhost").server_seen is None
    client.load_cert_chain(tmp_path / "jane.pem")
    seen = shake_hands(serving, client, "localhost").server_seen
    assert seen is not None
    assert names_of(seen).common_name == "jane"
    assert names_of(seen).uris == ("urn:headgate:broker:jane",)


def test_a_certificate_of_two_brokers_is_of_none() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    uris = [x509.UniformResourceIdentifier(BROKER_URN + one) for one in ("b1", "b2")]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2027, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName(uris), critical=False)
        .sign(key, hashes.SHA256())
    )
    content = made.public_bytes(serialization.Encoding.DER)
    assert names_of(content).uris == (f"{BROKER_URN}b1", f"{BROKER_URN}b2")
    assert names_of(content).common_name is None
    assert broker_of(content) is None


def test_what_is_no_certificate_names_no_broker() -> None:
    assert broker_of(b"") is None
    assert broker_of(b"\x30\x82\xff\xff") is None


def test_a_renewed_certificate_is_used_without_a_restart(tmp_path: Path) -> None:
    config = Config(data=str(tmp_path))
    serving = http_context(config)
    assert serving is not None
    renewed = with_section(config, "tls", names=("broker.example",))
    reload(serving, *http_files(renewed))
    assert shake_hands(serving, a_client(config), "broker.example").version == "TLSv1.3"


@pytest.mark.parametrize("content", [None, "nothing"])
def test_a_certificate_that_can_not_be_used_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "c.pem"
    if content is not None:
        file.write_text(content)
    config = with_section(Config(), "tls", certificate=str(file), key=str(file))
    with pytest.raises(FileError, match=r"c\.pem` with the key .* can't be used"):
        http_context(config)
    config = with_section(Config(data=str(tmp_path)), "tls", client_authorities=str(file))
    with pytest.raises(FileError, match=r"the authorities in .*c\.pem` can't be used"):
        http_context(config)
