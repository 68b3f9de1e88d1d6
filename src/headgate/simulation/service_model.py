"""What must each subscription receive? The whole service model, slow and obvious.

Plain data in: batches as `Batch.to_json()` writes them, bodies as JSON trees. It shares with
Headgate only how a filter is read and evaluated. Read from below: `received` is the model of
Zhao & Sturman 2, the rest is what "the access rights" are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from headgate.filters.evaluation import evaluate
from headgate.filters.parsing import parse
from headgate.filters.syntax import (
    And,
    Comparison,
    Condition,
    In,
    Like,
    Name,
    Not,
    Or,
    names_in,
)
from headgate.model.values import OPAQUE, Value, parse_timestamp

Said = Mapping[str, Any]
"""A rule or a batch as JSON spells it."""
Names = frozenset[str] | None
"""Names, or `None` for all names."""


@dataclass(frozen=True)
class Record:
    """An event where it stands in the log; `known` is what the broker adds in `$` names."""

    stream: str
    offset: int
    body: Any
    known: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Wish:
    """A subscription, in force on a stream from its first offset up to (not with) its last."""

    principal: str
    filter: str = "TRUE"
    domain: str | None = None
    starts: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Received:
    """A delivery: which record, under which version, and what the reader sees of it."""

    stream: str
    offset: int
    version: int
    body: Any
    known: Mapping[str, Any]


def leaves(tree: Said, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a body by their dotted names."""
    for key, item in tree.items():
        if isinstance(item, dict) and item:
            yield from leaves(item, f"{prefix}{key}.")
        else:
            yield prefix + key, item


def attributes(body: Any, known: Said) -> dict[str, Value]:
    """The names that have a value: those of `null` and of an empty object have none."""
    found = leaves(body) if isinstance(body, dict) else [("payload", body)]
    return {name: valued(item) for name, item in [*found, *known.items()] if item not in (None, {})}


def valued(item: Any) -> Value:
    if isinstance(item, list):
        return frozenset(item) if all(isinstance(one, str) for one in item) else OPAQUE
    return OPAQUE if isinstance(item, bytes) else item


def cut(body: Any, readable: Names) -> Any:
    """The body with the readable fields only; an object of which nothing is left goes, too."""
    if readable is None or (not isinstance(body, dict) and "payload" in readable):
        return body
    return cut_fields(body, readable, "") if isinstance(body, dict) else {}


def cut_fields(tree: Said, readable: frozenset[str], prefix: str) -> dict[str, Any]:
    left: dict[str, Any] = {}
    for key, item in tree.items():
        if isinstance(item, dict) and item:
            inner = cut_fields(item, readable, f"{prefix}{key}.")
            if inner:
                left[key] = inner
        elif prefix + key in readable:
            left[key] = item
    return left


def rights(batches: Iterable[Said], principal: str) -> list[Said]:
    """The rules in force after these batches, the principal's own and those of its groups."""
    granted: list[Said] = []
    waiting: list[Said] = []  # their validity has not begun
    members: set[tuple[str, str]] = set()
    for batch in batches:
        for change in batch["changes"]:
            ((word, said),) = change.items()
            if word == "grant":
                begin = said.get("validity", {}).get("from")
                early = begin and parse_timestamp(begin) > parse_timestamp(batch["time"])
                (waiting if early else granted).append(said)
            elif word == "revoke":
                (waiting if said in waiting else granted).remove(said)
            elif word == "begin":
                waiting.remove(said)
                granted.append(said)
            elif word == "join":
                members.add((said["member"], said["group"]))
            elif word == "leave":
                members.remove((said["member"], said["group"]))
    names = {principal}
    while more := {group for member, group in members if member in names} - names:
        names |= more
    return [rule for rule in granted if rule["principal"] in names]


