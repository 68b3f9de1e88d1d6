"""Is a torn or damaged entry found, and with it all that came after?"""

from random import Random
from zlib import crc32

import msgspec
import pytest

from headgate.log.entries import (
    ENTRY_BYTES_MAX,
    SYNCED_BEGINS,
    Kept,
    Synced,
    Write,
    entry,
    entry_at,
    guessed,
    intact,
    whole,
)
from headgate.log.records import LogError
from tests.log.streams import record, stream_of

WRITES: list[Write] = [
    *stream_of(2),
    Kept("position/x", b"\x01\x02"),
    Kept("gone", None),
    record(body=b"\xff" * 300, is_json=False, known={"$a": 1.5}, vector={"s": ("i", 2)}),
    Kept("", b""),
]
ENTRIES = [entry(write) for write in WRITES]
DATA = b"".join(ENTRIES)


def whole_before(at: int) -> tuple[list[Write], int]:
    """The writes of which no byte is at this place or after it."""
    count = next(n for n in reversed(range(len(ENTRIES) + 1)) if len(b"".join(ENTRIES[:n])) <= at)
    return WRITES[:count], len(b"".join(ENTRIES[:count]))


def test_what_is_written_comes_back() -> None:
    assert intact(DATA) == (WRITES, len(DATA))
    assert intact(b"") == ([], 0)


def test_of_a_torn_tail_the_whole_entries_are_left() -> None:
    for at in range(len(DATA)):
        assert intact(DATA[:at]) == whole_before(at)


def test_a_damaged_bit_ends_the_log_before_its_entry() -> None:
    for at in range(len(DATA)):
        damaged = bytearray(DATA)
        damaged[at] ^= 1 << at % 8
        assert intact(bytes(damaged)) == whole_before(at)


@pytest.mark.parametrize("garbage", [bytes(4_096), b"\xff" * 4_096, Random(1).randbytes(4_096)])
def test_what_a_disk_had_there_before_is_no_entry(garbage: bytes) -> None:
    # Zeros above all: a length of zero with the checksum of nothing would go on for ever.
    assert intact(DATA + garbage) == (WRITES, len(DATA))


def test_an_entry_that_says_it_is_longer_than_the_file_is_torn_whatever_its_checksum() -> None:
    length, content = (10).to_bytes(4, "big"), b"short"
    torn = length + crc32(length + content).to_bytes(4, "big") + content
    assert intact(DATA + torn) == (WRITES, len(DATA))


def test_a_whole_entry_that_can_not_be_read_is_never_cut_off_in_silence() -> None:
    content = msgspec.msgpack.encode(["later", 1])
    length = len(content).to_bytes(4, "big")
    newer = length + crc32(length + content).to_bytes(4, "big") + content
    with pytest.raises(LogError, match=f"byte {len(DATA)} is whole, but can't be read"):
        intact(DATA + newer)


@pytest.mark.parametrize(
    "wrong", [record(stream="x" * 257), record(event_id="\ud800"), Kept("x" * 1_025, b""),
              Kept("\ud800", None), record(body=bytes(ENTRY_BYTES_MAX))]
)  # fmt: skip
def test_what_could_not_be_read_again_is_not_written(wrong: Write) -> None:
    with pytest.raises(LogError):
        entry(wrong)


def test_a_mark_is_an_entry_that_is_found_by_how_it_begins() -> None:
    marks = [Synced(b"12345678", position) for position in (0, 1_000, 2**40)]
    data = b"".join(entry(mark) + entry(WRITES[0]) for mark in marks)
    assert [one for _, _, one in whole(data)][::2] == marks
    assert intact(data) == ([WRITES[0]] * 3, len(data))
    for mark in marks:
        assert entry(mark).find(SYNCED_BEGINS) == 8


def test_entries_are_told_with_their_places() -> None:
    assert [DATA[start:end] for start, end, _ in whole(DATA)] == ENTRIES
    start = len(ENTRIES[0])
    assert next(whole(DATA, start)) == (start, start + len(ENTRIES[1]), WRITES[1])
    assert entry_at(memoryview(DATA), start) == WRITES[1]
    assert entry_at(memoryview(DATA), start + 1) is None


def test_a_damaged_entry_is_guessed_at_if_it_can_be_read_at_all() -> None:
    data = bytearray(ENTRIES[0])
    data[5] ^= 1
    assert next(whole(bytes(data)), None) is None
    assert guessed(bytes(data), 0, len(data)) == WRITES[0]
    assert guessed(bytes(data), 0, len(data) - 1) is None
    assert guessed(b"", 0, 0) is None
