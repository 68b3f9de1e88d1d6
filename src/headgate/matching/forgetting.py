"""Which texts and values does nobody ask for any more? An index that lives long forgets them.

Texts, other values and signatures are numbered once, and snapshots go on reading them. When most
of them are of filters that are gone, the entries that are left get the numbers of a new directory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from headgate.matching import layout
from headgate.matching.compiled import Shorts, compiled
from headgate.matching.directory import Directory
from headgate.matching.pieces import Role
from headgate.matching.raws import CODES, Raw
from headgate.matching.symbols import NUMBERS_FROM

_SPARE: Final = 1_024
_NO_CODE = -1


def forgetful(raw: Raw, directory: Directory) -> tuple[Raw, Directory]:
    """The entries, all that there are, and a directory without what they don't ask for."""
    columns = np.concatenate((_columns_of_addresses(raw, directory), _columns_of_checks(raw)))
    codes = np.concatenate((raw.codes.reshape(-1), raw.checks))
    roles = np.array([*directory.roles, Role.STATE], np.int32)[columns]
    is_number = (roles == Role.EQUALS) & (codes >= NUMBERS_FROM)
    is_text = (roles != Role.STATE) & ~is_number & (codes >= 0)
    texts, numbers = np.unique(codes[is_text]), np.unique(codes[is_number]) - NUMBERS_FROM
    signatures = np.unique(np.append(raw.signatures, 0))
    known = directory.texts.count + directory.numbers.count + len(directory.signatures)
    if known <= 2 * (len(texts) + len(numbers) + len(signatures)) + _SPARE:
        return raw, directory
    begins = roles == Role.BEGINS
    lengths = directory.texts.lengths(codes[begins])
    asked = np.unique(np.stack((columns[begins], lengths)), axis=1)
    fresh = directory.without_values(signatures.tolist(), asked.T.tolist())
    fresh.texts.add([directory.texts.text(number) for number in texts.tolist()])
    fresh.numbers.add([directory.numbers.value(number) for number in numbers.tolist()])
    # What is kept keeps its order, so lists of codes stay sorted.
    codes[is_text] = np.searchsorted(texts, codes[is_text])
    codes[is_number] = NUMBERS_FROM + np.searchsorted(numbers, codes[is_number] - NUMBERS_FROM)
    addresses = raw.codes.size
    kept = replace(
        raw,
        signatures=np.searchsorted(signatures, raw.signatures).astype(np.int32),
        codes=codes[:addresses].reshape(-1, CODES),
        checks=codes[addresses:],
    )
    return kept, fresh


def _columns_of_addresses(raw: Raw, directory: Directory) -> Shorts:
    """The column that each code of an address is of."""
    rows = np.full((len(directory.signatures), CODES), _NO_CODE, np.int32)
    for columns, number in directory.signatures.items():
        rows[number, : len(columns)] = columns
    return rows[raw.signatures].reshape(-1)


def _columns_of_checks(raw: Raw) -> Shorts:
    """The column that each code to be checked is of."""
    columns = np.full(len(raw.checks), _NO_CODE, np.int32)
    _write_columns(raw.checks, columns)
    return columns


@compiled
def _write_columns(checks: Shorts, columns: Shorts) -> None:
    at = 0
    while at < len(checks):
        sign = checks[at]
        at += 1
        lists = 0
        if sign == layout.ANY_OF:
            lists = checks[at]
            at += 1
        elif sign == layout.NONE_OF:
            lists = 1
        for _ in range(lists):
            column, size = checks[at], checks[at + 1]
            columns[at + 2 : at + 2 + size] = column
            at += 2 + size
