"""Are attempts limited, for each by itself, and without growing?"""

from headgate.live.attempts import PLACES, Attempts, household


def test_after_so_many_attempts_one_has_to_wait() -> None:
    attempts = Attempts(3, 60)
    assert [attempts.take("jane", 0) for _ in range(3)] == [None] * 3
    assert attempts.take("jane", 0) == 20
    assert attempts.take("jane", 10) == 10
    assert attempts.take("jane", 20) is None
    assert attempts.take("jane", 20) == 20
    assert [attempts.take("jane", 1_000) for _ in range(3)] == [None] * 3
    assert attempts.take("jane", 1_000) is not None


def test_one_does_not_pay_for_another() -> None:
    attempts = Attempts(1, 60)
    assert attempts.take("jane", 0) is None
    assert attempts.take("jane", 0) is not None
    assert attempts.take("ann", 0) is None


def test_what_was_right_does_not_count() -> None:
    attempts = Attempts(1, 60)
    for _ in range(100):
        assert attempts.take("jane", 0) is None
        attempts.give_back("jane")
    attempts.give_back("jane")
    assert attempts.take("jane", 0) is None
    assert attempts.take("jane", 0) is not None


def test_a_clock_that_goes_back_gives_nothing() -> None:
    attempts = Attempts(1, 60)
    assert attempts.take("jane", 1_000) is None
    assert attempts.take("jane", 0) is not None


def test_a_flood_of_names_takes_no_room_and_forgets_nobody() -> None:
    attempts = Attempts(1, 60)
    assert attempts.take("jane", 0) is None
    for number in range(2 * PLACES):
        attempts.take(f"name {number}", 0)
    assert len(attempts._left) == PLACES
    assert attempts.take("jane", 0) is not None


def test_a_household_has_one_limit() -> None:
    assert household("2001:db8:0:1::5") == household("2001:db8:0:1:ffff::")
    assert household("2001:db8:0:1::5") != household("2001:db8:0:2::5")
    assert household("::ffff:10.0.0.1") == household("10.0.0.1") == "10.0.0.1"
    assert household("fe80::1%eth0") == "fe80::/64"
    assert household("10.0.0.1") != household("10.0.0.2")
    assert household("unix") == "unix"