def grants(rule: Said, event: Mapping[str, Value]) -> bool:
    """Whether the event is within the rule's upper bound, topics included."""
    condition = rule.get("filter", "TRUE")
    stream = str(event.get("$stream", ""))
    if stream.startswith("$") and not says_stream(condition, stream):
        return False
    topics = event.get("topics")
    shared = topics & set(rule.get("topics", ())) if isinstance(topics, frozenset) else set()
    return true(condition, event) and ("topics" not in rule or bool(shared))


def says_stream(condition: str, stream: str) -> bool:
    """Whether a filter says the name of a stream: by `=`, by `IN`, or by a pattern like `$%`."""
    return says(read(condition), stream, True)


def says(node: Condition, stream: str, wanted: bool) -> bool:
    """Whether it says that this is the stream (or, under a NOT, that it is not another one)."""
    match node:
        case Not(part):
            return says(part, stream, not wanted)
        case And(parts) | Or(parts):
            return any(says(part, stream, wanted) for part in parts)
        case Comparison("=", Name("$stream")) | In(Name("$stream")):
            said = wanted
        case Comparison("<>", Name("$stream")):
            said = not wanted
        case Like(Name("$stream"), pattern):
            said = wanted and pattern.startswith("$")
        case _:
            return False
    return said and evaluate(node, {"$stream": stream}) is wanted


def true(condition: str, event: Mapping[str, Value]) -> bool:
    return evaluate(read(condition), event) is True


@lru_cache
def read(condition: str) -> Condition:
    return parse(condition)


def names_of(condition: str) -> frozenset[str]:
    """The names in a filter: the only ones that decide whether it is true of anything."""
    return names_in(read(condition))


def may_read(rule: Said) -> Names:
    if "attributes" in rule:
        return frozenset(rule["attributes"])
    strict = rule.get("strict") in ("upper", "both")
    return names_of(rule.get("filter", "TRUE")) if strict else None


def seen(rules: Sequence[Said], body: Any, known: Said, event: Said) -> tuple[Any, Said] | None:
    """What someone with these rules sees of a body; nothing where none grants the event."""
    rules = [rule for rule in rules if rule["action"] == "subscribe"]
    granting = [rule for rule in rules if grants(rule, event)]
    if not granting:
        return None
    sets = [may_read(rule) for rule in granting]
    readable: Names = None if None in sets else frozenset().union(*(names or () for names in sets))
    body = cut(body, readable)
    known = {name: value for name, value in known.items() if readable is None or name in readable}
    open_ = [names for rule, names in zip(granting, sets, strict=True) if "topics" not in rule]
    if not any(names is None or "topics" in names for names in open_) and "topics" in body:
        allowed = {topic for rule in rules for topic in rule.get("topics", ())}
        body = {**body, "topics": [topic for topic in body["topics"] if topic in allowed]}
    return body, known


def view(history: Sequence[Said], version: int, record: Record, wish: Wish) -> Any | None:
    """What one subscription receives of one record under a version, if anything."""
    event = attributes(record.body, record.known)
    body, known = record.body, record.known
    for principal in filter(None, (wish.principal, wish.domain)):
        left = seen(rights(history[:version], principal), body, known, event)
        if left is None:
            return None
        body, known = left
    return (body, known) if true(wish.filter, attributes(body, known)) else None


def version_at(starting_points: Iterable[tuple[int, int]], offset: int) -> int:
    """The latest version that began at this offset or before."""
    return max((version for version, start in starting_points if start <= offset), default=0)


def received(
    log: Iterable[Record],
    history: Sequence[Said],
    starting_points: Mapping[str, Iterable[tuple[int, int]]],
    wish: Wish,
) -> list[Received]:
    """What a subscription must receive, in the order of the log: no more, and no less.

    `starting_points` gives for each stream pairs of a version and its first offset.
    """
    found: list[Received] = []
    for record in log:
        stream, offset = record.stream, record.offset
        if not wish.starts.get(stream, 0) <= offset < wish.ends.get(stream, offset + 1):
            continue
        version = version_at(starting_points.get(stream, ()), offset)
        left = view(history, version, record, wish)
        if left is not None:
            found.append(Received(stream, offset, version, *left))
    return found
