"""Has each filter its slot, whatever ids come and go?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.matching.ids import ID_MAX, UNKNOWN, Ids

NUMBERS = st.integers(0, 40) | st.sampled_from([ID_MAX, ID_MAX - 1, 2**16, 2**20])
CHANGES = st.lists(st.tuples(st.booleans(), st.lists(NUMBERS, unique=True)), max_size=30)


def shorts(numbers: list[int]) -> np.typing.NDArray[np.int32]:
    return np.array(numbers, np.int32)


@given(CHANGES)
def test_ids_have_the_slots_that_a_dictionary_gives_them(
    changes: list[tuple[bool, list[int]]],
) -> None:
    ids, slots = Ids(), dict[int, int]()
    for at, (adds, numbers) in enumerate(changes):
        if adds:
            new = {
                number: 100 * at + step
                for step, number in enumerate(numbers)
                if number not in slots
            }
            ids.put(shorts(list(new)), shorts(list(new.values())))
            slots |= new
        else:
            there = [number for number in numbers if number in slots]
            assert ids.take(shorts(there)).tolist() == [slots.pop(number) for number in there]
        assert len(ids) == len(slots)
        assert ids.slots().tolist() == sorted(slots.values())
        assert all(ids.slot(number) == slots.get(number, UNKNOWN) for number in range(41))


def test_ids_that_come_and_go_leave_no_memory_behind() -> None:
    ids = Ids()
    for start in range(0, 100_000, 1_000):
        numbers = np.arange(start, start + 1_000, dtype=np.int32)
        ids.put(numbers, numbers)
        assert ids.take(numbers).tolist() == numbers.tolist()
    assert len(ids) == 0
    assert ids.nbytes < 100_000


def test_slots_are_numbered_anew() -> None:
    ids = Ids()
    ids.put(shorts([7, 9, 11]), shorts([5, 3, 0]))
    ids.take(shorts([9]))
    new = np.zeros(6, np.int32)
    new[[0, 5]] = [0, 1]
    ids.renumber(new)
    assert (ids.slot(7), ids.slot(9), ids.slot(11)) == (1, UNKNOWN, 0)
