"""Across modules: what goes over the links is what is owed behind them, and little else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headgate.broker.effects import Delivery
from headgate.filters.filter import Filter
from headgate.peering.frames import Attach, Data, Subscribe
from headgate.rights.changes import Change, CreateGroup, DropGroup, Join, Leave, Revoke
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import grant, rule

PEOPLE = (*reader("ann"), *reader("bob"), *writer())


def of(body: int) -> bytes:
    return b'{"a":%d}' % body


def entries(pump: Pump, child: str, parent: str, stream: str = "orders") -> set[Any]:
    """What a child's session asks for now, pieced together from what it said."""
    attach = [one for one in pump.said(child, parent, Attach) if one.stream == stream][-1]
    held = set(attach.entries)
    for change in pump.said(child, parent, Subscribe):
        if change.session == attach.session:
            held = (held - set(change.remove)) | set(change.add)
    return held


# Consolidation.


def test_a_thousand_like_subscriptions_cost_one_upstream() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE, subscriptions_max=1_000)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, "a = 1")
    before = len(pump.frames["s", "m"])
    for _ in range(999):
        pump.subscribe("s", ann, "a = 1")
    assert pump.frames["s", "m"][before:] == []
    assert len(entries(pump, "s", "m")) == len(entries(pump, "m", "p")) == 1
    eve = pump.connect("p", "eve")
    sent = len(pump.said("m", "s", Data))
    pump.publish("p", eve, of(1))
    assert len(pump.said("m", "s", Data)) == sent + 1
    assert len(pump.delivered("s", ann)) == 1_000


def test_a_covered_subscription_costs_nothing_upstream() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann, "a < 100")
    before = len(pump.frames["s", "m"])
    for number in range(20):
        pump.subscribe("s", bob, f"a = {number}")
    assert pump.frames["s", "m"][before:] == []
    pump.publish("p", eve, of(7))
    assert pump.delivered("s", bob) == [2]


def test_what_a_wider_subscription_stood_for_is_asked_for_when_that_ends() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    wide = pump.subscribe("s", ann, "a < 100")
    for number in (1, 2):
        pump.subscribe("s", bob, f"a = {number}")
    pump.unsubscribe("s", ann, wide)
    for number in (1, 2, 3):
        pump.publish("p", eve, of(number))
    assert pump.delivered("s", bob) == [2, 3]
    asked = [Filter.parse(steps[-1][1]) for steps in entries(pump, "m", "p")]
    assert len(asked) == 2
    assert all(Filter.parse("a IN (1, 2)").covers(one) for one in asked)


def test_a_filter_stands_for_another_only_at_versions_at_which_it_covers_it() -> None:
    # At version 1 ann may read only a = 1, and bob everything; from version 2 on both may. Records
    # of version 1 are still to come, so his filter must be asked for beside hers.
    pump = network(
        chain("p", "m", "s", "a"), *reader("ann", "a = 1"), *reader("bob"), *writer(),
        policy_host="a",
    )  # fmt: skip
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.hold("m", "p")
    pump.administer(grant("ann"))
    pump.subscribe("s", ann)
    pump.subscribe("s", bob, "a = 2")
    pump.tampers["m", "p"] = lambda frame: (frame,)
    pump.publish("p", eve, of(2))
    pump.release("m", "p")
    pump.publish("p", eve, of(2))
    pump.wait(1)
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    exactly_what_the_gate_gives(pump, "s", bob, "bob", "a = 2")
    # Going back to where the stream was at version 1: what ann's filter had let pass is not enough.
    bob = pump.connect("s", "bob")
    pump.subscribe("s", bob, "a = 2", after={"orders": 0})
    pump.wait(1)
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob", "a = 2") == [2, 4]


def test_what_nobody_behind_a_link_wants_or_may_read_is_not_sent_over_it() -> None:
    pump = network(chain("p", "m", "s"), *reader("ann", "a = 1"), *writer())
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    sent = len(pump.said("p", "m", Data))
    for number in range(20):
        pump.publish("p", eve, of(number))
    assert len(pump.said("p", "m", Data)) == sent + 1
    assert pump.bodies("s", ann) == ['{"a":1}']


def test_who_filters_at_the_edge_only_is_sent_everything_and_delivers_the_same() -> None:
    delivered = []
    for edge_only, sent_count in ((False, 3), (True, 20)):
        pump = network(
            chain("p", "m", "s"), *reader("ann", "a < 3"), *writer(), filters_at_edge_only=edge_only
        )
        eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
        pump.subscribe("s", ann)
        sent = {way: len(pump.said(*way, Data)) for way in (("p", "m"), ("m", "s"))}
        for number in range(20):
            pump.publish("p", eve, of(number))
        for way, before in sent.items():
            assert len(pump.said(*way, Data)) == before + sent_count
        delivered.append(pump.bodies("s", ann))
        said = [*pump.said("s", "m", Subscribe), *pump.said("m", "p", Subscribe)]
        pump.administer(grant("ann", filter_="a = 9"))
        pump.publish("p", eve, of(9))
        pump.wait(1)
        exactly_what_the_gate_gives(pump, "s", ann, "ann")
        policy = entries(pump, "s", "m", "$policy")
        assert len(policy) > 1, "the policy is still told only to those whom it affects"
        if edge_only:
            assert entries(pump, "m", "p") == {((0, "TRUE"),)}
            assert [*pump.said("s", "m", Subscribe), *pump.said("m", "p", Subscribe)] == said
    assert delivered[0] == delivered[1] == ['{"a":0}', '{"a":1}', '{"a":2}']


