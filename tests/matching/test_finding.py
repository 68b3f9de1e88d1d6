"""Are all addresses looked up that an event has, and no others taken for them?"""

from headgate.filters.filter import Filter
from headgate.matching import layout
from headgate.matching.index import FilterIndex
from headgate.matching.pieces import Role
from headgate.model.events import Event
from tests.matching.test_index import check, found, index_of


def test_every_beginning_and_member_of_a_value_is_looked_up() -> None:
    index = index_of(
        "a LIKE 'x%'", "a LIKE 'xy%'", "a LIKE 'é%'", "'p' IN s", "'q' IN s AND a = 'x'"
    )
    assert found(index, {"a": "xyz"}, {"a": "é"}, {"a": "x", "s": ["p", "q"]}, {"s": []}) == [
        [0, 1], [2], [0, 3, 4], [],
    ]  # fmt: skip


def test_many_signatures_find_the_same() -> None:
    filters = {
        number: Filter.parse(f"a{number % 40} = 'x' AND b{number % 37} = 'y' AND c > {number % 5}")
        for number in range(1_300)
    }
    index = FilterIndex()
    index.update(add=filters.items())
    event = {f"a{number}": "x" for number in range(0, 40, 3)}
    event |= {f"b{number}": "y" for number in range(0, 37, 2)}
    check(index, filters, [Event.of({**event, "c": c}) for c in (0, 3, 9)])


def wanted(index: FilterIndex, event: dict[str, object]) -> int:
    """How many signatures are looked up for an event, of those that have a bit."""
    index.match_events([event])
    return int(index._workspaces[-1].words[layout.WANTED])


def test_signatures_in_which_a_value_never_occurs_are_not_looked_up() -> None:
    index = index_of("a = 'x' AND b = 'y'", "a = 'z'", "b = 5", "c LIKE 'x%'", "d IS NULL")
    signatures = index._directory.signatures
    roles = index._directory.roles

    def asked(event: dict[str, object]) -> int:
        said = wanted(index, event)
        return sum(
            said >> number & 1
            for columns, number in signatures.items()
            if columns and Role.STATE not in {roles[column] for column in columns}
        )

    everything = asked({})
    assert everything == 4, "nothing is said, and the columns that lack a mark are seen later"
    assert asked({"a": "x", "b": "y"}) == 2
    assert asked({"a": "x", "b": 5}) == 2
    assert asked({"a": "z", "b": "y", "c": "xx"}) == 2


def test_more_signatures_than_have_a_bit_are_all_looked_up() -> None:
    texts = [f"a{at} = 'x' AND b{at} = {at}" for at in range(layout.SIGNATURE_BITS + 40)]
    index = index_of(*texts)
    events: list[dict[str, object]] = [
        {f"a{at}": "x", f"b{at}": at, "a0": "x", "b0": 0} for at in range(len(texts))
    ]
    assert found(index, *events) == [sorted({0, at}) for at in range(len(texts))]


def test_values_stand_under_their_signatures_again_when_others_are_forgotten() -> None:
    index = FilterIndex()
    index.update(
        add=(
            (number, Filter.parse(f"a = 't{number}' AND b{number % 50} = {number}"))
            for number in range(4_000)
        )
    )
    before = index.snapshot()
    index.update(remove=range(3_990))
    index.update(add=[(1, Filter.parse("a = 't1' AND z = 5"))])
    some = [{"a": f"t{number}", f"b{number % 50}": number, "z": 5} for number in (1, 7, 3_995)]
    assert found(index, *some) == [[1], [], [3_995]]
    assert [ids.tolist() for ids in before.match_events(some)] == [[1], [7], [3_995]]
