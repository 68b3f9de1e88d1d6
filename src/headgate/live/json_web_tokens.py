"""Whom does a JSON Web Token name? Only by the algorithms and the key that were configured.

What the token says of its own algorithm and key is never believed (RFC 8725): the algorithm has to
be one of the configured ones, and the key fits that algorithm or the broker doesn't start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from headgate.live.private_files import FileError, reason, shown
from headgate.live.reading import ConfigError
from headgate.live.sections import JwtSection
from headgate.model.errors import HeadgateError, named

TOKEN_BYTES_MAX = 8_192
KEY_FILE_BYTES_MAX = 65_536
RSA_BITS_MIN = 2_048
EXPIRES_S_MAX = 2**40
_SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
_CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
_BLOCK = re.compile(rb"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----", re.DOTALL)


class TokenRefusedError(HeadgateError):
    """The token isn't believed; the text says why, and nothing of what is in it."""


@dataclass(frozen=True, slots=True)
class Named:
    """Whom a token names, and until when."""

    principal: str
    expires_us: int


@final
class JsonWebTokens:
    """The tokens that are believed here."""

    def __init__(self, settings: JwtSection, keys: tuple[Any, ...]) -> None:
        self._settings = settings
        self._keys = keys
        self._required = ["exp", "aud", settings.principal_claim]
        if settings.issuer:
            self._required.append("iss")

    def __repr__(self) -> str:
        return f"JsonWebTokens({self._settings!r})"

    def named(self, token: str) -> Named:
        """Whom it names, or a refusal."""
        if len(token) > TOKEN_BYTES_MAX:
            raise TokenRefusedError(
                f"expected a token of {TOKEN_BYTES_MAX:,} bytes or less, found {len(token):,}"
            )
        said = self._believed(token)
        principal = said.get(self._settings.principal_claim)
        if not isinstance(principal, str):
            raise TokenRefusedError(
                f"the token names nobody: expected text in its `{self._settings.principal_claim}`"
            )
        return Named(principal, min(int(said["exp"]), EXPIRES_S_MAX) * 1_000_000)

    def _believed(self, token: str) -> Mapping[str, Any]:
        for key in self._keys:
            try:
                return self._decoded(token, key)
            except jwt.InvalidSignatureError:
                continue  # while keys change, there are two
            except jwt.PyJWTError as refusal:
                raise TokenRefusedError(_WHY.get(refusal.__class__, _UNREADABLE)) from None
            except (ValueError, TypeError, RecursionError, OverflowError):
                raise TokenRefusedError(_UNREADABLE) from None
        raise TokenRefusedError("the token isn't signed by a key that is believed here")

    def _decoded(self, token: str, key: Any) -> Mapping[str, Any]:
        settings = self._settings
        return jwt.decode(
            token,
            key,
            algorithms=list(settings.algorithms),
            audience=settings.audience,
            issuer=settings.issuer or None,
            leeway=settings.leeway_s,
            options={"require": self._required, "verify_signature": True},
        )


_UNREADABLE = "the token can't be read, or lacks what a token here has to say"
_WHY: dict[type[Exception], str] = {
    jwt.ExpiredSignatureError: "the token has expired: get a new one",
    jwt.ImmatureSignatureError: "the token isn't valid yet: check the clocks",
    jwt.InvalidIssuedAtError: "the token was issued in the future: check the clocks",
    jwt.InvalidAudienceError: "the token is made out for another service",
    jwt.InvalidIssuerError: "the token comes from an issuer that isn't believed here",
    jwt.InvalidAlgorithmError: "the token is signed by an algorithm that isn't taken here",
    jwt.MissingRequiredClaimError: "the token lacks `exp`, `aud`, `iss` or the principal",
}


def json_web_tokens(settings: JwtSection) -> JsonWebTokens | None:
    """As configured; `None` where no key is. A refusal says what is wrong with the key."""
    if not settings.key_file:
        return None
    path = Path(settings.key_file)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as problem:
        raise FileError(
            f"the key of `identities.jwt.key_file`, {shown(path)}, can't be read: "
            f"{reason(problem)}; check the name and who may read it"
        ) from None
    if len(content) > KEY_FILE_BYTES_MAX:
        raise ConfigError(f"{shown(path)} is too long for a key")
    if settings.algorithms[0].startswith("HS"):
        return JsonWebTokens(settings, (_secret(content, settings, path),))
    keys = tuple(_public_key(block, path) for block in _BLOCK.finditer(content))
    if not keys:
        raise ConfigError(f"{shown(path)}: expected a public key in PEM")
    for key in keys:
        for algorithm in settings.algorithms:
            _check_fits(key, algorithm, path)
    return JsonWebTokens(settings, keys)


def _secret(content: bytes, settings: JwtSection, path: Path) -> bytes:
    secret = content.strip()
    if _BLOCK.search(content) or secret.startswith((b"ssh-", b"ecdsa-")):
        # Whoever has the public key could sign (algorithm confusion).
        raise ConfigError(
            f"{shown(path)} holds a public key or a certificate, which is no shared secret: name "
            "its algorithm, as in ES256"
        )
    least = max(_SECRET_BYTES[algorithm] for algorithm in settings.algorithms)
    if len(secret) < least:
        raise ConfigError(
            f"{shown(path)}: expected a secret of {least} bytes or more for "
            f"{', '.join(settings.algorithms)}, found {len(secret)}"
        )
    return secret


def _public_key(block: re.Match[bytes], path: Path) -> Any:
    kind = block[1].decode()
    try:
        if kind == "CERTIFICATE":
            return x509.load_pem_x509_certificate(block[0]).public_key()
        if kind.endswith("PUBLIC KEY"):
            return serialization.load_pem_public_key(block[0])
    except Exception:
        raise ConfigError(f"{shown(path)}: expected a public key in PEM that can be read") from None
    raise ConfigError(
        f"{shown(path)}: expected a public key, found {named(kind.lower())}: a broker checks "
        "tokens, it needn't be able to sign them"
    )


def _check_fits(key: Any, algorithm: str, path: Path) -> None:
    family = algorithm[:2]
    if family in ("RS", "PS"):
        fits = isinstance(key, rsa.RSAPublicKey) and key.key_size >= RSA_BITS_MIN
        wanted = f"an RSA key of {RSA_BITS_MIN} bits or more"
    elif family == "ES":
        curve = _CURVES[algorithm]
        fits = isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, curve)
        wanted = f"an elliptic key on {curve.name}"
    else:
        fits = isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey)
        wanted = "an Ed25519 or Ed448 key"
    if not fits:
        raise ConfigError(f"{shown(path)}: expected {wanted} for {algorithm}, found another key")
