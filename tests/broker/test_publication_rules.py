"""Across modules: what a publisher is told is so, whatever becomes of the disk and the broker."""

from __future__ import annotations

import pytest

from headgate.broker.effects import Connected, Published, RequestRefused, Started
from headgate.broker.settings import SECOND
from tests.broker.promises import exactly_what_the_gate_gives
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import grant

PEOPLE = (*reader("ann"), *reader("bob"), *writer())


def of(body: int) -> bytes:
    return b'{"a":%d}' % body


def published(pump: Pump, client: int, broker: str = "p") -> list[tuple[int, bool]]:
    """The offsets that a publisher was told of, and whether as a repetition."""
    return [(one.offset, one.repeated) for one in pump.heard(broker, client, Published)]


# Acknowledged only when stored.


def test_a_publication_is_acknowledged_only_when_it_is_stored() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    pump.slow_disk("p")
    request = pump.publish("p", eve, of(1))
    pump.wait(5)
    assert pump.answer("p", eve, request) is None
    pump.sync_disk("p")
    assert pump.answer("p", eve, request) == Published(request, "orders", 2, 1)


def test_what_was_acknowledged_survives_a_crash_and_what_was_not_may_be_lost() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.slow_disk("p")
    pump.publish("p", eve, of(2))
    assert published(pump, eve) == [(2, False)]
    pump.kill("p")
    pump.start("p")
    pump.wait(3)
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(3))
    assert published(pump, eve) == [(3, False)]
    assert pump.bodies("s", ann) == ['{"a":1}', '{"a":3}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


# Repeated publications.


def test_a_repeated_event_id_is_acknowledged_again_and_not_stored_twice() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    pump.subscribe("p", ann)
    for body in (1, 2):
        pump.publish("p", eve, of(body), event_id="first")
    pump.publish("p", eve, of(3), event_id="second")
    assert published(pump, eve) == [(2, False), (2, True), (3, False)]
    assert pump.bodies("p", ann) == ['{"a":1}', '{"a":3}']


def test_a_repeated_event_id_bears_the_version_of_its_record() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(1), event_id="first")
    request = pump.publish("p", eve, of(1), event_id="first")
    assert pump.answer("p", eve, request) == Published(request, "orders", 2, 1, repeated=True)


def test_a_repetition_of_what_is_not_stored_yet_waits_for_it() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    pump.slow_disk("p")
    for _ in range(2):
        pump.publish("p", eve, of(1), event_id="first")
    assert published(pump, eve) == []
    pump.sync_disk("p")
    assert published(pump, eve) == [(2, False), (2, True)]


def test_a_repetition_of_what_could_not_be_stored_is_refused_and_may_come_again() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    pump.slow_disk("p")
    pump.fill_disk("p")
    for _ in range(2):
        pump.publish("p", eve, of(1), event_id="first")
    pump.sync_disk("p")
    refusals = pump.heard("p", eve, RequestRefused)
    assert [one.temporary for one in refusals] == [True, True]
    pump.free_disk("p")
    pump.publish("p", eve, of(1), event_id="first")
    assert published(pump, eve) == [(2, False)]


def test_a_repetition_is_known_after_a_restart() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(1), event_id="first")
    pump.kill("p")
    pump.start("p")
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(1), event_id="first")
    assert published(pump, eve) == [(2, True)]


def test_what_a_crash_took_with_it_is_no_repetition() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    pump.slow_disk("p")
    pump.publish("p", eve, of(1), event_id="first")
    pump.kill("p")
    pump.start("p")
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(1), event_id="first")
    assert published(pump, eve) == [(2, False)]


def test_two_publishers_may_use_the_same_event_id() -> None:
    pump = network(chain("p"), *PEOPLE, *writer("eva"))
    for name in ("eve", "eva"):
        client = pump.connect("p", name)
        pump.publish("p", client, of(1), event_id="first")
        assert [repeated for _, repeated in published(pump, client)] == [False]


def test_beyond_the_window_an_event_id_is_new_again() -> None:
    pump = network(chain("p"), *PEOPLE, repeat_window=2)
    eve = pump.connect("p", "eve")
    for name in ("first", "second", "third", "first"):
        pump.publish("p", eve, of(1), event_id=name)
    assert published(pump, eve) == [(2, False), (3, False), (4, False), (5, False)]


# A full disk.


def test_a_full_disk_refuses_for_now_and_leaves_no_hole() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.fill_disk("p")
    request = pump.publish("p", eve, of(2))
    refused = pump.answer("p", eve, request)
    assert isinstance(refused, RequestRefused)
    assert refused.temporary
    assert "full" in refused.because
    pump.free_disk("p")
    pump.publish("p", eve, of(3))
    assert published(pump, eve) == [(2, False), (3, False)]
    assert pump.bodies("s", ann) == ['{"a":1}', '{"a":3}']
    exactly_what_the_gate_gives(pump, "s", ann, "ann")


