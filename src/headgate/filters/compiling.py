"""Is a condition true for an event, fast? Compiles the tree to one Python function.

`NOT` is pushed down to the tests first: then only "is it true?" is left to ask, and no third
truth value is needed. The tree goes in as Python's own syntax tree, with every value of the filter
as a constant in it, so no text of a filter is ever run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import cast

from headgate.filters.evaluation import evaluate
from headgate.filters.likeness import Pattern
from headgate.filters.syntax import (
    OPPOSITE,
    And,
    Between,
    Comparison,
    ComparisonSign,
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
)
from headgate.model.values import Kind, Scalar, Value

Test = Callable[[Mapping[str, Value]], bool]

_SIGNS: dict[ComparisonSign, ast.cmpop] = {
    "=": ast.Eq(),
    "<>": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_CLASSES: dict[Kind, type] = {
    Kind.STRING: str,
    Kind.INTEGER: int,
    Kind.DOUBLE: float,
    Kind.BOOLEAN: bool,
    Kind.TIMESTAMP: datetime,
    Kind.SET: frozenset,
}
_NUMBERS = (Kind.DOUBLE, Kind.INTEGER)


def compile_condition(node: Condition) -> Test:
    """A function from an event's attributes to whether the condition is true."""
    compiler = _Compiler()
    function = ast.parse("def test(event):\n get = event.get\n return False")
    body = cast("ast.FunctionDef", function.body[0]).body
    body[-1] = ast.Return(compiler.truth(node, True))
    code = compile(ast.fix_missing_locations(function), "<filter>", "exec")
    scope = compiler.scope
    exec(code, scope)  # noqa: S102 - made of the nodes below only
    return cast("Test", scope["test"])


class _Compiler:
    """Makes the expression that says whether a condition is true (or, under a NOT, false)."""

    def __init__(self) -> None:
        self.scope: dict[str, object] = {kind.name: made for kind, made in _CLASSES.items()}

    def truth(self, node: Condition, wanted: bool) -> ast.expr:
        match node:
            case Constant(truth):
                return ast.Constant(truth is wanted)
            case Not(part):
                return self.truth(part, not wanted)
            case And(parts) | Or(parts):
                every = isinstance(node, And) is wanted
                joined = [self.truth(part, wanted) for part in parts]
                return _all(*joined) if every else _any(*joined)
            case Between(Name(name), Literal(low_kind, low), Literal(high_kind, high)) if (
                wanted and _kinds(low_kind) == _kinds(high_kind)
            ):
                ends = [self._constant(low), self._constant(high)]
                inside = ast.Compare(ends[0], [ast.LtE(), ast.LtE()], [_value(), ends[1]])
                return _all(self._is(name, *_kinds(low_kind)), inside)
            case Between():
                return self.truth(node.spelled_out(), wanted)
            case In(Name(name), values) if wanted:
                return self._among(name, [value.value for value in values])
            case In():
                return self.truth(disjunction(node.spelled_out()), wanted)
            case Comparison(sign, Name(name), Literal(kind, value)):
                return self._compared(name, sign if wanted else OPPOSITE[sign], kind, value)
            case Comparison(sign, left, right):
                return self._residue(comparison(sign if wanted else OPPOSITE[sign], left, right))
            case Like(name, pattern, escape):
                fits = self._fits(Pattern.read(pattern, escape))
                return _all(self._is(name.name, Kind.STRING), fits if wanted else _no(fits))
            case Contains(text, name):
                having = ast.Compare(
                    ast.Constant(text), [ast.In() if wanted else ast.NotIn()], [_value()]
                )
                return _all(self._is(name.name, Kind.SET), having)
            case Present(name):
                there = ast.In() if wanted else ast.NotIn()
                return ast.Compare(ast.Constant(name.name), [there], [_variable("event")])
            case IsType(name, type_):
                is_type = self._is(name.name, *sorted(type_.kinds, key=lambda kind: kind.name))
                return is_type if wanted else _no(is_type)

    def _compared(self, name: str, sign: ComparisonSign, kind: Kind, value: Scalar) -> ast.expr:
        if sign == "=":
            return self._equal(name, kind, value)
        test = ast.Compare(_value(), [_SIGNS[sign]], [self._constant(value)])
        return _all(self._is(name, *_kinds(kind)), test)

    def _equal(self, name: str, kind: Kind, value: Scalar) -> ast.expr:
        if kind is Kind.BOOLEAN:
            return ast.Compare(_get(name), [ast.Is()], [self._constant(value)])
        equal = ast.Compare(_read(name), [ast.Eq()], [self._constant(value)])
        # In Python `True == 1`; the kinds that are left never equal one another.
        return _all(equal, _no(self._held(Kind.BOOLEAN))) if kind in _NUMBERS else equal

    def _among(self, name: str, values: list[Scalar]) -> ast.expr:
        flags = [value for value in values if isinstance(value, bool)]
        others = frozenset(value for value in values if not isinstance(value, bool))
        tests: list[ast.expr] = [self._equal(name, Kind.BOOLEAN, flag) for flag in flags]
        if others:
            member = ast.Compare(_read(name), [ast.In()], [self._named(others)])
            tests.append(_all(member, _no(self._held(Kind.BOOLEAN))))
        return _any(*tests)

    def _is(self, name: str, *kinds: Kind) -> ast.expr:
        """Read the attribute, keep it as the value at hand, and see whether it is of a kind."""
        first, *rest = kinds
        read = ast.Compare(_class_of(_read(name)), [ast.Is()], [_variable(first.name)])
        return _any(read, *(self._held(kind) for kind in rest))

    def _held(self, kind: Kind) -> ast.expr:
        return ast.Compare(_class_of(_value()), [ast.Is()], [_variable(kind.name)])

    def _fits(self, pattern: Pattern) -> ast.expr:
        prefix = pattern.prefix_text()
        if prefix is not None:
            return _call(ast.Attribute(_value(), "startswith", ast.Load()), ast.Constant(prefix))
        return _call(self._named(pattern.matches), _value())

    def _residue(self, node: Comparison) -> ast.expr:
        value = _call(self._named(lambda event: evaluate(node, event)), _variable("event"))
        return ast.Compare(value, [ast.Is()], [ast.Constant(True)])

    def _constant(self, value: Scalar) -> ast.expr:
        return self._named(value) if isinstance(value, datetime) else ast.Constant(value)

    def _named(self, value: object) -> ast.expr:
        name = f"constant_{len(self.scope)}"
        self.scope[name] = value
        return _variable(name)


def _kinds(kind: Kind) -> tuple[Kind, ...]:
    """The kinds that compare with this one, the likelier first."""
    return _NUMBERS if kind in _NUMBERS else (kind,)


def _all(*tests: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.And(), list(tests)) if len(tests) > 1 else tests[0]


def _any(*tests: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.Or(), list(tests)) if len(tests) > 1 else tests[0]


def _no(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _variable(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _value() -> ast.expr:
    return _variable("value")


def _get(name: str) -> ast.expr:
    return _call(_variable("get"), ast.Constant(name))


def _read(name: str) -> ast.expr:
    return ast.NamedExpr(ast.Name("value", ast.Store()), _get(name))


def _class_of(value: ast.expr) -> ast.expr:
    return ast.Attribute(value, "__class__", ast.Load())


def _call(function: ast.expr, *arguments: ast.expr) -> ast.expr:
    return ast.Call(function, list(arguments), [])
