"""Is each record found where it stands, in sealed files first and then in the journal?"""

from pathlib import Path

import pytest

from headgate.log.entries import Kept, entry
from headgate.stores.damage import DamagedLogError
from headgate.stores.files import RealFiles
from headgate.stores.holdings import Holdings, JournalPiece, SealedPiece, read_journal
from headgate.stores.journal import Journal, segment_name
from headgate.stores.manifest import Sealed
from tests.log.streams import stream_of

RECORDS = stream_of(10)


def sealed(first: int, last: int) -> Sealed:
    return Sealed("orders", "boot-1", first, last, f"sealed/{first}", "", 1, 0, "")


def holdings() -> Holdings:
    """Offsets 1 to 3 and 4 to 6 in sealed files, 7 to 8 and 9 to 10 in segments of the journal."""
    held = Holdings("boot-1", RECORDS[-1], [sealed(1, 3), sealed(4, 6)])
    for offset in range(7, 11):
        part = held.part(5 + (offset > 8), offset)
        part.starts.append(offset * 100)
        part.sizes.append(90)
    return held


def test_the_pieces_of_any_range_cover_it_in_order() -> None:
    held = holdings()
    for first in range(1, 12):
        for last in range(first, 14):
            offsets = [
                offset
                for piece in held.pieces(first, last)
                for offset in range(piece.first, piece.last + 1)
            ]
            assert offsets == list(range(first, min(last, 10) + 1))


def test_a_stream_begins_where_the_first_of_it_is_kept() -> None:
    held = holdings()
    assert (held.first, held.sealed_last) == (1, 6)
    del held.sealed[0]
    assert held.first == 4
    held.sealed.clear()
    assert (held.first, held.sealed_last) == (7, 0)
    assert held.pieces(1, 7) == held.pieces(7, 7)


def test_pieces_do_not_change_when_more_is_written() -> None:
    held = holdings()
    pieces = held.pieces(6, 20)
    held.part(6, 0).starts.append(1_100)
    assert isinstance(pieces[0], SealedPiece)
    assert pieces[-1].last == 10


@pytest.mark.parametrize("between", [10, 5_000])
def test_records_among_others_are_read_and_damage_is_named(tmp_path: Path, between: int) -> None:
    journal = Journal.begin(tmp_path, RealFiles(), 1, 0)
    held = Holdings("boot-1", RECORDS[-1])
    for one in RECORDS:
        start = journal.store([entry(one), entry(Kept("other", bytes(between)))])
        part = held.part(1, one.offset)
        part.starts.append(start)
        part.sizes.append(len(entry(one)))
    journal.close()
    (piece,) = held.pieces(3, 8)
    assert isinstance(piece, JournalPiece)
    assert read_journal(tmp_path, "orders", piece) == list(RECORDS[2:8])
    path = tmp_path / segment_name(1)
    data = bytearray(path.read_bytes())
    data[piece.starts[2] + 20] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedLogError, match=r"`journal/00000001.log`, `orders` offset 5: its"):
        read_journal(tmp_path, "orders", piece)
