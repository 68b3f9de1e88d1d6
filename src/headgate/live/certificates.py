"""With which certificates does a broker speak TLS, and whom does it believe?

HTTP takes TLS 1.2 and newer, for the sake of older clients; brokers speak TLS 1.3 to each other,
and both ends show a certificate that names their broker.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname

from cryptography import x509
from cryptography.x509.oid import NameOID

from headgate.live.authority import BROKER_URN, DevelopmentAuthority
from headgate.live.config import Config
from headgate.live.private_files import FileError, reason, shown


@dataclass(frozen=True, slots=True)
class CertificateNames:
    """Whom a certificate names, and until when."""

    common_name: str | None
    uris: tuple[str, ...]
    expires_us: int


def http_context(config: Config) -> ssl.SSLContext | None:
    """What HTTP is served with; `None` where the settings say without TLS."""
    if config.http.tls != "on":
        return None
    certificate, key = http_files(config)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    _load(context, certificate, key)
    if config.tls.client_authorities:
        # Optional: who shows none may still have a password or a token.
        context.verify_mode = ssl.CERT_OPTIONAL
        _trust(context, Path(config.tls.client_authorities))
    return context


def link_contexts(config: Config) -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
    """How neighbours are listened to, and how they are dialled; `None` where without TLS.

    Either end is refused without a certificate of a link authority. That it names the right broker
    is for the caller to see, by `broker_of`.
    """
    if config.links.tls != "on":
        return None
    certificate, key, authorities = link_files(config)
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    dialling = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    dialling.check_hostname = False  # a broker is known by its name, wherever it is
    for context in (listening, dialling):
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        _load(context, certificate, key)
        _trust(context, authorities)
    return listening, dialling


def broker_of(certificate: bytes) -> str | None:
    """The one broker that a link certificate (DER) names."""
    try:
        names = names_of(certificate)
    except ValueError:
        return None
    brokers = [uri for uri in names.uris if uri.startswith(BROKER_URN)]
    return brokers[0].removeprefix(BROKER_URN) or None if len(brokers) == 1 else None


def names_of(certificate: bytes) -> CertificateNames:
    """Whom a certificate (DER) names; a `ValueError` where it can't be read."""
    read = x509.load_der_x509_certificate(certificate)
    common_names = read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    try:
        others = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        uris: tuple[str, ...] = ()
    else:
        uris = tuple(others.get_values_for_type(x509.UniformResourceIdentifier))
    # With two of them, nobody could say who is meant.
    only = str(common_names[0].value) if len(common_names) == 1 else None
    return CertificateNames(only, uris, int(read.not_valid_after_utc.timestamp()) * 1_000_000)


def http_files(config: Config) -> tuple[Path, Path]:
    """Certificate and key for HTTP, the development ones where none are set."""
    if config.tls.certificate:
        return Path(config.tls.certificate), Path(config.tls.key)
    file = config.directory / "tls" / "http.pem"
    authority(config).for_http(file, development_names(config))
    return file, file


def link_files(config: Config) -> tuple[Path, Path, Path]:
    """Certificate, key and authorities for links, the development ones where none are set."""
    tls = config.tls
    if tls.link_certificate:
        return Path(tls.link_certificate), Path(tls.link_key), Path(tls.link_authorities)
    file = config.directory / "tls" / "link.pem"
    found = authority(config)
    found.for_link(file, config.broker)
    return file, file, found.certificate_file


def authority(config: Config) -> DevelopmentAuthority:
    """The one that the brokers on this machine share."""
    return DevelopmentAuthority(config.shared / "tls")


def development_names(config: Config) -> list[str]:
    """Under what names this machine may be called."""
    return ["localhost", "127.0.0.1", "::1", gethostname(), config.http.host, *config.tls.names]


def reload(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Use what the files hold now for the connections to come."""
    _load(context, certificate, key)


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    try:
        # Without a password callback OpenSSL would ask on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ValueError) as problem:
        raise FileError(
            f"the certificate {shown(certificate)} with the key {shown(key)} can't be used: "
            f"{reason(problem)}; `headgate up --check` says more"
        ) from None


def _trust(context: ssl.SSLContext, authorities: Path) -> None:
    try:
        context.load_verify_locations(authorities)
    except (OSError, ValueError) as problem:
        raise FileError(
            f"the authorities in {shown(authorities)} can't be used: {reason(problem)}; expected "
            "certificates in PEM"
        ) from None
