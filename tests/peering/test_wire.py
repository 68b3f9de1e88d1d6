"""Is exactly what was sent read again, and nothing else, however the bytes come in?"""

from random import Random
from time import thread_time
from typing import Any

import msgspec
import pytest

from headgate.log.records import Record
from headgate.peering.errors import LocalError, PeerError
from headgate.peering.frames import Announce, Attach, Data, Ended, Frame, Hello, Request
from headgate.peering.wire import (
    HEAD_BYTES,
    HELLO_BYTES_MAX,
    FrameSplitter,
    decode,
    encode,
    protocol_of,
)
from tests.log.streams import record
from tests.peering.pair import EVERY_KIND, RECORD

LIMIT = 1_000
MANY_ITEMS = b"\xdd\xff\xff\xff\xff"


def content(*values: Any) -> bytes:
    return msgspec.msgpack.encode(values)


def data_of(one: Record) -> bytes:
    return content("data", 1, 0, msgspec.structs.astuple(one))


@pytest.mark.parametrize("frame", EVERY_KIND, ids=lambda frame: frame.__class__.__name__)
def test_a_frame_is_its_length_and_its_content(frame: Frame) -> None:
    data = encode(frame)
    assert int.from_bytes(data[:HEAD_BYTES], "big") == len(data) - HEAD_BYTES
    assert decode(data[HEAD_BYTES:]) == frame


def test_bytes_on_the_wire_are_what_they_were() -> None:
    # Written by hand: a change here is a change of the protocol.
    assert encode(EVERY_KIND[1]) == b"\x00\x00\x00\x07\x91\xa5alive"
    assert (
        encode(Hello(1, "a", "b", 1_024))
        == b"\x00\x00\x00\x0f\x95\xa5hello\x01\xa1a\xa1b\xcd\x04\x00"
    )


REFUSED = {
    "nothing": b"",
    "no array": msgspec.msgpack.encode({"alive": 1}),
    "no name": content(),
    "another name": content("order", 1),
    "a name that is a number": content(1, 2),
    "a field too few": content("detach"),
    "a field too many": content("detach", 1, 2),
    "trailing bytes": content("detach", 1) + b"\xc0",
    "two frames": content("detach", 1) * 2,
    "half a frame": content("ended", 1, "because")[:-1],
    "text for a number": content("detach", "1"),
    "a fraction for a number": content("detach", 1.0),
    "a negative session": content("detach", -1),
    "a session beyond 62 bits": content("detach", 2**62 + 1),
    "a long name": content("hello", 1, "x" * 257, "boot", 2**20),
    "no text": content("hello", 1, "x", "boot", 2**20).replace(b"\xa1x", b"\xa1\xff"),
    "a long reason": content("ended", 1, "x" * 1_001),
    "a small limit": content("hello", 1, "x", "boot", 1_023),
    "a long filter": content("announce", "h", "s", "i", 1, ["x" * 65_537], 0),
    "too many steps": content("attach", 1, "s", "i", 0, 0, 0, 0, [[[0, "TRUE"]] * 65]),
    "a step of three": content("attach", 1, "s", "i", 0, 0, 0, 0, [[[0, "TRUE", 1]]]),
    "too many entries": content("attach", 1, "s", "i", 0, 0, 0, 0, [[]] * 100_001),
    "an offset before all": content("attach", 1, "s", "i", -2, 0, 0, 0, []),
    "a record with a long name": data_of(record(stream="x" * 257)),
    "a record without end": data_of(record(time_us=2**62)),
    "a record with a field too many": content("data", 1, 0, [*msgspec.structs.astuple(RECORD), 1]),
    "millions of fields claimed": MANY_ITEMS + b"\xa5alive",
    "millions of filters claimed": content("announce", "h", "s", "i", 1, 0, 0)[:-2] + MANY_ITEMS,
    "millions of names claimed": data_of(record())[:-4] + b"\xdf\xff\xff\xff\xff",
    "no messagepack": b"\xc1",
    "deep": b"\x91" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_no_frame_is_the_other_ends_fault(why: str) -> None:
    with pytest.raises(PeerError, match=rf"^expected a frame, got {len(REFUSED[why]):,} bytes: "):
        decode(REFUSED[why])


def test_a_refusal_is_one_short_line_whatever_came() -> None:
    for name in ("two\nlines \x1b[2J", "x" * 5_000):
        with pytest.raises(PeerError) as refused:
            decode(content(name, 1))
        assert len(str(refused.value)) < 300
        assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "frame",
    [
        Ended(1, "x" * 1_001),
        Ended(1, "\ud800"),
        Ended(-1, ""),
        Ended(2**64, ""),
        Ended(1, None),  # type: ignore[arg-type]
        Announce("h", "s", "i", 1, (("x" * 65_537, 0),)),
        Attach(1, "s", "i", 0, 0, 0, 0, (tuple((step, "TRUE") for step in range(65)),)),
        Request("a", "b", 1, "c", bytes(16 * 1024 * 1024 + 1)),
        Data(1, 0, record(known={"$a": object()})),
    ],
    ids=lambda frame: str(frame)[:30],
)
def test_what_the_other_end_would_refuse_is_our_fault_before_it_is_sent(frame: Frame) -> None:
    with pytest.raises(LocalError, match=f"^this `{frame.__class__.__name__}` can't be sent: "):
        encode(frame)


