"""Are damage and a torn tail told from each other, wherever a segment is hurt?"""

from pathlib import Path

import pytest

from headgate.log.entries import Kept, Write, entry
from headgate.log.records import LogError
from headgate.log.store import StoreFullError
from headgate.stores.damage import Damage
from headgate.stores.files import RealFiles
from headgate.stores.journal import HEAD_BYTES, Head, Journal, scan, segment_name
from tests.log.streams import stream_of

GROUPS = [stream_of(3)[:1], stream_of(3)[1:]]
HEAD = Head(1, 0, b"12345678")


Found = tuple[list[tuple[int, int, Write]], list[Damage], int]


def scanned(data: bytes, head: Head, *, is_last: bool) -> Found:
    """The writes with their places, the damages, and up to where it is whole."""
    placed: list[tuple[int, int, Write]] = []
    damages: list[Damage] = []
    good_bytes = scan(data, head, lambda *one: placed.append(one), damages, is_last=is_last)
    return placed, damages, good_bytes


def segment(directory: Path) -> tuple[bytes, list[int]]:
    """A segment with two groups, and where each begins and the last one ends."""
    journal = Journal.begin(directory, RealFiles(), 1, 0)
    marks = [journal.size]
    for group in GROUPS:
        journal.store([entry(one) for one in group])
        marks.append(journal.size)
    journal.close()
    return (directory / segment_name(1)).read_bytes(), marks


def test_a_head_is_read_as_it_was_written_or_not_at_all() -> None:
    packed = HEAD.packed()
    assert len(packed) == HEAD_BYTES
    assert Head.read(packed) == HEAD
    assert Head.read(packed[:-1]) is None
    for at in range(HEAD_BYTES):
        assert Head.read(packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]) is None


def test_a_head_of_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.stores.journal._FORMAT", 2)
    packed = HEAD.packed()
    monkeypatch.undo()
    with pytest.raises(LogError, match="the journal has format 2, this Headgate reads 1"):
        Head.read(packed)


def test_what_is_stored_is_found_where_it_was_put(tmp_path: Path) -> None:
    data, marks = segment(tmp_path)
    head = Head.read(data)
    assert head is not None
    placed, damages, good_bytes = scanned(data, head, is_last=True)
    assert [write for _, _, write in placed] == [*GROUPS[0], *GROUPS[1]]
    assert (good_bytes, damages) == (len(data), [])
    for start, size, write in placed:
        assert data[start : start + size] == entry(write)
    assert marks[-1] == len(data)


def test_damage_before_a_mark_is_named_and_behind_the_last_one_it_is_torn(tmp_path: Path) -> None:
    data, marks = segment(tmp_path)
    head = Head.read(data)
    assert head is not None
    for at in range(HEAD_BYTES, len(data)):
        damaged = data[:at] + bytes([data[at] ^ 8]) + data[at + 1 :]
        placed, damages, good_bytes = scanned(damaged, head, is_last=True)
        if at < marks[1]:
            assert len(damages) == 1
            assert [write for _, _, write in placed][-2:] == list(GROUPS[1])
        else:
            assert damages == []
            assert good_bytes <= at
        # In a full segment there is no tail that could be torn.
        assert scanned(damaged, head, is_last=False)[1] != []


def test_what_is_published_can_not_pass_for_a_mark(tmp_path: Path) -> None:
    data, marks = segment(tmp_path)
    head = Head.read(data)
    assert head is not None
    forged = entry(Kept("k", data[marks[1] : marks[1] + 60]))
    torn = data[: marks[1]] + b"\xff" * 8 + forged + b"torn"
    assert scanned(torn, head, is_last=True)[1] == []


def test_a_segment_says_how_long_the_one_before_is(tmp_path: Path) -> None:
    journal = Journal.begin(tmp_path, RealFiles(), 1, 0)
    journal.store([entry(Kept("key", b"value"))])
    size = journal.size
    journal = journal.next_segment()
    journal.close()
    assert Head.read((tmp_path / segment_name(2)).read_bytes()) is not None
    head = Head.read((tmp_path / segment_name(2)).read_bytes())
    assert head is not None
    assert (head.number, head.previous_bytes) == (2, size)


def test_without_room_for_a_new_segment_the_old_one_goes_on(tmp_path: Path) -> None:
    class Full(RealFiles):
        full = False

        def write(self, file: int, data: bytes | memoryview, at: int) -> int:
            return 0 if self.full else super().write(file, data, at)

    files = Full()
    journal = Journal.begin(tmp_path, files, 1, 0)
    files.full = True
    with pytest.raises(StoreFullError, match="the log is full"):
        journal.next_segment()
    assert [path.name for path in tmp_path.iterdir()] == [segment_name(1)]
    files.full = False
    journal.store([entry(Kept("key", b"value"))])
    journal.next_segment().close()
