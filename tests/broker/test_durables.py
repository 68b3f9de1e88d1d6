"""Is each durable subscription kept where its client is done, and by its newest attachment only?"""

from __future__ import annotations

from typing import Any

import pytest

from headgate.broker.durables import Durables
from headgate.broker.effects import DurableEnded, RequestRefused
from headgate.broker.outbox import Outbox
from headgate.broker.questions import KeepPositions, PositionsKept, Take, Taken, TakenOver
from headgate.broker.topology import Topology
from tests.broker.parts import NOW, Disk
from tests.broker.pump import chain, network, reader, writer


class Host:
    """The policy's host, as far as it keeps durable subscriptions."""

    def __init__(self, kept: dict[str, bytes] | None = None) -> None:
        self.outbox = Outbox()
        self.disk = Disk(self.outbox)
        self.notified: list[tuple[str, TakenOver]] = []
        self.answers: list[Taken | PositionsKept] = []
        self.durables = Durables(
            self.outbox, kept or {}, lambda broker, over, now: self.notified.append((broker, over))
        )

    def ask_take(self, broker: str = "s", nonce: int = 1, filter_: str = "a = 1") -> None:
        asked = Take("ann", None, "mine", filter_, False, broker, "boot", nonce)
        self.durables.take(asked, lambda said, now: self.answers.append(said), NOW)

    def take(self, *said: Any, **more: Any) -> Any:
        self.ask_take(*said, **more)
        self.disk.store()
        return self.answers[-1]

    def ask_keep(self, attachment: int, offset: int = 0, *, forget: bool = False) -> None:
        positions = {} if forget else {"orders": ("boot", offset)}
        asked = KeepPositions("ann", "mine", attachment, positions, forget)
        self.durables.keep_positions(asked, lambda said, now: self.answers.append(said), NOW)

    def keep(self, *said: Any, **more: Any) -> Any:
        self.ask_keep(*said, **more)
        self.disk.store()
        return self.answers[-1]

    def restarted(self) -> Host:
        kept = {key: value for key, value in self.disk.kept.items() if value is not None}
        return Host(kept)


def test_who_takes_a_name_over_gets_its_positions_and_the_one_before_is_told() -> None:
    host = Host()
    first = host.take("s").attachment
    assert host.keep(first, 5) == PositionsKept(True)
    taken = host.take("t", 2)
    assert taken.positions == {"orders": ("boot", 5)}
    assert taken.attachment > first
    assert host.notified == [("s", TakenOver("ann", "mine", taken.attachment, "t"))]


def test_who_asks_again_has_the_same_attachment() -> None:
    host = Host()
    assert host.take("s", 1) == host.take("s", 1)
    assert host.notified == []


def test_positions_only_grow_and_begin_anew_with_an_incarnation() -> None:
    host = Host()
    number = host.take().attachment
    for offset in (5, 3):
        host.keep(number, offset)
    assert host.take("t", 2).positions == {"orders": ("boot", 5)}
    number = host.take("t", 2).attachment
    asked = KeepPositions("ann", "mine", number, {"orders": ("another boot", 1)})
    host.durables.keep_positions(asked, lambda said, now: host.answers.append(said), NOW)
    host.disk.store()
    assert host.take("s", 3).positions == {"orders": ("another boot", 1)}


def test_an_earlier_attachment_keeps_nothing() -> None:
    host = Host()
    first = host.take("s").attachment
    host.take("t", 2)
    assert host.keep(first, 5) == PositionsKept(False)
    assert host.take("u", 3).positions == {}


def test_nothing_is_answered_before_it_is_stored() -> None:
    host = Host()
    host.ask_take()
    assert host.answers == []
    host.disk.store()
    number = host.take().attachment
    before = len(host.answers)
    host.ask_keep(number, 5)
    host.ask_keep(number, forget=True)
    assert len(host.answers) == before
    host.disk.store()
    assert host.answers[before:] == [PositionsKept(True)] * 2


