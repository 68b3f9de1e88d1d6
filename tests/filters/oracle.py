"""What would the specification say? Filters judged by trying every event of a small world.

Nothing here knows how `headgate.filters` decides. A condition is judged value by value, in three
truths. A world has a few attributes and a few constants; for each attribute it tries one value of
each *cell*: values that all tests of the world judge alike are interchangeable. So what holds for
every event of the world holds for every event there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from random import Random
from typing import Any

from headgate.model.limits import INTEGER_MAX, INTEGER_MIN
from headgate.model.values import format_timestamp, parse_timestamp

Truth = bool | None


@dataclass(frozen=True)
class Without:
    """The attribute isn't there, or is there with nothing in it (`null`)."""

    blank: bool


MISSING = Without(blank=False)
BLANK = Without(blank=True)


@dataclass(frozen=True, eq=False)
class Atom:
    """A test of one attribute."""

    name: str
    text: str
    truth: Callable[[Any], Truth]


@dataclass(frozen=True)
class All:
    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Some:
    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Opposite:
    part: Formula


Formula = Atom | All | Some | Opposite | bool
Literal = tuple[Atom, bool]
"""An atom and the truth it must have."""


def written(formula: Formula) -> str:
    match formula:
        case bool():
            return str(formula).upper()
        case Atom():
            return formula.text
        case All(parts):
            return "(" + " AND ".join(map(written, parts)) + ")"
        case Some(parts):
            return "(" + " OR ".join(map(written, parts)) + ")"
        case Opposite(part):
            return f"(NOT {written(part)})"


def atoms(formula: Formula) -> Iterator[Atom]:
    match formula:
        case Atom():
            yield formula
        case All(parts) | Some(parts):
            for part in parts:
                yield from atoms(part)
        case Opposite(part):
            yield from atoms(part)


def judged(formula: Formula, truths: Mapping[Atom, Truth]) -> Truth:
    """Kleene's tables: AND is the least, OR the greatest, with unknown in the middle."""
    match formula:
        case bool():
            return formula
        case Atom():
            return truths[formula]
        case All(parts):
            return _unranked(min(_rank(judged(part, truths)) for part in parts))
        case Some(parts):
            return _unranked(max(_rank(judged(part, truths)) for part in parts))
        case Opposite(part):
            return _unranked(-_rank(judged(part, truths)))


def _rank(truth: Truth) -> int:
    return 0 if truth is None else 1 if truth else -1


def _unranked(rank: int) -> Truth:
    return None if rank == 0 else rank > 0


def multiplied_out(formula: Formula, truth: bool = True) -> list[frozenset[Literal]]:
    """The union of conjunctions that a filter comes to."""
    match formula:
        case bool():
            return [frozenset()] if formula is truth else []
        case Atom():
            return [frozenset({(formula, truth)})]
        case Opposite(part):
            return multiplied_out(part, not truth)
        case All(parts) | Some(parts):
            each = [multiplied_out(part, truth) for part in parts]
            if isinstance(formula, All) is truth:
                return [frozenset().union(*choice) for choice in product(*each)]
            return [one for some in each for one in some]


# The tests of one attribute, judged for one value.


def kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "double"
        case str():
            return "string"
        case datetime():
            return "timestamp"
        case frozenset():
            return "set"
        case list():
            return "opaque"
    return "none"


def quoted(constant: object) -> str:
    match constant:
        case bool():
            return str(constant).upper()
        case str():
            return "'" + constant.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMP '{format_timestamp(constant)}'"
        case _:
            return repr(constant)


