"""Is everybody known by what they say of themselves, and nobody by less?"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from headgate.live.authority import DevelopmentAuthority
from headgate.live.config import Config, with_section
from headgate.live.identities import (
    ADMIN_FILE,
    REMEMBERED_S,
    TOKEN_PREFIX,
    Credentials,
    Identities,
    Identity,
    NotAuthenticatedError,
    digest_of,
    new_token,
    provide_admin_token,
)
from headgate.live.passwords import PasswordChecks, hash_password
from headgate.live.sections import CertificatesSection, JwtSection
from headgate.stores.accounts import ADMINISTRATOR, Accounts, KeptToken
from tests.live.hashing import OTHER, QUICK, quick_checks

HERE = "10.0.0.1"
PASSWORD = "correct horse"


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


class World:
    """A broker's identities, with jane among them."""

    def __init__(self, directory: Path) -> None:
        self.config = Config(data=str(directory))
        self.accounts = Accounts(directory)
        self.accounts.add_user("jane", hash_password(PASSWORD, QUICK), 1)
        self.clock = Clock()
        self.checks: PasswordChecks | None = None

    def set(self, **changed: Any) -> None:
        self.config = with_section(self.config, "identities", **changed)

    def limit(self, **changed: Any) -> None:
        self.config = with_section(self.config, "limits", **changed)

    def play(self, act: Callable[[Identities], Awaitable[None]]) -> None:
        async def run() -> None:
            identities = Identities(
                self.config,
                self.accounts,
                passwords=self.checks or quick_checks(),
                clock=self.clock,
            )
            try:
                await act(identities)
            finally:
                await identities.close()

        asyncio.run(run())

    def known(self, said: Credentials) -> Identity:
        found: list[Identity] = []

        async def ask(identities: Identities) -> None:
            found.append(await identities.from_credentials(said, HERE))

        self.play(ask)
        return found[0]

    def refusal(self, said: Credentials) -> NotAuthenticatedError:
        with pytest.raises(NotAuthenticatedError) as refused:
            self.known(said)
        return refused.value


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.accounts.close()


def jane(password: str = PASSWORD) -> Credentials:
    return Credentials(basic=("jane", password))


def test_a_password_says_who_it_is(world: World) -> None:
    assert world.known(jane()) == Identity("jane", "password", False, False)
    assert str(world.refusal(jane("wrong"))) == "the name or the password is wrong"


def test_an_unknown_name_is_refused_in_the_same_words(world: World) -> None:
    wrong = world.refusal(jane("wrong"))
    unknown = world.refusal(Credentials(basic=("nobody", PASSWORD)))
    assert (str(unknown), unknown.retry_after_s) == (str(wrong), wrong.retry_after_s)


@pytest.mark.parametrize("name", ["", "jane\0", "\ud800", "j" * 5_000, "JANE", "ｊane"])
def test_a_name_that_only_looks_like_one_is_none(world: World, name: str) -> None:
    assert "wrong" in str(world.refusal(Credentials(basic=(name, PASSWORD))))


def test_who_says_nothing_is_let_in_only_where_that_is_configured(world: World) -> None:
    assert "expected a name and a password" in str(world.refusal(Credentials()))
    world.set(anonymous="guest")
    assert world.known(Credentials()) == Identity("guest", "anonymous", False, False)
    assert "wrong" in str(world.refusal(jane("wrong")))
    assert "isn't known" in str(world.refusal(Credentials(bearer="x")))


def test_who_administers_and_who_audits_is_configured(world: World) -> None:
    world.set(administrators=("jane",))
    assert world.known(jane()) == Identity("jane", "password", True, True)
    world.set(administrators=(), auditors=("jane",))
    assert world.known(jane()) == Identity("jane", "password", False, True)


def test_a_token_stands_for_the_password_for_a_while(world: World) -> None:
    async def use(identities: Identities) -> None:
        token = await identities.log_in("jane", PASSWORD, HERE)
        assert token.token.startswith(TOKEN_PREFIX)
        until_us = int((world.clock.now_s + 43_200) * 1_000_000)
        assert token.identity == Identity("jane", "token", False, False, until_us)
        said = Credentials(bearer=token.token)
        assert await identities.from_credentials(said, HERE) == token.identity
        other = await identities.log_in("jane", PASSWORD, HERE)
        await identities.log_out(token.token)
        with pytest.raises(NotAuthenticatedError, match="log in again"):
            await identities.from_credentials(said, HERE)
        said = Credentials(bearer=other.token)
        assert await identities.from_credentials(said, HERE) == other.identity
        world.clock.now_s += 43_200
        with pytest.raises(NotAuthenticatedError, match="log in again"):
            await identities.from_credentials(said, HERE)
        await identities.log_out("anything else")

    world.play(use)


