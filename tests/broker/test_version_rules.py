"""Across modules: what a version means in the network, in schedules that need each of its rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product

import msgspec
import pytest

from headgate.broker.effects import (
    BatchApplied,
    BatchRefused,
    Connected,
    Delivery,
    Published,
    RequestRefused,
    Started,
)
from headgate.broker.settings import SECOND
from headgate.broker.topology import Topology
from headgate.peering.frames import Data, Frame, Reply, Request, Silence
from headgate.peering.wire import encode
from headgate.rights.changes import Change, CreateGroup, Grant, Join, Leave, Revoke
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import chain, network, nodes, reader, writer
from tests.rights.policies import connecting, grant, rule

LINE = chain("p", "m", "s", "a")
"""`a` hosts the policy right beside `s`, and `p` the stream, two hops away."""
TWINS = nodes("a", "m1 m2", "s")


def of(body: int) -> bytes:
    return b'{"a":%d,"b":%d}' % (body, body)


def big(number: int) -> list[Change]:
    """A batch so large that its record says only that everyone may be affected."""
    text = f"a <> '{'x' * 6_000}{number}'"
    return [grant(f"someone {one}", filter_=text) for one in range(100)]


# `$policy` is filtered on whom a version affects.


def test_a_broker_is_sent_only_the_versions_that_affect_its_principals() -> None:
    pump = network(chain("p", "s"), *reader("ann"), *writer())
    pump.connect("s", "ann")
    before = len(pump.said("p", "s", Data))
    for _ in range(3):
        pump.administer(grant("bob", filter_=f"a = {pump.next()}"))
    assert pump.said("p", "s", Data)[before:] == []
    pump.administer(grant("ann", filter_="a = 1"))
    (data,) = pump.said("p", "s", Data)[before:]
    assert (data.record.stream, data.record.offset) == ("$policy", 5)


def test_principals_that_leave_are_evicted() -> None:
    pump = network(chain("p", "s"), *reader("ann"))
    client = pump.connect("s", "ann")
    pump.disconnect("s", client)
    before = len(pump.said("p", "s", Data))
    pump.administer(grant("ann", filter_="a = 1"))
    assert pump.said("p", "s", Data)[before:] == []
    client = pump.connect("s", "ann")
    assert pump.heard("s", client, Connected) == [Connected(2)]


GROUP = (CreateGroup("staff"), CreateGroup("all"), Join("all", "staff"), Join("staff", "ann"))


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ((), grant("all"), ['{"a":2,"b":2}']),
        ((grant("all"),), Revoke(rule("all")), ['{"a":1,"b":1}']),
        ((grant("all"),), Leave("staff", "ann"), ['{"a":1,"b":1}']),
        ((grant("all"),), Leave("all", "staff"), ['{"a":1,"b":1}']),
    ],
)
def test_a_batch_that_never_names_a_principal_changes_its_rights_through_a_group(
    first: tuple[Change, ...], then: Change, expected: list[str]
) -> None:
    pump = network(LINE, *GROUP, *reader("ann", "a = 9"), *first, *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.administer(then)
    pump.publish("p", eve, of(2))
    pump.wait(1)
    assert pump.bodies("s", ann) == expected
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


def test_a_version_that_is_too_large_to_be_told_is_asked_for() -> None:
    pump = network(LINE, *reader("ann"), *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.administer(*big(1), Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    pump.wait(1)
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    assert [one.version for one in pump.heard("s", ann, Delivery)] == [1, 2]
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


def test_a_version_that_is_too_large_to_be_told_comes_while_a_principal_is_new() -> None:
    pump = network(LINE, *reader("ann"), *reader("bob"), *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.hold("s", "a")
    bob = pump.connect("s", "bob")
    pump.pass_on("s", "a")
    pump.administer(*big(1), Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    pump.release("s", "a")
    pump.wait(5)
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    pump.wait(1)
    assert len(pump.heard("s", bob, Connected)) == 1
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [4]


# A principal that is new at a broker.


def test_a_new_principal_waits_until_its_interest_is_vouched_and_its_snapshot_is_there() -> None:
    pump = network(LINE, *reader("ann"), *writer(), policy_host="a")
    pump.hold("a", "s")
    ann = pump.connect("s", "ann")
    pump.wait(3)
    assert pump.messages("s", ann) == []
    pump.pass_on("a", "s")
    assert pump.messages("s", ann) == [], "its interest is vouched, and its snapshot asked for"
    pump.release("a", "s")
    assert pump.messages("s", ann) == [Connected(1)]


@pytest.mark.parametrize("step", range(6))
def test_a_new_principal_between_two_versions_has_the_rights_of_each(step: int) -> None:
    # Whenever the version comes, its record or the snapshot brings it, and neither undoes it.
    pump = network(LINE, *reader("ann"), *reader("bob"), *writer(), policy_host="a")
    eve = pump.connect("p", "eve")
    pump.connect("s", "bob")
    pump.hold("s", "a")
    pump.hold("a", "s")

    def happen(now: int) -> None:
        if now == step:
            pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 2"))

    happen(0)
    ann = pump.connect("s", "ann")
    happen(1)
    pump.pass_on("s", "a")
    happen(2)
    pump.pass_on("a", "s")
    happen(3)
    pump.pass_on("s", "a")
    happen(4)
    pump.pass_on("a", "s")
    happen(5)
    pump.release("s", "a")
    pump.release("a", "s")
    pump.wait(2)
    pump.subscribe("s", ann)
    pump.wait(1)
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    assert pump.bodies("s", ann) == ['{"a":2,"b":2}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


def test_a_snapshot_that_is_ahead_of_the_stream_brings_its_versions_all_the_same() -> None:
    # The reply overtakes `$policy` on another path: version 2, which ends ann's right to connect,
    # is in her snapshot already when its record comes.
    pump = network(
        TWINS, *reader("ann"), *reader("bob"), policy_host="a", streams={"a": ("orders",)}
    )
    pump.connect("s", "bob")
    for one in ("m1", "m2"):
        pump.hold("s", one)
    ann = pump.connect("s", "ann")
    way = "m1" if pump.holds("s", "m1") else "m2"
    pump.pass_on("s", way)
    pump.hold(way, "s")
    pump.administer(Revoke(connecting("ann")))
    pump.release("s", "m1")
    pump.release("s", "m2")
    pump.wait(3)
    assert pump.heard("s", ann, Connected) == [Connected(1)], "its snapshot is there"
    pump.release(way, "s")
    pump.wait(1)
    assert ("s", ann) in pump.dropped


def test_a_version_that_overtakes_the_snapshot_is_not_lost() -> None:
    # The snapshot of version 1 is still under way on one path when version 2 comes by the other.
    pump = network(TWINS, *reader("ann"), *reader("bob"), *writer(), policy_host="a")
    eve = pump.connect("a", "eve")
    pump.connect("s", "bob")
    late: list[tuple[str, Frame]] = []

    def tamper(way: str, frame: Frame) -> tuple[Frame, ...]:
        if isinstance(frame, Reply):
            late.append((way, frame))
            return ()
        return (frame,)

    for one in ("m1", "m2"):
        pump.tampers[one, "s"] = partial(tamper, one)
    ann = pump.connect("s", "ann")
    pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    pump.tampers.clear()
    for way, frame in late:
        pump.say_raw(way, "s", encode(frame))
    assert pump.heard("s", ann, Connected) == [Connected(2)]
    pump.subscribe("s", ann)
    for body in (1, 2):
        pump.publish("a", eve, of(body))
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann", host="a") == [4]


def test_silence_raises_no_version_for_a_principal_that_is_not_vouched() -> None:
    # Version 2 changes what ann may read, while `s` has only asked to hear of her.
    pump = network(LINE, *reader("ann", "a = 1"), *reader("bob"), *writer(), policy_host="a")
    eve = pump.connect("p", "eve")
    pump.connect("s", "bob")
    pump.hold("s", "a")
    ann = pump.connect("s", "ann")
    pump.administer(grant("ann", filter_="a = 2"))
    pump.publish("p", eve, of(2))
    assert pump.messages("s", ann) == []
    pump.release("s", "a")
    assert pump.heard("s", ann, Connected) == [Connected(2)]
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(2))
    assert pump.bodies("s", ann) == ['{"a":2,"b":2}']


# The publisher's broker.


def test_a_publication_is_decided_by_the_version_that_is_known_when_its_offset_is_assigned() -> (
    None
):
    pump = network(chain("p", "a"), *writer("eve", "a = 1"), policy_host="a")
    eve = pump.connect("p", "eve")
    pump.hold("a", "p")
    pump.administer(grant("eve", "publish", "a = 2"), Revoke(rule("eve", "publish", "a = 1")))
    first = pump.publish("p", eve, of(1))
    refused = pump.publish("p", eve, of(2))
    pump.release("a", "p")
    then_refused = pump.publish("p", eve, of(1))
    second = pump.publish("p", eve, of(2))
    assert pump.answer("p", eve, first) == Published(first, "orders", 2, 1)
    assert isinstance(pump.answer("p", eve, refused), RequestRefused)
    assert isinstance(pump.answer("p", eve, then_refused), RequestRefused)
    assert pump.answer("p", eve, second) == Published(second, "orders", 4, 2)


def test_the_marker_of_a_version_is_its_starting_point_and_reported() -> None:
    pump = network(chain("p", "a"), *writer(), policy_host="a")
    eve = pump.connect("p", "eve")
    pump.publish("p", eve)
    pump.administer(grant("eve", filter_="a = 2"))
    pump.publish("p", eve)
    pump.wait(1)
    records = pump.logs["p"].read("orders", 0, 100)
    assert [(one.offset, one.version, one.is_marker) for one in records] == [
        (1, 1, True), (2, 1, False), (3, 2, True), (4, 2, False)
    ]  # fmt: skip
    assert pump.starting_points[1, "orders"] == 1
    assert pump.starting_points[2, "orders"] == 3


def test_versions_that_are_learnt_together_share_a_starting_point() -> None:
    pump = network(chain("p", "a"), *writer(), policy_host="a")
    eve = pump.connect("p", "eve")
    pump.cut_link("p", "a")
    for number in range(3):
        pump.administer(grant("bob", filter_=f"a = {number}"))
    pump.mend_link("p", "a")
    pump.wait(3)
    pump.publish("p", eve)
    records = pump.logs["p"].read("orders", 0, 100)
    assert [(one.version, one.is_marker) for one in records] == [(1, True), (4, True), (4, False)]
    assert pump.starting_points[4, "orders"] == 2


def test_a_starting_point_is_reported_until_the_policys_host_keeps_it() -> None:
    pump = network(chain("p", "a"), *writer(), policy_host="a")
    pump.connect("p", "eve")
    pump.hold("p", "a")
    pump.administer(grant("eve", filter_="a = 2"))
    pump.kill("p")
    pump.release("p", "a")
    assert (2, "orders") not in pump.starting_points
    pump.start("p")
    pump.wait(3)
    assert pump.starting_points[2, "orders"] == 2


def test_a_crash_takes_no_version_back() -> None:
    # The marker is stored before anything of its version is seen, and the version is in the log.
    pump = network(chain("p", "a"), *reader("ann"), *writer(), policy_host="a")
    eve = pump.connect("p", "eve")
    pump.slow_disk("p")
    pump.administer(Revoke(rule("ann")))
    pump.publish("p", eve, of(1))
    pump.wait(1)
    assert (2, "orders") not in pump.starting_points
    pump.kill("p")
    pump.start("p")
    pump.wait(3)
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(2))
    pump.wait(1)
    records = pump.logs["p"].read("orders", 0, 100)
    assert [one.version for one in records] == sorted(one.version for one in records)
    assert pump.starting_points[2, "orders"] == 2


def test_a_broker_that_comes_back_with_an_old_version_lets_nobody_publish_by_it() -> None:
    # `p` knows version 2 and says so in its log; after its restart it can only be told of version 1
    # by a neighbour that lags, and must not write under version 2 what version 1 allows.
    pump = network(chain("p", "m", "a"), *writer("eve", "a = 1"), policy_host="a")
    eve = pump.connect("p", "eve")
    pump.administer(Revoke(rule("eve", "publish", "a = 1")))
    pump.wait(1)
    assert pump.logs["p"].last("orders").version == 2  # type: ignore[union-attr]
    pump.kill("p")
    pump.cut_link("m", "a")
    pump.start("p")
    pump.wait(5)
    eve = pump.connect("p", "eve")
    request = pump.publish("p", eve, of(1))
    assert not isinstance(pump.answer("p", eve, request), Published)
    pump.mend_link("m", "a")
    pump.wait(10)
    eve = pump.connect("p", "eve")
    request = pump.publish("p", eve, of(1))
    assert isinstance(pump.answer("p", eve, request), RequestRefused)


def test_a_routing_broker_with_an_old_version_goes_on_routing() -> None:
    pump = network(nodes("p", "m1 m2", "s", "a"), *reader("ann"), *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    for one in ("m1", "m2"):
        pump.kill(one)
    pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    pump.start("m1")
    pump.wait(8)
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    pump.wait(1)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann")[-1:] == [
        pump.logs["p"].last("orders").offset  # type: ignore[union-attr]
    ]


def test_two_hosts_have_starting_points_of_their_own() -> None:
    fork = Topology(
        {name: (name,) for name in "pqsa"},
        frozenset({frozenset("ps"), frozenset("qs"), frozenset("sa")}),
    )
    pump = network(
        fork, *reader("ann"), *writer(), policy_host="a", streams={"p": ("orders",), "q": ("news",)}
    )
    eve, eva, ann = pump.connect("p", "eve"), pump.connect("q", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.hold("s", "q")
    pump.administer(Revoke(rule("ann")))
    pump.publish("p", eve, of(1))
    pump.publish("q", eva, of(1))
    assert pump.delivered("s", ann, "orders") == []
    assert pump.delivered("s", ann, "news") == [2]
    pump.release("s", "q")
    pump.publish("q", eva, of(2))
    pump.wait(1)
    assert pump.starting_points[2, "orders"] == 2
    assert pump.starting_points[2, "news"] == 3
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    exactly_what_the_gate_gives(pump, "s", ann, "ann", stream="news", host="q")


# The lease.


def test_a_broker_without_an_answer_within_its_lease_accepts_nothing_and_says_why() -> None:
    pump = network(chain("p", "m", "s"), *reader("ann"), *writer(), lease_us=10 * SECOND)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    writer_there = pump.connect("s", "eve")
    pump.cut_link("p", "m")
    pump.wait(11)
    request = pump.publish("s", writer_there, of(1))
    refused = pump.answer("s", writer_there, request)
    assert isinstance(refused, RequestRefused)
    assert refused.temporary
    assert "policy's host" in refused.because
    pump.subscribe("s", ann)
    assert [one.temporary for one in pump.heard("s", ann, RequestRefused)] == [True]
    stranger = pump.connect("s", "ann")
    assert "policy's host" in pump.dropped["s", stranger]
    assert isinstance(pump.answer("p", eve, pump.publish("p", eve, of(1))), Published)
    pump.mend_link("p", "m")
    pump.wait(5)
    pump.subscribe("s", ann)
    assert len(pump.heard("s", ann, Started)) == 1


def test_silence_that_others_relay_renews_no_lease() -> None:
    # Versions go on coming by `$policy`, but no answer to a question comes from its host.
    pump = network(chain("p", "m", "s"), *reader("ann"), lease_us=10 * SECOND)
    ann = pump.connect("s", "ann")
    pump.tampers["s", "m"] = lambda frame: () if isinstance(frame, Request) else (frame,)
    for number in range(12):
        pump.administer(grant("bob", filter_=f"a = {number}"))
        pump.wait(1)
    pump.subscribe("s", ann)
    assert [one.temporary for one in pump.heard("s", ann, RequestRefused)] == [True]


def test_an_answer_renews_the_lease_only_once_its_version_is_known() -> None:
    pump = network(TWINS, *reader("ann"), policy_host="a", streams={"a": ("orders",)},
                   lease_us=8 * SECOND, heartbeat_us=100 * SECOND)  # fmt: skip
    ann = pump.connect("s", "ann")
    pump.administer(grant("ann", filter_="a = 1"))
    way = next(one for one in ("m1", "m2") for data in pump.said(one, "s", Data)
               if data.record.stream == "$policy")  # fmt: skip
    pump.tampers[way, "s"] = lambda frame: () if isinstance(frame, Data) else (frame,)
    pump.administer(grant("ann", filter_="a = 2"))
    pump.wait(9)
    pump.subscribe("s", ann)
    assert [one.temporary for one in pump.heard("s", ann, RequestRefused)] == [True]


def test_a_lease_is_not_stretched_by_a_clock_that_is_put_back() -> None:
    pump = network(chain("p", "s"), *reader("ann"), lease_us=10 * SECOND)
    ann = pump.connect("s", "ann")
    pump.cut_link("p", "s")
    for _ in range(11):
        pump.clocks["s"] = pump.clocks.get("s", 0) - SECOND // 2
        pump.wait(1)
    pump.subscribe("s", ann)
    pump.wait(10)
    pump.subscribe("s", ann)
    assert pump.heard("s", ann, RequestRefused)[-1].temporary


# The subscriber's broker.


def test_a_record_is_held_until_its_version_is_known() -> None:
    pump = network(chain("a", "s", "p"), *reader("ann"), *reader("bob"), *writer(), policy_host="a")
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann)
    pump.subscribe("s", bob)
    pump.hold("p", "s")
    pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    pump.publish("p", eve, of(1))
    pump.kill("s")
    pump.start("s")
    pump.release("p", "s")
    pump.wait(4)
    ann, bob = pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann, after={"orders": 1})
    pump.subscribe("s", bob, after={"orders": 1})
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == []
    assert exactly_what_the_gate_gives(pump, "s", bob, "bob") == [3]


def test_a_record_that_overtakes_its_version_is_decided_by_it_when_it_comes() -> None:
    pump = network(nodes("p", "m1 m2", "s"), *reader("ann"), *writer())
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)

    def late(frame: object) -> bool:
        return isinstance(frame, Data) and frame.record.stream == "$policy"

    for one in ("m1", "m2"):
        pump.tampers[one, "s"] = lambda frame: () if late(frame) else (frame,)
    pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    assert pump.delivered("s", ann) == []
    pump.tampers.clear()
    pump.administer(grant("ann", filter_="a = 3"))
    pump.wait(1)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [4]
    assert pump.brokers["s"].counts["held for a version"] > 0


def test_a_record_is_gated_by_its_own_version_and_not_by_the_newest() -> None:
    pump = network(LINE, *reader("ann", attributes=["a"]), *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.hold("m", "s")
    pump.publish("p", eve, of(1))
    pump.administer(Revoke(rule("ann", attributes=["a"])), grant("ann", attributes=["b"]))
    pump.publish("p", eve, of(2))
    pump.release("m", "s")
    assert pump.bodies("s", ann) == ['{"a":1}', '{"b":2}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


# Routing.


def test_a_filter_narrowed_while_an_older_record_is_on_a_slow_path_lets_it_through() -> None:
    pump = network(LINE, *reader("ann"), *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.hold("p", "m")
    pump.publish("p", eve, of(1))
    pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    pump.release("p", "m")
    pump.wait(1)
    pump.publish("p", eve, of(1))
    assert pump.bodies("s", ann) == ['{"a":1,"b":1}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    assert pump.brokers["m"].counts["match at an old version"] > 0


def test_a_new_subscription_is_owed_the_records_of_a_stream_that_lags() -> None:
    # `p` is still at version 1, at which ann may read; the broker of her new subscription knows
    # twenty versions more, and tells upstream only of the last of her rights.
    pump = network(LINE, *reader("ann"), *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.tampers["m", "p"] = lambda frame: () if isinstance(frame, Silence) else (frame,)
    pump.administer(Revoke(rule("ann")))
    for number in range(20):
        pump.administer(grant("ann", filter_=f"a = {100 + number}"))
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2]
    assert pump.heard("s", ann, Delivery)[0].version == 1


def test_a_record_of_a_version_that_is_not_known_behind_a_link_is_sent_to_be_safe() -> None:
    # `s` can't be told of version 2, which lets ann read more: her old filter must not cut it.
    pump = network(nodes("p", "m1 m2", "s"), *reader("ann", "a = 1"), *writer())
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    for one in ("m1", "m2"):
        pump.tampers[one, "s"] = lambda frame: (
            () if isinstance(frame, Data) and frame.record.stream == "$policy" else (frame,)
        )
    pump.administer(grant("ann", filter_="a = 2"))
    pump.publish("p", eve, of(2))
    assert pump.delivered("s", ann) == []
    pump.tampers.clear()
    pump.administer(grant("ann", filter_="a = 3"))
    pump.wait(1)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [3]


# Time in the policy, administrators, and those who may not stay.


def test_the_policys_host_turns_beginnings_and_ends_of_validity_into_versions() -> None:
    pump = network(chain("p", "s"), *reader("ann", "a = 9"), *writer())
    begin = datetime.fromtimestamp(pump.now / SECOND, UTC) + timedelta(seconds=10)
    end = begin + timedelta(seconds=10)
    pump.administer(grant("ann", validity={"from": begin.isoformat(), "until": end.isoformat()}))
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    for body in range(3):
        pump.publish("p", eve, of(body))
        pump.wait(10)
    assert pump.bodies("s", ann) == ['{"a":1,"b":1}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


def test_of_two_administrators_at_once_one_is_told_that_the_other_came_first() -> None:
    pump = network(chain("p", "s"), *reader("ann"))
    pump.administer(grant("ann", filter_="a = 1"), expected=1)
    pump.administer(grant("ann", filter_="a = 2"), expected=1)
    answers = pump.messages("p", 0)
    assert [type(one) for one in answers] == [BatchApplied, BatchApplied, BatchRefused]
    assert isinstance(answers[-1], BatchRefused)
    assert answers[-1].current == 2


def test_who_may_not_connect_any_more_is_ended() -> None:
    pump = network(LINE, *reader("ann"), *reader("bob"), *writer(), policy_host="a")
    eve, ann, bob = pump.connect("p", "eve"), pump.connect("s", "ann"), pump.connect("s", "bob")
    pump.subscribe("s", ann)
    pump.administer(Revoke(connecting("ann")))
    assert "version 2" in pump.dropped["s", ann]
    assert ("s", bob) not in pump.dropped
    pump.publish("p", eve)
    assert pump.delivered("s", ann) == []
    again = pump.connect("s", "ann")
    assert ("s", again) in pump.dropped


def test_who_may_not_connect_any_more_through_a_group_is_ended() -> None:
    pump = network(LINE, *GROUP, Grant(connecting("all")), *writer(), policy_host="a")
    ann = pump.connect("s", "ann")
    pump.administer(Leave("all", "staff"))
    assert ("s", ann) in pump.dropped


# Every batch at every step of a delivery.

RULE = rule("ann", filter_="a < 5")
BATCHES: dict[str, tuple[Change, ...]] = {
    "revoked": (Revoke(RULE),),
    "narrowed": (Revoke(RULE), grant("ann", filter_="a = 1")),
    "narrowed past it": (Revoke(RULE), grant("ann", filter_="a = 3")),
    "widened": (grant("ann"),),
    "cut": (Revoke(RULE), grant("ann", attributes=["b"])),
    "by a group": (Revoke(RULE), CreateGroup("all"), Join("all", "ann"), grant("all")),
    "about another": (grant("bob", filter_="a = 1"),),
}
STEPS = {
    "before it is published": None,
    "while it is stored": "disk",
    "between the first two": ("p", "m"),
    "between the last two": ("m", "s"),
    "after it is delivered": "end",
}


@pytest.mark.parametrize("slow", ["nobody", "s", "p", "both"])
@pytest.mark.parametrize(("change", "step"), list(product(BATCHES, STEPS)))
def test_every_batch_at_every_step_of_a_delivery(change: str, step: str, slow: str) -> None:
    """The version reaches the publisher's and the subscriber's broker at once, or late."""
    first = (Grant(connecting("ann")), Grant(RULE), *writer())
    pump = network(LINE, *first, policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    where = STEPS[step]

    def administer() -> None:
        pump.administer(*BATCHES[change])

    late = {"nobody": [], "s": [("a", "s")], "p": [("s", "m")], "both": [("a", "s"), ("s", "m")]}
    for way in late[slow]:
        pump.hold(*way)
    if where is None:
        administer()
    elif where == "disk":
        pump.slow_disk("p")
    elif isinstance(where, tuple):
        pump.hold(*where)
    pump.publish("p", eve, of(2))
    if where is not None:
        administer()
    pump.publish("p", eve, of(7))
    if where == "disk":
        pump.sync_disk("p")
    elif isinstance(where, tuple):
        pump.release(*where)
    for way in late[slow]:
        pump.release(*way)
    pump.publish("p", eve, of(3))
    pump.wait(1)
    exactly_what_the_gate_gives(pump, "s", ann, "ann")
    assert pump.logs["p"].last("orders").version == 2  # type: ignore[union-attr]


def test_a_revocation_ends_nothing_that_was_published_before_it() -> None:
    """In flight, behind a slow disk of the subscriber's broker, and kept for a durable name."""
    pump = network(LINE, *reader("ann"), *writer(), policy_host="a")
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    pump.disconnect("s", ann)
    pump.publish("p", eve, of(1))
    pump.hold("p", "m")
    pump.publish("p", eve, of(2))
    pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 9"))
    pump.publish("p", eve, of(3))
    ann = pump.connect("s", "ann")
    pump.subscribe("s", ann, durable="mine")
    pump.release("p", "m")
    pump.wait(1)
    pump.publish("p", eve, of(4))
    expected = [one.offset for one in pump.logs["p"].read("orders", 0, 99)
                if one.version == 1 and not one.is_marker]  # fmt: skip
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == expected


