"""How does a person write an event? As a mapping, with what the broker knows of it in `$` names.

A real sender can't use these names; in an example they say on which `$stream`, under which `$topic`
or at which `$time` the event was published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headgate.model.bodies import PAYLOAD
from headgate.model.errors import EventError, named
from headgate.model.events import Event
from headgate.model.values import OPAQUE, Value, format_timestamp, parse_timestamp

TIME = "$time"
"""What the broker knows is mostly text; this one is a timestamp."""


def event_of(fields: Mapping[str, object]) -> Event:
    """The event that a mapping states."""
    known = {name: value for name, value in fields.items() if name[:1] == "$"}
    sent = {name: value for name, value in fields.items() if name not in known}
    moment = known.get(TIME)
    if isinstance(moment, str):
        known[TIME] = parse_timestamp(moment)
    event = Event.of(sent)
    return event.with_known(known) if known else event


def event_from_json(text: str) -> Event:
    """The event that a JSON text states; what is no object is the one attribute `payload`."""
    if '"$' not in text:
        return Event.from_json(text)
    try:
        fields = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, EventError):
            raise
        return Event.from_json(text)  # which says what is wrong with it
    known = isinstance(fields, dict) and any(name[:1] == "$" for name in fields)
    return event_of(fields) if known else Event.from_json(text)


def fields_of(event: Event) -> dict[str, Any]:
    """The mapping that states an event, its broker's names first."""
    known = {
        name: _written(value) for name, value in sorted(event.attributes.items()) if name[0] == "$"
    }
    body = _body_of(event)
    return {**known, **(body if isinstance(body, dict) else {PAYLOAD: body})}


def _body_of(event: Event) -> Any:
    try:
        return json.loads(event.to_json())
    except EventError:
        return event.to_bytes().decode(errors="replace")


def _written(value: Value) -> Any:
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, frozenset):
        return sorted(value)
    return [0] if value is OPAQUE else value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise EventError(f"the key {named(twice)} is written twice: keep one", twice)
    return fields
