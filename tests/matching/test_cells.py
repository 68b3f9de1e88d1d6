"""Do cells say what an event says, of the names that filters have?"""

from datetime import UTC, datetime

from headgate.filters import line
from headgate.matching import layout
from headgate.matching.cells import cells_of
from headgate.matching.compiled import OCTETS_BEHIND
from headgate.model.values import OPAQUE, Value

NAMES = {"a": 0, "b": 1, "later": 2}


def test_each_kind_of_value_has_its_cell() -> None:
    event: dict[str, Value] = {"a": "é", "other": 5, "b": frozenset({"xy"}), "later": 1}
    moment = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    some: list[dict[str, Value]] = [event, {"a": -5, "b": True}, {"a": moment, "b": OPAQUE}, {}]
    cells = cells_of(some, NAMES, 2)
    assert cells.cells.tolist() == [
        [0, line.STRING, 0, 0, 2],
        [1, line.SET, 0, 0, 0],
        [1, layout.MEMBER, 0, 2, 2],
        [0, line.INTEGER, -5, 0, 0],
        [1, line.BOOLEAN, 1, 0, 0],
        [0, line.TIMESTAMP, 1_000_000, 0, 0],
        [1, line.OPAQUE, 0, 0, 0],
    ]
    assert cells.ends.tolist() == [3, 5, 7, 7]
    assert cells.blob.tobytes() == "éxy".encode() + bytes(OCTETS_BEHIND)
    assert cells_of([{"a": 1.5}], NAMES, 2).cells[0, 2] == line.double_rank(1.5)


def test_room_for_codes_is_what_the_largest_event_may_need() -> None:
    some: list[dict[str, Value]] = [{"a": "x" * 10, "b": 5}, {"a": "x" * 100}, {}]
    assert cells_of(some, NAMES, 2).codes_max() == 105
    assert cells_of([], NAMES, 2).codes_max() == 0
