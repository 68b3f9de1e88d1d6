"""What happened? An event is a flat, typed map of attributes, and the body it is written from."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Self, final

import msgspec
from msgspec import Struct

from headgate.model import bodies
from headgate.model.errors import EventError, named
from headgate.model.limits import EVENT_LIMITS, EventLimits
from headgate.model.values import OPAQUE, Value

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode
_GROWTH_MAX = 5
"""A body read from JSON is written in less than this many times its bytes: `1e15`, at worst."""
_JSON_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


@final
class Event(Struct, frozen=True, eq=False):
    """A frozen event; make one with `of`, `from_json` or `from_bytes`."""

    _values: dict[str, Value]
    blanks: frozenset[str]
    """Names of fields that are null or an empty object: no attributes, but cut like them."""
    _body: bodies.Tree | bytes

    @classmethod
    def of(cls, fields: Mapping[str, object], limits: EventLimits = EVENT_LIMITS) -> Self:
        """An event from a mapping, nested or flat, of plain Python values."""
        if not isinstance(fields, Mapping):
            raise EventError(
                f"expected a mapping from names to values, found a value of type "
                f"`{type(fields).__name__}`"
            )
        tree = bodies.plain_object(fields, "", 1, limits)
        event = cls._from_fields(_gather(tree, limits), tree)
        event._check_written_size(limits)
        return event

    @classmethod
    def from_json(cls, data: bytes | str, limits: EventLimits = EVENT_LIMITS) -> Self:
        """An event from JSON text: an object's fields, or else the one attribute `payload`."""
        if isinstance(data, str):
            data = _utf8(data)
        if len(data) > limits.event_bytes:
            raise _too_large(limits)
        tree = _read(data, limits)
        fields = _gather(tree, limits)
        if data.count(b":") != fields.keys and _structural_colons(data) != fields.keys:
            raise _duplicate_key(data)
        event = cls._from_fields(fields, tree)
        if len(data) * _GROWTH_MAX > limits.event_bytes:
            event._check_written_size(limits)
        return event

    @classmethod
    def from_bytes(cls, data: bytes, limits: EventLimits = EVENT_LIMITS) -> Self:
        """An event whose body is no JSON: its one attribute `payload` can be read, not filtered."""
        if len(data) > limits.event_bytes:
            raise _too_large(limits)
        return cls({bodies.PAYLOAD: OPAQUE}, frozenset(), bytes(data))

    @classmethod
    def _from_fields(cls, fields: bodies.Fields, tree: bodies.Tree) -> Self:
        return cls(fields.values, frozenset(fields.blanks), tree)

    def _check_written_size(self, limits: EventLimits) -> None:
        if len(self.to_json()) > limits.event_bytes:
            raise _too_large(limits)

    def with_known(self, known: Mapping[str, object]) -> Event:
        """The same event with what the broker itself knows of it, in names that begin with `$`."""
        fields = bodies.Fields(EVENT_LIMITS)
        many = len(known) > EVENT_LIMITS.attributes
        for name, value in known.items():
            if name[:1] != "$":
                raise EventError(f"{named(name)} must begin with `$` to be the broker's own", name)
            kind = value.__class__
            # What every record has of these is plain as it is, and needs no copy.
            if not many and (
                (kind is str and value.isascii())  # type: ignore[attr-defined]
                or (kind is datetime and value.tzinfo is UTC)  # type: ignore[attr-defined]
            ):
                fields.values[name] = value  # type: ignore[assignment]
                continue
            fields.add(name, bodies.plain_tree(value, name, 1, EVENT_LIMITS), 1)
        return Event({**self._values, **fields.values}, self.blanks, self._body)

    @property
    def attributes(self) -> Mapping[str, Value]:
        """The typed values by name; null fields and empty objects are not among them."""
        return MappingProxyType(self._values)

    @property
    def names(self) -> frozenset[str]:
        """All names in the event, those of blanks too: a name alone can carry a message."""
        return self.blanks.union(self._values)

    def with_members(self, name: str, allowed: Container[str]) -> Event:
        """The event with only these members left in one of its sets, a field of the body."""
        members, tree = self._values[name], self._body
        assert isinstance(members, frozenset)
        assert isinstance(tree, dict)
        left = frozenset(member for member in members if member in allowed)
        body = {**tree, name: [member for member in tree[name] if member in left]}
        return Event({**self._values, name: left}, self.blanks, body)

    def cut(self, readable: Container[str]) -> Event:
        """The event as someone sees it who may read these names only, its body rebuilt."""
        body = self._body
        if body.__class__ is dict:
            body = bodies.cut_object(body, readable)
        elif bodies.PAYLOAD not in readable:
            # The same as an object of which nothing is left: what it was must not show.
            body = {}
        return Event(
            {name: value for name, value in self._values.items() if name in readable},
            frozenset(name for name in self.blanks if name in readable),
            body,
        )

    def to_json(self) -> bytes:
        """The body as canonical JSON: the same event gives the same bytes, always."""
        if self._body.__class__ is bytes:
            raise EventError("the body is no JSON: take `to_bytes()`", bodies.PAYLOAD)
        return _encode(self._body)

    def to_bytes(self) -> bytes:
        """The body as it goes out: canonical JSON, or the bytes that are no JSON."""
        body: Any = self._body
        return body if body.__class__ is bytes else self.to_json()

    def _identity(self) -> tuple[bool, bytes, frozenset[tuple[str, type, Value]]]:
        # The classes: `True == 1`, and a timestamp is written like the text that looks like it.
        typed = frozenset((name, value.__class__, value) for name, value in self._values.items())
        return self._body.__class__ is bytes, self.to_bytes(), typed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._identity() == other._identity()

    def __ne__(self, other: object) -> bool:
        # A struct's own doesn't ask `__eq__`.
        return not self == other

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"Event({self._values!r})"


