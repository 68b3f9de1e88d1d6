"""Who is it? A password, a token, a certificate says so, or nobody is let in.

Nothing that a person could use to come in stands in a `repr`, a log or a refusal.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, final

from headgate.live.attempts import Attempts, household
from headgate.live.certificates import names_of
from headgate.live.config import Config
from headgate.live.json_web_tokens import TOKEN_BYTES_MAX, TokenRefusedError, json_web_tokens
from headgate.live.passwords import BYTES_MAX, PasswordChecks, TooManyLogInsError
from headgate.live.private_files import one_at_a_time, read_private, write_private
from headgate.model.errors import HeadgateError
from headgate.rights.rules import PolicyError, check_principal
from headgate.stores.accounts import ADMINISTRATOR, Accounts, KeptToken
from headgate.stores.acl import StoreError

TOKEN_PREFIX = "hgt_"  # noqa: S105
ADMIN_FILE = "admin.token"
REMEMBERED_MAX = 10_000
REMEMBERED_S = 60.0
MICROSECONDS = 1_000_000
WRONG = "the name or the password is wrong"

How = Literal["password", "token", "jwt", "certificate", "anonymous"]


class NotAuthenticatedError(HeadgateError):
    """It isn't known who it is; `retry_after_s` says when to come back, where that would help."""

    def __init__(self, because: str, retry_after_s: float | None = None) -> None:
        super().__init__(because)
        self.because = because
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Credentials:
    """What somebody says of itself."""

    basic: tuple[str, str] | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    """Verified by TLS already; DER."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who it is, and what it may do beside what the policy says."""

    principal: str
    how: How
    administrator: bool
    auditor: bool
    expires_us: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """What was given out for a password."""

    token: str = field(repr=False)
    identity: Identity


@final
class Identities:
    """Everybody that the broker knows; the loop alone calls its methods."""

    def __init__(
        self,
        config: Config,
        accounts: Accounts,
        *,
        passwords: PasswordChecks | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        limits = config.limits
        self._settings = config.identities
        self._accounts = accounts
        self._tokens = json_web_tokens(config.identities.jwt)
        self._passwords = passwords or PasswordChecks(
            limits.log_ins_at_once, limits.log_ins_waiting
        )
        self._by_name = Attempts(limits.log_in_attempts, limits.log_in_window_s)
        self._by_address = Attempts(limits.log_in_attempts_per_address, limits.log_in_window_s)
        self._remembered = _Remembered()
        self._clock = clock
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="headgate-accounts")

    async def from_credentials(self, said: Credentials, address: str) -> Identity:
        """Whom the credentials name; the most deliberate of them counts.

        Wrong ones are refused, even where who says nothing would be let in.
        """
        try:
            if said.bearer is not None:
                return self._of_bearer(said.bearer)
            if said.basic is not None:
                return await self._of_password(*said.basic, address)
            if said.certificate is not None:
                return self._of_certificate(said.certificate)
        except StoreError as problem:
            raise NotAuthenticatedError(f"nobody can be known now: {problem}", 1) from None
        if self._settings.anonymous:
            return self._identity(self._settings.anonymous, "anonymous")
        raise NotAuthenticatedError(
            "expected a name and a password, a token or a client certificate"
        )

    async def log_in(self, name: str, password: str, address: str) -> Token:
        """A token in place of the password, for a while."""
        try:
            identity = await self._of_password(name, password, address)
            expires_us = self._now_us() + round(self._settings.token_s * MICROSECONDS)
            token = new_token()
            kept = KeptToken(identity.principal, False, expires_us)
            await self._write(
                lambda: self._accounts.add_token(digest_of(token), kept, self._now_us())
            )
        except StoreError as problem:
            raise NotAuthenticatedError(f"no token can be given out now: {problem}", 1) from None
        return Token(token, self._identity(name, "token", expires_us))

    async def log_out(self, token: str) -> None:
        """End a token that was given out here; any other text is no mistake."""
        if token.startswith(TOKEN_PREFIX) and len(token) <= TOKEN_BYTES_MAX:
            await self._write(lambda: self._accounts.remove_token(digest_of(token)))

    async def close(self) -> None:
        self._passwords.close()
        await asyncio.to_thread(self._writer.shutdown)

    # Ways to be known.

    async def _of_password(self, name: str, password: str, address: str) -> Identity:
        if not (_is_text(name) and _is_text(password)):
            raise NotAuthenticatedError(WRONG)
        hashed = self._accounts.password_hash(name)
        if hashed is not None and self._remembered.knows(name, password, hashed, self._clock()):
            return self._identity(name, "password")
        self._take_attempt(name, household(address))
        try:
            fits = await self._passwords.fits(password, hashed)
        except TooManyLogInsError as busy:
            self._give_back(name, household(address))
            raise NotAuthenticatedError(str(busy), 1) from None
        # It may have been changed or removed while the password was checked.
        if not fits or hashed is None or self._accounts.password_hash(name) != hashed:
            raise NotAuthenticatedError(WRONG)
        self._give_back(name, household(address))
        kept = await self._keep_up(name, password, hashed)
        self._remembered.remember(name, password, kept, self._clock())
        return self._identity(name, "password")

    async def _keep_up(self, name: str, password: str, hashed: str) -> str:
        """Hash anew what was hashed by parameters of old; if that fails, it is tried next time."""
        try:
            fresh = await self._passwords.rehashed(password, hashed)
            if fresh is None:
                return hashed
            await self._write(lambda: self._accounts.rehash(name, hashed, fresh))
        except (StoreError, TooManyLogInsError):
            return hashed
        return fresh

    def _of_bearer(self, bearer: str) -> Identity:
        if len(bearer) > TOKEN_BYTES_MAX:
            raise NotAuthenticatedError(
                f"expected a token of {TOKEN_BYTES_MAX:,} bytes or less, found {len(bearer):,}"
            )
        if bearer.startswith(TOKEN_PREFIX):
            return self._of_token(bearer)
        if self._tokens is None:
            raise NotAuthenticatedError("the token isn't known here: log in again")
        try:
            found = self._tokens.named(bearer)
        except TokenRefusedError as refusal:
            raise NotAuthenticatedError(str(refusal)) from None
        return self._identity(found.principal, "jwt", found.expires_us)

    def _of_token(self, token: str) -> Identity:
        # The digest is looked for, not the token: how long that takes tells nothing of a token.
        kept = self._accounts.token(digest_of(token), self._now_us())
        if kept is None:
            raise NotAuthenticatedError("the token isn't known or has ended: log in again")
        return self._identity(
            kept.principal, "token", kept.expires_us, administrator=kept.administrator
        )

    def _of_certificate(self, certificate: bytes) -> Identity:
        try:
            names = names_of(certificate)
        except ValueError:
            raise NotAuthenticatedError("the client certificate can't be read") from None
        if self._settings.certificates.principal == "common_name":
            principal, where = names.common_name, "common name"
        else:
            principal = names.uris[0] if len(names.uris) == 1 else None
            where = "URI among its alternative names"
        if not principal:
            raise NotAuthenticatedError(f"expected a client certificate with exactly one {where}")
        return self._identity(principal, "certificate", names.expires_us)

    def _identity(
        self,
        principal: str,
        how: How,
        expires_us: int | None = None,
        *,
        administrator: bool = False,
    ) -> Identity:
        try:
            check_principal(principal)
        except PolicyError as refusal:
            raise NotAuthenticatedError(str(refusal)) from None
        settings = self._settings
        administrator = administrator or principal in settings.administrators
        auditor = administrator or principal in settings.auditors
        return Identity(principal, how, administrator, auditor, expires_us)

    # Attempts.

    def _take_attempt(self, name: str, home: str) -> None:
        wait_s = self._by_address.take(home, self._clock())
        if wait_s is None:
            wait_s = self._by_name.take(name, self._clock())
            if wait_s is not None:
                self._by_address.give_back(home)
        if wait_s is not None:
            raise NotAuthenticatedError(
                "too many attempts with a wrong password: wait before the next one", wait_s
            )

    def _give_back(self, name: str, home: str) -> None:
        self._by_name.give_back(name)
        self._by_address.give_back(home)

    async def _write(self, act: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._writer, act)

    def _now_us(self) -> int:
        return int(self._clock() * MICROSECONDS)


