"""Across modules: an effect is delivered after its cause, where a subscription asks for that."""

from __future__ import annotations

import pytest

from headgate.broker.effects import Delivery
from headgate.broker.topology import Topology
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, network, reader, writer
from tests.rights.policies import grant

CROSS = Topology(
    {name: (name,) for name in "pqrs"},
    frozenset({frozenset("pr"), frozenset("qr"), frozenset("rs")}),
)
"""`p` hosts `orders`, `q` hosts `news`; all meet at `r`, and `s` hosts a subscriber behind it."""


class Talk:
    """`eve` asks at `p`, `bob` reads it at `q` and answers there, `ann` reads both at `s`."""

    def __init__(
        self, filter_: str = "TRUE", wanted: str = "TRUE", causal: bool = True, **settings: int
    ) -> None:
        self.pump = network(
            CROSS, *reader("ann", filter_), *reader("bob"), grant("bob", "publish"), *writer(),
            policy_host="r", streams={"p": ("orders",), "q": ("news",)}, **settings,
        )  # fmt: skip
        self.eve = self.pump.connect("p", "eve")
        self.bob = self.pump.connect("q", "bob")
        self.ann = self.pump.connect("s", "ann")
        self.pump.subscribe("q", self.bob)
        self.pump.subscribe("s", self.ann, wanted, causal=causal)

    def question_and_answer(self) -> None:
        """The question is lost on the way to `s`, where the answer comes."""
        pump = self.pump
        drops = {"orders"}

        def late(frame: object) -> tuple[object, ...]:
            record = getattr(frame, "record", None)
            return () if record is not None and record.stream in drops else (frame,)

        pump.tampers["r", "s"] = late  # type: ignore[assignment]
        pump.publish("p", self.eve, b'{"question":1}')
        assert pump.delivered("q", self.bob, "orders")[-1:] != []
        pump.publish("q", self.bob, b'{"answer":1}')
        drops.clear()

    def seen(self) -> list[str]:
        return self.pump.bodies("s", self.ann)


def test_an_answer_waits_for_what_its_publisher_had_read() -> None:
    talk = Talk()
    talk.question_and_answer()
    assert talk.seen() == []
    talk.pump.publish("p", talk.eve, b'{"question":2}')
    assert talk.seen() == ['{"question":1}', '{"answer":1}', '{"question":2}'] or talk.seen() == [
        '{"question":1}', '{"question":2}', '{"answer":1}'
    ]  # fmt: skip
    exactly_what_the_gate_gives(talk.pump, "s", talk.ann, "ann", stream="news", host="q")


def test_without_causal_order_nothing_waits() -> None:
    talk = Talk(causal=False)
    talk.question_and_answer()
    assert talk.seen() == ['{"answer":1}']


def test_an_answer_waits_for_nothing_that_its_reader_is_not_owed() -> None:
    for talk in (Talk(filter_="EXISTS(answer)"), Talk(wanted="EXISTS(answer)")):
        talk.question_and_answer()
        talk.pump.wait(1)
        assert talk.seen() == ['{"answer":1}']


def test_an_answer_waits_for_nothing_before_its_readers_start() -> None:
    talk = Talk()
    pump = talk.pump
    pump.publish("p", talk.eve, b'{"question":1}')
    carol = pump.connect("s", "ann")
    pump.subscribe("s", carol, causal=True)
    pump.publish("q", talk.bob, b'{"answer":1}')
    assert pump.bodies("s", carol) == ['{"answer":1}']


def test_what_one_publishes_depends_on_what_one_published_before() -> None:
    talk = Talk()
    for _ in range(3):
        talk.pump.publish("p", talk.eve)
    vectors = [one.vector for one in talk.pump.logs["p"].read("orders", 1, 99)]
    assert [{stream: at for stream, (_, at) in one.items()} for one in vectors] == [
        {}, {"orders": 2}, {"orders": 3},
    ]  # fmt: skip


def test_the_vector_is_never_shown_to_clients() -> None:
    talk = Talk()
    talk.question_and_answer()
    talk.pump.publish("p", talk.eve, b'{"question":2}')
    for one in talk.pump.heard("s", talk.ann, Delivery):
        assert "vector" not in str(one)


def test_causes_pass_on_through_readers_who_answer_answers() -> None:
    talk = Talk()
    pump = talk.pump
    dan = pump.connect("q", "bob")
    pump.subscribe("q", dan, "EXISTS(answer)")
    pump.publish("p", talk.eve, b'{"question":1}')
    pump.publish("q", talk.bob, b'{"answer":1}')
    pump.publish("q", dan, b'{"conclusion":1}')
    last = pump.logs["q"].read("news", 0, 99)[-1]
    assert last.vector["orders"][1] == 2, "dan never read the question, and depends on it"


