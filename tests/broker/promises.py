"""What a subscription must have been given, worked out from the log and the policy alone."""

from __future__ import annotations

from headgate.broker.effects import Delivery, Started
from headgate.gate.delivery import View, gate
from headgate.log.digests import view_bytes
from tests.broker.pump import Pump
from tests.rights.policies import subscription


def owed(
    pump: Pump,
    principal: str,
    wanted: str,
    after: int,
    *,
    stream: str = "orders",
    host: str = "p",
    domain: str | None = None,
) -> list[tuple[int, bytes]]:
    """What stands in the log after an offset that the gate lets through, as it is to be seen."""
    subscribed = subscription(principal, wanted, domain)
    found = []
    for record in pump.logs[host].read(stream, after, 100_000):
        if not record.is_marker:
            outcome = gate(record.event, pump.history.at(record.version), subscribed)
            if isinstance(outcome, View):
                found.append((record.offset, view_bytes(outcome.event)))
    return found


def exactly_what_the_gate_gives(
    pump: Pump,
    broker: str,
    client: int,
    principal: str,
    wanted: str = "TRUE",
    *,
    stream: str = "orders",
    host: str = "p",
    number: int | None = None,
    domain: str | None = None,
) -> list[int]:
    """The offsets that a client was given on a stream, once they are seen to be the right ones."""
    messages = [
        one
        for one in pump.messages(broker, client)
        if isinstance(one, Started | Delivery)
        and one.stream == stream
        and number in (None, one.subscription)
    ]
    assert messages, f"no subscription of client {client} has begun on `{stream}`"
    start = messages[0]
    assert isinstance(start, Started), "nothing is delivered before the start is told"
    deliveries = [one for one in messages if isinstance(one, Delivery)]
    assert len(deliveries) + 1 == len(messages), "a subscription starts once on each stream"
    given = [(one.offset, view_bytes(one.event)) for one in deliveries]
    expected = owed(
        pump, principal, wanted, start.after, stream=stream, host=host, domain=domain
    )  # fmt: skip
    assert given == expected, f"{[one for one, _ in given]} is not {[one for one, _ in expected]}"
    return [offset for offset, _ in given]
