"""Across modules: bytes from a hostile or broken end do no more than close its link."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.peering.errors import PeerError
from headgate.peering.frames import Data, Hello
from headgate.peering.links import Link, State
from headgate.peering.wire import HEAD_BYTES, HELLO_BYTES_MAX, decode, encode
from tests.peering.pair import EVERY_KIND, FRAMES, HEARTBEAT, RECORD, hello
from tests.proofs import COUNTED, proof_size

LIMIT = 8_192
GOOD = encode(hello("b")) + b"".join(map(encode, FRAMES))


def live(data: bytes, random: Random) -> Link:
    """Let a link take these bytes in pieces, and hold it to its promises meanwhile."""
    link = Link(hello("a", frame_bytes_max=LIMIT), 0, HEARTBEAT)
    at = 0
    while at < len(data):
        size = random.choice([1, 3, 50, 2**16])
        try:
            frames = link.receive(data[at : at + size], at)
        except PeerError:
            assert link.state is State.CLOSED
            assert link.closed_because is not None
            assert link.closed_because.isprintable()
            assert len(link.closed_because) < 500
        else:
            assert all(frame.__class__ is not Hello for frame in frames)
        bytes_max = LIMIT if link.peer else HELLO_BYTES_MAX
        assert link._splitter.waiting_bytes < HEAD_BYTES + bytes_max
        at += size
    return link


def mutated(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 10])):
        at, size = random.randrange(len(changed)), random.choice([1, 1, 2, 8])
        how = random.randrange(5)
        if how == 0:
            changed[at] ^= 1 << random.randrange(8)
        elif how == 1:
            changed[at : at + size] = random.randbytes(size)
        elif how == 2:
            changed[at:at] = random.randbytes(size)
        elif how == 3:
            del changed[at : at + size]
        else:
            other = random.randrange(len(changed))
            changed[at:at] = changed[other : other + random.randrange(100)]
        if not changed:
            changed = bytearray(b"\x00")
    return bytes(changed)


@given(st.binary(max_size=300), st.booleans(), st.randoms(use_true_random=False))
def test_random_bytes_do_no_harm(data: bytes, is_open: bool, random: Random) -> None:
    live(encode(hello("b")) + data if is_open else data, random)


@pytest.mark.proof
def test_a_damaged_stream_does_no_harm(record_property: Callable[[str, object], None]) -> None:
    runs = proof_size(test=3_000, soak=300_000)
    refused = 0
    for seed in range(runs):
        random = Random(seed)
        refused += live(mutated(GOOD, random), random).state is State.CLOSED
    record_property(COUNTED, f"{refused} of {runs} damaged streams refused")
    assert runs // 2 < refused < runs  # some damage makes another good frame


@pytest.mark.proof
def test_a_damaged_frame_is_refused_or_is_another_frame() -> None:
    contents = [encode(frame)[HEAD_BYTES:] for frame in EVERY_KIND]
    for seed in range(proof_size(test=10_000, soak=1_000_000)):
        random = Random(seed)
        try:
            frame = decode(mutated(random.choice(contents), random))
        except PeerError:
            continue
        # Whatever it says is within the limits: what was read can be written.
        assert decode(encode(frame)[HEAD_BYTES:]) is not None


def test_a_good_stream_is_read_whole() -> None:
    assert live(GOOD, Random(1)).state is State.OPEN


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_frames_that_were_cut_short_are_refused(cut: int) -> None:
    content = encode(Data(1, 0, RECORD))[HEAD_BYTES:]
    with pytest.raises(PeerError):
        decode(content[:-cut])