def compared(sign: str, value: Any, constant: Any) -> Truth:
    numbers = {"integer", "double"}
    if kind(value) in numbers and kind(constant) in numbers:
        value, constant = Fraction(value), Fraction(constant)
    elif kind(value) != kind(constant):
        return None
    order = (value > constant) - (value < constant)
    return (
        order
        in {"=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[sign]
    )


@cache
def fits(pattern: str, text: str) -> bool:
    """LIKE without escape, by the table of which prefix fits which prefix."""
    before = [True] + [False] * len(text)
    for char in pattern:
        if char == "%":
            after = [any(before[: at + 1]) for at in range(len(text) + 1)]
        else:
            after = [False] + [before[at] and char in ("_", text[at]) for at in range(len(text))]
        before = after
    return before[-1]


def comparison(name: str, sign: str, constant: object) -> Atom:
    text = f"{name} {sign} {quoted(constant)}"
    return Atom(name, text, lambda value: compared(sign, value, constant))


def between(name: str, low: object, high: object) -> Atom:
    def truth(value: object) -> Truth:
        ends = compared(">=", value, low), compared("<=", value, high)
        return _unranked(min(map(_rank, ends)))

    return Atom(name, f"{name} BETWEEN {quoted(low)} AND {quoted(high)}", truth)


def among(name: str, constants: Iterable[object]) -> Atom:
    constants = tuple(constants)

    def truth(value: object) -> Truth:
        return _unranked(max(_rank(compared("=", value, constant)) for constant in constants))

    return Atom(name, f"{name} IN ({', '.join(map(quoted, constants))})", truth)


def like(name: str, pattern: str) -> Atom:
    def truth(value: object) -> Truth:
        return fits(pattern, value) if isinstance(value, str) else None

    return Atom(name, f"{name} LIKE {quoted(pattern)}", truth)


def holding(name: str, text: str) -> Atom:
    def truth(value: object) -> Truth:
        return text in value if isinstance(value, frozenset) else None

    return Atom(name, f"{quoted(text)} IN {name}", truth)


def typed(name: str, type_: str) -> Atom:
    kinds = {"NUMBER": ("integer", "double")}.get(type_, (type_.lower(),))
    return Atom(name, f"{name} IS {type_}", lambda value: kind(value) in kinds)


def absent(name: str) -> Atom:
    return Atom(name, f"{name} IS NULL", lambda value: kind(value) == "none")


def there(name: str) -> Atom:
    return Atom(name, f"EXISTS({name})", lambda value: kind(value) != "none")


# Worlds.

MOMENTS = [parse_timestamp(text) for text in ("2026-01-31", "2026-01-31T12:00:00.25Z")]
NUMBERS: list[int | float] = [
    *(0, 1, 5, -3, 2**53 + 1, -(2**53) - 1, INTEGER_MIN, INTEGER_MAX, 7),
    *(0.0, 0.5, 5.0, -2.5, 2.0**53, 1e300, -1e300, 5e-324, 2.0**63, -(2.0**63), 1e15 + 0.5),
]
TEXTS = ["", "a", "a\0", "ab", "b", "ba", "\0", "aba"]
PATTERNS = ["a%", "%b", "%a%", "a_", "%", "_%_", "%ab%", "a%b", "_b%", "%a_a", "", "ab", "%b_%"]
LETTERS = "\0Aabc"
TEXT_LENGTH = 6
"""Longer texts come out no other way in any test here: there is a proof of it."""
SIGNS = ["=", "<>", "<", "<=", ">", ">="]


@cache
def short_texts(length: int) -> tuple[str, ...]:
    """The texts up to a length, one for each way that all tests of texts can come out."""
    tests = [comparison("s", sign, text) for text in TEXTS for sign in SIGNS]
    tests += [like("s", pattern) for pattern in PATTERNS]
    spelled = (
        "".join(chars) for size in range(length + 1) for chars in product(LETTERS, repeat=size)
    )
    found: dict[tuple[Truth, ...], str] = {}
    for text in spelled:
        found.setdefault(tuple(test.truth(text) for test in tests), text)
    return tuple(found.values())


def numbers_around(constants: Iterable[int | float]) -> list[object]:
    """A number of every cell: each constant, what is next to it on either side, and both ends."""
    biggest = 1.7976931348623157e308
    found: set[tuple[str, int | float]] = set()
    for constant in [*constants, 0]:
        whole = math.floor(constant)
        found |= {
            ("integer", whole + step)
            for step in (-1, 0, 1, 2)
            if INTEGER_MIN <= whole + step <= INTEGER_MAX
        }
        near = float(constant)
        found |= {
            ("double", one)
            for one in (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
            if math.isfinite(one)
        }
    found |= {("integer", INTEGER_MIN), ("integer", INTEGER_MAX)}
    found |= {("double", biggest), ("double", -biggest)}
    return [number for _, number in sorted(found)]


OTHERS: list[object] = [
    MISSING, BLANK, [1], frozenset(), frozenset("a"), frozenset("b"), frozenset("ab"),
    frozenset("c"), True, False,
]  # fmt: skip


def one_of_each(name: str, tests: list[Atom]) -> list[object]:
    """Values of the attribute, one for each way that the tests can come out."""
    tick = timedelta(microseconds=1)
    moments = [moment + step for moment in MOMENTS for step in (-tick, 0 * tick, tick)]
    candidates = [*OTHERS, *numbers_around(NUMBERS), *moments, *short_texts(TEXT_LENGTH)]
    if name.startswith("$"):
        candidates.remove(BLANK)
    cells: dict[tuple[object, ...], object] = {}
    for value in candidates:
        # A blank is tried beside what is missing, although nothing tells the two apart.
        outcome = (value == BLANK, *(test.truth(value) for test in tests))
        known = kind(value) if value in (MISSING, BLANK) else ""
        cells.setdefault((known, *outcome), value)
    return list(cells.values())


@dataclass
class World:
    """A few attributes with a few tests each, and all events that these tell apart.

    The events are numbered; a set of them is an integer with their bits set.
    """

    tests: dict[str, list[Atom]]
    guards: dict[str, Atom]
    """For each attribute a test, true wherever none of the attribute's `ordered` is unknown."""
    ordered: dict[str, list[Atom]]
    domain: dict[str, list[object]]
    _masks: dict[Atom, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def random(cls, random: Random) -> World:
        def comparisons(name: str, constants: list[Any]) -> list[Atom]:
            return [comparison(name, sign, one) for one in constants for sign in SIGNS]

        numbers = sorted(random.sample(NUMBERS, 3))
        texts = sorted(random.sample(TEXTS, 2))
        patterns = [like("s", pattern) for pattern in random.sample(PATTERNS, 3)]
        truths = [comparison("y", sign, one) for sign in ("=", "<>") for one in (True, False)]
        broker: list[Any] = random.choice([MOMENTS, [1, 5.0], ["a"]])
        guard = {"timestamp": "TIMESTAMP", "string": "STRING"}.get(kind(broker[0]), "NUMBER")
        ordered = {
            "x": [*comparisons("x", numbers), between("x", *random.sample(numbers, 2))],
            "s": [*comparisons("s", texts), *patterns],
            "y": truths,
            "$t": comparisons("$t", broker),
        }
        guards = {
            "x": typed("x", "NUMBER"),
            "s": typed("s", "STRING"),
            "y": typed("y", "BOOLEAN"),
            "$t": typed("$t", guard),
        }
        more = {
            "x": [
                among("x", random.sample(numbers, 2)),
                among("x", [*random.sample(numbers, 1), "a"]),
                *(typed("x", type_) for type_ in ("INTEGER", "DOUBLE", "TIMESTAMP")),
                comparison("x", random.choice(SIGNS), random.choice(MOMENTS)),
            ],
            "s": [among("s", texts), holding("s", "a"), holding("s", "b")],
            "y": [
                Atom("y", "y", lambda value: compared("=", value, True)),
                among("y", [True, False]),
            ],
            "$t": [among("$t", broker[:1])],
        }
        tests = {
            name: [*ordered[name], *more[name], guards[name], absent(name), there(name)]
            for name in ordered
        }
        domain = {name: one_of_each(name, of) for name, of in tests.items()}
        return cls(tests, guards, ordered, domain)

    @cached_property
    def size(self) -> int:
        return math.prod(map(len, self.domain.values()))

    @cached_property
    def everything(self) -> int:
        return (1 << self.size) - 1

    @cached_property
    def _values(self) -> dict[str, list[int]]:
        """For each attribute and each of its values the events that have it."""
        masks = {}
        stride = 1
        for name, values in self.domain.items():
            period = stride * len(values)
            repeated = self.everything // ((1 << period) - 1)
            block = (1 << stride) - 1
            masks[name] = [(block << at * stride) * repeated for at in range(len(values))]
            stride = period
        return masks

    def where(self, name: str, chosen: Callable[[Any], bool]) -> int:
        """The events whose value of the attribute is one of the chosen."""
        pairs = zip(self.domain[name], self._values[name], strict=True)
        return sum(mask for value, mask in pairs if chosen(value))

    def event(self, number: int) -> dict[str, object]:
        """The event as a mapping of plain values; `None` is a blank."""
        found: dict[str, object] = {}
        for name, values in self.domain.items():
            number, at = divmod(number, len(values))
            if values[at] != MISSING:
                found[name] = None if values[at] == BLANK else values[at]
        return found

    def judge(self, formula: Formula) -> tuple[int, int]:
        """The events for which it is true, and those for which it is false."""
        match formula:
            case bool():
                return (self.everything, 0) if formula else (0, self.everything)
            case Atom(name, _, truth):
                if formula not in self._masks:
                    self._masks[formula] = (
                        self.where(name, lambda value: truth(value) is True),
                        self.where(name, lambda value: truth(value) is False),
                    )
                return self._masks[formula]
            case Opposite(part):
                true, false = self.judge(part)
                return false, true
            case All(parts) | Some(parts):
                trues, falses = zip(*map(self.judge, parts), strict=True)
                if isinstance(formula, All):
                    return _all(trues), _any(falses)
                return _any(trues), _all(falses)

    def only(self, names: Iterable[str]) -> int:
        """The events without any other attribute, as far as its name doesn't begin with `$`."""
        others = [name for name in self.domain if name not in names and name[0] != "$"]
        return _all(
            [
                self.everything,
                *(self.where(name, lambda value: value in (MISSING, BLANK)) for name in others),
            ]
        )

    def matched(self, formula: Formula) -> int:
        return self.judge(formula)[0]

    def strictly_matched(self, formula: Formula) -> int:
        return self.matched(formula) & self.only({atom.name for atom in atoms(formula)})

    def advertised(self, formula: Formula, *, strict: bool) -> int:
        """Box by box: what is named may be missing, but not all of it, and else is allowed."""
        found = 0
        for box in multiplied_out(formula):
            names = {atom.name for atom, _ in box}
            fitting = self.only(names) if strict else self.everything
            some = 0
            for name in names:
                empty = self.where(name, lambda value: kind(value) == "none")
                wanted = [self.judge(atom)[not truth] for atom, truth in box if atom.name == name]
                allowed = _all([self.everything & ~empty, *wanted])
                fitting &= empty | allowed
                some |= allowed
            found |= fitting & some
        return found


def _all(masks: Iterable[int]) -> int:
    result = -1
    for mask in masks:
        result &= mask
    return result


def _any(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


def said(formula: Formula, event: Mapping[str, object]) -> Truth:
    """What a filter says about one event, judged test by test."""
    return judged(formula, {atom: atom.truth(event.get(atom.name)) for atom in atoms(formula)})


# Filters by chance.


def random_formula(world: World, random: Random, depth: int = 3) -> Formula:
    if depth == 0 or random.random() < 0.25:
        if random.random() < 0.01:
            return random.random() < 0.5
        return random.choice(world.tests[random.choice(list(world.tests))])
    if random.random() < 0.2:
        return Opposite(random_formula(world, random, depth - 1))
    parts = tuple(random_formula(world, random, depth - 1) for _ in range(random.choice((2, 2, 3))))
    return random.choice((All, Some))(parts)


def weakened(formula: Formula, world: World, random: Random, *, stronger: bool = False) -> Formula:
    """A filter that is true wherever this one is (or, if stronger, only there)."""
    match formula:
        case Opposite(part):
            return Opposite(weakened(part, world, random, stronger=not stronger))
        case All(parts) | Some(parts):
            inner = tuple(weakened(part, world, random, stronger=stronger) for part in parts)
            if isinstance(formula, All) is not stronger and random.random() < 0.3:
                inner = inner[:-1]
            return type(formula)(inner)
        case _:
            if random.random() < 0.3:
                other = random_formula(world, random, 1)
                return All((formula, other)) if stronger else Some((formula, other))
            return formula


def staircase(world: World, random: Random) -> tuple[Formula, Formula]:
    """A union that covers a conjunction, although none of its parts does: or nearly so.

    With the conjunction, each of a few tests is true or false. The union goes through the cases:
    the first is true, or else the second is true, and so on, and in the end all are false.
    """
    names = random.sample(list(world.tests), random.choice((2, 2, 3, 3, 4)))
    steps = [random.choice(world.ordered[name]) for name in names]
    steps += [random.choice(world.ordered[random.choice(names)])] * (random.random() < 0.5)
    inner: list[Formula] = [world.guards[step.name] for step in steps]
    if random.random() < 0.5:
        inner.append(random_formula(world, random, 1))
    cases: list[Formula] = []
    for at, step in enumerate(steps):
        # Some of what is known to be false by now may as well be left out.
        known = [Opposite(before) for before in steps[:at] if random.random() < 0.7]
        cases.append(All((step, *known)))
    cases.append(All(tuple(Opposite(step) for step in steps)))
    if random.random() < 0.3:
        at = random.randrange(len(cases))
        cases[at] = weakened(cases[at], world, random, stronger=True)
    if random.random() < 0.3:
        cases.append(random_formula(world, random, 1))
    random.shuffle(cases)
    return Some(tuple(cases)), All(tuple(inner))


def random_pair(world: World, random: Random) -> tuple[Formula, Formula]:
    """Two filters of which the first often covers the second."""
    chance = random.random()
    if chance < 0.6:
        return staircase(world, random)
    inner = random_formula(world, random)
    if chance < 0.75:
        return weakened(inner, world, random), inner
    if chance < 0.9:
        return inner, weakened(inner, world, random, stronger=True)
    return random_formula(world, random), inner