@pytest.mark.parametrize("wanted", ["TRUE", "EXISTS(answer)"])
def test_causal_order_goes_on_when_a_stream_begins_anew(wanted: str) -> None:
    # What bob had read of the lost log has greater offsets than the new one.
    talk = Talk(wanted=wanted)
    pump = talk.pump
    for number in range(5):
        pump.publish("p", talk.eve, b'{"question":%d}' % number)
    pump.kill("p")
    pump.lose_disk("p")
    pump.start("p")
    pump.wait(10)
    pump.publish("q", talk.bob, b'{"answer":1}')
    pump.wait(5)
    assert talk.seen()[-1:] == ['{"answer":1}']


def test_a_silence_that_is_late_only_delays() -> None:
    talk = Talk(wanted="EXISTS(answer)")
    pump: Pump = talk.pump
    pump.block("r", "s")
    pump.publish("p", talk.eve, b'{"question":1}')
    pump.wait(1)
    pump.unblock("r", "s")
    pump.publish("q", talk.bob, b'{"answer":1}')
    pump.wait(1)
    assert talk.seen() == ['{"answer":1}']


def test_an_answer_that_waits_for_long_need_not_stay_in_memory() -> None:
    talk = Talk(cache_records=1, read_records=2)
    talk.question_and_answer()
    for number in range(2, 6):
        talk.pump.publish("q", talk.bob, b'{"answer":%d}' % number)
    talk.pump.publish("p", talk.eve, b'{"question":2}')
    talk.pump.wait(1)
    exactly_what_the_gate_gives(talk.pump, "s", talk.ann, "ann")
    assert len(exactly_what_the_gate_gives(
        talk.pump, "s", talk.ann, "ann", stream="news", host="q"
    )) == 5  # fmt: skip


def test_a_start_is_news_for_what_waits_for_it() -> None:
    """Where the other stream starts is past the cause: nothing of it will come to say so."""
    talk = Talk()
    pump = talk.pump
    pump.publish("p", talk.eve, b'{"question":1}')
    pump.slow_disk("s")
    late = pump.connect("s", "ann")
    pump.subscribe("s", late, causal=True)
    pump.publish("q", talk.bob, b'{"answer":1}')
    assert pump.bodies("s", late) == []
    pump.sync_disk("s")
    assert pump.bodies("s", late) == ['{"answer":1}']


def test_what_is_not_owed_holds_nothing_up_between_two_streams() -> None:
    """The answer waits for a question that ann isn't owed, and the next question for the answer."""
    talk = Talk(wanted="EXISTS(shown)")
    pump = talk.pump
    held = ("r", "s")
    pump.hold(*held)
    pump.publish("p", talk.eve, b'{"question":1}')
    pump.publish("q", talk.bob, b'{"answer":1,"shown":1}')
    bob = pump.connect("p", "bob")
    pump.subscribe("p", bob, after={"news": 0})
    assert pump.bodies("p", bob) == ['{"answer":1,"shown":1}']
    pump.publish("p", bob, b'{"question":2,"shown":2}')
    pump.release(*held)
    assert sorted(talk.seen()) == ['{"answer":1,"shown":1}', '{"question":2,"shown":2}']


def test_what_was_lost_with_a_full_disk_is_the_cause_of_nothing() -> None:
    """Its offset becomes that of another record, which must not seem to come before itself."""
    pump = network(
        Topology.alone("p"), *writer(), *reader("ann"), policy_host="p",
        streams={"p": ("orders", "news")},
    )  # fmt: skip
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    pump.subscribe("p", ann, causal=True)
    pump.slow_disk("p")
    pump.fill_disk("p")
    for number in range(3):
        for stream in ("orders", "news"):
            pump.publish("p", eve, b"{}", event_id=f"{stream}{number}", stream=stream)
    pump.publish("p", eve, b"{}", event_id="orders0", stream="orders")
    pump.sync_disk("p")
    pump.free_disk("p")
    for stream in ("orders", "news", "orders"):
        pump.publish("p", eve, b"{}", stream=stream)
    for stream in ("orders", "news"):
        for record in pump.logs["p"].read(stream, 0, 99):
            assert record.vector.get(stream, ("", 0))[1] < record.offset
    assert pump.delivered("p", ann) == [2, 2, 3]