def _gather(tree: bodies.Tree, limits: EventLimits) -> bodies.Fields:
    fields = bodies.Fields(limits)
    if tree.__class__ is dict:
        fields.add_object(tree, "", 1)
        fields.check_names(tree)
    else:
        fields.add(bodies.PAYLOAD, tree, 0)
    return fields


def _read(data: bytes, limits: EventLimits) -> bodies.Tree:
    try:
        return _decode(data)
    except RecursionError:
        raise bodies.too_deep("", limits) from None
    except UnicodeDecodeError as problem:
        found = f"the byte {problem.object[problem.start]:#04x}"
        raise EventError(f"expected UTF-8, found {found}") from None
    except (msgspec.MsgspecError, ValueError) as problem:
        raise _unreadable(data, str(problem), limits) from None


def _unreadable(data: bytes, problem: str, limits: EventLimits) -> EventError:
    """Name the field with what JSON, a double or UTF-8 can't hold, if that is what is wrong."""
    try:
        tree = json.loads(data, parse_int=lambda digits: int(digits[:400]))
        _gather(
            bodies.plain_tree(tree, "" if isinstance(tree, dict) else bodies.PAYLOAD, 0, limits),
            limits,
        )
    except EventError as refusal:
        return refusal
    except (ValueError, RecursionError):
        pass
    return EventError(f"expected JSON: {problem.removeprefix('JSON is malformed: ')}")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as problem:
        raise _lone_surrogate(problem) from None


def _lone_surrogate(problem: UnicodeEncodeError) -> EventError:
    return EventError(
        f"a string holds half a character (U+{ord(problem.object[problem.start]):04X})"
    )


def _too_large(limits: EventLimits) -> EventError:
    return EventError(f"an event has at most {limits.event_bytes:,} bytes")


def _structural_colons(data: bytes) -> int:
    """How many colons stand outside of strings: one for each key that was written."""
    return _JSON_STRING.sub(b"", data).count(b":")


def _duplicate_key(data: bytes) -> EventError:
    """Name the key that is written twice; only reached when there is one."""

    class Pairs(list[tuple[str, Any]]):
        pass

    def find(item: object, prefix: str) -> str | None:
        if isinstance(item, Pairs):
            seen = set()
            for key, inner in item:
                found = prefix + key if key in seen else find(inner, f"{prefix}{key}.")
                if found is not None:
                    return found
                seen.add(key)
        elif isinstance(item, list):
            for inner in item:
                found = find(inner, prefix)
                if found is not None:
                    return found
        return None

    name = find(json.loads(data, object_pairs_hook=Pairs), "")
    return EventError(f"the key {named(name or '')} is written twice: keep one", name)
