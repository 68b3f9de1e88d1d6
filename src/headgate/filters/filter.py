"""Whom does a filter match, what does it cover, what does it let through? The eight relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice, product
from typing import Self, final

from headgate.filters import boxes, covering
from headgate.filters.boxes import Box
from headgate.filters.compiling import Test, compile_condition
from headgate.filters.evaluation import evaluate
from headgate.filters.likeness import Effort
from headgate.filters.parsing import parse
from headgate.filters.printing import print_condition
from headgate.filters.size import check_size
from headgate.filters.syntax import (
    Comparison,
    Condition,
    Constant,
    Not,
    conjunction,
    disjunction,
    names_in,
)
from headgate.filters.value_sets import EVERYTHING, ValueSet
from headgate.model.events import Event
from headgate.model.limits import FILTER_LIMITS, FilterLimits
from headgate.model.values import Value

AnyEvent = Event | Mapping[str, object]

_EXAMPLES_TRIED: tuple[Value | None, ...] = (
    1, 0, -1, 2, 10, 100, 1_000, 1_000_000, -1_000, 0.5, 3, "a", "b", None,
)  # fmt: skip
_EXAMPLES_TRIED_MAX = 1_000


@final
class Filter:
    """A condition on events: frozen, compared by what is written. Make one with `Filter.parse`.

    Where a method takes an event, a plain mapping will do.
    """

    __slots__ = ("_boxes", "_condition", "_limits", "_names", "_test", "as_written")

    as_written: str
    """The text it was read from, or else the one it prints as."""
    _condition: Condition
    _boxes: tuple[Box, ...]
    _names: frozenset[str]
    _test: Test | None

    def __init__(
        self,
        condition: Condition,
        as_written: str | None = None,
        limits: FilterLimits = FILTER_LIMITS,
    ) -> None:
        check_size(condition, limits)
        self._condition = condition
        self._limits = limits
        self._boxes = boxes.boxes_where_true(condition, limits)
        self._names = names_in(condition)
        self._test = None
        self.as_written = print_condition(condition) if as_written is None else as_written

    @classmethod
    def parse(cls, text: str, limits: FilterLimits = FILTER_LIMITS) -> Self:
        """Read a filter in either notation, or raise a `FilterError` that says where and why."""
        return cls(parse(text, limits), text, limits)

    @classmethod
    def everything(cls) -> Self:
        return cls(Constant(True))

    @classmethod
    def nothing(cls) -> Self:
        return cls(Constant(False))

    @property
    def condition(self) -> Condition:
        """The tree, for those who print or analyse it."""
        return self._condition

    @property
    def boxes(self) -> tuple[Box, ...]:
        """The normal form that decisions are made on."""
        return self._boxes

    @property
    def names(self) -> frozenset[str]:
        """The attributes that the filter names."""
        return self._names

    @property
    def has_residue(self) -> bool:
        """Whether a part of it is evaluated but not analysed."""
        return any(box.residues for box in self._boxes)

    @property
    def residue_names(self) -> frozenset[str]:
        """The attributes in what is evaluated but not analysed."""
        residues = frozenset[Comparison]().union(*(box.residues for box in self._boxes))
        return frozenset[str]().union(*map(names_in, residues))

    def matches(self, event: AnyEvent) -> bool:
        """Every constraint is met (the paper's f ⊏ n)."""
        test = self._test or self._compiled()
        return test(event._values if event.__class__ is Event else values_of(event))

    def evaluate(self, event: AnyEvent) -> bool | None:
        """True, false, or unknown (`None`)."""
        return evaluate(self._condition, values_of(event))

    def matches_strictly(self, event: AnyEvent) -> bool:
        """And no attribute goes without a constraint (f ≺ n)."""
        values = values_of(event)
        return (self._test or self._compiled())(values) and all(
            name in self._names for name in values if covering.ordinary(name)
        )

    def advertises(self, event: AnyEvent) -> bool:
        """Every attribute of the event that this names has a value it allows; one is named."""
        values = values_of(event)
        return any(_advertises(box, values) for box in self._boxes)

    def advertises_strictly(self, event: AnyEvent) -> bool:
        """And every attribute of the event is named (a ≺ n)."""
        values = values_of(event)
        ordinary = {name for name in values if covering.ordinary(name)}
        return any(ordinary <= box.names() and _advertises(box, values) for box in self._boxes)

    def covers(self, other: Filter) -> bool:
        """Every event that `other` matches, this matches (f1 ⊏ f2)."""
        return self._uncovered(other) is None

    def covers_strictly(self, other: Filter) -> bool:
        """Every event that `other` matches strictly, this matches strictly (f1 ≺ f2)."""
        names = self._names | other._names
        return self._all_covered(
            covering.closed(self._boxes, self._names, names, self._limits),
            covering.closed(other._boxes, other._names, names, self._limits),
        )

    def covers_advertisement(self, other: Filter) -> bool:
        """This advertises every event that `other` strictly advertises (a1 ⊏ a2)."""
        return self._covers_advertisement(other, strict=False)

    def covers_advertisement_strictly(self, other: Filter) -> bool:
        """This strictly advertises every event that `other` strictly advertises (a1 ≺ a2)."""
        return self._covers_advertisement(other, strict=True)

    def _covers_advertisement(self, other: Filter, *, strict: bool) -> bool:
        names = self._names | other._names
        return self._all_covered(
            covering.advertised(self._boxes, names, self._limits, strict=strict),
            covering.advertised(other._boxes, names, self._limits, strict=True),
        )

    def screen(self, event: AnyEvent) -> Event:
        """The event cut to the attributes that this names."""
        return _event(event).cut(self._names)

    def is_empty(self) -> bool:
        """Whether no event at all matches; a residue counts as possible."""
        effort = Effort(self._limits.pattern_steps)
        return all(box.is_empty(effort) for box in self._boxes)

    def example_beyond(self, other: Filter) -> dict[str, Value] | None:
        """The attributes of an event that this matches and `other` doesn't, or nothing.

        There is none where `other` covers this. Where it hangs on a residue, some numbers and texts
        are tried for the attributes in it; where none of them shows it, there is no example either.
        """
        left = other._uncovered(self)
        if left is None:
            return None
        plain = {name: allowed.example() for name, allowed in left.sets.items()}
        names = sorted(self.residue_names | other.residue_names)
        tried = [_tried(left.sets.get(name, EVERYTHING)) for name in names]
        for values in islice(product(*tried), _EXAMPLES_TRIED_MAX):
            found = {**plain, **dict(zip(names, values, strict=True))}
            example = {name: value for name, value in found.items() if value is not None}
            if _shows(example, self, other):
                return example
        return None

    def _uncovered(self, other: Filter) -> Box | None:
        return covering.uncovered(self._boxes, other._boxes, self._limits)

    def _all_covered(self, outer: Iterable[Box], inner: Iterable[Box]) -> bool:
        return covering.uncovered(list(outer), inner, self._limits) is None

    def compiled(self) -> Test:
        """The condition as a function of an event's attributes: for whoever asks it very often."""
        return self._test or self._compiled()

    def _compiled(self) -> Test:
        # Compiled at the first use: most filters are only ever indexed. Two threads that come here
        # at once make the same function twice.
        test = compile_condition(self._condition)
        self._test = test
        return test

    def __and__(self, other: Filter) -> Filter:
        return Filter(conjunction((self._condition, other._condition)), limits=self._limits)

    def __or__(self, other: Filter) -> Filter:
        return Filter(disjunction((self._condition, other._condition)), limits=self._limits)

    def __invert__(self) -> Filter:
        """Kleene's NOT: where this is unknown, so is its opposite."""
        return Filter(Not(self._condition), limits=self._limits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self._condition == other._condition

    def __hash__(self) -> int:
        return hash(self._condition)

    def __str__(self) -> str:
        return print_condition(self._condition)

    def __repr__(self) -> str:
        return f"Filter.parse({str(self)!r})"

    def __reduce__(self) -> tuple[type[Filter], tuple[Condition, str, FilterLimits]]:
        return Filter, (self._condition, self.as_written, self._limits)


def _event(event: AnyEvent) -> Event:
    return event if isinstance(event, Event) else _read(event)


def values_of(event: AnyEvent) -> Mapping[str, Value]:
    """The values that a filter looks at, also where a plain mapping stands for an event."""
    return event._values if isinstance(event, Event) else _read(event)._values


def _read(fields: Mapping[str, object]) -> Event:
    """An event from a mapping, in which names with `$` are what a broker would know."""
    known = {name: value for name, value in fields.items() if str(name)[:1] == "$"}
    if not known:
        return Event.of(fields)
    sent = {name: value for name, value in fields.items() if name not in known}
    return Event.of(sent).with_known(known)


def _tried(allowed: ValueSet) -> list[Value | None]:
    """Values of an attribute to try for a residue."""
    return [allowed.example(), *(value for value in _EXAMPLES_TRIED if value in allowed)]


def _shows(example: Mapping[str, Value], matching: Filter, other: Filter) -> bool:
    return (
        evaluate(matching._condition, example) is True
        and evaluate(other._condition, example) is not True
    )


def _advertises(box: Box, values: Mapping[str, Value]) -> bool:
    named = [name for name in box.names() if name in values]
    return bool(named) and all(
        values[name] in covering.advertised_values(box, name) for name in named
    )
