"""Does a link carry bytes in order, late, in pieces, and lose them only with itself?"""

from random import Random

import pytest

from headgate.log.records import Record
from headgate.peering.frames import Alive, Data, Detach
from headgate.peering.wire import FrameSplitter, decode, encode
from headgate.simulation.network import DIAL_US, FULL_BYTES, Network, repeated
from headgate.simulation.timeline import MILLISECOND, SECOND, Timeline


class AStation:
    """A machine that notes what the network tells it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_up = True
        self.links: list[int] = []
        self.heard = b""
        self.notes: list[str] = []

    def link_up(self, link: int, dialled: str | None) -> None:
        self.links.append(link)
        self.notes.append(f"up {dialled}")

    def link_down(self, link: int) -> None:
        self.links.remove(link)
        self.notes.append("down")

    def dial_failed(self, broker: str) -> None:
        self.notes.append(f"failed {broker}")

    def receive(self, link: int, data: bytes) -> None:
        assert link in self.links
        self.heard += data

    def set_writable(self, link: int, *, writable: bool) -> None:
        self.notes.append("writable" if writable else "full")


class Pair:
    """Two brokers and what lies between them."""

    def __init__(self, *, pieces: float = 0.0, jitter_us: int = 0, dial: bool = True) -> None:
        self.timeline = Timeline(100_000)
        self.network = Network(self.timeline, 1, MILLISECOND, jitter_us, pieces)
        self.a, self.b = AStation("a"), AStation("b")
        self.network.add(self.a)
        self.network.add(self.b)
        if dial:
            self.network.dial(self.a, "b")
            self.run()

    def run(self, duration_us: int = SECOND) -> None:
        self.timeline.run_until(self.timeline.now + duration_us)

    def send(self, data: bytes) -> None:
        self.network.send(self.a, self.a.links[0], data)


def test_who_dials_and_who_is_dialled_are_told() -> None:
    pair = Pair()
    assert pair.a.notes == ["up b"]
    assert pair.b.notes == ["up None"]


@pytest.mark.parametrize("pieces", [0.0, 0.5, 1.0])
def test_bytes_arrive_whole_and_in_order_in_whatever_pieces(pieces: float) -> None:
    pair = Pair(pieces=pieces, jitter_us=10 * MILLISECOND)
    random = Random(7)
    sent = b""
    for _ in range(200):
        data = random.randbytes(random.randrange(1, 20))
        sent += data
        pair.send(data)
        pair.run(random.randrange(2) * MILLISECOND)
    pair.run()
    assert pair.b.heard == sent
    assert pair.network.traffic == {("a", "b"): len(sent)}


def test_what_was_sent_before_a_link_was_closed_still_arrives() -> None:
    pair = Pair()
    pair.send(b"last words")
    pair.network.close(pair.a, pair.a.links[0])
    pair.run()
    assert pair.b.heard == b"last words"
    assert (pair.a.notes[-1], pair.b.notes[-1]) == ("down", "down")


def test_a_reset_loses_what_is_under_way_and_both_learn_it() -> None:
    pair = Pair()
    pair.send(b"lost")
    pair.network.reset("a", "b")
    pair.run()
    assert pair.b.heard == b""
    assert (pair.a.links, pair.b.links) == ([], [])


def test_a_partition_holds_bytes_back_and_nobody_is_told() -> None:
    pair = Pair()
    pair.network.block("a", "b")
    pair.send(b"one ")
    pair.run()
    assert pair.b.heard == b""
    assert pair.b.notes == ["up None"]
    pair.send(b"two ")
    pair.network.unblock("a", "b", reset=False)
    pair.send(b"three")
    pair.run()
    assert pair.b.heard == b"one two three"


def test_a_partition_may_lose_the_link_with_what_it_held() -> None:
    pair = Pair()
    pair.network.block("a", "b")
    pair.send(b"lost")
    pair.run()
    pair.network.unblock("a", "b", reset=True)
    pair.run()
    assert pair.b.heard == b""
    assert (pair.a.links, pair.b.links) == ([], [])


def test_two_partitions_at_once_end_with_the_second_one() -> None:
    pair = Pair()
    pair.network.block("a", "b")
    pair.network.block("a", "b")
    pair.send(b"late")
    pair.run()
    pair.network.unblock("a", "b", reset=False)
    pair.run()
    assert pair.b.heard == b""
    pair.network.unblock("a", "b", reset=False)
    pair.run()
    assert pair.b.heard == b"late"


def test_a_dial_into_a_partition_fails_late_and_a_refused_one_soon() -> None:
    pair = Pair(dial=False)
    pair.network.block("b", "a")
    pair.network.dial(pair.a, "b")
    pair.run(DIAL_US - 1)
    assert pair.a.notes == []
    pair.run(1)
    assert pair.a.notes == ["failed b"]
    pair.network.unblock("b", "a", reset=False)
    pair.b.is_up = False
    pair.network.dial(pair.a, "b")
    pair.run(20 * MILLISECOND)
    assert pair.a.notes == ["failed b", "failed b"]


def test_of_a_machine_that_lost_its_power_nobody_hears_until_it_is_asked() -> None:
    pair = Pair()
    pair.b.is_up = False
    pair.network.drop(pair.b, silently=True)
    pair.send(b"hello?")
    pair.run()
    assert pair.a.notes == ["up b"]
    pair.b.is_up = True
    pair.send(b"hello?")
    pair.run()
    assert pair.a.notes == ["up b", "down"]


def test_of_a_process_that_died_its_peers_are_told() -> None:
    pair = Pair()
    pair.b.is_up = False
    pair.network.drop(pair.b, silently=False)
    pair.run()
    assert pair.a.notes == ["up b", "down"]


def test_a_slow_link_presses_back_until_most_has_gone() -> None:
    pair = Pair()
    pair.network.road("a", "b").bytes_per_s = FULL_BYTES
    pair.send(bytes(FULL_BYTES // 2))
    pair.send(bytes(FULL_BYTES))
    pair.run(100)
    assert pair.a.notes[-1] == "full"
    pair.run(SECOND)
    assert pair.a.notes[-1] == "full"
    pair.run(SECOND)
    assert pair.a.notes[-1] == "writable"
    assert len(pair.b.heard) == FULL_BYTES * 3 // 2


def test_garbage_comes_before_what_is_sent_next_once() -> None:
    pair = Pair()
    pair.network.road("a", "b").garbage = b"???"
    pair.send(b"one")
    pair.send(b"two")
    pair.run()
    assert pair.b.heard == b"???onetwo"


def test_records_that_are_lost_take_nothing_else_with_them() -> None:
    record = Record("orders", "i", 1, 0, 0, "pam", "e", b"{}", True, {}, {})
    frames = [encode(Detach(1)), encode(Data(1, 0, record)), encode(Alive())]
    pair = Pair()
    pair.network.road("a", "b").losing = 1.0
    pair.send(b"".join(frames))
    pair.send(b"no frames")
    pair.run()
    assert pair.b.heard == frames[0] + frames[2] + b"no frames"
    assert pair.network.counts["records lost on a link"] == 1


def test_a_frame_that_is_repeated_stays_whole() -> None:
    frames = [encode(Detach(number)) for number in range(3)] + [encode(Alive())]
    random = Random(3)
    seen = set()
    for _ in range(50):
        data = repeated(b"".join(frames), random)
        contents = FrameSplitter(1_000_000).feed(data)
        assert len(contents) == 5
        whole = [encode(decode(content)) for content in contents]
        rest = list(whole)
        for frame in frames:
            rest.remove(frame)
        assert rest[0] in frames
        assert list(dict.fromkeys(whole)) == frames
        seen.add(tuple(whole))
    assert len(seen) > 5
    assert repeated(b"no frames", random) == b"no framesno frames"
