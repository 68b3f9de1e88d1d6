"""What is wrong with the certificates and keys that a broker is to use? Each in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from headgate.live.authority import BROKER_URN
from headgate.live.certificates import broker_of
from headgate.live.config import Config
from headgate.live.private_files import FileError, read_private, readable_by_others, shown

SOON_DAYS = 30


def certificate_problems(config: Config) -> Iterator[str]:
    """Of the configured files; those that the broker makes itself are its own business."""
    tls = config.tls
    if config.http.tls == "on" and tls.certificate:
        yield from _pair_problems("tls.certificate", tls.certificate, "tls.key", tls.key)
    if tls.client_authorities:
        if config.http.tls != "on":
            yield (
                "`tls.client_authorities` is of no use while `http.tls` is off: without TLS nobody "
                "shows a certificate"
            )
        yield from _authority_problems("tls.client_authorities", tls.client_authorities)
    if config.in_network and config.links.tls == "on" and tls.link_certificate:
        yield from _pair_problems(
            "tls.link_certificate", tls.link_certificate, "tls.link_key", tls.link_key
        )
        yield from _authority_problems("tls.link_authorities", tls.link_authorities)
        yield from _link_name_problems(config)


def key_file_problems(place: str, path: Path) -> Iterator[str]:
    """Who can read a secret that should be its owner's alone."""
    try:
        open_to_others = readable_by_others(path)
    except OSError:
        return  # that it isn't there is said elsewhere
    if open_to_others:
        yield f"`{place}`: others may read {shown(path)}: `chmod 600` it"


def _pair_problems(
    certificate_place: str, certificate_file: str, key_place: str, key_file: str
) -> Iterator[str]:
    certificate = key = None
    try:
        chain = _certificates(certificate_place, Path(certificate_file))
        certificate = chain[0]
        yield from _time_problems(certificate_place, certificate_file, certificate)
    except FileError as problem:
        yield str(problem)
    try:
        key = _private_key(key_place, Path(key_file))
        yield from key_file_problems(key_place, Path(key_file))
    except FileError as problem:
        yield str(problem)
    if certificate and key and key.public_key() != certificate.public_key():
        yield (
            f"`{key_place}`: the key in {shown(Path(key_file))} isn't that of the certificate in "
            f"{shown(Path(certificate_file))}: name the two that belong together"
        )


def _authority_problems(place: str, file: str) -> Iterator[str]:
    try:
        for certificate in _certificates(place, Path(file)):
            yield from _time_problems(place, file, certificate)
    except FileError as problem:
        yield str(problem)


def _link_name_problems(config: Config) -> Iterator[str]:
    path = Path(config.tls.link_certificate)
    try:
        certificate = _certificates("tls.link_certificate", path)[0]
    except FileError:
        return  # said already
    named = broker_of(certificate.public_bytes(serialization.Encoding.DER))
    if named != config.broker:
        found = "none" if named is None else f"`{BROKER_URN}{named}`"
        yield (
            f"`tls.link_certificate`: expected the alternative name `URI:{BROKER_URN}"
            f"{config.broker}` in {shown(path)}, found {found}: neighbours would not believe it"
        )


def _time_problems(place: str, file: str, certificate: x509.Certificate) -> Iterator[str]:
    now, where = datetime.now(UTC), f"`{place}`: the certificate in {shown(Path(file))}"
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if ends <= now:
        yield f"{where} expired on {ends:%Y-%m-%d}: renew it"
    elif ends <= now + timedelta(days=SOON_DAYS):
        yield f"{where} expires on {ends:%Y-%m-%d}: renew it now"
    elif begins > now:
        yield f"{where} isn't valid before {begins:%Y-%m-%d %H:%M} UTC: check the clock"


def _certificates(place: str, path: Path) -> list[x509.Certificate]:
    content = _content(place, path)
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError:
        raise FileError(
            f"`{place}`: expected certificates in PEM in {shown(path)}, found something else"
        ) from None


def _private_key(place: str, path: Path) -> PrivateKeyTypes:
    content = _content(place, path)
    if re.search(rb"ENCRYPTED", content):
        raise FileError(
            f"`{place}`: the key in {shown(path)} is encrypted, and nobody is there to ask for its "
            "password: decrypt it, readable by the broker alone"
        )
    try:
        return serialization.load_pem_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise FileError(
            f"`{place}`: expected a private key in PEM in {shown(path)}, found something else"
        ) from None


def _content(place: str, path: Path) -> bytes:
    try:
        content = read_private(path)
    except FileError as problem:
        raise FileError(f"`{place}`: {problem}") from None
    if content is None:
        raise FileError(f"`{place}`: there is no file {shown(path)}: check the name")
    return content
