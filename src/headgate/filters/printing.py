"""How is a filter written? One text for each tree, and reading it gives the same tree."""

from __future__ import annotations

import re
from datetime import datetime

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
)
from headgate.filters.words import RESERVED
from headgate.model.values import Scalar, format_timestamp

_PLAIN = re.compile(r"(?:[^\W\d]|\$)[\w$]*(?:\.[\w$]+)*")


def print_name(name: str) -> str:
    if _PLAIN.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def print_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def print_value(value: Scalar) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{format_timestamp(value)}'"
    return print_text(value) if isinstance(value, str) else repr(value)


def print_expression(node: Expression) -> str:
    match node:
        case Name(name):
            return print_name(name)
        case Literal(_, value):
            return print_value(value)
        case Negated(operand):
            return f"-{_operand(operand)}"
        case Arithmetic(sign, left, right):
            # Arithmetic reads from the left, so only the left side goes without parentheses.
            loose = sign in "*/%" and isinstance(left, Arithmetic) and left.sign in "+-"
            shown = f"({print_expression(left)})" if loose else print_expression(left)
            return f"{shown} {sign} {_operand(right)}"


def _operand(node: Expression) -> str:
    text = print_expression(node)
    return f"({text})" if isinstance(node, Arithmetic) else text


def print_condition(node: Condition) -> str:
    match node:
        case Or(parts):
            return " OR ".join(map(print_condition, parts))
        case And(parts):
            return " AND ".join(
                f"({print_condition(part)})" if isinstance(part, Or) else print_condition(part)
                for part in parts
            )
        case Not(part):
            return _print_test(part, "NOT ") or f"NOT ({print_condition(part)})"
        case Constant(truth):
            return print_value(truth)
        case Comparison(sign, left, right):
            return f"{print_expression(left)} {sign} {print_expression(right)}"
        case Present(name):
            return f"{print_name(name.name)} IS NOT NULL"
        case _:
            return _print_test(node, "")


def _print_test(node: Condition, negation: str) -> str:
    """A test whose own word takes the NOT, or nothing for other conditions."""
    match node:
        case Between(operand, low, high):
            ends = f"{print_expression(low)} AND {print_expression(high)}"
            return f"{print_expression(operand)} {negation}BETWEEN {ends}"
        case In(operand, values):
            shown = ", ".join(print_expression(value) for value in values)
            return f"{print_expression(operand)} {negation}IN ({shown})"
        case Like(name, pattern, escape):
            suffix = "" if escape is None else f" ESCAPE {print_text(escape)}"
            return f"{print_name(name.name)} {negation}LIKE {print_text(pattern)}{suffix}"
        case Contains(text, name):
            return f"{print_text(text)} {negation}IN {print_name(name.name)}"
        case IsType(name, type_):
            return f"{print_name(name.name)} IS {negation}{type_.value}"
        case Present(name) if negation:
            return f"{print_name(name.name)} IS NULL"
        case _:
            return ""