def test_what_could_not_be_stored_is_answered_when_it_is_asked_again() -> None:
    host = Host()
    host.ask_take()
    host.outbox.take()
    host.outbox.store_failed("full", NOW)
    assert host.answers == []
    number = host.take().attachment
    host.ask_keep(number, forget=True)
    host.outbox.take()
    host.outbox.store_failed("full", NOW)
    assert host.keep(number, forget=True) == PositionsKept(True)
    assert host.restarted().take(filter_="a = 2").refused == ""


def test_all_of_it_survives_a_restart() -> None:
    host = Host()
    number = host.take("s").attachment
    host.keep(number, 5)
    again = host.restarted()
    assert again.keep(number, 7) == PositionsKept(True)
    taken = again.take("t", 2)
    assert taken.positions == {"orders": ("boot", 7)}
    assert taken.attachment > number


def test_a_name_that_is_ended_is_free_and_what_came_before_counts_for_it_no_more() -> None:
    host = Host()
    first = host.take("s").attachment
    host.keep(first, 5)
    host.keep(first, forget=True)
    for one in (host, host.restarted()):
        taken = one.take("t", 2, filter_="a = 2")
        assert (taken.refused, taken.positions) == ("", {})
        assert taken.attachment > first
        assert one.keep(first, 9) == PositionsKept(False)


def test_a_name_is_bound_to_its_filter() -> None:
    host = Host()
    host.take("s")
    refused = host.take("t", 2, filter_="a = 2")
    assert "`a = 1`" in refused.refused
    assert host.notified == []


def test_what_is_still_acknowledged_while_a_name_is_ended_does_not_bring_it_back() -> None:
    host = Host()
    number = host.take("s").attachment
    host.ask_keep(number, forget=True)
    host.ask_keep(number, 9)
    host.disk.store()
    for one in (host, host.restarted()):
        assert one.take("t", 2, filter_="a = 2").refused == ""


def test_a_name_that_is_taken_while_it_is_ended_by_another_stays() -> None:
    host = Host()
    number = host.take("s").attachment
    host.ask_keep(number, forget=True)
    host.ask_take("t", 2)
    host.disk.store()
    taken = host.answers[-1]
    assert isinstance(taken, Taken)
    for one in (host, host.restarted()):
        assert one.keep(taken.attachment, 5) == PositionsKept(True)


def test_whoever_administers_sees_them_all_and_ends_one() -> None:
    pump = network(chain("p", "q"), *writer(), *reader("ann"), streams={"q": ("orders",)})
    host = pump.brokers["p"]
    ann = pump.connect("q", "ann")
    pump.subscribe("q", ann, durable="desk", after={"orders": 0})
    pump.wait(1)
    (kept,) = host.kept_durables()
    assert (kept.principal, kept.name, kept.broker) == ("ann", "desk", "q")
    assert pump.brokers["q"].kept_durables() == []
    for name, existed in (("disk", False), ("desk", True), ("desk", False)):
        host.end_durable(0, 1, "ann", name, pump._now("p"))
        pump.run()
        assert pump.messages("p", 0)[-1] == DurableEnded(1, existed)
    assert host.kept_durables() == []
    assert [one.because for one in pump.ends("q", ann)] == ["it was ended for good"]
    # The name is free: who takes it begins anew.
    pump.subscribe("q", ann, "TRUE AND a = 1", durable="desk")
    assert pump.heard("q", ann, RequestRefused) == []


def test_an_end_that_can_not_be_stored_is_none() -> None:
    pump = network(Topology.alone("p"), *writer(), *reader("ann"))
    pump.subscribe("p", pump.connect("p", "ann"), durable="desk")
    pump.slow_disk("p")
    pump.fill_disk("p")
    pump.brokers["p"].end_durable(0, 1, "ann", "desk", pump._now("p"))
    pump.sync_disk("p")
    (told,) = [one for one in pump.messages("p", 0) if isinstance(one, DurableEnded)]
    assert "full" in told.because
    assert [one.name for one in pump.brokers["p"].kept_durables()] == ["desk"]


def test_only_the_policys_host_ends_one() -> None:
    pump = network(chain("p", "q"))
    with pytest.raises(ValueError, match="the policy's host is `p`: ask there"):
        pump.brokers["q"].end_durable(0, 1, "ann", "desk", 0)
