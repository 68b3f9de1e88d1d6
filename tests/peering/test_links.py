"""Do two ends meet, hear each other, and part with a reason, whatever happens between them?"""

from collections.abc import Callable
from random import Random

import pytest

from headgate.peering.errors import LocalError, PeerError
from headgate.peering.frames import Alive, Detach, Frame, Request
from headgate.peering.links import FRAME_HEARTBEATS_MAX, TABLE, Happening, Link, State
from headgate.peering.wire import HEAD_BYTES, HELLO_BYTES_MAX, encode
from tests.doc_blocks import ROOT
from tests.peering.pair import FRAMES, HEARTBEAT, Pair, hello


def link(**said: str) -> Link:
    """Broker `a`'s end of a link that was just made."""
    made = Link(hello("a"), 0, HEARTBEAT, **said)
    made.data_to_send()
    return made


def opened() -> Link:
    made = link()
    made.receive(encode(hello("b")), 0)
    return made


def refusal(made: Link, data: bytes) -> str:
    """Why the link refuses these bytes; it is closed for that reason from then on."""
    with pytest.raises(PeerError) as refused:
        made.receive(data, 5)
    assert made.state is State.CLOSED
    assert made.closed_because == str(refused.value)
    return str(refused.value)


# --- meeting --------------------------------------------------------------------------------------


def test_both_ends_send_their_hello_at_once_and_know_each_other_then() -> None:
    pair = Pair()
    assert pair.left.state is State.OPENING
    assert pair.left.peer is None
    assert pair.left.data_to_send() == encode(hello("a"))
    pair = Pair().opened()
    assert pair.left.state is State.OPEN
    assert pair.left.peer == hello("b")
    assert pair.right.peer == hello("a")
    assert pair.left.closed_because is None


def test_the_first_frame_is_a_hello() -> None:
    for frame in (Alive(), *FRAMES):
        assert refusal(link(), encode(frame)) == (
            "a broker that dialled broke the protocol: expected a `Hello` first, "
            f"got `{frame.__class__.__name__}`"
        ) or len(encode(frame)) > HELLO_BYTES_MAX  # fmt: skip


def test_a_second_hello_is_refused() -> None:
    again = encode(hello("b"))
    expected = "`b` broke the protocol: expected no second `Hello`, got one of `b`"
    assert refusal(opened(), again) == expected
    assert refusal(link(), again * 2) == expected


def test_another_protocol_is_refused_even_if_its_hello_can_not_be_read() -> None:
    later = b"\x93\xa5hello\x02\xa3new"
    data = len(later).to_bytes(HEAD_BYTES, "big") + later
    expected = "expected protocol 1, got 2"
    assert refusal(link(expected="b"), data) == f"`b` broke the protocol: {expected}"
    assert refusal(link(), encode(hello("b", protocol=2))).endswith(expected)


def test_a_broker_does_not_talk_to_itself() -> None:
    assert refusal(link(), encode(hello("a"))).endswith(
        "expected another broker, got this one's name, `a`"
    )


def test_another_broker_than_the_one_dialled_is_refused() -> None:
    assert refusal(link(expected="b"), encode(hello("c"))) == (
        "`b` broke the protocol: expected the broker `b`, got `c`"
    )
    assert refusal(link(expected="b"), encode(hello("\x1b[2J" + "x" * 90))).isprintable()


def test_a_stranger_is_not_given_more_memory_than_a_hello_takes() -> None:
    head = (HELLO_BYTES_MAX + 1).to_bytes(HEAD_BYTES, "big")
    assert refusal(link(), head) == (
        "a broker that dialled broke the protocol: expected a frame of 1 to 4,096 bytes, got 4,097"
    )


# --- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bytes_max", [1, 7, 64, 2**16])
def test_frames_come_out_as_they_were_sent_and_in_order(bytes_max: int) -> None:
    pair = Pair().opened()
    for frame in FRAMES:
        pair.left.send(frame, pair.now)
        pair.right.send(frame, pair.now)
    assert pair.pump(bytes_max) == (list(FRAMES), list(FRAMES))
    assert pair.pump(bytes_max) == ([], [])


def test_frames_may_come_with_the_hello_that_opens_the_link() -> None:
    data = encode(hello("b")) + b"".join(map(encode, FRAMES)) + encode(Alive())
    assert link().receive(data, 0) == list(FRAMES)


def test_a_frame_is_encoded_once_for_many_links() -> None:
    data = encode(FRAMES[0])
    for _ in range(2):
        pair = Pair().opened()
        pair.left.send_encoded(data, pair.now)
        assert pair.pump() == ([], [FRAMES[0]])


def test_nothing_is_sent_before_the_other_end_is_known() -> None:
    with pytest.raises(LocalError, match="expected an open link to send on, this one is opening"):
        link().send(Detach(1), 0)


