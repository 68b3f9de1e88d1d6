"""Does only go what is too old or too much, the oldest first, and owed to nobody?"""

from hypothesis import given
from hypothesis import strategies as st

from headgate.stores.manifest import Sealed
from headgate.stores.retention import Retention, removable

SECOND = 1_000_000


def files(stream: str, *newest_s: int, size: int = 100) -> list[Sealed]:
    """Files of ten records each."""
    return [
        Sealed(stream, "boot-1", 10 * at + 1, 10 * at + 10, f"{stream}/{at}", "", size,
               newest * SECOND, "")
        for at, newest in enumerate(newest_s)
    ]  # fmt: skip


def gone(
    some: list[Sealed], retention: Retention, owed: dict[str, int] | None = None, now_s: int = 1_000
) -> list[str]:
    total = sum(one.bytes for one in some)
    chosen = removable(some, total, now_s * SECOND, owed or {}, retention)
    return [one.path for one in chosen.files]


def test_without_bounds_nothing_goes() -> None:
    assert gone(files("a", 1, 2, 3), Retention()) == []


def test_what_is_too_old_goes_but_never_the_last_file_of_a_stream() -> None:
    some = files("a", 100, 899, 900, 950)
    assert gone(some, Retention(seconds=100)) == ["a/0", "a/1"]
    assert gone(some, Retention(seconds=1)) == ["a/0", "a/1", "a/2"]


def test_what_is_too_much_goes_the_oldest_first_whatever_its_stream() -> None:
    some = [*files("a", 10, 30, 50), *files("b", 20, 40, 60)]
    assert gone(some, Retention(bytes=350)) == ["a/0", "b/0", "a/1"]
    assert gone(some, Retention(bytes=600)) == []


def test_what_is_owed_stays_with_all_after_it_and_is_told() -> None:
    some = files("a", 1, 2, 3, 4)
    assert gone(some, Retention(seconds=1), {"a": 20}) == ["a/0", "a/1"]
    assert gone(some, Retention(seconds=1), {"a": 19}) == ["a/0"]
    assert gone(some, Retention(seconds=1), {"b": 0}) == ["a/0", "a/1", "a/2"]
    chosen = removable(some, 400, 1_000 * SECOND, {"a": 19}, Retention(seconds=1))
    assert [one.path for one in chosen.held_back] == ["a/1"]
    assert chosen.owed == ()


def test_where_the_bounds_count_for_more_what_was_owed_is_told() -> None:
    some = files("a", 1, 2, 3, 4)
    bounds = Retention(seconds=1, removes_owed=True)
    chosen = removable(some, 400, 1_000 * SECOND, {"a": 15}, bounds)
    assert [one.path for one in chosen.files] == ["a/0", "a/1", "a/2"]
    assert [one.path for one in chosen.owed] == ["a/1", "a/2"]


def test_the_streams_of_the_broker_itself_have_a_bound_of_their_own() -> None:
    some = [*files("$deliveries/b", 1, 2, 3), *files("a", 500, 600, 700)]
    assert gone(some, Retention(seconds=1, bytes=1)) == ["a/0", "a/1"]
    assert gone(some, Retention(own_seconds=1)) == ["$deliveries/b/0", "$deliveries/b/1"]


def test_a_clock_that_was_put_back_takes_nothing_out_of_the_middle() -> None:
    some = files("a", 950, 1, 2, 960)
    assert gone(some, Retention(seconds=100)) == []
    assert gone(some, Retention(seconds=100), now_s=1_051) == ["a/0", "a/1", "a/2"]


@given(
    st.lists(st.tuples(st.sampled_from("ab$"), st.integers(0, 50)), max_size=12),
    st.none() | st.integers(0, 50),
    st.none() | st.integers(0, 1_500),
    st.dictionaries(st.sampled_from("ab$"), st.integers(0, 60)),
)
def test_what_is_left_of_a_stream_has_no_gap_and_everything_owed(
    made: list[tuple[str, int]], seconds: int | None, size: int | None, owed: dict[str, int]
) -> None:
    some = [
        one for name in "ab$" for one in files(name, *(s for stream, s in made if stream == name))
    ]
    chosen = removable(some, 100 * len(some), 50 * SECOND, owed, Retention(seconds, size, seconds))
    for name in "ab$":
        before = [one for one in some if one.stream == name]
        left = [one for one in before if one not in chosen.files]
        assert left == before[len(before) - len(left) :]
        assert bool(left) == bool(before)
        assert all(one.last <= owed.get(name, 10**9) for one in before if one not in left)
