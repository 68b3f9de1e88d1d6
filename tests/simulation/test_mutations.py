"""Across modules: is each promise seen to be broken where a rule of the core is?

A checker that never fails would prove nothing. So each rule is taken away in turn, and the checker
of the promise that this breaks has to say so, in a run in which the whole core keeps it.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

from headgate.simulation import checkers
from headgate.simulation.checkers.promises import Checker
from headgate.simulation.running import run
from headgate.simulation.scenarios.named import names
from tests.simulation.mutations import MUTATIONS, Mutation, Seen, table

CASES = [(mutation, seen) for mutation in MUTATIONS for seen in mutation.seen]
PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


def identified(value: Mutation | Seen) -> str:
    return value.name if isinstance(value, Mutation) else value.scenario


@pytest.mark.parametrize(("mutation", "seen"), CASES, ids=identified)
def test_a_broken_rule_breaks_its_promise(mutation: Mutation, seen: Seen) -> None:
    kept = run(seen.seed, seen.scenario)
    assert kept.is_good, kept.broken
    with mutation.in_force():
        broken = run(seen.seed, seen.scenario).broken
    assert broken is not None
    assert broken.promise == seen.promise, broken
    assert run(seen.seed, seen.scenario).is_good, "what was broken is whole again"


def test_every_checker_was_seen_to_fail() -> None:
    for module in pkgutil.iter_modules(checkers.__path__, f"{checkers.__name__}."):
        importlib.import_module(module.name)
    here = [one for one in Checker.__subclasses__() if one.__module__.startswith(checkers.__name__)]
    promises = {checker.promise for checker in here}
    assert promises - {seen.promise for _, seen in CASES} == set()


def test_every_scenario_needs_a_rule() -> None:
    assert set(names()) - {seen.scenario for _, seen in CASES} == set()


def test_no_mutation_has_the_name_of_another() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


def test_the_documentation_shows_all_of_them() -> None:
    assert table() in PAGE.read_text()
