"""Which words does the language keep, and what do people read when something else stands there?"""

from __future__ import annotations

from typing import cast

import lark

from headgate.filters.syntax import TypeName
from headgate.model.errors import FilterSyntaxError, named

_TYPES = frozenset(TypeName.__members__)
WORDS = {
    **{word: f"_{word}" for word in ("OR", "AND", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS")},
    **{word: word for word in ("NOT", "NULL", "TRUE", "FALSE", "EXISTS", "ANY")},
    **dict.fromkeys(_TYPES, "TYPE"),
}
RESERVED = frozenset(WORDS) - _TYPES - {"EXISTS", "ANY"}
"""Words that are no attribute's name unless it is quoted."""


_VALUES = {"NAME", "STRING", "NUMBER", "EXISTS", "TRUE", "FALSE"}
_READABLE = {
    "ANY": "`ANY`",
    "COMPARISON": "a comparison",
    "SIGN": "arithmetic",
    "_AND": "`AND`",
    "_OR": "`OR`",
    "RPAR": "`)`",
    "LPAR": "`(`",
    "COMMA": "`,`",
    "NULL": "`NULL`",
    "TYPE": "a type",
    "NOT": "`NOT`",
    "STRING": "a text in quotes",
    "NAME": "a name",
    "_IN": "`IN`",
    "_LIKE": "`LIKE`",
    "_BETWEEN": "`BETWEEN`",
    "$END": "the end",
}
_MISWRITTEN_SIGNS = {"==": "=", "=>": ">=", "=<": "<=", "><": "<>"}
_INSTEAD = {
    "&": "write `AND`",
    "|": "write `OR`",
    "!": "write `NOT`, or `<>` for unequal",
    ".": "it stands between two parts of a name",
    **dict.fromkeys("‘’“”`´", "write `'` around a text"),
    **dict.fromkeys("≤≥≠", "write `<=`, `>=` or `<>`"),
}


def _expected(accepted: set[str]) -> str:
    """What may stand here, in a few words."""
    words = []
    left = set(accepted)
    if "NUMBER" in left:
        words.extend(["an attribute", "a value"] if "LPAR" in left else ["a value"])
        left -= _VALUES | {"TYPE", "SIGN", "LPAR", "NOT"}
    if "NAME" in left or "LPAR" in accepted:
        left -= {"TYPE", "EXISTS", "ANY"}
    if "COMPARISON" in left:
        left -= {"SIGN", "FACTOR", "_IS", "_IN", "_LIKE", "_BETWEEN", "NOT"}
        words.append("a comparison")
    words.extend(
        _READABLE[kind] for kind in _READABLE if kind in left and _READABLE[kind] not in words
    )
    if len(words) < 2:
        return "".join(words) or "something else"
    return f"{', '.join(words[:-1])} or {words[-1]}"


def unexpected_token(problem: lark.UnexpectedToken, text: str) -> FilterSyntaxError:
    token = problem.token
    accepted = set(problem.accepts or problem.expected)
    at = len(text) if token.type == "$END" else cast("int", token.start_pos)
    if token.type == "NULL":
        return FilterSyntaxError(
            "nothing compares with NULL: ask with `IS NULL` or `IS NOT NULL`", text, at
        )
    doubled = text[at - 1 : at + 1] if at else ""
    if doubled in _MISWRITTEN_SIGNS:
        return FilterSyntaxError(
            f"expected `{_MISWRITTEN_SIGNS[doubled]}`, found `{doubled}`", text, at - 1
        )
    found = "the end" if token.type == "$END" else named(token, 40)
    hint = ""
    if token.type.lstrip("_") in RESERVED and "NAME" in accepted:
        hint = f', a word of the language: as a name write `"{token}"`'
    return FilterSyntaxError(f"expected {_expected(accepted)}, found {found}{hint}", text, at)


def unexpected_character(problem: lark.UnexpectedCharacters, text: str) -> FilterSyntaxError:
    at = cast("int", problem.pos_in_stream)
    char = text[at]
    if text[at : at + 2] == '""':
        return FilterSyntaxError("a name in quotes holds at least one character", text, at)
    if char in "'\"":
        opened = "text" if char == "'" else "name"
        return FilterSyntaxError(f"this {opened} has no closing `{char}`", text, at)
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    hint = f": {_INSTEAD[char]}" if char in _INSTEAD else ""
    return FilterSyntaxError(f"`{shown}` has no meaning here{hint}", text, at)
