"""An authority of a test, and the certificates by which brokers know each other."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headgate.live.links import LinkTls

URN = "urn:headgate:broker:"


class Authority:
    """Gives certificates to brokers."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        made = self._certificate(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.file = directory / "authority.pem"
        self.file.write_bytes(
            made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )

    def tls(self, broker: str, trusting: Authority | None = None) -> LinkTls:
        """How a broker of this name shows itself."""
        file = self._issued(broker)
        listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        dialling = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        dialling.check_hostname = False
        for context in (listening, dialling):
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_cert_chain(file)
            context.load_verify_locations((trusting or self).file)
        return LinkTls(listening, dialling, broker_of)

    def _issued(self, broker: str) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, broker)])
        uri = x509.UniformResourceIdentifier(URN + broker)
        made = (
            self._certificate(subject, key.public_key())
            .add_extension(x509.SubjectAlternativeName([uri]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        file = self._directory / f"{broker}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + made.public_bytes(serialization.Encoding.PEM)
        )
        return file

    def _certificate(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
        )


def broker_of(certificate: bytes) -> str | None:
    read = x509.load_der_x509_certificate(certificate)
    names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    (uri,) = names.get_values_for_type(x509.UniformResourceIdentifier)
    return uri.removeprefix(URN)
