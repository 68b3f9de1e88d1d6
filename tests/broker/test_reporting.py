"""Is every starting point reported until it is kept, and not before it is stored?"""

from __future__ import annotations

from headgate.peering.frames import Request
from tests.broker.pump import chain, network, reader, writer
from tests.rights.policies import grant

PEOPLE = (*reader("ann"), *writer())


def test_the_policys_host_hears_where_each_version_began_on_each_stream() -> None:
    pump = network(chain("h", "p"), *PEOPLE, policy_host="h", streams={"p": ("orders",)})
    version = pump.administer(grant("ann", filter_="a = 7"))
    pump.wait(2)
    streams = {stream for at, stream in pump.starting_points if at == version}
    assert streams == {
        "orders", "$subscriptions/p", "$deliveries/p", "$subscriptions/h", "$deliveries/h",
    }  # fmt: skip
    record = pump.logs["p"].last("orders")
    assert record is not None
    assert record.is_marker
    assert pump.starting_points[version, "orders"] == record.offset


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
