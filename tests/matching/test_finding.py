"""Are all addresses looked up that an event has, and no others taken for them?"""

from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
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
