"""How was this filter read, and does one filter cover another?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import click

from headgate.cli.output import print_json, print_line, print_rows, yes_or_no
from headgate.filters.describing import describe
from headgate.filters.filter import Filter
from headgate.filters.printing import print_condition, print_name
from headgate.matching.explaining import explain_indexing
from headgate.model.errors import FilterTooComplexError
from headgate.model.events import Event
from headgate.model.values import OPAQUE, Value, format_timestamp

_RELATIONS: dict[str, tuple[str, Callable[[Filter, Filter], bool]]] = {
    "covers": ("covers", Filter.covers),
    "covers_strictly": ("covers strictly", Filter.covers_strictly),
    "covers_advertisement": ("covers as advertisement", Filter.covers_advertisement),
    "covers_advertisement_strictly": (
        "covers strictly as advertisement",
        Filter.covers_advertisement_strictly,
    ),
}


@click.group(
    name="filter",
    epilog="""Example:

    headgate filter explain "price > 100" "price > 200"
""",
)
def filter_group() -> None:
    """Conditions on events: how they are read and what they cover."""


@filter_group.command(
    epilog="""Examples:

\b
    headgate filter explain "type = 'quote' AND price > 100"
    headgate filter explain "(string message any, integer price < 100)"
    headgate filter explain "price > 100" "price > 200"
    headgate filter explain "price > 100" --event '{"price": 101, "symbol": "IBM"}'
""",
)
@click.argument("first", metavar="FILTER")
@click.argument("second", metavar="[OTHER]", required=False)
@click.option("--event", "event_json", metavar="JSON", help="Also say what the filter makes of it.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def explain(first: str, second: str | None, event_json: str | None, as_json: bool) -> None:
    """Show how FILTER was read, its boxes and how it is indexed; with OTHER, what covers what.

    A box gives for each attribute the values it may have; the filter matches an event that fits
    one of its boxes. Decisions about filters are made on the boxes, exactly.
    """
    filters = [Filter.parse(text) for text in (first, second) if text is not None]
    event = None if event_json is None else Event.from_json(event_json)
    answer: dict[str, Any] = {"filters": [_reading(one) for one in filters]}
    if event is not None:
        answer["event"] = [_outcome(one, event) for one in filters]
    if len(filters) == 2:
        answer["first_to_second"] = _relations(filters[0], filters[1])
        answer["second_to_first"] = _relations(filters[1], filters[0])
    if as_json:
        print_json(answer)
    else:
        _print(answer)


def _reading(one: Filter) -> dict[str, Any]:
    return {
        "filter": str(one),
        "names": sorted(one.names),
        "empty": _decided(one.is_empty),
        "index": _indexing(one),
        "boxes": [
            {
                "attributes": {name: describe(values) for name, values in sorted(box.sets.items())},
                "not_analysed": sorted(print_condition(residue) for residue in box.residues),
                "empty": _decided(box.is_empty),
            }
            for box in one.boxes
        ],
    }


def _decided(question: Callable[[], bool]) -> bool | str:
    """The answer, or why there is none."""
    try:
        return question()
    except FilterTooComplexError as problem:
        return str(problem)


def _indexing(one: Filter) -> dict[str, Any]:
    indexing = explain_indexing(one)
    return {
        "entries": indexing.entries,
        "looked_up": indexing.looked_up,
        "compared": indexing.compared,
        "checked": indexing.checked,
        "verified": indexing.verified,
        "cost": indexing.cost,
    }


def _outcome(one: Filter, event: Event) -> dict[str, Any]:
    return {
        "condition": {True: "true", False: "false", None: "unknown"}[one.evaluate(event)],
        "matches": one.matches(event),
        "matches_strictly": one.matches_strictly(event),
        "advertises": one.advertises(event),
        "advertises_strictly": one.advertises_strictly(event),
        "screened": one.screen(event).to_bytes().decode(),
    }


def _relations(covering: Filter, covered: Filter) -> dict[str, Any]:
    """What the one covers of the other; a relation that can't be decided says why."""
    answer: dict[str, Any] = {}
    for key, (_, holds) in _RELATIONS.items():
        answer[key] = _decided(partial(holds, covering, covered))
    if answer["covers"] is False:
        example = covered.example_beyond(covering)
        answer["not_covered"] = None if example is None else _as_json(example)
    return answer


