"""Passwords for tests: hashed as in a broker, but without its patience."""

from argon2 import PasswordHasher

from headgate.live.passwords import PasswordChecks

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
OTHER = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)


def quick_checks(at_once: int = 2, waiting_max: int = 64) -> PasswordChecks:
    return PasswordChecks(at_once, waiting_max, QUICK)
