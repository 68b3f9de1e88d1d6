"""What does compiled code say of a value: the marks that it bears, and its keys?"""

from collections.abc import Sequence

import numpy as np

from headgate.matching import layout
from headgate.matching.cells import bear_cell, cells_of
from headgate.matching.compiled import address_of
from headgate.matching.directory import Directory
from headgate.matching.pieces import Mark, Role, View
from headgate.matching.workspaces import Workspace
from headgate.model.values import Value


def asked(
    marks: Sequence[Mark], views: Sequence[View], value: Value
) -> tuple[set[Mark], dict[View, tuple[int, int]]]:
    """Of these marks those that the value of an attribute bears, and its keys in these views."""
    directory = Directory()
    columns = {mark: directory.mark_column("a", mark[0]) for mark in marks}
    lines = {directory.line_column("a", view): view for view in views}
    for role, state in marks:
        if role is Role.STATE:
            directory.state("a", state)
    codes = {(column, _code(directory, mark)): mark for mark, column in columns.items()}
    directory.name("a")
    version = np.zeros(64, np.int64)
    kept = directory.write(version)
    workspace = Workspace()
    cells = cells_of([{"a": value}], directory.name_numbers, 1)
    workspace.prepare(directory.marks, directory.lines, 0, 1, cells.codes_max())
    for cell in cells.cells:
        bear_cell(*map(address_of, (version, workspace.words, cell, cells.blob)))
    del kept
    borne = workspace._codes[: workspace.words[layout.CODE_COUNT]].tolist()
    keys = workspace._keys[: 2 * workspace.words[layout.KEY_COUNT]].reshape(-1, 2).tolist()
    placed: dict[int, int] = {line: key for line, key in keys}  # noqa: C416
    found = {(code >> 32, code & 0xFFFFFFFF) for code in borne}
    return (
        {mark for code, mark in codes.items() if code in found},
        {
            view: (placed[2 * at], placed[2 * at + 1])
            for at, view in lines.items()
            if 2 * at in placed
        },
    )


def _code(directory: Directory, mark: Mark) -> int:
    role, value = mark
    if isinstance(value, str):
        octets = value.encode()
        if role is Role.BEGINS:
            directory.beginning("a", len(octets))
        return int(directory.texts.add([octets])[0])
    return int(value) if role is Role.STATE else int(directory.numbers.add([value])[0])
