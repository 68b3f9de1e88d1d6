"""Does a text fit a LIKE pattern, and is there a text that fits several patterns and not others?

`%` stands for any text, `_` for any one character. Matching is linear in the text for any pattern:
the parts between the `%` are looked for from left to right, and none is ever taken back.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

from headgate.model.errors import FilterTooComplexError, HeadgateError
from headgate.model.limits import FILTER_LIMITS

Part = tuple[str | None, ...]
"""Characters in a row; `None` is any one character."""

_CHARACTER_MAX = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_READABLE = [
    ord(char) for char in "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ é"
]
# Below this many comparisons the plain search beats the one that takes a step a character.
_PLAIN_SEARCH_STEPS_MAX = 1 << 18


@dataclass(frozen=True)
class Pattern:
    """A pattern as the parts between its `%`; patterns that say the same are equal."""

    parts: tuple[Part, ...]

    @classmethod
    def read(cls, pattern: str, escape: str | None = None) -> Self:
        if escape is not None and len(escape) != 1:
            raise HeadgateError(f"expected one character after ESCAPE, found `{escape[:10]}`")
        parts: list[list[str | None]] = [[]]
        chars = iter(pattern)
        for char in chars:
            if char == escape:
                escaped = next(chars, None)
                if escaped is None or escaped not in ("%", "_", escape):
                    raise HeadgateError(
                        f"expected `%`, `_` or `{escape}` after the escape `{escape}`"
                    )
                parts[-1].append(escaped)
            elif char == "%":
                parts.append([])
            else:
                parts[-1].append(None if char == "_" else char)
        return cls(tuple(_settled(parts)))

    def prefix_text(self) -> str | None:
        """The text that all fitting texts begin with, where that is all that is asked."""
        if len(self.parts) != 2 or self.parts[1] or None in self.parts[0]:
            return None
        return "".join(char or "" for char in self.parts[0])

    def interval(self) -> tuple[str, str | None] | None:
        """The texts that fit as `low <= text < high`, where the pattern is as simple as that."""
        prefix = self.prefix_text()
        if prefix is not None:
            return prefix, after_prefix(prefix)
        if len(self.parts) > 1 or None in self.parts[0]:
            return None
        text = "".join(char or "" for char in self.parts[0])
        return text, text + "\0"

    def matches(self, text: str) -> bool:
        first, *between = self._searches
        if not between:
            return len(text) == len(self.parts[0]) and first.at(text, 0)
        last = between.pop()
        end = len(text) - last.length
        if end < first.length or not first.at(text, 0) or not last.at(text, end):
            return False
        at = first.length
        for search in between:
            found = search.find(text, at, end)
            if found < 0:
                return False
            at = found + search.length
        return True

    @cached_property
    def short_texts(self) -> tuple[int, Callable[[str], object]]:
        """A length, and what finds a match in a text that is no longer (it takes nothing back).

        Up to there a regular expression takes no more than the steps of the plain search.
        """
        first, *between = map(_expression, self.parts)
        end = len(self.parts[-1])
        last = f"(?=.{{{end}}}).*+(?<={between.pop()})" if between else ""
        expression = first + "".join(f"(?>.*?{part})" for part in between) + last
        length = _PLAIN_SEARCH_STEPS_MAX // max(1, *map(len, self.parts))
        return length, re.compile(expression, re.DOTALL).fullmatch

    @cached_property
    def _searches(self) -> tuple[_Search, ...]:
        return tuple(_Search(part) for part in self.parts)

    @cached_property
    def automaton(self) -> _Automaton:
        return _Automaton(self)

    def __str__(self) -> str:
        """The pattern with `\\` as its escape."""
        return "%".join(
            "".join(
                "_" if char is None else f"\\{char}" if char in "%_\\" else char for char in part
            )
            for part in self.parts
        )


def _settled(parts: list[list[str | None]]) -> Iterable[Part]:
    """One way to write it: `%%` is `%`, and `_` goes before the `%` it stands next to."""
    settled = [parts[0]]
    for index, part in enumerate(parts[1:], start=1):
        start = 0
        while start < len(part) and part[start] is None:
            start += 1
        settled[-1].extend(part[:start])
        if part[start:] or index == len(parts) - 1:
            settled.append(part[start:])
    return map(tuple, settled)


def after_prefix(prefix: str) -> str | None:
    """The first text after all that begin with `prefix`, or nothing where they are the last."""
    stripped = prefix.rstrip(chr(_CHARACTER_MAX))
    if not stripped:
        return None
    code = ord(stripped[-1]) + 1  # no text holds half a character, so none begins with one
    return stripped[:-1] + chr(_SURROGATES.stop if code in _SURROGATES else code)


def _expression(part: Part) -> str:
    return "".join("." if char is None else re.escape(char) for char in part)


class _Search:
    """Finds one part of a pattern in a text."""

    def __init__(self, part: Part) -> None:
        self.length = len(part)
        self._part = part
        self._plain = None if None in part else "".join(char or "" for char in part)
        self._regex = re.compile(_expression(part), re.DOTALL)

    def at(self, text: str, at: int) -> bool:
        if self._plain is not None:
            return text.startswith(self._plain, at)
        return self._regex.match(text, at) is not None

    def find(self, text: str, start: int, end: int) -> int:
        if self._plain is not None:
            return text.find(self._plain, start, end)
        if (end - start) * self.length <= _PLAIN_SEARCH_STEPS_MAX:
            found = self._regex.search(text, start, end)
            return -1 if found is None else found.start()
        return self._find_stepping(text, start, end)

    def _find_stepping(self, text: str, start: int, end: int) -> int:
        """Shift-and: bit i of `state` says that the part's first i + 1 characters end here."""
        masks, wild = self._masks
        done = 1 << (self.length - 1)
        state = 0
        for at in range(start, end):
            state = (state << 1 | 1) & masks.get(text[at], wild)
            if state & done:
                return at - self.length + 1
        return -1

    @property
    def _masks(self) -> tuple[dict[str, int], int]:
        return _masks(self._part)


