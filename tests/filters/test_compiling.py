"""Does the compiled function say the same as the slow one, for every condition and event?"""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings

from headgate.filters.compiling import compile_condition
from headgate.filters.evaluation import evaluate
from headgate.filters.parsing import parse
from headgate.filters.syntax import Comparison, Condition, In, Like, Name, Not, literal
from headgate.model.values import OPAQUE, Value
from tests.filters.language_strategies import (
    DOUBLES_AT_EDGES,
    INTEGERS_AT_EDGES,
    MOMENTS,
    NASTY,
    TEXTS_AT_EDGES,
    conditions,
    events,
)
from tests.filters.test_parsing import VALID
from tests.proofs import proof_size

ONE_OF_EACH: list[Value | None] = [
    None, *INTEGERS_AT_EDGES, *DOUBLES_AT_EDGES, True, False, *TEXTS_AT_EDGES, *MOMENTS,
    frozenset(), frozenset({"a"}), frozenset({"", "5"}), OPAQUE,
]  # fmt: skip


def check(node: Condition, event: dict[str, Value]) -> None:
    for asked in (node, Not(node)):
        assert compile_condition(asked)(event) is (evaluate(asked, event) is True)


@settings(max_examples=proof_size(test=1_000, soak=40_000))
@pytest.mark.proof
@given(conditions(), events())
@example(In(Name("a"), (literal(True), literal(0), literal("x"))), {"a": False})
@example(Like(Name("a"), "%_%_", None), {"a": "\n"})
def test_the_compiled_function_agrees_with_the_evaluation(
    node: Condition, event: dict[str, Value]
) -> None:
    check(node, event)


@given(conditions(NASTY), events(NASTY))
def test_no_name_and_no_text_of_a_filter_is_ever_run(
    node: Condition, event: dict[str, Value]
) -> None:
    check(node, event)


@pytest.mark.parametrize(
    "name",
    ["event", "get", "value", "test", "STRING", "constant_0", "__class__", "import os", "a\nb"],
)
def test_names_of_the_function_itself_are_names_like_any_other(name: str) -> None:
    quoted = f'"{name}"'
    for text in (f"{quoted} = 'x' AND {quoted} IS STRING", f"{quoted} LIKE 'x' AND b + 1 = 2"):
        node = parse(text)
        check(node, {name: "x", "b": 1})
        check(node, {})
        assert compile_condition(node)({name: "x", "b": 1}) is True


def test_every_filter_of_the_conformance_agrees_on_one_value_of_each_kind() -> None:
    names = ["a", "i", "s", "t", "d", "x"]
    for text in VALID:
        node = parse(text)
        yes, no = compile_condition(node), compile_condition(Not(node))
        for at, value in enumerate(ONE_OF_EACH):
            other = ONE_OF_EACH[(at * 7 + 3) % len(ONE_OF_EACH)]
            values = dict(zip(names, [value, other] * 3, strict=True))
            event = {name: held for name, held in values.items() if held is not None}
            found = evaluate(node, event)
            assert yes(event) is (found is True), text
            assert no(event) is (found is False), text


@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">="])
def test_every_comparison_agrees_on_every_pair_of_values_at_an_edge(sign: str) -> None:
    scalars = [value for value in ONE_OF_EACH if isinstance(value, str | int | float | datetime)]
    for scalar in scalars:
        if isinstance(scalar, bool) and sign not in ("=", "<>"):
            continue
        node = Comparison(sign, Name("a"), literal(scalar))  # type: ignore[arg-type]
        yes, no = compile_condition(node), compile_condition(Not(node))
        among = compile_condition(In(Name("a"), (literal(scalar),)))
        for value in ONE_OF_EACH:
            event = {} if value is None else {"a": value}
            found = evaluate(node, event)
            assert yes(event) is (found is True)
            assert no(event) is (found is False)
            if sign == "=":
                assert among(event) is (found is True)


def test_a_compiled_function_can_be_asked_again_and_by_any_mapping() -> None:
    test = compile_condition(parse("a IN (1, 2) OR b LIKE 'x%' OR c > TIMESTAMP '2026-01-01'"))
    assert [test({"a": 1}), test({"a": 3}), test({"a": 1})] == [True, False, True]
    assert test({"b": "xy"}) is True
    assert test({"c": datetime(2026, 1, 2, tzinfo=UTC)}) is True
    assert test({"c": "2026-01-02"}) is False


def test_a_filter_as_wide_and_as_deep_as_allowed_compiles() -> None:
    deep = "(a = 1 AND (b = 2 OR " * 15 + "TRUE" + "))" * 15
    for text in (
        deep,
        "NOT " * 62 + "a = 1",
        "a = " + "-" * 59 + "b",
        " OR ".join(f"a{at} = 'x'" for at in range(1_000)),
        " AND ".join(["a LIKE '%x%y%'"] * 2_000),
        "a NOT IN (" + ", ".join(map(str, range(9_000))) + ")",
        "a = " + " + ".join(["b"] * 60),
    ):
        node = parse(text)
        yes, no = compile_condition(node), compile_condition(Not(node))
        events_: list[dict[str, Value]] = [{"a": 1, "b": 2}, {"a": "xxyy"}, {"a": 60, "b": 1}]
        for event in events_:
            found = evaluate(node, event)
            assert yes(event) is (found is True)
            assert no(event) is (found is False)
