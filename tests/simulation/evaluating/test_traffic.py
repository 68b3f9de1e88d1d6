"""Is each frame counted once, on its link, as what it is about?"""

import msgspec
import pytest

from headgate.log.records import POLICY
from headgate.peering.frames import (
    PROTOCOL,
    Alive,
    Announce,
    Attach,
    Data,
    Detach,
    Ended,
    Frame,
    Hello,
    Reply,
    Request,
    Silence,
    Subscribe,
    Vouched,
)
from headgate.peering.wire import encode
from headgate.simulation.evaluating.traffic import About, Tap, Traffic
from tests.log.streams import record

DATA = Data(1, 0, record(version=300))


def attached(*streams: str) -> Tap:
    """A tap on a link between `p` and `s`, which has a session for each stream."""
    tap = Tap()
    for session, stream in enumerate(streams, start=1):
        tap.heard("s", "p", encode(Attach(session, stream, "boot", -1, 0, 1, 0, ())))
    tap.forget()
    return tap


@pytest.mark.parametrize(
    ("frame", "sender", "about"),
    [
        (DATA, "p", About.RECORDS),
        (Silence(1, 0, 9, 1), "p", About.SILENCE),
        (Vouched(1, 1, 0, 9, 1), "p", About.SETS),
        (Ended(1, "gone"), "p", About.SETS),
        (Subscribe(1, 2, 1, (), ()), "s", About.SETS),
        (Detach(1), "s", About.SETS),
        (Attach(1, "quotes", "boot", -1, 0, 1, 0, ()), "s", About.SETS),
        (Data(2, 0, record(stream=POLICY)), "p", About.POLICY),
        (Silence(2, 0, 9, 1), "p", About.POLICY),
        (Subscribe(2, 2, 1, (), ()), "s", About.POLICY),
        (Request("s", "boot", 1, "p", b""), "s", About.POLICY),
        (Reply("s", "boot", 1, b""), "p", About.POLICY),
        (Hello(PROTOCOL, "p", "boot", 4_096), "p", About.LINKS),
        (Alive(), "s", About.LINKS),
        (Announce("p", "quotes", "boot", 1, None), "p", About.LINKS),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | About) else "",
)
def test_a_frame_is_counted_as_what_it_is_about(frame: Frame, sender: str, about: About) -> None:
    tap = attached("quotes", POLICY)
    data = encode(frame)
    tap.heard(sender, "p" if sender == "s" else "s", data)
    found = tap.on("p", "s")
    assert found.frames == {about: 1}
    assert found.bytes == {about: len(data)}
    assert tap.on("s", "p") == found, "both ways"


def test_frames_are_told_apart_in_what_is_sent_together_or_in_pieces() -> None:
    tap = attached("quotes")
    data = encode(DATA) + encode(Silence(1, 0, 9, 1)) + encode(DATA)
    tap.heard("p", "s", data)
    for byte in data:
        tap.heard("p", "s", bytes([byte]))
    found = tap.on("p", "s")
    assert (found.records, found.all_frames, found.all_bytes) == (4, 6, 2 * len(data))


def test_links_are_counted_apart_and_sessions_go_by_who_attached() -> None:
    tap = attached("quotes")
    tap.heard("r", "p", encode(Attach(1, POLICY, "boot", -1, 0, 1, 0, ())))
    tap.heard("p", "r", encode(Silence(1, 0, 9, 1)))
    tap.heard("p", "s", encode(Silence(1, 0, 9, 1)))
    assert tap.on("p", "r").frames == {About.POLICY: 2}
    assert tap.on("p", "s").frames == {About.SILENCE: 1}
    assert tap.on("r", "s") == Traffic()


def test_the_bytes_that_a_version_takes_are_known() -> None:
    tap = attached("quotes")
    tap.heard("p", "s", encode(DATA))
    assert tap.on("p", "s").version_bytes == len(msgspec.msgpack.encode(300)) == 3
    without = len(encode(Data(1, 0, record(version=0)))) - 1
    assert len(encode(DATA)) == without + 3


def test_traffic_adds_up() -> None:
    one, other = Traffic(), Traffic()
    one.frames[About.RECORDS], one.bytes[About.RECORDS], one.version_bytes = 1, 10, 2
    other.frames[About.LINKS], other.bytes[About.LINKS] = 3, 30
    one.add(other)
    assert (one.records, one.all_frames, one.all_bytes, one.version_bytes) == (1, 4, 40, 2)
