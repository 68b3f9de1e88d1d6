"""What stands where in this YAML text? A tree of texts, lists and mappings, each with its place.

No value is guessed here: `no`, `010` and `2026-01-31` are texts until somebody who knows what is
expected reads them. So YAML's surprises end at this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import yaml

from headgate.model.errors import named, printable

FILE_BYTES_MAX = 1024 * 1024
NODES_MAX = 250_000
"""What an alias stands for is counted each time that the alias is used."""
DEPTH_MAX = 64

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Place(NamedTuple):
    """A line and a column, both counted from 1."""

    line: int
    column: int


class MisreadError(Exception):
    """Something in a file is not what was expected: where, and what."""

    def __init__(self, place: Place | None, problem: str) -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text; plain when it stands without quotes."""

    place: Place
    text: str
    plain: bool

    @property
    def is_null(self) -> bool:
        return self.plain and self.text in ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    place: Place
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping, without a key that is written twice."""

    place: Place
    entries: tuple[tuple[Scalar, Node], ...]


Node: TypeAlias = Scalar | Listing | Table


class _Sized(NamedTuple):
    """A node with the number of nodes in it and their depth, what aliases stand for included."""

    node: Node
    nodes: int
    depth: int


@dataclass(slots=True)
class _Open:
    """A list or a mapping whose end has not come yet."""

    place: Place
    anchor: str | None
    is_table: bool
    nodes: int = 1
    depth: int = 1
    parts: list[Node] = field(default_factory=list)

    def add(self, part: _Sized) -> None:
        self.nodes += part.nodes
        self.depth = max(self.depth, part.depth + 1)
        self.parts.append(part.node)

    def closed(self) -> _Sized:
        node = (
            _table(self.place, self.parts)
            if self.is_table
            else Listing(self.place, tuple(self.parts))
        )
        return _Sized(node, self.nodes, self.depth)


def compose(data: bytes | str) -> Node | None:
    """The one document in a text, or nothing where there are only blanks and comments."""
    text = _text_of(data)
    composer = _Composer()
    try:
        for event in _events(text):
            composer.take(event)
    except yaml.MarkedYAMLError as problem:
        raise _unreadable(problem, text) from None
    except yaml.reader.ReaderError as problem:  # a character that YAML doesn't allow anywhere
        # Its position counts bytes in one of PyYAML's parsers and characters in the other.
        raise _forbidden(text.find(chr(problem.character)), text) from None
    return composer.root


def _text_of(data: bytes | str) -> str:
    if len(data) > FILE_BYTES_MAX:
        raise MisreadError(None, f"a policy file has at most {FILE_BYTES_MAX:,} bytes")
    try:
        text = data.decode() if isinstance(data, bytes) else data
        text.encode()
    except UnicodeDecodeError as problem:
        before = problem.object[: problem.start]
        place = Place(before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode()) + 1)
        found = f"the byte {problem.object[problem.start]:#04x}"
        raise MisreadError(place, f"expected UTF-8, found {found}") from None
    except UnicodeEncodeError as problem:
        raise _forbidden(problem.start, text) from None
    return text.removeprefix("\ufeff")


def _events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=_LOADER)


class _Composer:
    """Builds the tree from the parser's events, within the bounds, without recursion."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self._open: list[_Open] = []
        self._anchors: dict[str, _Sized | None] = {}
        self._documents = 0

    def take(self, event: Any) -> None:
        place = Place(event.start_mark.line + 1, event.start_mark.column + 1)
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise MisreadError(
                        place, "expected one document, found the begin of a second one"
                    )
            case yaml.ScalarEvent():
                self._check_tag(event, place)
                # In a block (`|`, `>`) and in quotes a text is a text.
                scalar = Scalar(place, event.value, not event.style)
                self._add(_Sized(scalar, 1, 1), event.anchor, place)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._check_tag(event, place)
                if event.anchor is not None:
                    self._anchors[event.anchor] = None
                is_table = isinstance(event, yaml.MappingStartEvent)
                self._open.append(_Open(place, event.anchor, is_table))
                self._check_depth(len(self._open), place)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                closed = self._open.pop()
                self._add(closed.closed(), closed.anchor, closed.place)
            case yaml.AliasEvent():
                self._add(self._meant(str(event.anchor), place), None, place)

    def _check_tag(self, event: Any, place: Place) -> None:
        if event.tag is not None:
            raise MisreadError(place, f"expected no tag, found {named(event.tag)}")

    def _meant(self, anchor: str, place: Place) -> _Sized:
        meant = self._anchors.get(anchor)
        if meant is None:
            inside = " within what it stands for" if anchor in self._anchors else ""
            raise MisreadError(place, f"expected the name of an anchor, found `*{anchor}`{inside}")
        return meant

    def _add(self, part: _Sized, anchor: str | None, place: Place) -> None:
        if anchor is not None:
            self._anchors[anchor] = part
        self._check_depth(len(self._open) + part.depth, place)
        if not self._open:
            self.root = part.node
            return
        above = self._open[-1]
        above.add(part)
        if above.nodes > NODES_MAX:
            raise MisreadError(
                place, f"a policy file has at most {NODES_MAX:,} parts, with aliases"
            )

    def _check_depth(self, depth: int, place: Place) -> None:
        if depth > DEPTH_MAX:
            raise MisreadError(place, f"a policy file is nested at most {DEPTH_MAX} deep")


def _table(place: Place, parts: list[Node]) -> Table:
    seen: dict[str, Place] = {}
    entries: list[tuple[Scalar, Node]] = []
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        if not isinstance(key, Scalar) or key.is_null:
            raise MisreadError(key.place, f"expected a key, found {found(key)}")
        if key.text in seen:
            raise MisreadError(
                key.place,
                f"expected each key once, found {named(key.text)} again "
                f"(first on line {seen[key.text].line})",
            )
        seen[key.text] = key.place
        entries.append((key, value))
    return Table(place, tuple(entries))


def found(node: Node) -> str:
    """What stands there, for the end of a refusal."""
    match node:
        case Listing():
            return "a list"
        case Table():
            return "a mapping"
        case Scalar(text=""):
            return "nothing" if node.plain else "an empty text"
        case _:
            return named(node.text)


def _unreadable(problem: yaml.MarkedYAMLError, text: str) -> MisreadError:
    mark = problem.problem_mark or problem.context_mark
    assert mark is not None
    place = Place(mark.line + 1, mark.column + 1)
    line = dict(enumerate(text.splitlines())).get(mark.line, "")
    char = line[mark.column : mark.column + 1]
    said = printable(problem.problem or "this is no YAML")
    if char == "\t" or "\t" in line[: len(line) - len(line.lstrip())]:
        return MisreadError(place, "expected spaces, found a tab: YAML is not indented with tabs")
    if "cannot start any token" in said:
        return MisreadError(
            place, f"expected YAML, found `{char}`: a text that begins so needs quotes"
        )
    if "mapping values are not allowed" in said:
        return MisreadError(
            place, "expected YAML, found a second `:`: a text with `: ` needs quotes"
        )
    begin = problem.context_mark
    since = f" (of what begins on line {begin.line + 1})" if begin and begin is not mark else ""
    return MisreadError(place, f"expected YAML, which this is not: {said}{since}")


def _forbidden(position: int, text: str) -> MisreadError:
    before = text[:position]
    place = Place(before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
    return MisreadError(place, f"expected a printable character, found U+{ord(text[position]):04X}")