@final
class _Remembered:
    """Passwords that were right a moment ago, so that not each request costs a slow hash.

    What is kept is a digest under a key that is as old as the process, of the password and its
    hash: when the password is changed, it is forgotten.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._known: OrderedDict[str, tuple[bytes, float]] = OrderedDict()

    def remember(self, name: str, password: str, hashed: str, now_s: float) -> None:
        self._known[name] = self._digest(name, password, hashed), now_s + REMEMBERED_S
        self._known.move_to_end(name)
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)

    def knows(self, name: str, password: str, hashed: str, now_s: float) -> bool:
        known, until_s = self._known.get(name, (b"", 0.0))
        same = hmac.compare_digest(known, self._digest(name, password, hashed))
        return same and now_s < until_s

    def _digest(self, *parts: str) -> bytes:
        framed = [part.encode("utf-8", "surrogatepass") for part in parts]
        text = b"".join(len(part).to_bytes(4) + part for part in framed)
        return hmac.digest(self._key, text, "sha256")


def _is_text(said: str) -> bool:
    """Whether it is short enough to be looked at, and isn't half a character."""
    try:
        return len(said.encode()) <= BYTES_MAX
    except UnicodeEncodeError:
        return False


def new_token() -> str:
    """256 bits that nobody guesses; the prefix says what it is, to whoever finds it somewhere."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def provide_admin_token(config: Config, accounts: Accounts, now_us: int) -> Path | None:
    """The file with the administrator's token; made where nobody else could administer.

    A token whose file was removed has ended.
    """
    path = config.shared / ADMIN_FILE
    with one_at_a_time(config.shared):
        said = (read_private(path) or b"").decode("utf-8", "replace").strip()
        kept = accounts.token(digest_of(said), now_us) if said else None
        if kept is not None and kept.administrator:
            return path
        accounts.remove_tokens_of(ADMINISTRATOR)
        if config.identities.administrators:
            return None
        token = new_token()
        accounts.add_token(digest_of(token), KeptToken(ADMINISTRATOR, True, None), now_us)
        write_private(path, token.encode() + b"\n")
        return path
