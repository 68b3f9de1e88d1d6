"""Is a password checked as slowly as it must be, and no more of them at once than there is room?"""

import asyncio
import re

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type

from headgate.live.passwords import (
    BYTES_MAX,
    HASHER,
    PasswordChecks,
    PasswordError,
    TooManyLogInsError,
    hash_password,
)
from tests.live.hashing import OTHER, QUICK, quick_checks


def test_a_password_fits_its_own_hash_alone() -> None:
    async def check() -> None:
        checks = quick_checks()
        hashed = hash_password("correct horse", QUICK)
        assert await checks.fits("correct horse", hashed)
        assert not await checks.fits("correct  horse", hashed)
        assert not await checks.fits("correct horse", "no hash at all")
        checks.close()

    asyncio.run(check())


def test_the_hash_is_argon2id_with_the_memory_that_is_recommended() -> None:
    hashed = extract_parameters(hash_password("correct horse"))
    assert (hashed.type, hashed.time_cost, hashed.memory_cost) == (Type.ID, 3, 65_536)
    assert hash_password("correct horse", QUICK) != hash_password("correct horse", QUICK)


def test_a_password_is_the_same_however_it_was_composed() -> None:
    async def check() -> None:
        checks = quick_checks()
        assert await checks.fits("Passwo\u0308rter", hash_password("Passw\u00f6rter", QUICK))
        checks.close()

    asyncio.run(check())


@pytest.mark.parametrize("password", ["", "seven77", "a" * (BYTES_MAX + 1), "ö" * BYTES_MAX])
def test_a_password_too_short_or_too_long_is_refused_without_repeating_it(password: str) -> None:
    with pytest.raises(PasswordError, match="expected a password of 8 or more") as refused:
        hash_password(password, QUICK)
    assert not password or password not in str(refused.value)


def test_that_there_is_no_user_is_found_out_by_the_same_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worked: list[str] = []
    verify = type(QUICK).verify

    def counted(self: object, hashed: str, password: bytes) -> bool:
        worked.append(re.sub(r"\$[^$]*\$[^$]*$", "", hashed))
        return verify(QUICK, hashed, password)

    async def check() -> None:
        checks = quick_checks()
        hashed = hash_password("correct horse", QUICK)
        assert not await checks.fits("something", hashed)
        assert not await checks.fits("something", None)
        # Not even by the password that stands for nobody's.
        assert not await checks.fits("nobody's password", None)
        checks.close()

    monkeypatch.setattr(type(QUICK), "verify", counted)
    asyncio.run(check())
    assert len(worked) == 3
    assert len(set(worked)) == 1


def test_what_was_hashed_by_other_parameters_is_hashed_anew() -> None:
    async def check() -> None:
        checks = quick_checks()
        old = hash_password("correct horse", OTHER)
        fresh = await checks.rehashed("correct horse", old)
        assert fresh is not None
        assert await checks.fits("correct horse", fresh)
        assert await checks.rehashed("correct horse", fresh) is None
        checks.close()

    asyncio.run(check())
    assert not HASHER.check_needs_rehash(hash_password("correct horse"))


def test_beyond_its_room_nobody_waits() -> None:
    async def check() -> None:
        checks = PasswordChecks(1, 2, QUICK)
        hashed = hash_password("correct horse", QUICK)
        answers = await asyncio.gather(
            *(checks.fits("correct horse", hashed) for _ in range(5)), return_exceptions=True
        )
        assert answers[:3] == [True, True, True]
        assert [type(answer) for answer in answers[3:]] == [TooManyLogInsError] * 2
        assert await checks.fits("correct horse", hashed)
        checks.close()

    asyncio.run(check())
