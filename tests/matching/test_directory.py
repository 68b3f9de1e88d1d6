"""Are columns and signatures numbered once, and within a bound?"""

import numpy as np

from headgate.matching import directory as room
from headgate.matching.directory import Directory
from headgate.matching.entries import NamedMark
from headgate.matching.pieces import Role, State, View


def equals(*names: str) -> tuple[NamedMark, ...]:
    return tuple((name, (Role.EQUALS, "x")) for name in names)


def test_a_column_has_one_number() -> None:
    directory = Directory()
    assert directory.mark_column("a", Role.EQUALS) == directory.mark_column("a", Role.EQUALS) == 0
    assert directory.mark_column("a", Role.BEGINS) == 1
    assert directory.line_column("a", View.NUMBER) == directory.line_column("a", View.NUMBER) == 0
    assert (directory.marks, directory.lines) == (2, 1)


def test_beyond_the_bound_an_entry_is_looked_up_by_one_column() -> None:
    directory = Directory()
    for number in range(room.SIGNATURES_MAX):
        signature, address = directory.address(equals(f"a{number}", "b"))
        assert len(address) == 2
    assert directory.address(equals("c", "d"))[1] == equals("c")
    assert directory.address(equals("a7", "b"))[1] == equals("a7", "b")
    assert directory.address(equals("c", "e"))[0] == directory.address(equals("c"))[0] > signature


def test_what_an_older_version_holds_is_not_written_to() -> None:
    directory = Directory()
    directory.mark_column("a", Role.EQUALS)
    directory.address(equals("a"))
    version = np.zeros(64, np.int64)
    kept = directory.write(version)
    tables = kept[-1]
    assert isinstance(tables, tuple)
    before = [table.tolist() for table in tables]
    directory.mark_column("a", Role.STATE)
    directory.address((("z", (Role.STATE, State.ABSENT)),))
    directory.beginning("a", 3)
    directory.write(np.zeros(64, np.int64))
    assert [table.tolist() for table in tables] == before
    assert directory.absent == 1
