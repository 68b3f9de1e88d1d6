"""For which events is a condition true? A union of boxes: for each attribute a set of values.

A box also keeps the *residues* that it can't analyse (arithmetic, comparisons of attributes): they
have to be true as well. Boxes are what every decision about filters is made on. An impossible box
is kept, because what it names still matters to an advertisement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.filters import value_sets
from headgate.filters.likeness import Effort, Pattern
from headgate.filters.syntax import (
    OPPOSITE,
    And,
    Between,
    Comparison,
    Condition,
    Constant,
    Contains,
    In,
    IsType,
    Like,
    Literal,
    Name,
    Not,
    Or,
    Present,
    comparison,
    disjunction,
    names_in,
)
from headgate.filters.value_sets import ABSENT, VALUES, ValueSet
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import FILTER_LIMITS, FilterLimits
from headgate.model.values import Value

Residues = frozenset[Comparison]
NO_RESIDUES: Residues = frozenset()
_POINTS_PER_STEP = 128


@dataclass(frozen=True, slots=True)
class Box:
    """The events with every named attribute in its set, and every residue true."""

    sets: Mapping[str, ValueSet]
    residues: Residues = NO_RESIDUES

    def names(self) -> frozenset[str]:
        """The attributes with a constraint in this box."""
        return frozenset(self.sets).union(*map(names_in, self.residues))

    def is_empty(self, effort: Effort | None = None) -> bool:
        """Whether no event fits; residues are taken to be possible."""
        return any(allowed.is_empty(effort) for allowed in self.sets.values())

    def allows(self, event: Mapping[str, Value]) -> bool:
        """Whether the sets have the event's values; residues are left to who evaluates them."""
        return all(event.get(name) in allowed for name, allowed in self.sets.items())

    def weight(self) -> int:
        """The steps that looking at it takes beyond the first: a list of thousands takes many."""
        return sum(len(allowed.bounds) for allowed in self.sets.values()) // _POINTS_PER_STEP

    def __and__(self, other: Box) -> Box:
        sets = dict(self.sets)
        for name, allowed in other.sets.items():
            sets[name] = sets[name] & allowed if name in sets else allowed
        return Box(sets, self.residues | other.residues)


EVERYWHERE = Box({})


def boxes_where_true(node: Condition, limits: FilterLimits = FILTER_LIMITS) -> tuple[Box, ...]:
    """The events for which the condition is true (neither false nor unknown), as boxes."""
    return tuple(_Normaliser(limits).boxes(node, True))


def truth_set(node: Condition, truth: bool) -> tuple[str, ValueSet] | None:
    """The values of one attribute that make a test true (or false), where it is about one."""
    match node:
        case Comparison(sign, Name(name), Literal(_, value)):
            return name, value_sets.compared(sign if truth else OPPOSITE[sign], value)
        case In(Name(name), values):
            if truth:
                return name, value_sets.union(value_sets.compared("=", one.value) for one in values)
            different = (value_sets.compared("<>", one.value) for one in values)
            return name, value_sets.intersection(different)
        case Like(Name(name), pattern, escape):
            fitting = value_sets.like(Pattern.read(pattern, escape))
            return name, fitting if truth else value_sets.STRINGS & ~fitting
        case Contains(text, Name(name)):
            having = value_sets.containing(text)
            return name, having if truth else value_sets.SETS & ~having
        case Present(Name(name)):
            return name, VALUES if truth else ABSENT
        case IsType(Name(name), type_):
            typed = value_sets.of_kinds(type_.kinds)
            return name, typed if truth else ~typed
        case _:
            return None


