"""How do entries become the numbers that a segment is sorted from?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any, Final

import numpy as np

from headgate.matching import layout
from headgate.matching.compiled import Shorts
from headgate.matching.directory import Directory
from headgate.matching.entries import Entries, Entry, NamedMark, NamedTest
from headgate.matching.pieces import Role, State
from headgate.matching.raws import CODES, Raw


class RawWriter:
    """Gathers entries, filter by filter, as plain numbers; what was added last can be taken back.

    Texts and values get their numbers all at once, and only then.
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._slots: list[int] = []
        self._signatures: list[int] = []
        self._codes: list[int] = []
        self._flags: list[int] = []
        self._tests: list[int] = []
        self._lines: list[int] = []
        self._bounds: list[int] = []
        self._check_ends: list[int] = []
        self._checks: list[int] = []
        self._texts: list[bytes] = []
        self._text_places: list[int] = []
        self._values: list[tuple[int, int]] = []
        self._value_places: list[int] = []
        self._checked: list[tuple[int, int, Entry]] = []
        """Slots, flags and entries that are written last: what they check needs its numbers."""

    def __len__(self) -> int:
        return len(self._slots) + len(self._checked)

    def add(self, slot: int, some: Entries) -> None:
        overlapping = layout.OVERLAPPING if some.overlapping else 0
        for entry in some.entries:
            flags = overlapping | layout.VERIFIED if entry.verified else overlapping
            signature, address = self._directory.address(entry.address)
            if entry.has or entry.lacks or entry.any_of or len(address) != len(entry.address):
                self._checked.append((slot, flags, entry))
            else:
                self._add_entry(slot, flags, signature, address, entry.tests)

    def written(self) -> tuple[int, ...]:
        """How much was added so far, for `take_back`."""
        return tuple(map(len, self._lists()))

    def take_back(self, written: tuple[int, ...]) -> None:
        """Take back what was added since then."""
        for some, count in zip(self._lists(), written, strict=True):
            del some[count:]

    def _lists(self) -> tuple[list[Any], ...]:
        return (
            self._slots, self._signatures, self._codes, self._flags, self._tests, self._lines,
            self._bounds, self._texts, self._text_places, self._values, self._value_places,
            self._checked,
        )  # fmt: skip

    def _add_entry(
        self,
        slot: int,
        flags: int,
        signature: int,
        address: tuple[NamedMark, ...],
        tests: tuple[NamedTest, ...],
    ) -> None:
        self._slots.append(slot)
        self._signatures.append(signature)
        self._flags.append(flags)
        self._add_codes(address)
        if len(tests) > 2:
            tests = _ranges_first(tests)
        for name, (view, upper, bound) in tests:
            self._lines.append(2 * self._directory.line_column(name, view) + upper)
            self._bounds.append(bound)
        self._tests.append(len(tests))

    def _add_checked(self, slot: int, flags: int, entry: Entry) -> None:
        signature, address = self._directory.address(entry.address)
        self._add_entry(slot, flags | layout.CHECKED, signature, address, entry.tests)
        for mark in (*entry.has, *entry.address[len(address) :]):
            self._any_of((mark,))
        for marks in entry.any_of:
            self._any_of(marks)
        for column, codes in self._by_column(entry.lacks):
            self._checks += (layout.NONE_OF, column, len(codes), *codes)
        self._checks.append(0)
        self._check_ends.append(len(self._checks))

    def _add_codes(self, address: Iterable[NamedMark]) -> None:
        start = len(self._codes)
        for name, (role, value) in address:
            if value.__class__ is str:
                text = self._text(name, role, value)
                self._text_places.append(len(self._codes))
                self._texts.append(text)
                self._codes.append(0)
            elif role is _STATE:
                self._directory.state(name, value)
                self._codes.append(int(value))
            else:
                self._value_places.append(len(self._codes))
                self._values.append(value)
                self._codes.append(0)
        self._codes += _NO_CODES[len(self._codes) - start :]

    def _text(self, name: str, role: Role, text: str) -> bytes:
        octets = text.encode()
        if role is _BEGINS:
            self._directory.beginning(name, len(octets))
        return octets

    def _any_of(self, marks: Iterable[NamedMark]) -> None:
        lists = self._by_column(marks)
        self._checks += (layout.ANY_OF, len(lists))
        for column, codes in lists:
            self._checks += (column, len(codes), *codes)

    def _by_column(self, marks: Iterable[NamedMark]) -> list[tuple[int, list[int]]]:
        columns: dict[int, list[int]] = {}
        texts: dict[int, list[bytes]] = {}
        values: dict[int, list[tuple[int, int]]] = {}
        for name, (role, value) in marks:
            column = self._directory.mark_column(name, role)
            codes = columns.setdefault(column, [])
            if isinstance(value, str):
                texts.setdefault(column, []).append(self._text(name, role, value))
            elif role is Role.STATE:
                self._directory.state(name, value)
                codes.append(layout.ABSENT_CODE if value is State.ABSENT else int(value))
            else:
                values.setdefault(column, []).append(value)
        for column, some in texts.items():
            columns[column] += self._directory.texts.add(some).tolist()
        for column, others in values.items():
            columns[column] += self._directory.numbers.add(others).tolist()
        return [(column, sorted(codes)) for column, codes in columns.items()]

    def raw(self) -> Raw:
        """All that was gathered; nothing is added later."""
        plain = len(self._slots)
        for checked in self._checked:
            self._add_checked(*checked)
        codes = np.array(self._codes, np.int32)
        if self._texts:
            codes[self._text_places] = self._directory.texts.add(self._texts)
        if self._values:
            codes[self._value_places] = self._directory.numbers.add(self._values)
        return Raw(
            _shorts(self._slots),
            _shorts(self._signatures),
            codes.reshape(-1, CODES),
            _shorts(self._flags),
            np.fromiter(accumulate(self._tests), np.int64, len(self._tests)),
            _shorts(self._lines),
            np.array(self._bounds, np.int64),
            np.array([0] * plain + self._check_ends, np.int64),
            _shorts(self._checks),
        )


_STATE, _BEGINS = Role.STATE, Role.BEGINS
_NO_CODES: Final = [-1] * CODES


def _shorts(words: list[int]) -> Shorts:
    return np.array(words, np.int32)


def _ranges_first(tests: tuple[NamedTest, ...]) -> tuple[NamedTest, ...]:
    """Both sides of a range before one side of another, each range in one piece."""
    sides: dict[Any, int] = {}
    for name, (view, _, _) in tests:
        sides[name, view] = sides.get((name, view), 0) + 1
    return tuple(sorted(tests, key=lambda one: (-sides[one[0], one[1][0]], one[0], one[1][0])))
