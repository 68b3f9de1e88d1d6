"""What does this part of a file say, given what is expected there?

Read by what is expected: where a text is expected, `no` and `010` are texts; where an event chooses
its own types, what two readers of YAML would take for two things is refused.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

import yaml

from headgate.rights.policy_yaml import Listing, MisreadError, Node, Scalar, Table, found


def one_of(words: list[str]) -> str:
    """The words as a choice: ``a`, `b` or `c``."""
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def did_you_mean(word: str, known: list[str]) -> str:
    near = get_close_matches(word.lower(), known, n=1, cutoff=0.7)
    return f": did you mean `{near[0]}`?" if near else ""


def text_of(node: Node, what: str) -> str:
    """A text; what stands without quotes is one, too, whatever YAML would take it for."""
    if not isinstance(node, Scalar):
        raise MisreadError(node.place, f"expected {what}, found {found(node)}")
    if node.is_null:
        quotes = f" (in quotes it is a text: `'{node.text}'`)" if node.text else ""
        raise MisreadError(node.place, f"expected {what}, found {found(node)}{quotes}")
    return node.text


def boolean_of(node: Node) -> bool:
    truth = {"true": True, "false": False}
    if isinstance(node, Scalar) and node.plain and node.text.lower() in truth:
        return truth[node.text.lower()]
    quoted = " in quotes" if isinstance(node, Scalar) and not node.plain else ""
    raise MisreadError(node.place, f"expected `true` or `false`, found {found(node)}{quoted}")


def word_of(node: Node, words: list[str]) -> str:
    """One of a few words."""
    text = text_of(node, one_of(words))
    if text not in words:
        hint = did_you_mean(text, words)
        raise MisreadError(node.place, f"expected {one_of(words)}, found {found(node)}{hint}")
    return text


def items_of(node: Node, what: str, *, may_be_empty: bool = True) -> tuple[Node, ...]:
    if isinstance(node, Listing):
        return node.items
    is_null = isinstance(node, Scalar) and node.is_null
    hint = ": write `[]` for none" if is_null and may_be_empty else ""
    raise MisreadError(node.place, f"expected {what}, found {found(node)}{hint}")


def entries_of(node: Node, what: str) -> tuple[tuple[Scalar, Node], ...]:
    if isinstance(node, Table):
        return node.entries
    raise MisreadError(node.place, f"expected {what}, found {found(node)}")


def record_of(
    node: Node, what: str, known: list[str], needed: tuple[str, ...] = ()
) -> dict[str, Node]:
    """A mapping with these keys only, the needed ones among them."""
    entries = entries_of(node, f"{what}, a mapping")
    for key, _ in entries:
        if key.text not in known:
            hint = did_you_mean(key.text, known) or f": it has {one_of(known)}"
            raise MisreadError(key.place, f"expected a key of {what}, found {found(key)}{hint}")
    record = {key.text: value for key, value in entries}
    for name in needed:
        if name not in record:
            raise MisreadError(node.place, f"expected `{name}` in {what}, found none")
    return record


_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_DOUBLE = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_INTEGER_DIGITS_MAX = 20
_YAML_1_2 = re.compile(r"0o[0-7]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_YAML_1_1: Any = yaml.resolver.Resolver()
_A_TEXT = "tag:yaml.org,2002:str"


def plain_of(node: Node) -> Any:
    """What JSON would hold: for events, where a value's type is its writer's to choose."""
    match node:
        case Listing(_, items):
            return [plain_of(item) for item in items]
        case Table(_, entries):
            return {key.text: plain_of(value) for key, value in entries}
        case Scalar(text=text) if not node.plain:
            return text
        case Scalar(text=text):
            return None if node.is_null else _plain_scalar(node, text)


def _plain_scalar(node: Scalar, text: str) -> Any:
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        if len(text) > _INTEGER_DIGITS_MAX:
            raise MisreadError(node.place, f"expected an integer of 64 bits, found {found(node)}")
        return int(text)
    if _DOUBLE.fullmatch(text):
        return float(text)
    # What YAML 1.1 and 1.2 read as two things: `no`, `010`, `1_000`, `12:30`, `2026-01-31`.
    read = _YAML_1_1.resolve(yaml.ScalarNode, text, (True, False))
    if read != _A_TEXT or _YAML_1_2.fullmatch(text):
        raise MisreadError(
            node.place,
            f"expected a value as in JSON, or a text in quotes, found {found(node)}",
        )
    return text