def test_who_ends_costs_nothing_any_more() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    number = pump.subscribe("s", ann)
    pump.unsubscribe("s", ann, number)
    before = len(pump.said("p", "m", Data))
    pump.publish("p", eve, of(1))
    assert pump.said("p", "m", Data)[before:] == []


def test_an_idle_network_says_only_that_it_is_alive() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.wait(20)
    before = {way: len(frames) for way, frames in pump.frames.items()}
    pump.wait(60)
    said = {
        type(one).__name__ for way, frames in pump.frames.items() for one in frames[before[way] :]
    }
    assert said <= {"Alive", "Request", "Reply"}


# The example of Zhao & Sturman (Figure 1), through chains of brokers.

QUOTES, ALL = "type = 'quote'", "type = 'quote' OR type = 'news' OR type = 'report'"
FIGURE = [
    "group: promotional",
    "quote ibm", "news ibm", "quote hp",
    "group: premium",
    "news ibm", "report ibm", "quote hp",
    "group: promotional",
    "quote ibm", "news ibm", "quote ibm",
]  # fmt: skip


@pytest.mark.parametrize("hops", [1, 4, 7])
def test_john_doe_receives_what_figure_1_says(hops: int) -> None:
    """Quotes only; then quotes, news and reports; then quotes only: each from its start on."""
    names = [f"b{number}" for number in range(hops + 1)]
    first: tuple[Change, ...] = (
        CreateGroup("promotional"), CreateGroup("premium"), Join("promotional", "john"),
        grant("promotional", filter_=QUOTES), grant("premium", filter_=ALL),
        *reader("john", "FALSE OR type = 'none'"), *writer(),
    )  # fmt: skip
    pump = network(chain(*names), *first, policy_host="b0")
    publisher, john = pump.connect("b0", "eve"), pump.connect(names[-1], "john")
    pump.subscribe(names[-1], john, "issue = 'ibm'")
    at = "promotional"
    for step in FIGURE:
        kind, name = step.split()
        if kind == "group:":
            if name != at:
                pump.administer(Leave(at, "john"), Join(name, "john"))
                at = name
        else:
            pump.publish("b0", publisher, b'{"type":"%b","issue":"%b"}' % (
                kind.encode(), name.encode()
            ))  # fmt: skip
    given = [
        (one.version, msgspec.json.decode(one.event.to_json())["type"])
        for one in pump.heard(names[-1], john, Delivery)
    ]
    assert given == [(1, "quote"), (2, "news"), (2, "report"), (3, "quote"), (3, "quote")]
    exactly_what_the_gate_gives(
        pump, names[-1], john, "john", "issue = 'ibm'", host="b0"
    )  # fmt: skip
    pump.wait(1)
    assert [pump.starting_points[version, "orders"] for version in (1, 2, 3)] == [1, 5, 9]


@pytest.mark.parametrize("hops", [1, 4, 7])
def test_a_new_principal_is_asked_about_once_however_far_the_policys_host_is(hops: int) -> None:
    names = [f"b{number}" for number in range(hops + 1)]
    pump = network(chain(*names), *PEOPLE, policy_host="b0")
    far = names[-1]
    ann = pump.connect(far, "ann")
    pump.subscribe(far, ann)
    frames = sum(map(len, pump.frames.values()))
    pump.subscribe(far, ann, "a = 1")
    assert sum(map(len, pump.frames.values())) == frames, "a local start says nothing to anybody"


def test_a_group_that_ends_takes_its_rights_along() -> None:
    pump = network(
        chain("p", "s"), CreateGroup("staff"), Join("staff", "ann"), grant("staff"),
        *reader("ann", "a = 1"), *writer(),
    )  # fmt: skip
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(2))
    pump.administer(Revoke(rule("staff")), Leave("staff", "ann"), DropGroup("staff"))
    for number in (1, 2):
        pump.publish("p", eve, of(number))
    assert pump.bodies("s", ann) == ['{"a":2}', '{"a":1}']


# What doesn't fit.


def test_rights_with_a_long_history_can_be_asked_for() -> None:
    """All that ann could ever do is more than a frame holds."""
    pump = network(chain("p", "s"), *reader("ann"), *writer(), frame_bytes_max=512 * 1024)
    for number in range(40):
        pump.administer(grant("ann", filter_=f"b = '{'x' * 4_000}{number}'"))
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.wait(3)
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.wait(1)
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    assert pump.bodies("s", ann) == ['{"a":1}']


def test_more_filters_than_a_frame_holds_can_be_asked_for() -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE, frame_bytes_max=16 * 1024)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    for number in range(100):
        pump.subscribe("s", ann, f"a = {number} AND b <> '{'x' * 300}'")
    pump.kill("m")
    pump.start("m")
    pump.wait(20)
    pump.publish("p", eve, b'{"a":7,"b":"y"}')
    pump.wait(1)
    assert len(pump.delivered("s", ann)) == 1


def test_an_event_as_large_as_a_frame_takes_is_delivered_or_refused_and_stops_nothing() -> None:
    pump = network(chain("p", "s"), *PEOPLE, frame_bytes_max=16 * 1024)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    for size in (15_000, 16_300, 17_000, 100_000):
        pump.publish("p", eve, b'{"a":"%b"}' % (b"x" * size))
    pump.publish("p", eve, of(1))
    pump.wait(20)
    assert pump.bodies("s", ann)[-1:] == ['{"a":1}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
