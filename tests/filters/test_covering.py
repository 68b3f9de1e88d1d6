"""Is covering exact? Against an oracle that tries every event of a small world."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.filters import covering, value_sets
from headgate.filters.boxes import Box
from headgate.filters.filter import Filter
from headgate.filters.value_sets import ValueSet, compared, union
from headgate.model.errors import FilterTooComplexError
from headgate.model.limits import FilterLimits
from headgate.model.values import OPAQUE
from tests.filters import oracle
from tests.filters.oracle import All, Atom, Formula, Opposite, Some, World, written
from tests.proofs import COUNTED, proof_size

Record = Callable[[str, object], None]
parse = Filter.parse
CHUNKS = range(2)
PAIRS_PER_WORLD = 100


def expect(agreed: bool, problem: str, seed: int, *formulas: Formula) -> None:
    if not agreed:
        pytest.fail("\n".join([f"{problem} (seed {seed})", *map(written, formulas)]))


@pytest.mark.proof
@pytest.mark.parametrize("chunk", CHUNKS)
def test_every_relation_holds_exactly_where_trying_every_event_says_so(
    chunk: int, record_property: Record
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts = Counter({"comparisons": 0, "covered": 0, "covered only by a union": 0})
    for _ in range(proof_size(test=18, soak=1_000)):
        world = World.random(random)
        for _ in range(PAIRS_PER_WORLD):
            first, second = oracle.random_pair(world, random)
            _compare(world, first, second, seed, counts)
            _compare(world, second, first, seed, counts)
    record_property(COUNTED, ", ".join(f"{many:,} {what}" for what, many in counts.items()))
    assert 3 * counts["covered"] >= counts["comparisons"]
    assert len(CHUNKS) * counts["covered only by a union"] >= 1_000
    assert counts["empty"] >= 20
    for relation in RELATIONS:
        assert 10 * counts[relation] >= counts["comparisons"]
        assert 10 * counts[f"not {relation}"] >= counts["comparisons"]


@pytest.mark.proof
@settings(max_examples=proof_size(test=150, soak=20_000))
@given(st.randoms(use_true_random=False))
def test_no_pair_of_filters_is_found_about_which_a_relation_is_wrong(random: Random) -> None:
    """The same once more by hypothesis, which makes what it finds small."""
    world = World.random(random)
    first, second = oracle.random_pair(world, random)
    _compare(world, first, second, 0, Counter())
    _compare(world, second, first, 0, Counter())


RELATIONS = ("covers", "covers_strictly", "covers_advertisement", "covers_advertisement_strictly")


def _compare(world: World, outer: Formula, inner: Formula, seed: int, counts: Counter[str]) -> None:
    counts["comparisons"] += 1
    mine, theirs = parse(written(outer)), parse(written(inner))
    events = [
        (world.matched(outer), world.matched(inner)),
        (world.strictly_matched(outer), world.strictly_matched(inner)),
        (world.advertised(outer, strict=False), world.advertised(inner, strict=True)),
        (world.advertised(outer, strict=True), world.advertised(inner, strict=True)),
    ]
    for relation, (covering_events, covered_events) in zip(RELATIONS, events, strict=True):
        beyond = covered_events & ~covering_events
        counts[relation if not beyond else f"not {relation}"] += 1
        if getattr(mine, relation)(theirs) is bool(beyond):
            example = world.event(beyond.bit_length() - 1) if beyond else "none"
            expect(False, f"{relation} is wrong, an event beyond: {example}", seed, outer, inner)
    expect(mine.is_empty() is not bool(events[0][0]), "is_empty is wrong", seed, outer)
    counts["empty"] += mine.is_empty()
    _check_example(mine, theirs, outer, inner, seed)
    if not events[0][1] & ~events[0][0] and events[0][1]:
        counts["covered"] += 1
        counts["covered only by a union"] += not _one_box_covers(world, mine, theirs)


def _check_example(mine: Filter, theirs: Filter, outer: Formula, inner: Formula, seed: int) -> None:
    example = theirs.example_beyond(mine)
    expect((example is None) is mine.covers(theirs), "an example is missing", seed, outer, inner)
    if example is not None:
        event = {name: [1] if one is OPAQUE else one for name, one in example.items()}
        shown = oracle.said(inner, event) is True and oracle.said(outer, event) is not True
        expect(shown, f"no example: {event}", seed, outer, inner)
        expect(theirs.matches(event), f"not matched: {event}", seed, inner)
        expect(not mine.matches(event), f"matched: {event}", seed, outer)


def _one_box_covers(world: World, outer: Filter, inner: Filter) -> bool:
    """Whether a single box of the one covers a box of the other that has any events."""
    outers = [_events(world, box) for box in outer.boxes]
    inners = [_events(world, box) for box in inner.boxes]
    return any(mine and not mine & ~other for mine in inners for other in outers)


def _events(world: World, box: Box) -> int:
    events = world.everything
    for name, allowed in box.sets.items():
        events &= world.where(name, partial(_allows, allowed))
    return events


def _allows(allowed: ValueSet, value: Any) -> bool:
    kind = oracle.kind(value)
    return (None if kind == "none" else OPAQUE if kind == "opaque" else value) in allowed


@pytest.mark.proof
def test_no_longer_text_is_told_apart_by_the_tests_of_a_world() -> None:
    longer = oracle.short_texts(proof_size(test=oracle.TEXT_LENGTH, soak=oracle.TEXT_LENGTH + 1))
    assert longer == oracle.short_texts(oracle.TEXT_LENGTH)
    assert len(longer) > len(oracle.short_texts(oracle.TEXT_LENGTH - 2))


@pytest.mark.proof
def test_covering_is_reflexive_and_transitive(record_property: Record) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(proof_size(test=6, soak=300)):
        world = World.random(random)
        for _ in range(30):
            middle = oracle.random_formula(world, random)
            formulas = [
                oracle.weakened(middle, world, random),
                middle,
                oracle.weakened(middle, world, random, stronger=True),
            ]
            first, second, third = (parse(written(formula)) for formula in formulas)
            for relation in RELATIONS:
                covers = getattr(Filter, relation)
                expect(covers(second, second), f"{relation} itself", seed, middle)
                if relation == "covers_advertisement":
                    continue  # its two sides ask different things of an event
                if covers(first, second) and covers(second, third):
                    counts[relation] += 1
                    expect(covers(first, third), f"{relation} isn't transitive", seed, *formulas)
    record_property(
        COUNTED, ", ".join(f"{many:,} chains of {what}" for what, many in counts.items())
    )
    assert min(counts[relation] for relation in RELATIONS if relation in counts) >= 5
    assert counts["covers"] >= 50


# Blanks: a field that is null, or an empty object, is no attribute.


def test_to_the_strict_relations_a_blank_is_missing() -> None:
    outer, inner = parse("y = 1"), parse("y = 1 AND x IS NULL")
    event = {"y": 1, "x": None}
    for one in (outer, inner):
        assert one.matches_strictly(event)
        assert one.advertises_strictly(event)
    assert outer.covers_strictly(inner)
    assert outer.covers_advertisement_strictly(inner)


# Residues: evaluated, but not analysed.


def _compare_names(sign: str, left: str, right: str) -> Atom:
    """A comparison of two attributes, judged on events whose value is a pair."""

    def truth(pair: Any) -> bool | None:
        values = pair[left], pair[right]
        return None if None in values else oracle.compared(sign, *values)

    return Atom("", f"{left} {sign} {right}", truth)


def _compare_one(sign: str, name: str, constant: int) -> Atom:
    return Atom(
        "", f"{name} {sign} {constant}", lambda pair: oracle.compared(sign, pair[name], constant)
    )


@pytest.mark.proof
def test_with_residues_covering_never_says_too_much(record_property: Record) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    tests = [_compare_one(sign, name, 1) for sign in ("<", "=", ">") for name in "xz"]
    tests += [_compare_names(sign, "x", "z") for sign in ("<", "=", ">=")]
    events = [{"x": x, "z": z} for x, z in product((None, 0, 1, 2, 3), repeat=2)]

    def grown(depth: int) -> Formula:
        if depth == 0:
            return random.choice(tests)
        parts = (grown(depth - 1), grown(random.randrange(depth)))
        return random.choice((All, Some, lambda parts: Opposite(parts[0])))(parts)

    def matched(formula: Formula) -> set[int]:
        used = list(oracle.atoms(formula))
        truths = [{test: test.truth(event) for test in used} for event in events]
        return {at for at, one in enumerate(truths) if oracle.judged(formula, one) is True}

    covered = 0
    for _ in range(proof_size(test=1_500, soak=100_000)):
        first, second = grown(2), grown(2)
        for outer, inner in ((first, second), (Some((first, second)), second)):
            mine, theirs = parse(written(outer)), parse(written(inner))
            if mine.covers(theirs):
                covered += theirs.has_residue
                expect(matched(inner) <= matched(outer), "covers too much", seed, outer, inner)
            example = theirs.example_beyond(mine)
            if example is not None:
                shown = theirs.matches(example) and not mine.matches(example)
                expect(shown, f"no example: {example}", seed, outer, inner)
    record_property(COUNTED, f"{covered:,} coverings with a residue")
    assert covered >= 500


def test_a_residue_covers_only_what_carries_the_same_residue() -> None:
    assert parse("x + 1 > 2").covers(parse("x + 1 > 2 AND y = 3"))
    assert not parse("x + 1 > 2").covers(parse("x > 1"))
    assert not parse("x + 1 > 2 AND y = 3").covers(parse("x + 1 > 2"))
    assert not parse("x < z").covers(parse("x < z OR y = 1"))
    assert parse("x < z OR y = 1").covers(parse("x < z"))


def test_a_residue_may_be_ignored_on_the_covered_side() -> None:
    assert parse("y > 2").covers(parse("y > 3 AND x + 1 > 2"))
    assert parse("y > 2 OR y <= 2").covers(parse("y > 3 AND x < z"))
    assert not parse("y > 2").covers(parse("y > 1 AND x < z"))


def test_a_residue_names_its_attributes_for_advertisements_and_allows_any_value() -> None:
    advertisement = parse("x + z > 2 AND y = 1")
    assert advertisement.advertises_strictly({"x": "text", "z": -5, "y": 1})
    assert not advertisement.advertises_strictly({"x": 1, "z": 5, "y": 2})
    assert advertisement.covers_advertisement_strictly(parse("x = 'text' AND y = 1"))
    assert not advertisement.covers_advertisement_strictly(parse("w = 1"))


# Bounds.


def _chequered(names: str, values: int, *, parity: int) -> list[Box]:
    """Every second cell of a grid: the boxes touch in corners only, and nothing merges."""
    return [
        Box({name: compared("=", value) for name, value in zip(names, cell, strict=True)})
        for cell in product(range(values), repeat=len(names))
        if sum(cell) % 2 == parity
    ]


def test_a_comparison_past_its_bound_is_an_error_and_no_guess() -> None:
    squares = _chequered("abc", 4, parity=0)
    whole = [Box({name: compared(">=", 0) for name in "abc"})]
    assert covering.uncovered(squares, whole, FilterLimits(covering_steps=1_000_000)) is not None
    covered = [Box({name: compared("=", 1) for name in "abc"})]
    with pytest.raises(FilterTooComplexError, match="overlap in too many ways"):
        covering.uncovered(squares, whole, FilterLimits(covering_steps=10))
    with pytest.raises(FilterTooComplexError):
        covering.uncovered(squares[:1] * 50, covered, FilterLimits(covering_steps=10))


def test_filters_that_overlap_in_too_many_ways_are_refused() -> None:
    random = Random(3)
    names = [f"a{at}" for at in range(60)]
    clauses = [random.sample(names, 3) for _ in range(300)]
    hard = " OR ".join(
        "(" + " AND ".join(f"{name} = {random.choice(('TRUE', 'FALSE'))}" for name in clause) + ")"
        for clause in clauses
    )
    with pytest.raises(FilterTooComplexError, match="use fewer alternatives"):
        parse(hard).covers(parse(" AND ".join(f"{name} IS BOOLEAN" for name in names)))


@pytest.mark.parametrize("relation", RELATIONS[1:])
def test_filters_of_thousands_of_attributes_take_no_memory_beyond_the_bound(relation: str) -> None:
    many = parse(" AND ".join(f"EXISTS(a{at})" for at in range(2_000)))
    alternatives = parse(" AND ".join(f"(x{at} = 1 OR y{at} = 2)" for at in range(9)))
    tracemalloc.start()
    for outer, inner in ((many, many), (alternatives, many), (many, alternatives)):
        with contextlib.suppress(FilterTooComplexError):
            getattr(outer, relation)(inner)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40_000_000
    tiny = Filter.parse("a = 1 AND b = 2", FilterLimits(covering_sets=1))
    with pytest.raises(FilterTooComplexError, match="too many attributes"):
        getattr(tiny, relation)(tiny)


def test_long_lists_count_by_their_length_when_compared() -> None:
    short, long = (
        Box({"x": union(compared("=", 2 * at) for at in range(length)), "y": compared("=", 1)})
        for length in (3, 3_000)
    )
    other = Box({"x": compared(">", 0), "y": compared("=", 2)})
    assert covering.uncovered([other] * 50, [short], FilterLimits(covering_steps=100)) is short
    for outer, inner in (([other] * 50, long), ([long] * 50, short)):
        with pytest.raises(FilterTooComplexError):
            covering.uncovered(outer, [inner], FilterLimits(covering_steps=100))


def test_the_work_on_patterns_is_bounded_over_a_whole_decision() -> None:
    impossible = [f"s LIKE '%a{n}_' AND s LIKE '%b{n}_' AND n = {n}" for n in range(60)]
    limits = FilterLimits(pattern_steps=1_000)
    for text in impossible:
        assert Filter.parse(text, limits).is_empty()
    together = Filter.parse(" OR ".join(impossible), limits)
    assert together.is_empty()  # for each of them is remembered
    value_sets.forget()
    with pytest.raises(FilterTooComplexError, match="too entangled"):
        together.is_empty()
    value_sets.forget()
    with pytest.raises(FilterTooComplexError, match="too entangled"):
        Filter.parse("n = 0", limits).covers(together)