def test_the_protocol_is_read_from_a_hello_that_can_not_be_read_otherwise() -> None:
    assert protocol_of(content("hello", 1, "a", "b", 2**20)) == 1
    assert protocol_of(content("hello", 2, {"all": "new"}, 7, 8, 9, 10)) == 2
    for wrong in (b"", content("hello"), content("hello", "1"), content("alive"), b"\xc1"):
        assert protocol_of(wrong) is None


def test_every_hello_is_within_what_is_taken_from_a_stranger() -> None:
    longest = Hello(2**63 - 1, "\U0001f600" * 256, "\U0001f600" * 256, 2**30)
    assert len(encode(longest)) - HEAD_BYTES <= HELLO_BYTES_MAX


# --- splitting --------------------------------------------------------------------------------


def framed(*contents: bytes) -> bytes:
    return b"".join(len(one).to_bytes(HEAD_BYTES, "big") + one for one in contents)


def test_frames_are_split_the_same_however_the_bytes_come_in() -> None:
    random = Random(1)
    contents = [random.randbytes(random.choice([1, 2, 3, 50, LIMIT])) for _ in range(60)]
    data = framed(*contents)
    for size_max in (1, 2, 3, 4, 5, 7, 64, 999, 1_004, 5_000, len(data)):
        splitter, found, at = FrameSplitter(LIMIT), [], 0
        while at < len(data):
            size = random.randint(1, size_max)
            found += splitter.feed(data[at : at + size])
            at += size
            assert splitter.waiting_bytes < HEAD_BYTES + LIMIT
        assert found == contents
        assert splitter.waiting_bytes == 0
        assert splitter.feed(b"") == []


@pytest.mark.parametrize("length", [0, LIMIT + 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("before", [0, 1])
def test_a_length_out_of_bounds_is_refused_as_soon_as_it_is_known(length: int, before: int) -> None:
    head = length.to_bytes(HEAD_BYTES, "big")
    good = framed(b"good") * before
    splitter = FrameSplitter(LIMIT)
    assert splitter.feed(good + head[:3]) == [b"good"] * before
    with pytest.raises(PeerError, match=f"expected a frame of 1 to 1,000 bytes, got {length:,}"):
        splitter.feed(head[3:])
    assert splitter.waiting_bytes == 0
    with pytest.raises(PeerError):
        FrameSplitter(LIMIT).feed(good + head + bytes(10))


def test_the_first_frame_may_have_a_bound_of_its_own() -> None:
    small, large = b"x" * 10, b"y" * LIMIT
    for size in (1, 3, 2_000):
        splitter, data, found = FrameSplitter(LIMIT, 10), framed(small, large), []
        for at in range(0, len(data), size):
            found += splitter.feed(data[at : at + size])
        assert found == [small, large]
    with pytest.raises(PeerError, match="expected a frame of 1 to 10 bytes, got 11"):
        FrameSplitter(LIMIT, 10).feed(framed(b"x" * 11)[:HEAD_BYTES])


def test_a_byte_costs_the_same_however_much_of_its_frame_waits() -> None:
    def spent_s(contents: list[bytes]) -> float:
        splitter, found, data = FrameSplitter(2**20), list[bytes](), framed(*contents)
        pieces = [data[at : at + 1] for at in range(len(data))]
        start = thread_time()
        for piece in pieces:
            found += splitter.feed(piece)
        spent = thread_time() - start
        assert found == contents
        return spent

    # To look at all that waits for each byte would take about ten times as long.
    size = 2**19
    assert spent_s([bytes(size)]) < 3 * spent_s([bytes(60)] * (size // 64))