def test_nothing_is_sent_on_a_closed_link_but_what_was_sent_before_goes_out() -> None:
    made = opened()
    made.send(Detach(1), 0)
    made.close("it restarts")
    with pytest.raises(LocalError, match="this one is closed: it restarts"):
        made.send(Detach(2), 0)
    assert made.data_to_send() == encode(Detach(1))
    assert made.data_to_send() == b""


@pytest.mark.parametrize("frame", [Alive(), hello("a")])
def test_what_the_link_sends_itself_nobody_else_does(frame: Frame) -> None:
    made = opened()
    with pytest.raises(LocalError, match="is sent by the link itself"):
        made.send(frame, 0)
    assert made.data_to_send() == b""


def test_a_frame_is_not_larger_than_the_other_end_takes() -> None:
    pair = Pair(right=hello("b", frame_bytes_max=1_024)).opened()
    beside = len(encode(Request("a", "b", 1, "c", bytes(500)))) - HEAD_BYTES - 500
    fits, too_large = (Request("a", "b", 1, "c", bytes(1_024 - beside + n)) for n in (0, 1))
    pair.left.send(fits, pair.now)
    with pytest.raises(LocalError, match="`b` takes frames of at most 1,024 bytes, this one has"):
        pair.left.send(too_large, pair.now)
    assert pair.pump() == ([], [fits])
    with pytest.raises(LocalError, match="this one has 1,025"):
        pair.left.send_encoded(encode(too_large), pair.now)
    pair.right.send(too_large, pair.now)
    assert pair.pump() == ([too_large], [])


def test_nonsense_closes_the_link_and_takes_what_came_with_it() -> None:
    made = opened()
    data = encode(Detach(1)) + b"\x00\x00\x00\x01\xc1"
    assert refusal(made, data).startswith("`b` broke the protocol: expected a frame, got 1 bytes")
    assert made.receive(encode(Detach(2)), 6) == []
    assert made.next_timer() is None


# --- time -----------------------------------------------------------------------------------------


def test_an_idle_link_stays_open() -> None:
    pair = Pair().opened()
    pair.wait(100 * HEARTBEAT)
    assert pair.left.state is State.OPEN
    assert pair.right.state is State.OPEN


def test_an_end_without_anything_to_say_says_so_once_in_a_heartbeat() -> None:
    made = opened()
    made.send(Detach(1), 400)
    made.data_to_send()
    assert made.next_timer() == 400 + HEARTBEAT
    made.on_timer(400 + HEARTBEAT - 1)
    assert made.data_to_send() == b""
    made.on_timer(400 + HEARTBEAT)
    assert made.data_to_send() == encode(Alive())
    made.on_timer(400 + HEARTBEAT)
    assert made.data_to_send() == b""
    assert made.next_timer() == 400 + 2 * HEARTBEAT


