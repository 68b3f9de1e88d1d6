"""Which attributes does a body have, and what is left of it when some are cut?

A body is a JSON tree. Nested scalars become attributes by their dotted names, arrays of strings
become sets, other arrays are opaque. A `null` and an empty object have a name but no value: they
are *blanks*, which conditions take for missing, and which are cut like any other field.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from typing import Any

from headgate.model.errors import EventError, named
from headgate.model.limits import INTEGER_MAX, INTEGER_MIN, EventLimits
from headgate.model.values import OPAQUE, Value

Tree = Any  # dict[str, Tree] | list[Tree] | str | int | float | bool | datetime | None

PAYLOAD = "payload"
"""The one attribute of a body that is no JSON object."""


_PLAIN = frozenset({str, float, bool, datetime})
"""Kinds that are attributes as they are; of an integer the range has to be checked."""


class Fields:
    """The attributes and blanks of one body, gathered while walking it once."""

    __slots__ = ("blanks", "keys", "leaves", "limits", "repeated", "values")

    def __init__(self, limits: EventLimits) -> None:
        self.limits = limits
        self.values: dict[str, Value] = {}
        self.blanks: set[str] = set()
        self.leaves = 0
        self.keys = 0
        self.repeated = 0

    def add_object(self, tree: dict[str, Tree], prefix: str, depth: int) -> None:
        if depth > self.limits.depth:
            raise too_deep(prefix[:-1], self.limits)
        self.keys += len(tree)
        # Each name within repeats the names around it: a long one would be kept a thousand times.
        self.repeated += len(prefix) * len(tree)
        if self.repeated > self.limits.event_bytes:
            raise EventError(
                f"{named(prefix[:-1])} is too long a name for what is nested in it: dotted names "
                f"repeat at most {self.limits.event_bytes:,} characters",
                prefix[:-1],
            )
        values, most = self.values, self.limits.attributes
        for key, item in tree.items():
            # Most are plain values: they are taken without a call for each.
            kind = item.__class__
            if self.leaves < most and (
                kind in _PLAIN or (kind is int and INTEGER_MIN <= item <= INTEGER_MAX)
            ):
                self.leaves += 1
                values[prefix + key] = item
            else:
                self.add(prefix + key, item, depth)

    def add(self, name: str, item: Tree, depth: int) -> None:
        kind = item.__class__
        if kind is dict and item:
            self.add_object(item, name + ".", depth + 1)
            return
        self.leaves += 1
        if self.leaves > self.limits.attributes:
            raise EventError(f"an event has at most {self.limits.attributes:,} attributes", name)
        if kind in _PLAIN:
            self.values[name] = item
        elif kind is int:
            self.values[name] = _checked_integer(item, name)
        elif kind is list:
            self.values[name] = self._array(item, name, depth + 1)
        else:  # null, or an empty object
            self.blanks.add(name)

    def _array(self, items: list[Tree], name: str, depth: int) -> Value:
        if depth > self.limits.depth:
            raise too_deep(name, self.limits)
        if all(item.__class__ is str for item in items):
            return frozenset(items)
        for item in items:
            self._inside_array(item, name, depth)
        return OPAQUE

    def _inside_array(self, item: Tree, name: str, depth: int) -> None:
        kind = item.__class__
        if kind is int:
            _checked_integer(item, name)
        elif kind is list:
            self._array(item, name, depth + 1)
        elif kind is dict:
            if depth >= self.limits.depth:
                raise too_deep(name, self.limits)
            self.keys += len(item)
            for inner in item.values():
                self._inside_array(inner, name, depth + 1)

    def check_names(self, tree: dict[str, Tree]) -> None:
        """Refuse names that no sender may use, and two fields that come to the same name."""
        for key in tree:
            if not key:
                raise EventError('a field has the empty name `""`: give it a name', key)
            if key[0] == "$":
                raise EventError(
                    f"{named(key)} begins with `$`, which is kept for what the broker knows: "
                    "rename it",
                    key,
                )
        twice = self.leaves != len(self.values) + len(self.blanks)
        if twice or not self.blanks.isdisjoint(self.values):
            raise _collision(tree)


def too_deep(name: str, limits: EventLimits) -> EventError:
    where = f"{named(name)} is" if name else "the event is"
    return EventError(f"{where} nested deeper than {limits.depth} levels", name or None)


def _checked_integer(number: int, name: str) -> int:
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        raise EventError(f"{named(name)} is an integer beyond 64 bits: send it as a string", name)
    return number


def _collision(tree: dict[str, Tree]) -> EventError:
    seen: set[str] = set()

    def find(inner: dict[str, Tree], prefix: str) -> str | None:
        for key, item in inner.items():
            name = prefix + key
            if item.__class__ is dict and item:
                found = find(item, name + ".")
                if found is not None:
                    return found
            elif name in seen:
                return name
            seen.add(name)
        return None

    name = find(tree, "")
    return EventError(
        f"two fields come to the same attribute name {named(name or '')}: rename one", name
    )


def cut_object(
    tree: dict[str, Tree], readable: Container[str], prefix: str = ""
) -> dict[str, Tree]:
    """What is left when only `readable` names stay; an object emptied by the cut goes with them."""
    left: dict[str, Tree] = {}
    for key, item in tree.items():
        name = prefix + key
        if item.__class__ is dict and item:
            inner = cut_object(item, readable, name + ".")
            if inner:
                left[key] = inner
        elif name in readable:
            left[key] = item
    return left


def plain_tree(value: object, name: str, depth: int, limits: EventLimits) -> Tree:
    """A checked copy of what a program hands in, made of the types that JSON reading gives."""
    kind = value.__class__
    if value is None or kind is bool or kind is int:
        return value
    if isinstance(value, str):
        return _plain_text(value, name)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise EventError(f"{named(name)} is {value}: an event holds finite numbers only", name)
        return float(value)
    if isinstance(value, datetime):
        return _plain_timestamp(value, name)
    if isinstance(value, int):
        return int(value)
    if depth >= limits.depth:
        raise too_deep(name, limits)
    if isinstance(value, Mapping):
        return plain_object(value, name + "." if name else "", depth + 1, limits)
    if isinstance(value, list | tuple):
        return [plain_tree(item, name, depth + 1, limits) for item in value]
    if isinstance(value, set | frozenset) and all(isinstance(item, str) for item in value):
        return sorted(_plain_text(item, name) for item in value)
    raise EventError(
        f"{named(name)} holds a {kind.__name__}: expected text, a number, a boolean, a timestamp, "
        "a list, a set of strings or a mapping",
        name,
    )


def plain_object(
    mapping: Mapping[Any, object], prefix: str, depth: int, limits: EventLimits
) -> dict[str, Tree]:
    copy: dict[str, Tree] = {}
    for key, item in mapping.items():
        if not isinstance(key, str):
            raise EventError(
                f"a field's name is the {key.__class__.__name__} {named(str(key))}: use text"
            )
        plain_key = _plain_text(key, prefix + key)
        copy[plain_key] = plain_tree(item, prefix + plain_key, depth, limits)
    return copy


def _plain_text(text: str, name: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            half = f"U+{ord(text[problem.start]):04X}"
            raise EventError(f"{named(name)} holds half a character, {half}", name) from None
    return str.__str__(text)


def _plain_timestamp(moment: datetime, name: str) -> datetime:
    if moment.utcoffset() is None:
        raise EventError(
            f"{named(name)} is a timestamp without a zone: give it one, for instance UTC", name
        )
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        raise EventError(f"{named(name)} is a timestamp beyond what UTC can say", name) from None
    return utc if utc.__class__ is datetime else datetime.fromisoformat(utc.isoformat())
