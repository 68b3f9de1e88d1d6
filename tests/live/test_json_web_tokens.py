"""Is a JSON Web Token believed only where everything about it is right?"""

import base64
import hmac
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from headgate.live.json_web_tokens import (
    EXPIRES_S_MAX,
    TOKEN_BYTES_MAX,
    JsonWebTokens,
    Named,
    TokenRefusedError,
    json_web_tokens,
)
from headgate.live.private_files import FileError
from headgate.live.reading import ConfigError
from headgate.live.sections import JwtSection
from headgate.model.errors import HeadgateError

SECRET = b"0123456789abcdef0123456789abcdef"
RSA = rsa.generate_private_key(65_537, 2_048)
P256 = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
SOON = int(time.time()) + 600
CLAIMS = {"sub": "jane", "aud": "headgate", "iss": "https://issuer", "exp": SOON}


def public(key: Any) -> bytes:
    return bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )


def private(key: Any) -> bytes:
    return bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def section(file: Path, *algorithms: str, **more: Any) -> JwtSection:
    said = {"issuer": "https://issuer", "audience": "headgate", **more}
    return JwtSection(key_file=str(file), algorithms=algorithms, **said)  # type: ignore[arg-type]


def believing(directory: Path, content: bytes, *algorithms: str, **more: Any) -> JsonWebTokens:
    file = directory / "key"
    file.write_bytes(content)
    found = json_web_tokens(section(file, *algorithms, **more))
    assert found is not None
    return found


def refusal(tokens: JsonWebTokens, token: str) -> str:
    with pytest.raises(TokenRefusedError) as refused:
        tokens.named(token)
    assert token not in str(refused.value)
    return str(refused.value)


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (RSA, "PS512"), (P256, "ES256"), (ED, "EdDSA")]
)
def test_who_signed_it_with_the_right_key_is_believed(
    tmp_path: Path, key: Any, algorithm: str
) -> None:
    tokens = believing(tmp_path, public(key), algorithm)
    token = jwt.encode(CLAIMS, key, algorithm)
    assert tokens.named(token) == Named("jane", SOON * 1_000_000)


def test_a_shared_secret_does_as_well(tmp_path: Path) -> None:
    tokens = believing(tmp_path, SECRET + b"\n", "HS256")
    assert tokens.named(jwt.encode(CLAIMS, SECRET, "HS256")).principal == "jane"


def test_while_keys_change_there_may_be_two(tmp_path: Path) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    tokens = believing(tmp_path, public(P256) + public(other), "ES256")
    for key in (P256, other):
        assert tokens.named(jwt.encode(CLAIMS, key, "ES256")).principal == "jane"
    stranger = ec.generate_private_key(ec.SECP256R1())
    assert "isn't signed by a key" in refusal(tokens, jwt.encode(CLAIMS, stranger, "ES256"))


def test_the_principal_may_stand_elsewhere(tmp_path: Path) -> None:
    tokens = believing(tmp_path, public(P256), "ES256", principal_claim="email")
    token = jwt.encode({**CLAIMS, "email": "jane@example"}, P256, "ES256")
    assert tokens.named(token).principal == "jane@example"
    assert "lacks" in refusal(tokens, jwt.encode(CLAIMS, P256, "ES256"))


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ({"exp": 1}, "the token has expired"),
        ({"exp": None}, "the token lacks `exp`"),
        ({"exp": "soon"}, "can't be read"),
        ({"exp": float("inf")}, "can't be read"),
        ({"nbf": SOON}, "isn't valid yet"),
        ({"iat": SOON}, "isn't valid yet"),
        ({"aud": "elsewhere"}, "made out for another service"),
        ({"aud": None}, "the token lacks"),
        ({"iss": "https://other"}, "an issuer that isn't believed"),
        ({"iss": None}, "the token lacks"),
        ({"sub": None}, "the token lacks"),
        ({"sub": 7}, "can't be read"),
    ],
)
def test_what_it_says_has_to_be_right(
    tmp_path: Path, changed: dict[str, Any], because: str
) -> None:
    tokens = believing(tmp_path, public(P256), "ES256")
    claims = {key: value for key, value in {**CLAIMS, **changed}.items() if value is not None}
    head, body = encoded({"alg": "ES256", "typ": "JWT"}), encoded(claims)
    signed = f"{head}.{body}".encode()
    algorithm = jwt.get_algorithm_by_name("ES256")
    signature = base64.urlsafe_b64encode(algorithm.sign(signed, P256)).rstrip(b"=").decode()
    assert because in refusal(tokens, f"{head}.{body}.{signature}")


def test_the_token_does_not_choose_its_algorithm(tmp_path: Path) -> None:
    tokens = believing(tmp_path, public(RSA), "RS256")
    other = jwt.encode(CLAIMS, RSA, "RS512")
    assert "algorithm that isn't taken here" in refusal(tokens, other)
    none = f"{encoded({'alg': 'none'})}.{encoded(CLAIMS)}."
    assert "algorithm that isn't taken here" in refusal(tokens, none)


def test_a_public_key_is_no_shared_secret(tmp_path: Path) -> None:
    """The oldest attack: sign with HS256, by the public key that everybody knows."""
    key = public(RSA)
    head, body = encoded({"alg": "HS256", "typ": "JWT"}), encoded(CLAIMS)
    mac = hmac.digest(key, f"{head}.{body}".encode(), "sha256")
    forged = f"{head}.{body}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    assert "algorithm that isn't taken" in refusal(believing(tmp_path, key, "RS256"), forged)
    with pytest.raises(ConfigError, match="which is no shared secret"):
        believing(tmp_path, key, "HS256")