@dataclass(slots=True)
class _Normaliser:
    limits: FilterLimits
    steps: int = field(default=0)

    def boxes(self, node: Condition, truth: bool) -> list[Box]:
        found = truth_set(node, truth)
        if found is not None:
            return [Box(dict([found]))]
        match node:
            case Constant(constant):
                return [EVERYWHERE] if constant is truth else []
            case Not(part):
                return self.boxes(part, not truth)
            case And(parts) | Or(parts):
                each = [self.boxes(part, truth) for part in parts]
                return self._all(each) if isinstance(node, And) is truth else self._any(each)
            case Between():
                return self.boxes(node.spelled_out(), truth)
            case In():
                return self.boxes(disjunction(node.spelled_out()), truth)
            case Comparison(sign, left, right):
                said = node if truth else comparison(OPPOSITE[sign], left, right)
                return [Box({}, frozenset({said}))]
        raise AssertionError(f"{node} is about one attribute")

    def _any(self, each: list[list[Box]]) -> list[Box]:
        return self._merged([box for boxes in each for box in boxes])

    def _all(self, each: list[list[Box]]) -> list[Box]:
        product = [_joined(boxes[0] for boxes in each if len(boxes) == 1)]
        for boxes in sorted((boxes for boxes in each if len(boxes) != 1), key=len):
            self._count(len(boxes) * _steps(product) + len(product) * _weight(boxes))
            product = self._merged([left & right for left in product for right in boxes])
        return product

    def _merged(self, boxes: list[Box]) -> list[Box]:
        """Boxes that differ in one attribute only become one: the same events, fewer boxes."""
        boxes = _merge_single(boxes)
        for name in sorted({name for box in boxes for name in box.sets}):
            if len(boxes) < 2:
                break
            self._count(_steps(boxes))
            boxes = _merge_along(name, boxes)
        if len(boxes) > self.limits.boxes:
            raise FilterTooComplexError(
                f"a filter comes to at most {self.limits.boxes:,} boxes when its ANDs and ORs are "
                "multiplied out, this one to more: split it into several"
            )
        return boxes

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self.limits.normal_form_steps:
            raise FilterTooComplexError(
                "a filter's ANDs and ORs take too many steps to be multiplied out: "
                "split it into several, or shorten its lists"
            )


def _weight(boxes: Iterable[Box]) -> int:
    return sum(box.weight() for box in boxes)


def _steps(boxes: list[Box]) -> int:
    return len(boxes) + _weight(boxes)


def _joined(boxes: Iterable[Box]) -> Box:
    sets: dict[str, list[ValueSet]] = {}
    residues: set[Comparison] = set()
    for box in boxes:
        residues |= box.residues
        for name, allowed in box.sets.items():
            sets.setdefault(name, []).append(allowed)
    joined = {name: value_sets.intersection(allowed) for name, allowed in sets.items()}
    return Box(joined, frozenset(residues))


def _merge_single(boxes: list[Box]) -> list[Box]:
    """Unite the boxes about one and the same attribute at once: there may be thousands."""
    single: dict[str, list[ValueSet]] = {}
    merged: list[Box] = []
    for box in boxes:
        if len(box.sets) == 1 and not box.residues:
            ((name, allowed),) = box.sets.items()
            if name not in single:
                merged.append(box)
            single.setdefault(name, []).append(allowed)
        else:
            merged.append(box)
    return [
        Box({name: value_sets.union(single[name])})
        if len(box.sets) == 1 and not box.residues and (name := next(iter(box.sets)))
        else box
        for box in merged
    ]


def _merge_along(name: str, boxes: list[Box]) -> list[Box]:
    alike: dict[object, list[Box]] = {}
    for box in boxes:
        rest = frozenset((other, allowed) for other, allowed in box.sets.items() if other != name)
        alike.setdefault((name in box.sets, rest, box.residues), []).append(box)
    return [_merge_group(name, group) for group in alike.values()]


def _merge_group(name: str, group: list[Box]) -> Box:
    first = group[0]
    if len(group) == 1 or name not in first.sets:
        return first
    united = value_sets.union(box.sets[name] for box in group)
    return Box({**first.sets, name: united}, first.residues)
