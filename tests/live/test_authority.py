"""Does a broker without certificates get some that clients take, once, and for itself alone?"""

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from headgate.live import authority
from headgate.live.authority import DevelopmentAuthority
from headgate.live.private_files import FileError

NAMES = ["localhost", "127.0.0.1", "::1", "0.0.0.0", "not a host", "", "localhost"]


@pytest.fixture
def made(tmp_path: Path) -> DevelopmentAuthority:
    return DevelopmentAuthority(tmp_path / "tls")


def certificate(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def test_a_certificate_names_what_it_serves(made: DevelopmentAuthority, tmp_path: Path) -> None:
    file = tmp_path / "http.pem"
    made.for_http(file, NAMES)
    names = certificate(file).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["localhost", "127.0.0.1", "::1"]
    certificate(file).verify_directly_issued_by(certificate(made.certificate_file))


def test_keys_are_their_owners_alone(made: DevelopmentAuthority, tmp_path: Path) -> None:
    made.for_link(tmp_path / "deep" / "link.pem", "b1")
    for file in (tmp_path / "deep" / "link.pem", tmp_path / "tls" / "ca.key"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert serialization.load_pem_private_key(file.read_bytes(), None) is not None


def test_what_is_still_good_stays(made: DevelopmentAuthority, tmp_path: Path) -> None:
    file = tmp_path / "http.pem"
    made.for_http(file, NAMES)
    before = file.read_bytes(), made.certificate_file.read_bytes()
    made.for_http(file, NAMES)
    assert (file.read_bytes(), made.certificate_file.read_bytes()) == before
    made.for_http(file, [*NAMES, "broker.example"])
    assert file.read_bytes() != before[0]
    assert made.certificate_file.read_bytes() == before[1]


def test_what_soon_ends_is_made_anew(
    made: DevelopmentAuthority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "http.pem"
    made.for_http(file, NAMES)
    before, root = certificate(file), certificate(made.certificate_file)
    later = before.not_valid_after_utc - timedelta(days=30)
    monkeypatch.setattr(authority, "_now", lambda: later)
    made.for_http(file, NAMES)
    assert certificate(file).not_valid_after_utc > before.not_valid_after_utc
    assert certificate(made.certificate_file) == root
    monkeypatch.setattr(authority, "_now", lambda: root.not_valid_after_utc)
    made.for_http(file, NAMES)
    assert certificate(made.certificate_file).subject != root.subject
    certificate(file).verify_directly_issued_by(certificate(made.certificate_file))


def test_brokers_that_start_at_once_share_one_authority(tmp_path: Path) -> None:
    def start(number: int) -> None:
        DevelopmentAuthority(tmp_path / "tls").for_link(tmp_path / f"{number}.pem", f"b{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(8)))
    root = certificate(tmp_path / "tls" / "ca.pem")
    for number in range(8):
        certificate(tmp_path / f"{number}.pem").verify_directly_issued_by(root)


def test_a_damaged_certificate_is_made_anew(made: DevelopmentAuthority, tmp_path: Path) -> None:
    file = tmp_path / "http.pem"
    file.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    made.for_http(file, NAMES)
    certificate(file).verify_directly_issued_by(certificate(made.certificate_file))


def test_a_certificate_with_the_key_of_another_is_made_anew(
    made: DevelopmentAuthority, tmp_path: Path
) -> None:
    file, other = tmp_path / "http.pem", tmp_path / "other.pem"
    for one in (file, other):
        made.for_http(one, NAMES)
    key, mark, _ = other.read_bytes().partition(b"-----BEGIN CERTIFICATE")
    _, _, rest = file.read_bytes().partition(mark)
    file.write_bytes(key + mark + rest)
    made.for_http(file, NAMES)
    kept = serialization.load_pem_private_key(file.read_bytes(), None)
    assert kept.public_key() == certificate(file).public_key()


@pytest.mark.parametrize("key", [None, b"nothing", b"other"])
def test_an_authority_without_its_key_is_not_replaced_unasked(
    made: DevelopmentAuthority, tmp_path: Path, key: bytes | None
) -> None:
    made.for_http(tmp_path / "http.pem", NAMES)
    key_file = tmp_path / "tls" / "ca.key"
    if key is None:
        key_file.unlink()
    else:
        key_file.write_bytes((tmp_path / "http.pem").read_bytes() if key == b"other" else key)
    made.for_http(tmp_path / "http.pem", NAMES)  # what was given out is still good
    with pytest.raises(FileError, match=r"the key of the development authority .* is not in"):
        made.for_link(tmp_path / "link.pem", "b1")


def test_an_unreadable_authority_is_named(made: DevelopmentAuthority, tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    made.certificate_file.write_text("nothing")
    with pytest.raises(FileError, match=r"ca\.pem` can't be read: put it back"):
        made.for_http(tmp_path / "http.pem", NAMES)