def test_who_talks_sends_no_alive() -> None:
    made = opened()
    for now in range(0, 10 * HEARTBEAT, HEARTBEAT // 2):
        made.send(Detach(1), now)
        made.receive(encode(Detach(1)), now)
        made.data_to_send()
        made.on_timer(now + HEARTBEAT // 2)
        assert made.data_to_send() == b""


def test_an_end_that_is_silent_for_three_heartbeats_is_given_up() -> None:
    pair = Pair().opened()
    pair.wait(3 * HEARTBEAT - 1, pump=False)
    assert {pair.left.state, pair.right.state} == {State.OPEN}
    pair.wait(2, pump=False)
    assert pair.left.state is State.CLOSED
    assert pair.right.state is State.CLOSED
    assert pair.left.closed_because == (
        "`b` is silent: expected its `Alive`, at least, within 0.003 s, got nothing"
    )


def test_the_timer_of_an_end_that_talks_is_when_the_other_is_given_up() -> None:
    made = opened()
    made.receive(encode(Detach(1)), 100)
    made.send(Detach(1), 2_500 + 100)
    assert made.next_timer() == 100 + 3 * HEARTBEAT


def test_any_byte_shows_that_the_other_end_is_there() -> None:
    made, data = opened(), encode(FRAMES[1])
    for at in range(6):
        now = at * 2 * HEARTBEAT
        made.on_timer(now)
        assert made.state is State.OPEN
        made.receive(data[at : at + 1], now)


def test_a_frame_that_never_ends_ends_the_link() -> None:
    made = opened()
    made.receive((1_000).to_bytes(4, "big"), 0)
    for beat in range(1, FRAME_HEARTBEATS_MAX):
        made.receive(b"?", beat * HEARTBEAT)
        made.on_timer(beat * HEARTBEAT)
        assert made.state is State.OPEN
    assert made.next_timer() == FRAME_HEARTBEATS_MAX * HEARTBEAT
    made.on_timer(FRAME_HEARTBEATS_MAX * HEARTBEAT)
    assert made.closed_because is not None
    assert made.closed_because.startswith("`b` doesn't come to the end of a frame: expected all")


def test_each_of_many_frames_has_time_of_its_own() -> None:
    made, data = opened(), encode(FRAMES[1])
    for beat in range(3 * FRAME_HEARTBEATS_MAX):
        made.receive(data[5:] + data[:5] if beat else data[:5], beat * HEARTBEAT)
        made.on_timer(beat * HEARTBEAT)
        assert made.state is State.OPEN


def test_a_hello_that_comes_byte_by_byte_gains_no_time() -> None:
    made, data = link(expected="b"), encode(hello("b"))
    for at in range(3):
        made.receive(data[at : at + 1], (at + 1) * HEARTBEAT - 1)
        made.on_timer((at + 1) * HEARTBEAT - 1)
        assert made.state is State.OPENING
    made.on_timer(3 * HEARTBEAT)
    assert made.closed_because == "`b` is silent: expected its `Hello` within 0.003 s, got nothing"


def test_silence_is_told_although_the_clock_was_put_back() -> None:
    made = Link(hello("a"), 10**9, HEARTBEAT)
    made.receive(encode(hello("b")), 10**9)
    made.on_timer(5)
    made.on_timer(5 + 3 * HEARTBEAT)
    assert made.state is State.CLOSED


def test_a_closed_link_wants_no_timer() -> None:
    made = opened()
    made.data_to_send()
    made.close("it restarts")
    assert made.next_timer() is None
    made.on_timer(10**9)
    assert made.closed_because == "it restarts"
    assert made.data_to_send() == b""


def test_the_first_reason_stays() -> None:
    made = opened()
    made.close("one")
    made.close("two")
    assert made.closed_because == "one"


# --- the table ------------------------------------------------------------------------------------

MADE: dict[State, Callable[[], Link]] = {
    State.OPENING: link,
    State.OPEN: opened,
    State.CLOSED: lambda: closed(),
}
DONE: dict[Happening, Callable[[Link], object]] = {
    Happening.HELLO: lambda made: made.receive(encode(hello("b")), 1),
    Happening.ALIVE: lambda made: made.receive(encode(Alive()), 1),
    Happening.FRAME: lambda made: made.receive(encode(Detach(1)), 1),
    Happening.SEND: lambda made: made.send(Detach(1), 1),
    Happening.NONSENSE: lambda made: made.receive(b"\x00\x00\x00\x01\xc1", 1),
    Happening.SILENCE: lambda made: made.on_timer(3 * HEARTBEAT),
    Happening.CLOSE: lambda made: made.close("it restarts"),
}


def closed() -> Link:
    made = opened()
    made.close("it restarts")
    return made


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("happening", Happening)
def test_a_link_does_what_the_table_says(state: State, happening: Happening) -> None:
    made, after = MADE[state](), TABLE[state].get(happening)
    assert made.state is state
    try:
        DONE[happening](made)
        refused = False
    except PeerError:
        assert made.state is State.CLOSED
        refused = True
    except LocalError:
        assert made.state is state
        refused = True
    if after is None:
        # What still comes to a closed link, or is due on it, is dropped without a word.
        assert refused or (state is State.CLOSED and made.closed_because == "it restarts")
    else:
        assert made.state is after
        assert refused == (happening is Happening.NONSENSE)


def drawn() -> list[str]:
    """The table as the page shows it."""
    return [
        f"| what happens | {' | '.join(state.value for state in State)} |",
        f"|---|{'---|' * len(State)}",
        *(
            f"| {happening.value} | "
            + " | ".join(
                after.value if (after := TABLE[state].get(happening)) else "–" for state in State
            )
            + " |"
            for happening in Happening
        ),
    ]


def test_the_page_shows_the_table() -> None:
    page = (ROOT / "docs" / "network.md").read_text()
    assert "\n".join(drawn()) in page, "the page should have\n" + "\n".join(drawn())


def test_all_that_was_sent_before_the_end_comes_whatever_the_pauses() -> None:
    random = Random(3)
    for _ in range(100):
        pair, sent = Pair().opened(), list[Frame]()
        for _ in range(random.randrange(30)):
            if random.random() < 0.6:
                frame = random.choice(FRAMES)
                pair.left.send(frame, pair.now)
                sent.append(frame)
            else:
                pair.pump(random.choice([1, 5, 100]))
                pair.wait(random.randrange(2 * HEARTBEAT))
        pair.left.close("done")
        pair.pump()
        assert pair.came_right == sent
        assert pair.came_left == []
