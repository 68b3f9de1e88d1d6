"""Is all compiled code loaded before the first event comes? A server asks before it is ready."""

from __future__ import annotations

from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from headgate.model.events import Event


def warm_up() -> None:
    """Load or compile every compiled function, and forget what it was tried on.

    It takes about a second, and half a minute the first time on a machine, when code is compiled.
    """
    index = FilterIndex()
    texts = ["a = 1", "a = 'x' AND b > 5 AND b < 9", "a LIKE '%x%' OR b <> 5", "c IS NULL"]
    index.update(add=enumerate(map(Filter.parse, texts)))
    fields = {"a": "x", "b": 7.5, "c": ["x"], "d": True}
    index.match_events([Event.of(fields), fields])
    index.match_json([b'{"a": "x", "b": 7.5, "c": ["x"], "d": true}'])
    index.update(add=[(4, Filter.parse("TRUE"))], remove=[0])
    index.match_columns({"a": ["x"], "b": [7.5]})
