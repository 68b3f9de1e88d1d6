"""Is this the password? Argon2id says so, slowly, a few at a time and beside the loop."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar, final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from headgate.model.errors import HeadgateError

CHARS_MIN: Final = 8
BYTES_MAX: Final = 1_024
"""More than this only keeps the hash busy."""
HASHER: Final = PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=1)
"""RFC 9106, section 4: three passes over 64 MiB. One lane, for several are checked at once."""
T = TypeVar("T")


class PasswordError(HeadgateError, ValueError):
    """Such a password isn't taken."""


class TooManyLogInsError(HeadgateError):
    """So many wait for their password to be checked that another one isn't let in."""


def hash_password(password: str, hasher: PasswordHasher = HASHER) -> str:
    """What is kept of a new password."""
    if len(password) < CHARS_MIN or len(_prepared(password)) > BYTES_MAX:
        raise PasswordError(
            f"expected a password of {CHARS_MIN} or more characters, and no more than {BYTES_MAX} "
            f"bytes, found {len(password)} characters"
        )
    return hasher.hash(_prepared(password))


@final
class PasswordChecks:
    """The threads that check passwords; the loop alone calls its methods."""

    def __init__(self, at_once: int, waiting_max: int, hasher: PasswordHasher = HASHER) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="headgate-passwords")
        self._room = at_once + waiting_max
        self._under_way = 0
        self._hasher = hasher
        self._nobody: str | None = None

    async def fits(self, password: str, hashed: str | None) -> bool:
        """Whether it is the password; that there is no hash is known as late as a wrong one is."""
        return await self._beside(lambda: self._verify(password, hashed))

    async def rehashed(self, password: str, hashed: str) -> str | None:
        """The hash by today's parameters, where it was made by others."""
        if not self._hasher.check_needs_rehash(hashed):
            return None
        return await self._beside(lambda: self._hasher.hash(_prepared(password)))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _verify(self, password: str, hashed: str | None) -> bool:
        if self._nobody is None:
            self._nobody = self._hasher.hash(b"nobody's password")
        try:
            self._hasher.verify(hashed or self._nobody, _prepared(password)[:BYTES_MAX])
        except (Argon2Error, InvalidHashError):
            return False
        return hashed is not None

    async def _beside(self, act: Callable[[], T]) -> T:
        if self._under_way >= self._room:
            raise TooManyLogInsError("too many log in at this moment: try again in a second")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, act)
        finally:
            self._under_way -= 1


def _prepared(password: str) -> bytes:
    # RFC 8265: however a keyboard composes them, the same characters are the same password.
    return unicodedata.normalize("NFC", password).encode("utf-8", "replace")
