"""Is each starting point kept by the policy's host in the end, and asked for once at a time?"""

from __future__ import annotations

from headgate.broker.questions import ReportStarts, question
from headgate.peering.frames import Request
from tests.broker.pump import Pump, chain, network, reader, writer
from tests.rights.policies import grant

PEOPLE = (*reader("ann"), *writer())
STREAMS = {"p": ("orders", "news")}


def reporting() -> Pump:
    return network(
        chain("p", "a"), *reader("ann"), *writer(), policy_host="a", streams=STREAMS
    )  # fmt: skip


def reports(pump: Pump) -> list[ReportStarts]:
    asked = [question(one.body) for one in pump.said("p", "a", Request)]
    return [one for one in asked if isinstance(one, ReportStarts)]


def test_the_starting_points_of_all_streams_are_kept() -> None:
    pump = reporting()
    pump.administer(grant("ann", filter_="a = 1"))
    pump.wait(1)
    for stream in ("orders", "news", "$subscriptions/p", "$deliveries/p"):
        assert (2, stream) in pump.starting_points


def test_what_is_kept_is_reported_no_more() -> None:
    pump = reporting()
    before = len(reports(pump))
    pump.wait(60)
    pump.kill("p")
    pump.start("p")
    pump.wait(60)
    assert len(reports(pump)) == before


def test_one_stream_is_reported_at_a_time_and_again_until_it_is_answered() -> None:
    pump = reporting()
    before = len(reports(pump))
    pump.hold("a", "p")
    pump.hold("p", "a")
    pump.administer(grant("ann", filter_="a = 1"))
    pump.pass_on("a", "p")
    pump.wait(3)
    asked = {one.stream for one in reports(pump)[before:]}
    assert len(asked) == 1
    pump.release("p", "a")
    pump.release("a", "p")
    pump.wait(1)
    assert (2, "orders") in pump.starting_points
    assert (2, "news") in pump.starting_points


def test_what_could_not_be_reported_is_after_a_restart() -> None:
    pump = network(chain("h", "p"), *PEOPLE, policy_host="h", streams={"p": ("orders",)})
    pump.hold("p", "h")
    version = pump.administer(grant("ann", filter_="a = 7"))
    assert (version, "orders") not in pump.starting_points
    pump.kill("p")
    pump.release("p", "h")
    pump.start("p")
    pump.wait(20)
    assert (version, "orders") in pump.starting_points


def test_a_starting_point_that_is_not_stored_is_not_reported() -> None:
    pump = network(chain("h", "p"), *PEOPLE, policy_host="h", streams={"p": ("orders",)})
    pump.slow_disk("p")
    asked = len(pump.said("p", "h", Request))
    version = pump.administer(grant("ann", filter_="a = 7"))
    assert (version, "orders") not in pump.starting_points
    assert len(pump.said("p", "h", Request)) == asked
    pump.sync_disk("p")
    pump.wait(1)
    assert (version, "orders") in pump.starting_points
