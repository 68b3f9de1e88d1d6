"""Are trees frozen values that are told apart by what they say?"""

import dataclasses
import pickle

import pytest
from hypothesis import given

from headgate.filters.evaluation import evaluate, opposite
from headgate.filters.syntax import (
    FLIPPED,
    OPPOSITE,
    And,
    Arithmetic,
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
    Negated,
    Node,
    Not,
    Or,
    Present,
    TypeName,
    children,
    comparison,
    conjunction,
    disjunction,
    literal,
    names_in,
    walk,
)
from headgate.model.values import Kind
from tests.filters.language_strategies import SIGNS, conditions

A, B = Name("a"), Name("b")
ONE = Comparison("=", A, literal(1))
ONE_OF_EACH: list[Node] = [
    Constant(True),
    And((ONE, Present(A))),
    Or((ONE, Present(A))),
    Not(ONE),
    ONE,
    Between(A, literal(1), B),
    In(A, (literal(1), literal("x"))),
    Like(A, "x%", None),
    Contains("x", A),
    Present(A),
    IsType(A, TypeName.NUMBER),
    A,
    literal(1),
    Negated(A),
    Arithmetic("+", A, B),
]


def test_there_is_one_of_each_node_here() -> None:
    nodes = {node for node in Node.__args__ if dataclasses.is_dataclass(node)}
    assert {type(node) for node in ONE_OF_EACH} == nodes


@pytest.mark.parametrize("node", ONE_OF_EACH, ids=lambda node: type(node).__name__)
def test_a_node_is_frozen_and_equal_to_its_like_only(node: Node) -> None:
    again = pickle.loads(pickle.dumps(node))
    assert again == node
    assert hash(again) == hash(node)
    assert [other for other in ONE_OF_EACH if other == node] == [node]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(node, dataclasses.fields(node)[0].name, None)


def test_literals_that_python_calls_equal_are_told_apart() -> None:
    literals = [literal(1), literal(1.0), literal(True), literal("1")]
    assert len(set(literals)) == 4
    assert [one.kind for one in literals] == [
        Kind.INTEGER, Kind.DOUBLE, Kind.BOOLEAN, Kind.STRING,
    ]  # fmt: skip
    assert len({ONE, Comparison("=", A, literal(1.0))}) == 2
    assert str(literal(-0.0).value) == "0.0"
    assert literal(-0.0) == literal(0.0) == Literal(Kind.DOUBLE, 0.0)


def test_joining_flattens_and_leaves_a_single_part_alone() -> None:
    two = And((ONE, Present(A)))
    assert conjunction([ONE]) is ONE
    assert disjunction([two]) is two
    assert conjunction([two, two]) == And((ONE, Present(A)) * 2)
    assert disjunction([two, two]) == Or((two, two))
    assert disjunction([Or((ONE, two)), ONE]) == Or((ONE, two, ONE))
    assert conjunction(iter((Not(ONE), two))) == And((Not(ONE), ONE, Present(A)))


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("value", [1, 2, 3, 1.5, "x", None, True])
def test_a_flipped_and_an_opposite_sign_say_what_they_should(sign: str, value: object) -> None:
    event = {} if value is None else {"a": value}
    two = literal(2)
    said = evaluate(Comparison(sign, A, two), event)  # type: ignore[arg-type]
    flipped = Comparison(FLIPPED[sign], two, A)  # type: ignore[index]
    denied = Comparison(OPPOSITE[sign], A, two)  # type: ignore[index]
    assert evaluate(flipped, event) is said  # type: ignore[arg-type]
    assert evaluate(denied, event) is opposite(said)  # type: ignore[arg-type]


def test_a_literal_goes_to_the_right_of_a_name_only() -> None:
    assert comparison("<", literal(5), A) == Comparison(">", A, literal(5))
    assert comparison("<", A, literal(5)) == Comparison("<", A, literal(5))
    assert comparison("<", A, B) == Comparison("<", A, B)
    assert comparison("<", literal(5), Negated(A)) == Comparison("<", literal(5), Negated(A))


@pytest.mark.parametrize(
    ("type_", "kinds"),
    [
        (TypeName.STRING, {Kind.STRING}),
        (TypeName.INTEGER, {Kind.INTEGER}),
        (TypeName.DOUBLE, {Kind.DOUBLE}),
        (TypeName.NUMBER, {Kind.INTEGER, Kind.DOUBLE}),
        (TypeName.BOOLEAN, {Kind.BOOLEAN}),
        (TypeName.TIMESTAMP, {Kind.TIMESTAMP}),
    ],
)
def test_a_type_stands_for_these_kinds(type_: TypeName, kinds: set[Kind]) -> None:
    assert type_.kinds == kinds


def test_a_walk_meets_every_node_with_its_depth() -> None:
    tree = And((Not(ONE), Between(Negated(B), A, Arithmetic("+", A, literal(2)))))
    assert sorted((type(node).__name__, depth) for node, depth in walk(tree)) == [
        ("And", 1), ("Arithmetic", 3), ("Between", 2), ("Comparison", 3), ("Literal", 4),
        ("Literal", 4), ("Name", 3), ("Name", 4), ("Name", 4), ("Name", 4), ("Negated", 3),
        ("Not", 2),
    ]  # fmt: skip


def test_a_walk_goes_deeper_than_python_calls() -> None:
    node: Condition = ONE
    for _ in range(100_000):
        node = Not(node)
    assert max(depth for _, depth in walk(node)) == 100_002


@pytest.mark.parametrize("node", ONE_OF_EACH, ids=lambda node: type(node).__name__)
def test_names_are_found_in_every_kind_of_node(node: Node) -> None:
    wanted = {"a", "b"} if isinstance(node, Between | Arithmetic) else {"a"}
    assert names_in(node) == (set() if isinstance(node, Constant | Literal) else wanted)


@given(conditions())
def test_only_the_names_of_a_condition_matter_to_it(node: Condition) -> None:
    names = names_in(node)
    nodes = [inner for inner, _ in walk(node)]
    assert names == {inner.name for inner in nodes if isinstance(inner, Name)}
    assert len(nodes) == 1 + sum(len(children(inner)) for inner in nodes)
    assert evaluate(node, {"another": 1}) is evaluate(node, {})
