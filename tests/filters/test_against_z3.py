"""Across modules: does an SMT solver agree that one larger filter covers another?

What an attribute holds is for z3 a kind and one variable for each kind. The constants lie far
enough apart that between two of them there is always another double, as there is a real number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
import z3

from headgate.filters.filter import Filter
from headgate.model.errors import FilterTooComplexError
from tests.proofs import COUNTED, proof_size

MISSING, INTEGER, DOUBLE, BOOLEAN, STRING = range(5)
KINDS = 5
TIMEOUT_MS = 2_000


@dataclass(frozen=True)
class Check:
    """A test of an attribute as text, and as z3 says where it is true and where it is false."""

    text: str
    true: Any
    false: Any


@dataclass(frozen=True)
class Conjunction:
    parts: tuple[tuple[Check, bool], ...]

    def text(self) -> str:
        return (
            "("
            + " AND ".join(f"{'' if yes else 'NOT '}{one.text}" for one, yes in self.parts)
            + ")"
        )

    def true(self) -> Any:
        return z3.And(*(one.true if yes else one.false for one, yes in self.parts))


@dataclass(frozen=True)
class Union:
    """An OR of ANDs of tests and negated tests."""

    parts: tuple[Conjunction, ...]

    def text(self) -> str:
        return " OR ".join(part.text() for part in self.parts)

    def true(self) -> Any:
        return z3.Or(*(part.true() for part in self.parts))


@dataclass
class Attributes:
    """The variables of some attributes; each has a type that most of its tests are about."""

    number: int
    variables: dict[str, tuple[Any, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.variables = {
            f"a{at}": (
                z3.Int(f"kind{at}"), z3.Int(f"int{at}"), z3.Real(f"real{at}"),
                z3.Bool(f"bool{at}"), z3.String(f"text{at}"),
            )
            for at in range(self.number)
        }  # fmt: skip

    def constraints(self) -> list[Any]:
        return [z3.And(kind >= 0, kind < KINDS) for kind, *_ in self.variables.values()]

    def random_test(self, random: Random) -> Check:
        name = random.choice(list(self.variables))
        kind, integer, real, boolean, text = self.variables[name]
        typical = int(name[1:]) % 3
        chance = random.random()
        if chance < 0.1:
            return Check(f"{name} IS NULL", kind == MISSING, kind != MISSING)
        if chance < 0.15:
            return Check(f"{name} IS INTEGER", kind == INTEGER, kind != INTEGER)
        if typical == 0 or chance < 0.2:
            return _number_test(random, name, kind, integer, real)
        if typical == 1:
            truth = random.random() < 0.5
            is_boolean = kind == BOOLEAN
            said = boolean == truth
            literal = str(truth).upper()
            return Check(
                f"{name} = {literal}", z3.And(is_boolean, said), z3.And(is_boolean, z3.Not(said))
            )
        return _text_test(random, name, kind, text)


def _number_test(random: Random, name: str, kind: Any, integer: Any, real: Any) -> Check:
    constant = random.choice([0, 10, 25, 40]) + random.choice([0, 0.5])
    sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
    exact = z3.RealVal(str(constant))
    true = z3.Or(
        z3.And(kind == INTEGER, _compared(sign, z3.ToReal(integer), exact)),
        z3.And(kind == DOUBLE, _compared(sign, real, exact)),
    )
    is_number = z3.Or(kind == INTEGER, kind == DOUBLE)
    return Check(f"{name} {sign} {constant}", true, z3.And(is_number, z3.Not(true)))


def _compared(sign: str, left: Any, right: Any) -> Any:
    match sign:
        case "=":
            return left == right
        case "<>":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return right < left
        case _:
            return right <= left


def _text_test(random: Random, name: str, kind: Any, text: Any) -> Check:
    if random.random() < 0.5:
        constant = random.choice(["ab", "b", "bc", "c"])
        sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
        said = _compared(sign, text, z3.StringVal(constant))
        written = f"{name} {sign} '{constant}'"
    else:
        pattern = random.choice(["a%", "ab%", "%b", "%c%", "a_", "_b%", "a%c"])
        said = z3.InRe(text, _regular(pattern))
        written = f"{name} LIKE '{pattern}'"
    is_text = kind == STRING
    return Check(written, z3.And(is_text, said), z3.And(is_text, z3.Not(said)))


def _regular(pattern: str) -> Any:
    any_char = z3.AllChar(z3.ReSort(z3.StringSort()))
    parts = [
        z3.Star(any_char) if char == "%" else any_char if char == "_" else z3.Re(char)
        for char in pattern
    ]
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def _random_union(attributes: Attributes, random: Random, parts: int) -> Union:
    def conjunction() -> Conjunction:
        size = random.randrange(2, 5)
        return Conjunction(
            tuple((attributes.random_test(random), random.random() < 0.8) for _ in range(size))
        )

    return Union(tuple(conjunction() for _ in range(parts)))


def _weakened(union: Union, attributes: Attributes, random: Random) -> Union:
    """A union that covers this one, mostly only as a whole, or one that nearly does."""
    parts: list[Conjunction] = []
    for part in union.parts:
        kept = tuple(one for one in part.parts if random.random() < 0.8) or part.parts[:1]
        if random.random() < 0.5:
            # In two cases, together the same wherever the test that tells them apart is known.
            test = random.choice([one for one, _ in part.parts])
            other = attributes.random_test(random)
            split = other if random.random() < 0.3 else test
            parts += [Conjunction((*kept, (split, True))), Conjunction((*kept, (split, False)))]
        else:
            parts.append(Conjunction(kept))
    parts += _random_union(attributes, random, random.randrange(2)).parts
    random.shuffle(parts)
    return Union(tuple(parts))


def _staircase(attributes: Attributes, random: Random) -> tuple[Union, Union]:
    """Cases that are complete where each test is known, and filters for where that is."""
    tests = [attributes.random_test(random) for _ in range(random.randrange(2, 5))]
    cases = [
        Conjunction((*((one, False) for one in tests[:at]), (test, True)))
        for at, test in enumerate(tests)
    ]
    cases.append(Conjunction(tuple((one, False) for one in tests)))
    known = [
        Check(f"({one.text} OR NOT {one.text})", z3.Or(one.true, one.false), z3.BoolVal(False))
        for one in tests[random.random() < 0.2 :]
    ]
    extra = tuple((attributes.random_test(random), True) for _ in range(random.randrange(3)))
    inner = Conjunction((*((one, True) for one in known), *extra))
    random.shuffle(cases)
    return Union(tuple(cases)), Union((inner,))


def _pair(attributes: Attributes, random: Random) -> tuple[Union, Union]:
    chance = random.random()
    if chance < 0.4:
        return _staircase(attributes, random)
    inner = _random_union(attributes, random, random.randrange(2, 6))
    if chance < 0.85:
        return _weakened(inner, attributes, random), inner
    return _random_union(attributes, random, random.randrange(2, 6)), inner


@pytest.mark.proof
def test_z3_agrees_about_larger_filters(record_property: Callable[[str, object], None]) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts = Counter({"covered": 0, "not covered": 0, "unknown to z3": 0})
    pairs = proof_size(test=250, soak=10_000)
    for _ in range(pairs):
        attributes = Attributes(random.randrange(5, 11))
        outer, inner = _pair(attributes, random)
        mine, theirs = Filter.parse(outer.text()), Filter.parse(inner.text())
        for (left, left_filter), (right, right_filter) in (
            ((outer, mine), (inner, theirs)),
            ((inner, theirs), (outer, mine)),
        ):
            _decide(attributes, (left, left_filter), (right, right_filter), counts, seed)
    record_property(COUNTED, ", ".join(f"{many:,} {what}" for what, many in counts.items()))
    assert counts["unknown to z3"] * 50 <= counts.total()
    assert counts["covered"] * 4 >= pairs
    assert counts["not covered"] * 4 >= pairs


def _decide(
    attributes: Attributes,
    outer: tuple[Union, Filter],
    inner: tuple[Union, Filter],
    counts: Counter[str],
    seed: int,
) -> None:
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.set("random_seed", seed % 1_000)
    solver.add(*attributes.constraints(), inner[0].true(), z3.Not(outer[0].true()))
    answer = solver.check()
    case = f"{outer[0].text()}\n{inner[0].text()}\n(seed {seed})"
    try:
        covers = outer[1].covers(inner[1])
    except FilterTooComplexError as problem:
        pytest.fail(f"{problem}: {case}")
    if answer == z3.unknown:
        counts["unknown to z3"] += 1
    elif answer == z3.unsat:
        counts["covered"] += 1
        assert covers, f"z3 says it is covered: {case}"
    else:
        counts["not covered"] += 1
        assert not covers, f"z3 knows an event beyond: {solver.model()} {case}"
        assert inner[1].example_beyond(outer[1]) is not None
