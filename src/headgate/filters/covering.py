"""Does one filter cover another? Exact, by taking boxes away from boxes.

What is left of the covered side after every box of the covering side was taken away is what isn't
covered. Each of the four covering relations is this same question about boxes of its own:

* strict: what a filter doesn't name must be missing (names that begin with `$` may be there);
* advertisements: what is named may be missing, too, but not all of it.

A residue is not analysed. On the covered side it can be ignored (the box only gets larger); on
the covering side it is met where the covered box carries the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from headgate.filters.boxes import Box
from headgate.filters.likeness import Effort
from headgate.filters.value_sets import ABSENT, EVERYTHING, VALUES, ValueSet
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import FILTER_LIMITS, FilterLimits


def uncovered(
    outer: Sequence[Box], inner: Iterable[Box], limits: FilterLimits = FILTER_LIMITS
) -> Box | None:
    """A non-empty box of `inner` that no box of `outer` covers, or nothing if all is covered."""
    work = _Work(limits.covering_steps, Effort(limits.pattern_steps))
    for box in inner:
        if not box.is_empty(work.effort):
            useful = [
                (one, tuple(one.sets), one.weight())
                for one in outer
                if one.residues <= box.residues
            ]
            left = work.left_over(box, useful)
            if left is not None:
                return left
    return None


_Other: TypeAlias = tuple[Box, Sequence[str], int]
"""A box, the attributes in which another may stick out of it (what covered the whole in the others
covers its pieces, too), and its weight."""


@dataclass(slots=True)
class _Work:
    """Counts the boxes looked at, so that a comparison ends, with an answer or an error."""

    steps_left: int
    effort: Effort

    def left_over(self, box: Box, outer: Sequence[_Other]) -> Box | None:
        """A part of the box that lies outside of all the others; one thing left is enough."""
        self._count(len(outer) * (1 + box.weight()) + sum(weight for _, _, weight in outer))
        touching: list[_Other] = []
        for other, names, weight in outer:
            differing = _differing(box, other, names, self.effort)
            if differing is None:
                continue
            if not differing:
                return None
            touching.append((other, differing, weight))
        if not touching:
            return box
        # The one with the fewest differing attributes cuts off the fewest pieces.
        first = min(range(len(touching)), key=lambda at: len(touching[at][1]))
        rest = touching[:first] + touching[first + 1 :]
        taken, differing, _ = touching[first]
        for piece in _pieces(box, taken, differing):
            left = self.left_over(piece, rest)
            if left is not None:
                return left
        return None

    def _count(self, steps: int) -> None:
        self.steps_left -= steps + 1
        if self.steps_left < 0:
            raise FilterTooComplexError(
                "these filters overlap in too many ways to be compared: use fewer alternatives"
            )


def _differing(box: Box, other: Box, names: Sequence[str], effort: Effort) -> Sequence[str] | None:
    """Those of the names in which the box sticks out of the other; nothing where they are apart."""
    differing: list[str] = []
    for name in names:
        mine = box.sets.get(name, EVERYTHING)
        allowed = other.sets[name]
        if allowed.issuperset(mine, effort):
            continue
        if allowed.isdisjoint(mine, effort):
            return None
        differing.append(name)
    return differing


def _pieces(box: Box, taken: Box, differing: Sequence[str]) -> Iterator[Box]:
    """What is left of a box without another one: for each attribute the part that sticks out."""
    sets = dict(box.sets)
    for name in differing:
        mine = sets.get(name, EVERYTHING)
        allowed = taken.sets[name]
        yield Box({**sets, name: mine & ~allowed}, box.residues)
        sets[name] = mine & allowed


def ordinary(name: str) -> bool:
    """Whether the strict relations count an attribute that a filter doesn't name."""
    return not name.startswith("$")


def closed(
    boxes: Iterable[Box],
    named: frozenset[str],
    names: Iterable[str],
    limits: FilterLimits = FILTER_LIMITS,
) -> Iterator[Box]:
    """The boxes of a filter that matches strictly: the `names` that it doesn't name are missing."""
    missing = _missing(names, named)
    return _bounded((box & missing for box in boxes), limits)


def advertised(
    boxes: Iterable[Box],
    names: Iterable[str],
    limits: FilterLimits = FILTER_LIMITS,
    *,
    strict: bool,
) -> Iterator[Box]:
    """The events that an advertisement advertises, as boxes that may overlap only across boxes."""
    names = tuple(names) if strict else ()
    return _bounded((piece for box in boxes for piece in _advertised_by(box, names)), limits)


def _bounded(boxes: Iterable[Box], limits: FilterLimits) -> Iterator[Box]:
    """One after the other, and no more than a comparison may hold: they may be as many as the
    attributes, each with all of them.
    """
    sets = 0
    for box in boxes:
        sets += len(box.sets)
        if sets > limits.covering_sets:
            raise FilterTooComplexError(
                "these filters name too many attributes to be compared: use fewer"
            )
        yield box


def _missing(names: Iterable[str], named: frozenset[str]) -> Box:
    return Box({name: ABSENT for name in names if name not in named and ordinary(name)})


def _advertised_by(box: Box, names: Iterable[str]) -> Iterator[Box]:
    """For each named attribute in turn: it is there, those before it and other `names` are not."""
    values = {name: advertised_values(box, name) for name in sorted(box.names())}
    others = _missing(names, frozenset(values))
    optional = {name: allowed | ABSENT for name, allowed in values.items()}
    before: dict[str, ValueSet] = {}
    for name, allowed in values.items():
        yield others & Box({**optional, **before, name: allowed})
        before[name] = ABSENT


def advertised_values(box: Box, name: str) -> ValueSet:
    """The values of a named attribute that a box advertises; a residue allows any."""
    return box.sets[name] & VALUES if name in box.sets else VALUES
