"""Which columns do filters ask about, and under which signatures do entries stand?

A *column* is a role of an attribute (the texts that it equals, its beginnings, …) or a line on
which it is compared. A *signature* is the columns of an address. Both are numbered once and never
taken back; what older versions of an index hold is not written to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headgate.matching import layout
from headgate.matching.compiled import Ints, Shorts, address_of, compiled
from headgate.matching.entries import NamedMark
from headgate.matching.pieces import Role, State, View
from headgate.matching.symbols import (
    META_WORDS,
    NUMBERS_FROM,
    SIGNATURES_OF,
    TABLE_WORDS,
    Numbers,
    Texts,
)

SIGNATURES_MAX: Final = 512
"""So many signatures of several columns; beyond them an entry is looked up by one column alone."""

_TABLES: Final = (
    layout.NAME_COLUMNS, layout.LENGTHS, layout.ABSENT, layout.LEADS, layout.LED, layout.SIGNATURES,
    layout.USES, layout.LEAD_SIGNATURES,
)  # fmt: skip


class Directory:
    """The names, columns, signatures and values of all filters that an index has had."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.names = Texts(seed)
        self.texts = Texts(seed)
        self.numbers = Numbers(seed)
        self.name_numbers: dict[str, int] = {}
        self.marks = 0
        self.lines = 0
        self.signatures: dict[tuple[int, ...], int] = {}
        self.roles: list[Role] = []
        """What the marks of each column are."""
        self._joint_signatures = 0
        self._columns: list[list[int]] = []
        self._mark_columns: dict[tuple[str, Role], int] = {}
        self._line_columns: dict[tuple[str, View], int] = {}
        """What was looked up in `_columns`, to be quicker."""
        self._lengths: dict[int, set[int]] = {}
        self._absent: list[int] = []
        self._changed = True
        self._tables: tuple[NDArray[Any], ...] = ()
        self._addresses: list[tuple[int, int]] = []
        self.signature(())

    def name(self, name: str) -> int:
        number = self.name_numbers.get(name)
        if number is None:
            number = int(self.names.add([name.encode()])[0])
            self.name_numbers[name] = number
            self._columns.append([-1] * (layout.NAME_WORDS - 1) + [0])
            self._changed = True
        return number

    def mark_column(self, name: str, role: Role) -> int:
        column = self._mark_columns.get((name, role))
        if column is None:
            column = self._mark_columns[name, role] = self._new_mark_column(name, role)
        return column

    def _new_mark_column(self, name: str, role: Role) -> int:
        row = self._columns[self.name(name)]
        if row[role] < 0:
            row[role] = self.marks
            self.roles.append(role)
            self.marks += 1
            self._changed = True
        return row[role]

    def line_column(self, name: str, view: View) -> int:
        column = self._line_columns.get((name, view))
        if column is None:
            column = self._line_columns[name, view] = self._new_line_column(name, view)
        return column

    def _new_line_column(self, name: str, view: View) -> int:
        row = self._columns[self.name(name)]
        if row[layout.LINE_COLUMNS + view] < 0:
            row[layout.LINE_COLUMNS + view] = self.lines
            self.lines += 1
            self._changed = True
        return row[layout.LINE_COLUMNS + view]

    def state(self, name: str, state: State) -> None:
        """This state is asked for."""
        row = self._columns[self.name(name)]
        if not row[layout.STATES_ASKED] >> state & 1:
            row[layout.STATES_ASKED] |= 1 << state
            self._changed = True

    def beginning(self, name: str, length: int) -> None:
        """Beginnings of this many octets are asked for."""
        lengths = self._lengths.setdefault(self.name_numbers[name], set())
        if length not in lengths:
            lengths.add(length)
            self._changed = True

    def address(self, address: tuple[NamedMark, ...]) -> tuple[int, tuple[NamedMark, ...]]:
        """The signature of an address, and the part of it that the signature takes in."""
        columns = tuple([self.mark_column(name, mark[0]) for name, mark in address])
        if len(columns) > 1 and columns not in self.signatures:
            if self._joint_signatures >= SIGNATURES_MAX:
                columns, address = columns[:1], address[:1]
            else:
                self._joint_signatures += 1
        if len(address) == 1 and address[0][1] == (Role.STATE, State.ABSENT):
            self._absent_is_asked(columns[0])
        return self.signature(columns), address

    def signature(self, columns: tuple[int, ...]) -> int:
        number = self.signatures.get(columns)
        if number is None:
            number = self.signatures[columns] = len(self.signatures)
            self._changed = True
        return number

    def _absent_is_asked(self, column: int) -> None:
        if column not in self._absent:
            self._absent.append(column)
            self._changed = True

    def without_values(
        self, signatures: Iterable[int], beginnings: Iterable[tuple[int, int]]
    ) -> Directory:
        """The same columns without a text or a value, with some of the signatures and beginnings.

        Signatures are numbered in the order given; a beginning is a column and a length.
        """
        fresh = Directory(self._seed)
        fresh.names, fresh.name_numbers = self.names, self.name_numbers
        fresh.marks, fresh.lines, fresh.roles = self.marks, self.lines, self.roles
        fresh._columns = [[*row] for row in self._columns]
        fresh._absent = [*self._absent]
        known = list(self.signatures)
        fresh.signatures = {known[number]: new for new, number in enumerate(signatures)}
        fresh._joint_signatures = sum(len(columns) > 1 for columns in fresh.signatures)
        names = {row[Role.BEGINS]: number for number, row in enumerate(self._columns)}
        for row in fresh._columns:
            row[layout.LENGTHS_FROM], row[layout.LENGTHS_COUNT] = -1, 0
        for column, length in beginnings:
            fresh._lengths.setdefault(names[column], set()).add(length)
        return fresh

    @property
    def absent(self) -> int:
        return len(self._absent)

    @property
    def lengths(self) -> int:
        """How many beginnings an event may bear at most."""
        return sum(map(len, self._lengths.values()))

    @property
    def nbytes(self) -> int:
        tables = sum(table.nbytes for table in self._tables)
        return self.names.nbytes + self.texts.nbytes + self.numbers.nbytes + tables

    def write(self, version: Ints) -> list[object]:
        """Put the addresses of all tables into a version; what the version has to keep."""
        self._write_tables()
        version[layout.NAMES : layout.TEXTS] = self.names.addresses()
        version[layout.TEXTS : layout.NUMBERS] = self.texts.addresses()
        version[layout.NUMBERS : layout.NUMBERS + TABLE_WORDS] = self.numbers.addresses()
        version[layout.ABSENT_COUNT] = len(self._absent)
        for word, address in self._addresses:
            version[word] = address
        kept = [*self.names.arrays(), *self.texts.arrays(), *self.numbers.arrays()]
        return [*kept, self._tables]

    def note(self, signatures: Shorts, codes: Shorts) -> None:
        """Say of the texts and values in addresses under which signatures they are looked up."""
        self._write_tables()
        rows, uses = self._tables[5:7]
        _note(signatures, codes, rows, uses, self.texts.meta, self.numbers.meta)

    def _write_tables(self) -> None:
        if self._changed:
            self._tables = self._written()
            self._addresses = list(zip(_TABLES, map(address_of, self._tables), strict=True))
            self._changed = False

    def _written(self) -> tuple[NDArray[Any], ...]:
        lengths: list[int] = []
        for number, some in self._lengths.items():
            row = self._columns[number]
            row[layout.LENGTHS_FROM] = len(lengths)
            row[layout.LENGTHS_COUNT] = len(some)
            lengths.extend(sorted(some))
        led: list[list[int]] = [[] for _ in range(self.marks)]
        rows = np.full((len(self.signatures), layout.SIGNATURE_WORDS), -1, np.int32)
        uses = np.zeros(self.marks + 1, np.int64)
        leading = np.zeros(self.marks + 1, np.int64)
        for columns, number in self.signatures.items():
            rows[number, 0] = len(columns)
            rows[number, 1 : 1 + len(columns)] = columns
            if columns and number < layout.SIGNATURE_BITS:
                leading[columns[0]] |= 1 << number
                for column in columns:
                    # What a value is, or that there is none, leaves the choice to the others.
                    if self.roles[column] is not Role.STATE:
                        uses[column] |= 1 << number
            elif columns:
                led[columns[0]].append(number)
        leads = np.cumsum([0, *map(len, led)])
        return (
            _shorts(word for row in self._columns for word in row),
            _shorts(lengths),
            _shorts(self._absent),
            _shorts(leads),
            _shorts(number for some in led for number in some),
            rows,
            uses,
            leading,
        )


@compiled
def _note(
    signatures: Shorts, codes: Shorts, rows: Shorts, uses: Ints, texts: Ints, numbers: Ints
) -> None:
    for entry in range(len(signatures)):
        signature = signatures[entry]
        if signature < layout.SIGNATURE_BITS:
            bit = 1 << signature
            for at in range(rows[signature, 0]):
                code = codes[entry, at]
                if uses[rows[signature, at + 1]] & bit != 0:
                    if code >= NUMBERS_FROM:
                        numbers[META_WORDS * (code - NUMBERS_FROM) + SIGNATURES_OF] |= bit
                    else:
                        texts[META_WORDS * code + SIGNATURES_OF] |= bit


def _shorts(words: Iterable[int]) -> Shorts:
    """As an array that has at least one word, so that it has an address."""
    return np.array([*words, -1], np.int32)