def test_a_key_that_the_token_brings_is_not_asked(tmp_path: Path) -> None:
    tokens = believing(tmp_path, public(RSA), "RS256")
    stranger = rsa.generate_private_key(65_537, 2_048)
    jwk = json.loads(jwt.get_algorithm_by_name("RS256").to_jwk(stranger.public_key()))
    for header in ({"jwk": jwk}, {"jku": "https://evil/keys"}, {"kid": "../../dev/null"}):
        token = jwt.encode(CLAIMS, stranger, "RS256", headers=header)
        assert "isn't signed by a key" in refusal(tokens, token)


def test_an_extension_that_must_be_understood_is_not_passed_over(tmp_path: Path) -> None:
    tokens = believing(tmp_path, public(P256), "ES256")
    token = jwt.encode(CLAIMS, P256, "ES256", headers={"crit": ["x"], "x": 1})
    assert "can't be read" in refusal(tokens, token)


def test_an_oversized_token_is_not_looked_at(tmp_path: Path) -> None:
    tokens = believing(tmp_path, public(P256), "ES256")
    token = jwt.encode({**CLAIMS, "more": "x" * TOKEN_BYTES_MAX}, P256, "ES256")
    assert "8,192 bytes or less" in refusal(tokens, token)


def test_a_far_expiry_is_cut(tmp_path: Path) -> None:
    tokens = believing(tmp_path, public(P256), "ES256")
    token = jwt.encode({**CLAIMS, "exp": 10**400}, P256, "ES256")
    assert tokens.named(token).expires_us == EXPIRES_S_MAX * 1_000_000


@given(st.one_of(st.text(max_size=200), st.from_regex(r"[\w-]*\.[\w-]*\.[\w-]*", fullmatch=True)))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    tokens = JsonWebTokens(section(Path("key"), "ES256"), (P256.public_key(),))
    with pytest.raises(TokenRefusedError):
        tokens.named(text)


@given(st.data())
def test_no_changed_character_is_passed_over(data: st.DataObject) -> None:
    tokens = JsonWebTokens(section(Path("key"), "EdDSA"), (ED.public_key(),))
    token = jwt.encode(CLAIMS, ED, "EdDSA")
    # The last character of a part has bits that say nothing.
    at = data.draw(st.integers(0, len(token) - 2).filter(lambda at: token[at + 1] != "."))
    other = data.draw(st.sampled_from("ABCabc019_-.").filter(lambda char: char != token[at]))
    with pytest.raises(TokenRefusedError):
        tokens.named(token[:at] + other + token[at + 1 :])


@pytest.mark.parametrize(
    ("content", "algorithms", "because"),
    [
        (public(P256), ["RS256"], "expected an RSA key of 2048 bits or more for RS256"),
        (public(rsa.generate_private_key(65_537, 1_024)), ["RS256"], "2048 bits or more"),
        (public(P256), ["ES384"], "expected an elliptic key on secp384r1 for ES384"),
        (public(RSA), ["ES256"], "expected an elliptic key on secp256r1 for ES256"),
        (public(RSA), ["EdDSA"], "expected an Ed25519 or Ed448 key for EdDSA"),
        (public(RSA), ["RS256", "EdDSA"], "expected an Ed25519 or Ed448 key for EdDSA"),
        (private(P256), ["ES256"], "expected a public key, found `private key`"),
        (b"nothing", ["ES256"], "expected a public key in PEM"),
        (
            b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            ["ES256"],
            "a public key in PEM that can be read",
        ),
        (b"short", ["HS256"], "expected a secret of 32 bytes or more for HS256, found 5"),
        (SECRET, ["HS512"], "expected a secret of 64 bytes or more for HS512, found 32"),
        (b"ssh-ed25519 AAAA", ["HS256"], "which is no shared secret"),
        (b"x" * 100_000, ["HS256"], "is too long for a key"),
    ],
)
def test_a_key_that_does_not_fit_is_refused_at_the_start(
    tmp_path: Path, content: bytes, algorithms: list[str], because: str
) -> None:
    with pytest.raises(HeadgateError) as refused:
        believing(tmp_path, content, *algorithms)
    assert because in str(refused.value)


def test_a_certificate_holds_a_key_as_well(tmp_path: Path) -> None:
    from headgate.live.authority import DevelopmentAuthority

    authority = DevelopmentAuthority(tmp_path)
    authority.for_link(tmp_path / "issuer.pem", "issuer")
    content = (tmp_path / "issuer.pem").read_bytes()
    key = serialization.load_pem_private_key(content, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    certificate = content[content.index(b"-----BEGIN CERTIFICATE") :]
    tokens = believing(tmp_path, certificate, "ES256")
    assert tokens.named(jwt.encode(CLAIMS, key, "ES256")).principal == "jane"


def test_no_key_no_tokens(tmp_path: Path) -> None:
    assert json_web_tokens(JwtSection()) is None
    with pytest.raises(FileError, match=r"identities\.jwt\.key_file.* can't be read: no such file"):
        json_web_tokens(section(tmp_path / "none", "ES256"))


def test_no_secret_is_shown(tmp_path: Path) -> None:
    assert SECRET.decode() not in repr(believing(tmp_path, SECRET, "HS256"))