def test_a_token_is_kept_as_its_digest_alone(world: World, tmp_path: Path) -> None:
    async def use(identities: Identities) -> None:
        token = await identities.log_in("jane", PASSWORD, HERE)
        secret = token.token.removeprefix(TOKEN_PREFIX).encode()
        assert len(secret) == 43
        for file in tmp_path.iterdir():
            assert secret not in file.read_bytes()
        assert world.accounts.token(digest_of(token.token), 1) is not None
        assert token.token not in repr(token)

    world.play(use)


def test_a_changed_password_ends_what_the_old_one_opened(world: World) -> None:
    async def use(identities: Identities) -> None:
        token = await identities.log_in("jane", PASSWORD, HERE)
        world.accounts.set_password("jane", hash_password("battery staple", QUICK))
        for said in (jane(), Credentials(bearer=token.token)):
            with pytest.raises(NotAuthenticatedError):
                await identities.from_credentials(said, HERE)
        found = await identities.from_credentials(jane("battery staple"), HERE)
        assert found.principal == "jane"
        world.accounts.remove_user("jane")
        with pytest.raises(NotAuthenticatedError):
            await identities.from_credentials(jane("battery staple"), HERE)

    world.play(use)


def test_a_password_that_is_changed_while_it_is_checked_is_wrong(world: World) -> None:
    class Changing(PasswordChecks):  # type: ignore[misc]
        async def fits(self, password: str, hashed: str | None) -> bool:
            answer = await super().fits(password, hashed)
            world.accounts.set_password("jane", hash_password("battery staple", QUICK))
            return answer

    world.checks = Changing(1, 1, QUICK)
    assert "wrong" in str(world.refusal(jane()))


def test_what_was_right_is_not_hashed_again_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    fits = PasswordChecks.fits

    async def counted(self: PasswordChecks, password: str, hashed: str | None) -> bool:
        checked.append(password)
        return await fits(self, password, hashed)

    monkeypatch.setattr(PasswordChecks, "fits", counted)

    async def use(identities: Identities) -> None:
        for _ in range(3):
            await identities.from_credentials(jane(), HERE)
        assert len(checked) == 1
        for wrong in ("wrong", PASSWORD + " ", PASSWORD[:-1]):
            with pytest.raises(NotAuthenticatedError):
                await identities.from_credentials(jane(wrong), HERE)
        assert len(checked) == 4
        world.clock.now_s += REMEMBERED_S
        await identities.from_credentials(jane(), HERE)
        assert len(checked) == 5
        remembered = identities._remembered
        assert PASSWORD not in repr(vars(remembered))

    world.play(use)


def test_a_hash_by_old_parameters_is_made_anew(world: World) -> None:
    world.accounts.set_password("jane", hash_password(PASSWORD, OTHER))
    world.known(jane())
    kept = world.accounts.password_hash("jane")
    assert kept is not None
    assert not QUICK.check_needs_rehash(kept)
    world.known(jane())


async def attempt(identities: Identities, name: str, password: str, address: str) -> str:
    try:
        await identities.from_credentials(Credentials(basic=(name, password)), address)
    except NotAuthenticatedError as refused:
        return "wait" if refused.retry_after_s is not None else "wrong"
    return "in"


def test_attempts_for_one_name_are_limited_wherever_they_come_from(world: World) -> None:
    world.limit(log_in_attempts=3)

    async def use(identities: Identities) -> None:
        said = [await attempt(identities, "jane", "wrong", f"10.0.0.{n}") for n in range(5)]
        assert said == ["wrong", "wrong", "wrong", "wait", "wait"]
        assert await attempt(identities, "jane", PASSWORD, HERE) == "wait"
        assert await attempt(identities, "ann", "wrong", HERE) == "wrong"
        world.clock.now_s += 20
        assert await attempt(identities, "jane", PASSWORD, HERE) == "in"

    world.play(use)


def test_attempts_from_one_address_are_limited_whoever_they_are_for(world: World) -> None:
    world.limit(log_in_attempts_per_address=3)

    async def use(identities: Identities) -> None:
        said = [await attempt(identities, f"user {n}", "wrong", HERE) for n in range(5)]
        assert said == ["wrong", "wrong", "wrong", "wait", "wait"]
        assert await attempt(identities, "jane", PASSWORD, "10.0.0.2") == "in"

    world.play(use)


def test_who_tries_a_name_that_has_to_wait_uses_up_nothing_of_its_address(world: World) -> None:
    world.limit(log_in_attempts=1, log_in_attempts_per_address=2)

    async def use(identities: Identities) -> None:
        said = [await attempt(identities, "jane", "wrong", HERE) for _ in range(5)]
        assert said == ["wrong", "wait", "wait", "wait", "wait"]
        assert await attempt(identities, "ann", "wrong", HERE) == "wrong"
        assert await attempt(identities, "max", "wrong", HERE) == "wait"

    world.play(use)


def test_attempts_that_come_at_once_are_counted_before_they_are_checked(world: World) -> None:
    world.limit(log_in_attempts=3)

    async def use(identities: Identities) -> None:
        said = await asyncio.gather(
            *(attempt(identities, "jane", f"wrong {n}", HERE) for n in range(20))
        )
        assert sorted(said) == ["wait"] * 17 + ["wrong"] * 3

    world.play(use)