@lru_cache(maxsize=1024)
def _masks(part: Part) -> tuple[dict[str, int], int]:
    """For each character the positions it fits, and the positions that any character fits."""
    wild = sum(1 << at for at, char in enumerate(part) if char is None)
    masks: dict[str, int] = {}
    for at, char in enumerate(part):
        if char is not None:
            masks[char] = masks.get(char, wild) | 1 << at
    return masks, wild


class _Automaton:
    """A pattern's positions as bits; reading a character takes the set of positions to the next."""

    def __init__(self, pattern: Pattern) -> None:
        joined: Part = tuple(char for part in pattern.parts for char in part)
        self.masks, self.wild = _masks(joined)
        self.accepting = 1 << len(joined)
        self.loops = 0
        at = 0
        for part in pattern.parts[:-1]:
            at += len(part)
            self.loops |= 1 << at
        self.start = 1

    def step(self, state: int, char: str) -> int:
        after = (state & self.masks.get(char, self.wild)) << 1 | state & self.loops
        looping = after & self.loops
        # What fits from an earlier position fits from the last `%` reached, too.
        return (
            after >> (looping.bit_length() - 1) << (looping.bit_length() - 1) if looping else after
        )

    def accepts(self, state: int) -> bool:
        return bool(state & self.accepting)


class Effort:
    """The steps that one decision may still spend on searching; past them it ends in an error."""

    __slots__ = ("left",)

    def __init__(self, steps: int = FILTER_LIMITS.pattern_steps) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise FilterTooComplexError(
                "these LIKE patterns are too entangled to be compared: use fewer `%` and `_`"
            )


def find_text(
    low: str,
    high: str | None,
    wanted: frozenset[Pattern],
    unwanted: frozenset[Pattern],
    effort: Effort,
) -> str | None:
    """A shortest text with `low <= text < high` that fits all the wanted patterns and none of the
    unwanted, or nothing where there is no such text.
    """
    automata = [(pattern.automaton, True) for pattern in sorted(wanted, key=str)]
    automata += [(pattern.automaton, False) for pattern in sorted(unwanted, key=str)]
    letters = _representatives(low, high, wanted | unwanted)
    start = (0, -1 if high is None else 0, *(automaton.start for automaton, _ in automata))
    came_from: dict[tuple[int, ...], tuple[tuple[int, ...], str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if state[0] in (-1, len(low)) and all(
            automaton.accepts(inner) is want
            for (automaton, want), inner in zip(automata, state[2:], strict=True)
        ):
            return _spelled(state, came_from)
        for letter in letters:
            effort.spend(1 + len(automata))
            after_low = _step_low(low, state[0], letter)
            after_high = None if high is None else _step_high(high, state[1], letter)
            if after_low is None or (high is not None and after_high is None):
                continue
            inners = tuple(
                automaton.step(inner, letter)
                for (automaton, _), inner in zip(automata, state[2:], strict=True)
            )
            if any(want and not inner for (_, want), inner in zip(automata, inners, strict=True)):
                continue
            after = (after_low, -1 if after_high is None else after_high, *inners)
            if after not in came_from:
                came_from[after] = (state, letter)
                waiting.append(after)
    return None


def _step_low(low: str, at: int, letter: str) -> int | None:
    """How much of `low` the text still equals: -1 once it is greater, nothing once it is less."""
    if at in (-1, len(low)) or letter > low[at]:
        return -1
    return at + 1 if letter == low[at] else None


def _step_high(high: str, at: int, letter: str) -> int | None:
    """How much of `high` the text still equals: -1 once it is less, nothing once it isn't."""
    if at == -1 or letter < high[at]:
        return -1
    return at + 1 if letter == high[at] and at + 1 < len(high) else None


def _spelled(
    state: tuple[int, ...],
    came_from: dict[tuple[int, ...], tuple[tuple[int, ...], str] | None],
) -> str:
    letters: list[str] = []
    step = came_from[state]
    while step is not None:
        state, letter = step
        letters.append(letter)
        step = came_from[state]
    return "".join(reversed(letters))


def _representatives(low: str, high: str | None, patterns: Iterable[Pattern]) -> list[str]:
    """One character of each class that the patterns and the ends can tell apart."""
    told_apart = set(low) | set(high or "")
    for pattern in patterns:
        told_apart |= {char for part in pattern.parts for char in part if char is not None}
    codes = sorted(map(ord, told_apart))
    letters = [chr(code) for code in codes if code not in _SURROGATES]
    for before, after in zip([-1, *codes], [*codes, _CHARACTER_MAX + 1], strict=True):
        between = _between(before, after)
        if between is not None:
            letters.append(chr(between))
    return sorted(letters, key=lambda letter: (letter not in told_apart, letter))


def _between(before: int, after: int) -> int | None:
    """A character strictly between two others, one that can be read where there is one."""
    for code in (*_READABLE, before + 1, after - 1, _SURROGATES.stop):
        if before < code < after and code not in _SURROGATES:
            return code
    return None
