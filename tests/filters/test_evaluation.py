"""Are conditions true, false or unknown as the language says?"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

from headgate.filters.compiling import compile_condition
from headgate.filters.evaluation import all_of, any_of, evaluate, opposite
from headgate.filters.parsing import parse
from headgate.filters.printing import print_condition
from headgate.filters.syntax import (
    And,
    Arithmetic,
    Between,
    Comparison,
    Condition,
    Constant,
    Contains,
    Expression,
    In,
    IsType,
    Like,
    Literal,
    Name,
    Negated,
    Not,
    Or,
    Present,
    TypeName,
)
from headgate.model.events import Event
from headgate.model.values import OPAQUE, Value
from tests.filters.language_strategies import conditions, events
from tests.proofs import proof_size

TRUTH = Path(__file__).parent / "conformance" / "truth.toml"
TRUE, UNKNOWN, FALSE = 1.0, 0.5, 0.0
ANSWERS: dict[str, bool | None] = {"true": True, "false": False, "unknown": None}


def cases() -> Iterator[tuple[str, Mapping[str, Value], bool | None]]:
    for group in tomllib.loads(TRUTH.read_text()).values():
        assert group.keys() == {"event", *ANSWERS}
        sent = {name: value for name, value in group["event"].items() if name[0] != "$"}
        known = {name: value for name, value in group["event"].items() if name[0] == "$"}
        attributes = Event.of(sent).with_known(known).attributes
        for answer, truth in ANSWERS.items():
            for text in group[answer]:
                yield text, attributes, truth


def truth(node: Condition, event: Mapping[str, Value]) -> float:
    """Kleene's logic on 0, ½ and 1, with exact fractions; shares no code with what it checks."""
    match node:
        case Constant(constant):
            return float(constant)
        case And(parts):
            return min(truth(part, event) for part in parts)
        case Or(parts):
            return max(truth(part, event) for part in parts)
        case Not(part):
            return 1.0 - truth(part, event)
        case Comparison(sign, left, right):
            return compared(sign, value_of(left, event), value_of(right, event))
        case Between(operand, low, high):
            value = value_of(operand, event)
            return min(
                compared(">=", value, value_of(low, event)),
                compared("<=", value, value_of(high, event)),
            )
        case In(operand, values):
            value = value_of(operand, event)
            return max(compared("=", value, one.value) for one in values)
        case Like(Name(name), pattern, escape):
            text = event.get(name)
            return float(fits(text, pattern, escape)) if type(text) is str else UNKNOWN
        case Contains(text, Name(name)):
            members = event.get(name)
            return float(text in members) if type(members) is frozenset else UNKNOWN
        case Present(Name(name)):
            return float(name in event)
        case IsType(Name(name), asked):
            return float(type(event.get(name)) in TYPES[asked])


TYPES: dict[TypeName, tuple[type, ...]] = {
    TypeName.STRING: (str,),
    TypeName.INTEGER: (int,),
    TypeName.DOUBLE: (float,),
    TypeName.NUMBER: (int, float),
    TypeName.BOOLEAN: (bool,),
    TypeName.TIMESTAMP: (datetime,),
}


def fits(text: str, pattern: str, escape: str | None) -> bool:
    expression, chars = "", iter(pattern)
    for char in chars:
        if char == escape:
            expression += re.escape(next(chars))
        else:
            expression += {"%": ".*", "_": "."}.get(char) or re.escape(char)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def compared(sign: str, left: Value | None, right: Value | None) -> float:
    kinds = type(left), type(right)
    order: int
    if set(kinds) <= {int, float}:
        difference = Fraction(left) - Fraction(right)  # type: ignore[arg-type]
        order = (difference > 0) - (difference < 0)
    elif kinds in {(str, str), (datetime, datetime)}:
        assert isinstance(left, str | datetime)
        order = (left > right) - (left < right)  # type: ignore[operator]
    elif kinds == (bool, bool) and sign in ("=", "<>"):
        order = 0 if left is right else 1
    else:
        return UNKNOWN
    return float(order in {"=": [0], "<>": [-1, 1], "<": [-1], "<=": [-1, 0], ">": [1],
                           ">=": [0, 1]}[sign])  # fmt: skip


def value_of(node: Expression, event: Mapping[str, Value]) -> Value | None:
    match node:
        case Name(name):
            return event.get(name)
        case Literal(_, value):
            return value
        case Negated(operand):
            return calculated("*", value_of(operand, event), -1)
        case Arithmetic(sign, left, right):
            return calculated(sign, value_of(left, event), value_of(right, event))


def calculated(sign: str, left: Value | None, right: Value | None) -> int | float | None:
    if type(left) not in (int, float) or type(right) not in (int, float):
        return None
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    if sign in "/%" and right == 0:
        return None
    one, other = Fraction(left), Fraction(right)
    if type(left) is float or type(right) is float:
        # What each double is rounded from is exact, once an integer has become a double.
        one, other = Fraction(float(left)), Fraction(float(right))
    exact = {
        "+": lambda: one + other,
        "-": lambda: one - other,
        "*": lambda: one * other,
        "/": lambda: one / other,
        "%": lambda: one - other * int(one / other),
    }[sign]()
    if type(left) is int and type(right) is int:
        return int(exact) if -(2**63) <= int(exact) < 2**63 else None
    try:
        return float(exact)
    except OverflowError:
        return None


def all_cases() -> list[tuple[str, Mapping[str, Value], bool | None]]:
    return list(cases())


@pytest.mark.parametrize(("text", "event", "expected"), all_cases())
def test_the_language_conforms(
    text: str, event: Mapping[str, Value], expected: bool | None
) -> None:
    node = parse(text)
    assert evaluate(node, event) is expected
    assert truth(node, event) == {True: TRUE, False: FALSE, None: UNKNOWN}[expected]
    assert compile_condition(node)(event) is (expected is True)
    assert compile_condition(Not(node))(event) is (expected is False)
    assert parse(print_condition(node)) == node


def test_there_is_a_case_for_every_node_of_the_language() -> None:
    assert len(all_cases()) > 500


@settings(max_examples=proof_size(test=800, soak=40_000))
@pytest.mark.proof
@given(conditions(), events())
def test_evaluation_agrees_with_a_plainer_one(node: Condition, event: dict[str, Value]) -> None:
    expected = {TRUE: True, FALSE: False, UNKNOWN: None}[truth(node, event)]
    assert evaluate(node, event) is expected


@given(conditions(), events())
def test_not_of_a_condition_is_its_opposite_and_unknown_with_it(
    node: Condition, event: dict[str, Value]
) -> None:
    found = evaluate(node, event)
    assert evaluate(Not(node), event) is opposite(found)
    assert evaluate(Not(Not(node)), event) is found


@given(conditions(), events())
def test_an_empty_event_and_an_opaque_one_never_raise(
    node: Condition, event: dict[str, Value]
) -> None:
    assert evaluate(node, {}) in (True, False, None)
    assert evaluate(node, dict.fromkeys(event, OPAQUE)) in (True, False, None)


def test_three_valued_logic_of_several_parts() -> None:
    assert all_of([]) is True
    assert any_of([]) is False
    assert all_of([True, None, False]) is False
    assert all_of([True, None]) is None
    assert any_of([False, None, True]) is True
    assert any_of([False, None]) is None
    assert opposite(None) is None
