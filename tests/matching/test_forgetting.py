"""Does an index forget what nobody asks for, and nothing else?"""

from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from headgate.model.events import Event
from tests.matching.test_index import check

TEXTS = [
    "a = 't{0}'", "a = 't{0}' AND b = {0}.5", "b = {0}", "a LIKE 't{0}%' AND b > {0}",
    "a <> 't{0}'", "a NOT IN ('t{0}', 'u{0}') AND b IS INTEGER", "'m{0}' IN s AND c = TRUE",
    "c IS NULL AND 'n' IN s", "a LIKE '{0}%t' OR b = {0}", "x{1} = 't' AND y{2} = 'u'",
    "a = 'x' AND b = 1 AND c = 2 AND d = 3 AND e = 't{0}' AND f = 't{0}'",
]  # fmt: skip


def some_filters(start: int, end: int) -> dict[int, Filter]:
    return {
        number: Filter.parse(TEXTS[number % len(TEXTS)].format(number, number % 40, number % 37))
        for number in range(start, end)
    }


def some_events(start: int, end: int) -> list[Event]:
    return [
        Event.of(
            {
                "a": f"t{number}", "b": number, "c": True, "s": [f"m{number}", "n"],
                f"x{number % 40}": "t", f"y{number % 37}": "u",
            }
        )
        for number in range(start, end, 5)
    ] + [
        Event.of({"a": f"{start}t", "b": start + 0.5, "s": ["n"]}),
        Event.of({"a": "x", "b": 1, "c": 2, "d": 3, "e": f"t{start}", "f": f"t{start}"}),
    ]  # fmt: skip


def test_texts_of_filters_that_are_gone_take_no_memory() -> None:
    index = FilterIndex()
    sizes = []
    stays = some_filters(0, 60)
    index.update(add=stays.items())
    snapshot = index.snapshot()
    for start in range(1_000, 40_000, 1_000):
        filters = some_filters(start, start + 1_000)
        index.update(add=filters.items())
        if start % 5_000 == 0:
            check(index, stays | filters, some_events(start, start + 50) + some_events(0, 60))
        index.snapshot()
        index.update(remove=filters)
        index.snapshot()
        sizes.append(index.nbytes)
        if start % 5_000 == 0:
            check(index, stays, some_events(start, start + 50) + some_events(0, 60))
    assert max(sizes[5:]) <= max(sizes[:5])
    assert len(index._directory.signatures) < 300
    found = snapshot.match_events(some_events(0, 60))
    expected = [sorted(n for n, one in stays.items() if one.matches(e)) for e in some_events(0, 60)]
    assert [sorted(ids.tolist()) for ids in found] == expected


def test_what_is_asked_for_is_kept_while_it_is() -> None:
    index = FilterIndex()
    filters = some_filters(0, 3_000)
    index.update(add=filters.items())
    index.snapshot()
    kept = {number: one for number, one in filters.items() if number % 50 == 0}
    index.update(remove=[number for number in filters if number not in kept])
    check(index, kept, some_events(0, 3_000))
    assert index._directory.texts.count < 300
    more = some_filters(5_000, 5_200)
    index.update(add=more.items())
    check(index, kept | more, some_events(0, 100) + some_events(5_000, 5_200))
