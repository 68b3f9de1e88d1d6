"""Does the index find whom asking each would find, whoever comes and goes?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.broker.interests import NOTHING, InterestSet
from headgate.broker.selection import ASKED_MAX, Selection
from headgate.matching.loading import LOADING
from tests.broker.parts import record, stepwise, wishes

FILTERS = ["FALSE", "TRUE", *(f"a = {number}" for number in range(6)), "a < 3", "a > 2"]
RECORDS = [record(1, a, version) for a, version in product(range(6), range(4))]


@dataclass(eq=False)
class Somebody:
    granted: InterestSet


def scanned(everybody: list[Somebody], version: int, a: int) -> list[Somebody]:
    return [one for one in everybody if one.granted.wants(record(1, a, version))]


entries = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(FILTERS)),
    min_size=1, max_size=2, unique_by=lambda step: step[0],
).map(lambda steps: stepwise(*sorted(steps)))  # fmt: skip
sets = st.builds(InterestSet, st.integers(0, 4), st.frozensets(entries, max_size=2))
actions = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(sets, min_size=1, max_size=30)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 99), min_size=1, max_size=30)),
        st.tuples(st.just("change"), st.tuples(st.integers(0, 99), sets)),
        st.tuples(st.just("ask"), st.tuples(st.integers(0, 3), st.integers(0, 5))),
    ),
    max_size=25,
)


@settings(max_examples=60)
@given(actions)
def test_the_index_finds_whom_asking_each_would_find_in_their_order(
    happens: list[tuple[str, object]],
) -> None:
    selection: Selection[Somebody] = Selection()
    everybody: list[Somebody] = []
    for name, said in happens:
        match name, said:
            case "add", list(many):
                for granted in many:
                    everybody.append(Somebody(granted))
                    selection.add(everybody[-1])
            case "remove", list(numbers):
                for number in numbers[: len(everybody)]:
                    selection.remove(everybody.pop(number % len(everybody)))
            case "change", (int(number), InterestSet() as granted) if everybody:
                one = everybody[number % len(everybody)]
                one.granted = granted
                selection.changed(one)
            case "ask", (int(version), int(a)):
                found = list(selection.owed(record(1, a, version)))
                assert found == scanned(everybody, version, a)
    assert list(selection) == everybody


def crowd(count: int) -> tuple[Selection[Somebody], list[Somebody]]:
    selection: Selection[Somebody] = Selection()
    everybody = [Somebody(wishes(f"a = {number % 50}")) for number in range(count)]
    for one in everybody:
        selection.add(one)
    return selection, everybody


def test_a_crowd_that_shrinks_and_grows_again_is_still_found() -> None:
    selection, everybody = crowd(ASKED_MAX + 20)
    assert selection.owed(record(1, 0))
    for one in everybody[10:15]:
        selection.remove(one)
    for one in everybody[15:]:
        selection.remove(one)
    del everybody[10:]
    assert selection.owed(record(1, 3)) == [everybody[3]]
    for number in range(ASKED_MAX + 20):
        everybody.append(Somebody(wishes(f"a = {100 + number}")))
        selection.add(everybody[-1])
    for number in range(ASKED_MAX + 20):
        found = selection.owed(record(1, 100 + number))
        assert list(found) == scanned(everybody, 1, 100 + number)


def test_a_crowd_is_found_by_what_holds_at_the_version_of_the_record() -> None:
    selection: Selection[Somebody] = Selection()
    granted = InterestSet(9, frozenset({stepwise((0, "a = 1"), (2, "a = 2"))}))
    everybody = [Somebody(granted) for _ in range(ASKED_MAX + 1)]
    for one in everybody:
        selection.add(one)
    for version, a in ((1, 1), (2, 2), (1, 1), (9, 2), (10, 7)):
        assert list(selection.owed(record(1, a, version))) == everybody
    for version, a in ((1, 2), (2, 1), (9, 7)):
        assert list(selection.owed(record(1, a, version))) == []


def test_those_who_are_owed_a_record_come_in_the_order_in_which_they_were_added() -> None:
    selection, everybody = crowd(500)
    assert list(selection.owed(record(1, 7))) == everybody[7::50]


def test_a_marker_is_owed_to_nobody() -> None:
    assert crowd(3)[0].owed(record(1, None)) == ()
    assert crowd(100)[0].owed(record(1, None)) == ()


def test_who_is_granted_nothing_is_owed_nothing() -> None:
    selection, everybody = crowd(100)
    for one in everybody:
        one.granted = NOTHING
        selection.changed(one)
    assert list(selection.owed(record(1, 7))) == []


def test_who_is_selected_is_in_it() -> None:
    selection, everybody = crowd(2)
    selection.remove(everybody[0])
    assert everybody[0] not in selection
    assert everybody[1] in selection


def test_while_no_index_is_loaded_everybody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = Selection[Somebody]()
    everybody = [Somebody(InterestSet(0, frozenset({stepwise((0, "a < 3"))})))]
    everybody += [Somebody(NOTHING) for _ in range(ASKED_MAX)]
    for one in everybody:
        selection.add(one)
    with monkeypatch.context() as patched:
        patched.setattr(LOADING, "index", lambda: None)
        assert selection.owed(record(1, 1, 0)) == everybody[:1]
        assert selection.owed(record(1, 4, 0)) == []
    assert selection.owed(record(1, 1, 0)) == everybody[:1]