def test_a_flood_of_log_ins_waits_in_a_bounded_row(world: World) -> None:
    world.checks = PasswordChecks(1, 3, QUICK)
    world.limit(log_in_attempts=1, log_in_attempts_per_address=1)

    async def use(identities: Identities) -> None:
        said = await asyncio.gather(
            *(attempt(identities, f"user {n}", "wrong", f"10.0.0.{n}") for n in range(20))
        )
        assert sorted(said) == ["wait"] * 16 + ["wrong"] * 4
        # Who had to wait for others has not used up an attempt.
        waited = said.index("wait")
        address = f"10.0.0.{waited}"
        assert await attempt(identities, f"user {waited}", "wrong", address) == "wrong"
        assert await attempt(identities, f"user {waited}", "wrong", address) == "wait"

    world.play(use)


def test_a_json_web_token_says_who_it_is(world: World, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    file = tmp_path / "jwt.pem"
    file.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    world.set(
        jwt=JwtSection(key_file=str(file), algorithms=("ES256",), audience="headgate"),
        auditors=("max",),
    )
    claims = {"sub": "max", "aud": "headgate", "exp": 2**40}
    found = world.known(Credentials(bearer=jwt.encode(claims, key, "ES256")))
    assert found == Identity("max", "jwt", False, True, 2**40 * 1_000_000)
    for principal in ("$broker", "", "a\nb"):
        token = jwt.encode({**claims, "sub": principal}, key, "ES256")
        assert "`" in str(world.refusal(Credentials(bearer=token)))
    assert "8,192" in str(world.refusal(Credentials(bearer="x" * 10_000)))


def a_certificate(directory: Path, name: str) -> bytes:
    authority = DevelopmentAuthority(directory / "clients")
    authority.for_link(directory / "client.pem", name)
    read = x509.load_pem_x509_certificate((directory / "client.pem").read_bytes())
    return read.public_bytes(serialization.Encoding.DER)


def test_a_client_certificate_says_who_it_is(world: World, tmp_path: Path) -> None:
    said = Credentials(certificate=a_certificate(tmp_path, "b1"))
    found = world.known(said)
    assert (found.principal, found.how) == ("b1", "certificate")
    assert found.expires_us is not None
    world.set(certificates=CertificatesSection(principal="uri"))
    assert world.known(said).principal == "urn:headgate:broker:b1"
    assert "can't be read" in str(world.refusal(Credentials(certificate=b"no certificate")))


def test_a_certificate_without_a_name_is_nobodys(world: World, tmp_path: Path) -> None:
    world.set(certificates=CertificatesSection(principal="uri"))
    authority = DevelopmentAuthority(tmp_path / "clients")
    authority.for_http(tmp_path / "client.pem", ["localhost"])
    read = x509.load_pem_x509_certificate((tmp_path / "client.pem").read_bytes())
    said = Credentials(certificate=read.public_bytes(serialization.Encoding.DER))
    assert "with exactly one URI" in str(world.refusal(said))


def test_what_is_said_most_deliberately_counts(world: World, tmp_path: Path) -> None:
    certificate = a_certificate(tmp_path, "b1")
    said = Credentials(basic=("jane", PASSWORD), certificate=certificate)
    assert world.known(said).principal == "jane"
    assert "wrong" in str(
        world.refusal(Credentials(basic=("jane", "wrong"), certificate=certificate))
    )


def test_no_secret_is_shown() -> None:
    shown = repr(Credentials(("jane", "geheim"), "geheim", b"geheim"))
    assert "geheim" not in shown


def test_the_administrator_of_the_machine_has_a_token_in_a_file(
    world: World, tmp_path: Path
) -> None:
    path = provide_admin_token(world.config, world.accounts, 1)
    assert path == tmp_path / ADMIN_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    token = path.read_text().strip()
    assert world.known(Credentials(bearer=token)) == Identity(ADMINISTRATOR, "token", True, True)
    assert provide_admin_token(world.config, world.accounts, 2) == path
    assert path.read_text().strip() == token


def test_a_token_whose_file_was_removed_has_ended(world: World) -> None:
    path = provide_admin_token(world.config, world.accounts, 1)
    assert path is not None
    token = path.read_text().strip()
    path.unlink()
    assert provide_admin_token(world.config, world.accounts, 2) == path
    assert path.read_text().strip() != token
    assert "ended" in str(world.refusal(Credentials(bearer=token)))
    path.unlink()
    world.set(administrators=("jane",))
    assert provide_admin_token(world.config, world.accounts, 3) is None
    assert not path.exists()


def test_a_token_of_no_administrator_in_the_file_makes_none(world: World, tmp_path: Path) -> None:
    token = new_token()
    world.accounts.add_token(digest_of(token), KeptToken("jane", False, None), 1)
    (tmp_path / ADMIN_FILE).write_text(token)
    path = provide_admin_token(world.config, world.accounts, 2)
    assert path is not None
    assert path.read_text().strip() != token
