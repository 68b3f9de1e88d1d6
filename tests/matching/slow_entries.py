"""Does an event fit an entry? The slow and obvious answer, mark by mark and test by test."""

from collections.abc import Mapping

from headgate.filters import line
from headgate.matching.entries import Entry
from headgate.matching.pieces import (
    MISSING_KEY,
    Mark,
    Role,
    State,
    Test,
    View,
    number_keys,
    text_key,
)
from headgate.model.values import Value


def fits(entry: Entry, event: Mapping[str, Value]) -> bool:
    """Whether the event fits the entry, but for what is to be verified."""
    return (
        all(bears(event.get(name), mark) for name, mark in (*entry.address, *entry.has))
        and all(passes(event.get(name), test) for name, test in entry.tests)
        and not any(bears(event.get(name), mark) for name, mark in entry.lacks)
        and all(any(bears(event.get(name), mark) for name, mark in one) for one in entry.any_of)
    )


def bears(value: Value | None, mark: Mark) -> bool:
    role, wanted = mark
    match role:
        case Role.STATE:
            return wanted in _states(value)
        case Role.HAS_MEMBER:
            return isinstance(value, frozenset) and wanted in value
        case Role.BEGINS:
            return isinstance(value, str) and value.startswith(wanted)
        case Role.EQUALS if isinstance(wanted, str):
            return isinstance(value, str) and value == wanted
        case _:
            return value is not None and not isinstance(value, str) and _rank(value) == wanted


def _rank(value: Value) -> tuple[int, object]:
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**63:
        whole = int(value)
        if -(2**63) <= whole < 2**63:
            return line.point_of(whole)
    return line.point_of(value)


def _states(value: Value | None) -> set[State]:
    if value is None:
        return {State.ABSENT}
    state = State(line.point_of(value)[0])
    number = {State.NUMBER} if state in (State.INTEGER, State.DOUBLE) else set()
    return {State.PRESENT, state} | number


def passes(value: Value | None, test: Test) -> bool:
    view, upper, bound = test
    down, up = keys(value, view)
    key = (MISSING_KEY if up is None else ~up) if upper else (MISSING_KEY if down is None else down)
    return bound <= key


def keys(value: Value | None, view: View) -> tuple[int | None, int | None]:
    place, rank = line.point_of(value)
    match view, place:
        case View.NUMBER, line.INTEGER:
            return number_keys(rank)
        case (
            (View.NUMBER | View.DOUBLE, line.DOUBLE)
            | (View.INTEGER, line.INTEGER)
            | (View.TIMESTAMP, line.TIMESTAMP)
        ):
            return rank, rank
        case View.TEXT, line.STRING:
            return text_key(rank.encode()), text_key(rank.encode())
    return None, None