def _as_json(example: Mapping[str, Value]) -> dict[str, Any]:
    return {name: _json_value(value) for name, value in sorted(example.items())}


def _json_value(value: Value) -> Any:
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, frozenset):
        return sorted(value)
    return [0] if value is OPAQUE else value


def _print(answer: dict[str, Any]) -> None:
    several = len(answer["filters"]) > 1
    for which, reading in zip(("first", "second"), answer["filters"], strict=False):
        if several:
            click.echo(f"the {which} filter")
        _print_reading(reading)
        if not several:
            _print_indexing(reading["index"])
        click.echo()
    for which, outcome in zip(("first", "second"), answer.get("event", ()), strict=False):
        _print_outcome(outcome, f"the {which} filter" if several else "the filter")
    if several:
        _print_relations(answer)


def _print_reading(reading: dict[str, Any]) -> None:
    print_line(f"  reads as  {reading['filter']}")
    for number, box in enumerate(reading["boxes"], start=1):
        rows = [(print_name(name), values) for name, values in box["attributes"].items()]
        rows += [("not analysed", residue) for residue in box["not_analysed"]]
        suffix = "" if rows else "  any event"
        if box["empty"]:
            suffix = f"  ({_emptiness(box['empty'], 'fits no event', 'an event fits')})"
        click.echo(f"  box {number}{suffix}")
        print_rows(rows, indent=4)
    if reading["empty"]:
        words = ("no event at all matches it", "any event matches it")
        click.echo(f"  {_emptiness(reading['empty'], *words)}")


def _emptiness(empty: bool | str, words: str, otherwise: str) -> str:
    return f"not known whether {otherwise}: {empty}" if isinstance(empty, str) else words


def _print_indexing(index: dict[str, Any]) -> None:
    """How an index of many filters finds this one."""
    entries = index["entries"]
    click.echo(f"  index     {entries:,} {'entry' if entries == 1 else 'entries'}, {index['cost']}")
    rows = [
        ("looked up", "; ".join(index["looked_up"]) or "for every event"),
        ("compared", ", ".join(index["compared"])),
        ("checked", ", ".join(index["checked"])),
        ("verified", f"{index['verified']:,} of the entries" if index["verified"] else ""),
    ]
    if entries:
        print_rows([row for row in rows if row[1]], indent=4)


def _print_outcome(outcome: dict[str, Any], subject: str) -> None:
    click.echo(f"on this event {subject} is {outcome['condition']}")
    rows = [
        ("matches", yes_or_no(outcome["matches"])),
        ("matches strictly", yes_or_no(outcome["matches_strictly"])),
        ("advertises", yes_or_no(outcome["advertises"])),
        ("advertises strictly", yes_or_no(outcome["advertises_strictly"])),
        ("screened", outcome["screened"]),
    ]
    print_rows(rows, indent=2)
    click.echo()


def _print_relations(answer: dict[str, Any]) -> None:
    sides = [
        ("first_to_second", "the first", "the second"),
        ("second_to_first", "the second", "the first"),
    ]
    for key, covering, covered in sides:
        relations = answer[key]
        click.echo(f"{covering} to {covered}")
        print_rows(
            [(words, yes_or_no(relations[name])) for name, (words, _) in _RELATIONS.items()],
            indent=2,
        )
        if relations.get("not_covered") is not None:
            click.echo(f"  only {covered} matches  ", nl=False)
            print_json(relations["not_covered"])
        elif relations["covers"] is False:
            click.echo("  no event shows it: it hangs on a part that is not analysed")