def test_a_stricter_replay_gives_nothing_that_was_revoked_since() -> None:
    pump = network(LINE, *reader("ann"), *writer(), policy_host="a", replay_strictly=True)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    for body in (1, 2):
        pump.publish("p", eve, of(body))
    pump.administer(Revoke(rule("ann")), grant("ann", filter_="a = 2"))
    pump.subscribe("s", ann, after={"orders": 1})
    pump.wait(1)
    assert pump.bodies("s", ann) == ['{"a":2,"b":2}']


# `$policy` and the other streams of brokers.


def test_the_streams_of_brokers_are_read_only_by_those_with_a_rule_that_names_them() -> None:
    named = "\"$stream\" LIKE '$%'"
    pump = network(chain("p", "s"), *reader("ann"), *reader("boss", named), *writer())
    ann, boss = pump.connect("s", "ann"), pump.connect("s", "boss")
    pump.subscribe("s", ann)
    pump.subscribe("s", boss)
    pump.administer(grant("ann", filter_="a = 1"))
    pump.wait(1)
    assert {one.stream for one in pump.heard("s", ann, Started)} == {"orders"}
    assert [one.offset for one in pump.heard("s", boss, Delivery) if one.stream == "$policy"] == [2]
    (version,) = [one for one in pump.heard("s", boss, Delivery) if one.stream == "$policy"]
    assert msgspec.json.decode(version.event.to_json())["affects"] == ["ann"]
