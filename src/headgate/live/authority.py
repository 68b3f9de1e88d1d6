"""Who vouches for a broker that was given no certificate? An authority that it makes itself.

It is for development and for one machine: whoever has its key can speak for every broker. Brokers
on one data directory share it. ECDSA on P-256, which every client takes.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from headgate.live.private_files import (
    FileError,
    make_directory,
    one_at_a_time,
    read_private,
    shown,
    write_private,
)

AUTHORITY_DAYS = 3_650
CERTIFICATE_DAYS = 820
"""No more than clients of Apple's accept."""
RENEWED_DAYS = 60
"""A certificate with less time than this is made anew at the next start."""
BROKER_URN = "urn:headgate:broker:"
"""A link certificate names its broker in a URI of this form."""
_BACKDATED = timedelta(hours=1)
_HOST_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_-]{1,63})*")


@final
class DevelopmentAuthority:
    """The authority in a directory, and the certificates it gives out."""

    def __init__(self, directory: Path) -> None:
        self.certificate_file = directory / "ca.pem"
        self._key_file = directory / "ca.key"
        self._directory = directory

    def for_http(self, file: Path, names: Sequence[str]) -> None:
        """A certificate and its key in one file, for who serves under these names and addresses."""
        wanted = tuple(dict.fromkeys(filter(None, map(_general_name, names))))
        self._provide(file, "Headgate", wanted, [ExtendedKeyUsageOID.SERVER_AUTH])

    def for_link(self, file: Path, broker: str) -> None:
        """A certificate and its key in one file, for a broker that speaks to its neighbours."""
        self._provide(
            file,
            broker,
            (x509.UniformResourceIdentifier(BROKER_URN + broker),),
            [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH],
        )

    def _provide(
        self,
        file: Path,
        common_name: str,
        names: Sequence[x509.GeneralName],
        uses: Iterable[x509.ObjectIdentifier],
    ) -> None:
        with one_at_a_time(self._directory):
            authority = self._certificate()
            if not _still_good(read_private(file), authority, names):
                key = ec.generate_private_key(ec.SECP256R1())
                certificate = self._issued(authority, key.public_key(), common_name, names, uses)
                make_directory(file.parent)
                write_private(file, _pem(key) + _certificate_pem(certificate))

    def _certificate(self) -> x509.Certificate:
        """The authority's own certificate; made, with its key, where there is none or it ended."""
        kept = read_private(self.certificate_file)
        if kept is not None:
            certificate = self._read(kept)
            if certificate.not_valid_after_utc > _now() + timedelta(days=RENEWED_DAYS):
                return certificate
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _self_signed(key)
        # The key comes first: a certificate whose key is lost could give out nothing.
        write_private(self._key_file, _pem(key))
        write_private(self.certificate_file, _certificate_pem(certificate))
        return certificate

    def _read(self, kept: bytes) -> x509.Certificate:
        try:
            return x509.load_pem_x509_certificate(kept)
        except ValueError:
            raise FileError(
                f"the certificate of the development authority {shown(self.certificate_file)} "
                "can't be read: put it back, or remove it to begin anew"
            ) from None

    def _key(self, authority: x509.Certificate) -> ec.EllipticCurvePrivateKey:
        kept = read_private(self._key_file)
        try:
            key = serialization.load_pem_private_key(kept, None) if kept is not None else None
        except (TypeError, ValueError):
            key = None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or (
            key.public_key() != authority.public_key()
        ):
            raise FileError(
                f"the key of the development authority {shown(self.certificate_file)} is not in "
                f"{shown(self._key_file)}: put it back, or remove both files to begin anew"
            )
        return key

    def _issued(
        self,
        authority: x509.Certificate,
        public_key: ec.EllipticCurvePublicKey,
        common_name: str,
        names: Sequence[x509.GeneralName],
        uses: Iterable[x509.ObjectIdentifier],
    ) -> x509.Certificate:
        key = self._key(authority)
        return (
            _begun(common_name, authority.subject, public_key, CERTIFICATE_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()),
                critical=False,
            )
            .sign(key, hashes.SHA256())
        )


def _self_signed(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    # Its key is part of its name: who trusted an earlier one isn't led to believe it is this.
    digest = x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest.hex()[:8]
    common_name = f"Headgate development authority {digest}"
    name = _name(common_name)
    return (
        _begun(common_name, name, key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _begun(
    common_name: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    begins = _now() - _BACKDATED
    return (
        x509.CertificateBuilder()
        .subject_name(_name(common_name))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _still_good(
    kept: bytes | None, authority: x509.Certificate, names: Sequence[x509.GeneralName]
) -> bool:
    if kept is None:
        return False
    try:
        certificate = x509.load_pem_x509_certificate(kept)
        certificate.verify_directly_issued_by(authority)
        named = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        key = serialization.load_pem_private_key(kept, None)
    except Exception:  # whatever is wrong with it, another one is made
        return False
    return (
        list(named.value) == list(names)
        and key.public_key() == certificate.public_key()
        and certificate.not_valid_after_utc > _now() + timedelta(days=RENEWED_DAYS)
    )


def _general_name(text: str) -> x509.GeneralName | None:
    """An address or the name of a host; what can be neither is left out."""
    try:
        address = ipaddress.ip_address(text)
        return None if address.is_unspecified else x509.IPAddress(address)
    except ValueError:
        return x509.DNSName(text) if _HOST_NAME.fullmatch(text) else None


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _now() -> datetime:
    return datetime.now(UTC)