def test_a_version_that_comes_while_the_disk_is_full_begins_when_it_is_not() -> None:
    pump = network(chain("p", "a"), *PEOPLE, policy_host="a")
    pump.fill_disk("p")
    pump.administer(grant("ann", filter_="a = 1"))
    pump.wait(3)
    assert (2, "orders") not in pump.starting_points
    pump.free_disk("p")
    pump.wait(3)
    assert pump.starting_points[2, "orders"] == 2


def test_a_subscription_made_while_the_disk_is_full_starts_when_it_is_not() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.fill_disk("s")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    pump.wait(3)
    assert pump.heard("s", ann, Started) == []
    pump.free_disk("s")
    pump.wait(3)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2]


def test_a_broker_that_starts_with_a_full_disk_waits_until_it_is_not() -> None:
    pump = network(chain("p"), *PEOPLE)
    pump.kill("p")
    pump.fill_disk("p")
    pump.start("p")
    pump.wait(3)
    pump.free_disk("p")
    pump.wait(3)
    eve = pump.connect("p", "eve")
    pump.publish("p", eve, of(1))
    assert published(pump, eve) == [(2, False)]


@pytest.mark.parametrize("burst", [1, 5])
def test_a_burst_that_meets_a_full_disk_is_refused_whole_and_what_follows_goes_on(
    burst: int,
) -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.slow_disk("p")
    pump.fill_disk("p")
    for body in range(burst):
        pump.publish("p", eve, of(body))
    pump.administer(grant("ann", filter_="a = 1"))
    pump.sync_disk("p")
    assert len(pump.heard("p", eve, RequestRefused)) == burst
    pump.free_disk("p")
    for body in range(burst):
        pump.publish("p", eve, of(body))
    pump.wait(3)
    given = exactly_what_the_gate_gives(pump, "s", ann, "ann")
    assert len(given) == burst
    assert [offset for offset, _ in published(pump, eve)] == given


# Clocks.


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_clock_that_jumps_stops_nothing_and_reorders_nothing(jump: int) -> None:
    pump = network(chain("p", "m", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.publish("p", eve, of(1))
    for name in ("p", "m", "s"):
        pump.clocks[name] = jump * SECOND
        pump.publish("p", eve, of(2))
        pump.wait(20)
    pump.kill("m")
    pump.start("m")
    pump.wait(20)
    pump.publish("p", eve, of(3))
    assert len(exactly_what_the_gate_gives(pump, "s", ann, "ann")) == 5


def test_a_clock_that_is_put_back_delays_nothing_that_was_due() -> None:
    pump = network(chain("p", "s"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("s", "ann")
    pump.subscribe("s", ann)
    pump.cut_link("p", "s")
    pump.publish("p", eve, of(1))
    for name in ("p", "s"):
        pump.clocks[name] = -3600 * SECOND
        pump.brokers[name].on_timer(pump.now - 3600 * SECOND)
    pump.mend_link("p", "s")
    pump.wait(3)
    assert exactly_what_the_gate_gives(pump, "s", ann, "ann") == [2]


def test_a_record_bears_the_time_that_its_brokers_clock_shows() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    for jump in (0, -3600, 3600):
        pump.clocks["p"] = jump * SECOND
        pump.publish("p", eve, of(1))
        last = pump.logs["p"].last("orders")
        assert last is not None
        assert last.time_us == pump.now + jump * SECOND


# What else a publication may be refused for.


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a":', {}),
        (b'{"a":1}', {"stream": "news"}),
        (b'{"a":1}', {"known": {"$publisher": "ann"}}),
        (b'{"a":1}', {"known": {"$time": 0}}),
    ],
)
def test_nonsense_is_refused_for_good_and_takes_no_offset(
    body: bytes, said: dict[str, object]
) -> None:
    pump = network(chain("p"), *PEOPLE)
    eve = pump.connect("p", "eve")
    refused = pump.answer("p", eve, pump.publish("p", eve, body, **said))
    assert isinstance(refused, RequestRefused)
    assert not refused.temporary
    pump.publish("p", eve, of(1))
    assert published(pump, eve) == [(2, False)]


def test_who_is_not_connected_publishes_nothing() -> None:
    pump = network(chain("p"), *PEOPLE)
    assert isinstance(pump.answer("p", 99, pump.publish("p", 99, of(1))), RequestRefused)
    stranger = pump.connect("p", "stranger")
    assert ("p", stranger) in pump.dropped
    assert isinstance(pump.answer("p", stranger, pump.publish("p", stranger)), RequestRefused)


def test_a_broker_alone_does_it_all() -> None:
    pump = network(chain("p"), *PEOPLE)
    eve, ann = pump.connect("p", "eve"), pump.connect("p", "ann")
    assert pump.heard("p", ann, Connected) == [Connected(1)]
    pump.subscribe("p", ann, "a > 1")
    for body in range(4):
        pump.publish("p", eve, of(body))
    assert exactly_what_the_gate_gives(pump, "p", ann, "ann", "a > 1") == [4, 5]
