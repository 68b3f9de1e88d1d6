"""Is all compiled code loaded before the first event comes? A server asks before it is ready."""

from __future__ import annotations

from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from headgate.model.events import Event

_TEXTS = [
    "a = 1", "a = 'x' AND b > 5 AND b < 9", "a LIKE '%x%' OR b <> 5", "c IS NULL",
    "'x' IN c AND a <> 'y'", "a LIKE 'x%' AND d", "a > 'x'",
]  # fmt: skip


def warm_up() -> None:
    """Load or compile every compiled function, and forget what it was tried on.

    It takes about a second, and half a minute the first time on a machine, when code is compiled.
    """
    index = FilterIndex()
    index.update(add=enumerate(map(Filter.parse, _TEXTS)))
    fields = {"a": "x", "b": 7.5, "c": ["x"], "d": True}
    index.match_events([Event.of(fields), fields])
    index.match_json([b'{"a": "x", "b": 7.5, "c": ["x"], "d": true}'], known=[{"$topic": "x"}])
    # What dies is buried, and what is left is read back and sorted together with what is new.
    index.update(add=[(len(_TEXTS), Filter.parse("TRUE"))], remove=[0])
    index.match_columns({"a": ["x"], "b": [7.5], "c": [["x"]]})
    index.update(remove=range(1, len(_TEXTS)))
    index.snapshot()
    # More filters than the tables were made for: those are made anew.
    index.update(add=((number, Filter.parse(f"a = 'x{number}'")) for number in range(100, 200)))
    index.snapshot()
