"""Across modules: each numbered rule by which sessions are right, in a schedule that needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from headgate.broker.effects import Published, Started
from headgate.broker.topology import Topology
from headgate.peering.frames import Attach, Data, Ended, Frame, Silence
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, nodes, reader, writer
from tests.rights.policies import grant

PEOPLE = (*reader("ann"), *reader("bob"), *reader("carol"), *writer())
FORK = Topology(
    {name: (name,) for name in "pmst"},
    frozenset({frozenset("pm"), frozenset("ms"), frozenset("mt")}),
)
"""`p` hosts the stream; `s` and `t` host subscribers behind `m`."""
TWINS = nodes("p", "m1 m2", "s")


def of(body: int) -> bytes:
    return b'{"a":%d}' % body


def parent(pump: Pump, child: str, stream: str = "orders") -> str:
    """At which broker another one attached last for a stream."""
    attached = [
        (one.session, target)
        for (source, target), frames in pump.frames.items()
        if source == child
        for one in frames
        if isinstance(one, Attach) and one.stream == stream
    ]
    return max(attached)[1]


def losing(choose: Callable[[Frame], bool]) -> Callable[[Frame], Iterator[Frame]]:
    """Lose the first frame of a kind."""
    left = 1

    def tamper(frame: Frame) -> Iterator[Frame]:
        nonlocal left
        if left and choose(frame):
            left -= 1
        else:
            yield frame

    return tamper


def is_order(frame: Frame) -> bool:
    return isinstance(frame, Data) and frame.record.stream == "orders"


# 1. After `Attach` nothing is sent that doesn't reflect the attached set.


def test_rule_1_a_cache_that_is_complete_for_a_narrower_set_serves_no_wider_one() -> None:
    pump = network(FORK, *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("t", "bob")
    pump.subscribe("s", ann, "a = 1")
    for body in (1, 2, 1, 2):
        pump.publish("p", eve, of(body))
    pump.subscribe("t", bob, after={"orders": 1})
    assert pump.bodies("t", bob) == ['{"a":1}', '{"a":2}', '{"a":1}', '{"a":2}']
    exactly_what_the_gate_gives(pump, "t", bob, "bob")


def test_rule_1_a_cache_that_is_complete_for_a_wider_set_serves_a_narrower_one_by_itself() -> None:
    pump = network(FORK, *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("t", "bob")
    pump.subscribe("s", ann)
    for body in (1, 2, 1, 2):
        pump.publish("p", eve, of(body))
    pump.hold("m", "p")
    pump.subscribe("t", bob, "a = 2", after={"orders": 1})
    assert pump.bodies("t", bob) == ['{"a":2}', '{"a":2}']
    exactly_what_the_gate_gives(pump, "t", bob, "bob", "a = 2")


def test_rule_1_a_cache_is_complete_only_for_the_versions_at_which_its_set_covers() -> None:
    # From version 2 on ann may read as much as bob, but `p` still publishes under version 1: what
    # comes for her lacks what he is owed.
    topology = Topology(
        {name: (name,) for name in "apmst"},
        frozenset({frozenset("pm"), frozenset("ms"), frozenset("mt"), frozenset("ma")}),
    )
    people = (*reader("ann", "a = 1"), *reader("bob"), *writer())
    pump = network(topology, *people, policy_host="a")
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("t", "bob")
    pump.tampers["m", "p"] = lambda frame: () if isinstance(frame, Silence) else (frame,)
    pump.administer(grant("ann"))
    pump.subscribe("s", ann)
    for body in (2, 1, 2):
        pump.publish("p", eve, of(body))
    assert pump.bodies("s", ann) == ['{"a":1}']
    pump.subscribe("t", bob, after={"orders": 1})
    assert exactly_what_the_gate_gives(pump, "t", bob, "bob") == [2, 3, 4]


# 2. A vouch brings the child up to its offset first.


def test_rule_2_an_epoch_is_vouched_with_the_silence_that_was_held_back() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann, "a = 1")
    for _ in range(3):
        pump.publish("p", eve, of(2))
    told = [one.up_to for one in pump.said("p", "s", Silence)]
    assert max(told, default=0) < 4, "the silence about these three is still held back"
    subscription = pump.subscribe("s", bob)
    assert pump.starts("s", bob) == {(subscription, "orders"): 4}
    pump.publish("p", eve, of(2))
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [5]


def test_rule_2_a_vouch_that_follows_something_missed_shows_that_it_was_missed() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann, "a = 1")
    pump.tampers["p", "s"] = losing(is_order)
    pump.publish("p", eve, of(1))
    pump.subscribe("s", bob)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann", "a = 1") == [2]
    exactly_what_the_gate_gives(pump, "s", bob, "bob")


def test_rule_2_where_a_subscription_starts_is_written_down_and_told() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    for _ in range(3):
        pump.publish("p", eve)
    pump.slow_disk("s")
    subscription = pump.subscribe("s", ann, "a = 1")
    pump.publish("p", eve, of(1))
    assert pump.heard("s", ann, Started) == []
    assert pump.delivered("s", ann) == []
    pump.sync_disk("s")
    assert pump.starts("s", ann) == {(subscription, "orders"): 4}
    assert pump.delivered("s", ann) == [5]
    noted = [
        msgspec.json.decode(one.body)
        for one in pump.logs["s"].read("$subscriptions/s", 0, 100)
        if one.body is not None
    ]
    assert [(one["change"], one["stream"], one["after"]) for one in noted] == [
        ("started", "orders", 4)
    ]


# 3. A parent vouches when its own upstream has vouched for a set that covers.


def test_rule_3_having_asked_upstream_is_not_enough_to_vouch() -> None:
    pump = network(FORK, *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    bob, carol = pump.connect("s", "bob"), pump.connect("t", "carol")
    pump.subscribe("s", ann, "a = 1")
    pump.hold("m", "p")
    pump.subscribe("t", carol)
    pump.subscribe("s", bob)
    pump.publish("p", eve, of(2))
    pump.publish("p", eve, of(1))
    assert pump.heard("t", carol, Started) == []
    assert pump.heard("s", bob, Started) == []
    pump.release("m", "p")
    pump.publish("p", eve, of(2))
    assert exactly_what_the_gate_gives(pump, "t", carol, "carol") == [4]
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [4]


def test_rule_3_a_set_that_upstream_has_vouched_for_starts_without_a_round_trip() -> None:
    pump = network(FORK, *PEOPLE)
    ann, bob = pump.connect("s", "ann"), pump.connect("t", "bob")
    pump.subscribe("s", ann)
    pump.hold("m", "p")
    pump.hold("p", "m")
    pump.subscribe("t", bob, "a = 1")
    assert len(pump.heard("t", bob, Started)) == 1


def test_rule_3_what_was_vouched_for_ends_with_the_narrower_set_that_was_asked_for_since() -> None:
    # That everything was vouched for once helps carol no more: it was given up since.
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    bob, carol = pump.connect("s", "bob"), pump.connect("s", "carol")
    pump.subscribe("s", ann, "a = 1")
    wide = pump.subscribe("s", bob)
    pump.hold("p", "s")
    pump.unsubscribe("s", bob, wide)
    pump.publish("p", eve, of(2))
    pump.subscribe("s", carol)
    assert pump.heard("s", carol, Started) == []
    pump.publish("p", eve, of(2))
    pump.release("p", "s")
    pump.publish("p", eve, of(2))
    assert exactly_what_the_gate_gives(pump, "s", carol, "carol") == [3, 4]


# 4. A gap makes the child attach again after its last offset.


def test_rule_4_a_gap_is_filled_and_nothing_comes_twice() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.tampers["m", "s"] = losing(is_order)
    for body in range(4):
        pump.publish("p", eve, of(body))
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2, 3, 4, 5]
    assert pump.brokers["s"].counts["gap"] == 1


def test_rule_4_a_silence_after_a_gap_shows_it() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, "a = 1")
    pump.tampers["p", "s"] = losing(is_order)
    pump.publish("p", eve, of(1))
    pump.publish("p", eve, of(2))
    pump.wait(1)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann", "a = 1") == [2]


def test_rule_4_failover_in_the_middle_of_a_gap_takes_the_other_path_from_the_last_offset() -> None:
    pump = network(TWINS, *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    first = parent(pump, "s")
    pump.tampers[first, "s"] = losing(is_order)
    pump.hold("s", first)
    pump.publish("p", eve, of(2))
    pump.publish("p", eve, of(3))
    assert pump.delivered("s", ann) == [2]
    pump.cut_link("s", first)
    pump.publish("p", eve, of(4))
    assert parent(pump, "s") != first
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2, 3, 4, 5]


def test_rule_4_failover_to_a_parent_that_lacks_the_set_waits_for_all_of_it() -> None:
    topology = Topology(
        {"p": ("p",), "m": ("m1", "m2"), "s": ("s",), "t": ("t",)},
        frozenset({frozenset("pm"), frozenset("ms"), frozenset("mt")}),
    )
    pump = network(topology, *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("t", "bob")
    pump.subscribe("s", ann)
    first = parent(pump, "s")
    other = {"m1": "m2", "m2": "m1"}[first]
    pump.cut_link("t", first)
    pump.wait(1)
    pump.subscribe("t", bob, "a = 1")
    assert parent(pump, "t") == other
    pump.hold("p", other)
    pump.publish("p", eve, of(2))
    pump.hold(first, "s")
    pump.publish("p", eve, of(2))
    pump.cut_link("s", first)
    pump.release("p", other)
    pump.publish("p", eve, of(2))
    pump.publish("p", eve, of(1))
    assert parent(pump, "s") == other
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    exactly_what_the_gate_gives(pump, "t", bob, "bob", "a = 1")
    assert pump.bodies("s", ann) == ['{"a":2}', '{"a":2}', '{"a":2}', '{"a":1}']


def test_rule_4_a_catch_up_survives_the_loss_of_its_link() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    for body in range(5):
        pump.publish("p", eve, of(body))
    pump.subscribe("s", ann)
    pump.hold("p", "s")
    pump.subscribe("s", bob, after={"orders": 1})
    pump.pass_on("p", "s")
    pump.cut_link("p", "s")
    pump.mend_link("p", "s")
    pump.release("p", "s")
    pump.wait(20)
    pump.publish("p", eve, of(9))
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("step", range(1, 9))
def test_rule_4_a_catch_up_survives_the_loss_of_its_link_after_each_frame(step: int) -> None:
    pump = network(chain("p", "s"), *PEOPLE, cache_records=2, read_records=2)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    for body in range(5):
        pump.publish("p", eve, of(body))
    pump.subscribe("s", ann)
    left = step

    def tamper(frame: Frame) -> Iterator[Frame]:
        nonlocal left
        if left > 0:
            left -= 1
            yield frame

    pump.tampers["p", "s"] = tamper
    pump.subscribe("s", bob, after={"orders": 1})
    pump.cut_link("p", "s")
    del pump.tampers["p", "s"]
    pump.mend_link("p", "s")
    pump.wait(20)
    pump.publish("p", eve, of(9))
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [2, 3, 4, 5, 6, 7]


# 5. Duplicates are dropped per subscription cursor, not per stream.


def test_rule_5_catch_up_gets_the_old_beside_a_stream_that_is_far_ahead() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE, cache_records=2, read_records=2)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann)
    for body in range(10):
        pump.publish("p", eve, of(body))
    pump.hold("m", "s")
    pump.subscribe("s", bob, after={"orders": 3})
    for body in range(10, 15):
        pump.publish("p", eve, of(body))
        pump.pass_on("m", "s")
    pump.release("m", "s")
    pump.publish("p", eve, of(15))
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == list(range(2, 18))
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == list(range(4, 18))


def test_rule_5_catch_up_runs_at_least_to_its_vouched_live_start() -> None:
    # The narrower live set covers bob's only from the vouch on: what came before it must come
    # by his own catch-up, however far the stream is.
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann, "a = 1")
    for body in (1, 2, 1, 2):
        pump.publish("p", eve, of(body))
    pump.hold("p", "s")
    pump.subscribe("s", bob, after={"orders": 3})
    for body in (2, 1, 2):
        pump.publish("p", eve, of(body))
        pump.pass_on("p", "s")
    pump.release("p", "s")
    exactly_what_the_gate_gives(pump, "s", ann, "ann", "a = 1")
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [4, 5, 6, 7, 8]


def test_rule_5_frames_that_come_twice_are_delivered_once() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.tampers["m", "s"] = pump.tampers["p", "m"] = lambda frame: (frame, frame)
    pump.subscribe("s", ann, "a = 1")
    for body in (1, 2, 1, 1):
        pump.publish("p", eve, of(body))
        pump.wait(1)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann", "a = 1") == [2, 4, 5]


# 6. Silence rides on the next frame, and goes alone only when a link is idle.


def test_rule_6_silence_rides_on_the_next_record() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, "a = 1")
    pump.wait(1)
    before = len(pump.said("p", "s", Silence))
    for _ in range(20):
        pump.publish("p", eve, of(2))
    pump.publish("p", eve, of(1))
    assert len(pump.said("p", "s", Silence)) == before
    last = pump.said("p", "s", Data)[-1]
    assert (last.previous, last.record.offset) == (1, 22)


def test_rule_6_the_last_record_of_a_burst_is_not_missed() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.wait(1)
    lost: list[object] = []

    def loses_one(frame: Any) -> tuple[Any, ...]:
        if isinstance(frame, Data) and not lost:
            lost.append(frame)
            return ()
        return (frame,)

    pump.tampers["p", "s"] = loses_one
    pump.publish("p", eve, of(1))
    assert len(lost) == 1
    assert pump.bodies("s", ann) == []
    pump.wait(1)
    assert pump.bodies("s", ann) == ['{"a":1}']


def test_rule_6_the_end_of_a_burst_is_told_once_when_the_link_is_idle() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, "a = 1")
    pump.wait(1)
    before = len(pump.said("p", "s", Silence))
    for _ in range(20):
        pump.publish("p", eve, of(2))
    pump.wait(10)
    silences = pump.said("p", "s", Silence)[before:]
    assert [(one.previous, one.up_to) for one in silences] == [(1, 21)]


def test_rule_6_a_silence_that_was_due_while_the_link_was_full_is_not_forgotten() -> None:
    # Version 2 concerns nobody at `s`: only a silence on `$policy` tells of it.
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.block("p", "s")
    pump.administer(*reader("dan"))
    pump.unblock("p", "s")
    pump.publish("p", eve, of(1))
    pump.wait(1)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [3]


# 7. An offset that has left the machine is never used again for other content.


def test_rule_7_a_record_that_is_not_stored_yet_is_visible_to_nobody() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("p", "bob")
    pump.subscribe("s", ann)
    pump.subscribe("p", bob)
    pump.slow_disk("p")
    request = pump.publish("p", eve, of(1))
    pump.wait(1)
    assert pump.answer("p", eve, request) is None
    assert pump.delivered("s", ann) == pump.delivered("p", bob) == []
    pump.kill("p")
    pump.start("p")
    pump.wait(5)
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(2))
    pump.wait(1)
    assert pump.bodies("s", ann) == ['{"a":2}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


def test_rule_7_a_stream_whose_log_was_lost_goes_on_under_another_incarnation() -> None:
    pump = network(chain("a", "m", "p"), *PEOPLE, policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("m", "ann")
    pump.subscribe("m", ann)
    for body in range(3):
        pump.publish("p", eve, of(body))
    pump.kill("p")
    pump.lose_disk("p")
    pump.start("p")
    pump.wait(10)
    eve = pump.connect("p", "eve")
    request = pump.publish("p", eve, of(9))
    assert isinstance(pump.answer("p", eve, request), Published)
    pump.wait(5)
    first, second = pump.heard("m", ann, Started)
    assert first.incarnation != second.incarnation
    assert pump.bodies("m", ann)[3:] == ['{"a":9}']


def test_rule_7_a_session_for_another_incarnation_is_refused() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    ann = pump.connect("s", "ann")

    def tamper(frame: Frame) -> Iterator[Frame]:
        if isinstance(frame, Attach) and frame.stream == "orders":
            frame = msgspec.structs.replace(frame, incarnation="another")
        yield frame

    pump.tampers["s", "p"] = tamper
    pump.subscribe("s", ann)
    assert len(pump.said("p", "s", Ended)) == 1
    assert pump.heard("s", ann, Started) == []
    del pump.tampers["s", "p"]
    pump.wait(5)
    assert len(pump.heard("s", ann, Started)) == 1


def test_rule_7_a_routing_broker_that_restarts_serves_nothing_but_what_it_is_attached_for() -> None:
    pump = network(FORK, *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("t", "bob")
    pump.subscribe("s", ann)
    pump.subscribe("t", bob, "a = 1")
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    pump.kill("m")
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    pump.start("m")
    pump.hold("m", "p")
    pump.wait(3)
    pump.publish("p", eve, of(1))
    pump.release("m", "p")
    pump.wait(5)
    pump.publish("p", eve, of(2))
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2, 3, 4, 5, 6, 7]
    assert exactly_what_the_gate_gives(pump, "t", bob, "bob", "a = 1") == [2, 4, 6]


def test_who_falls_behind_while_catching_up_goes_on_as_soon_as_it_takes_more() -> None:
    limits: dict[str, Any] = {"window": 1, "cache_records": 2, "read_records": 4}
    pump = network(chain("p", "m", "s"), *writer(), *reader("ann"), **limits)
    eve, slow = pump.connect("p", "eve"), pump.connect("s", "ann")
    for _ in range(9):
        pump.publish("p", eve)
    number = pump.subscribe("s", slow, after={"orders": 0})
    pump.hold("m", "s")  # so that a vouch comes together with what follows it
    for offset in range(2, 11):  # without waiting for any timer
        while pump.holds("m", "s"):
            pump.pass_on("m", "s")
        assert pump.delivered("s", slow, "orders")[-1] == offset
        pump.acknowledge("s", slow, number, offset)
    asked = [one.after for one in pump.said("s", "m", Attach) if one.apart]
    assert asked == sorted(set(asked))  # and for nothing that it wouldn't take
