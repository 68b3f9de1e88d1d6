"""What is the smallest network worth running? Two brokers, a writer, a reader, an administrator."""

from __future__ import annotations

from typing import Any, TypeAlias

from headgate.simulation.scenarios.trees import chain
from headgate.simulation.schedules import (
    Action,
    BrokerPlan,
    ClientPlan,
    Connect,
    Publish,
    Schedule,
    Step,
    Subscribe,
    at,
)
from headgate.simulation.timeline import SECOND

Said: TypeAlias = tuple[float, Action] | Step
"""A step, at its seconds."""
POLICY: tuple[dict[str, Any], ...] = (
    {"create_group": "everyone"},
    *({"join": {"group": "everyone", "member": name}} for name in ("ann", "pam", "ada")),
    {"grant": {"principal": "everyone", "action": "connect", "allow": True}},
    {"grant": {"principal": "pam", "action": "publish"}},
    {"grant": {"principal": "ann", "action": "subscribe", "filter": "price < 5"}},
)
NO_LONGER = {"revoke": {"principal": "ann", "action": "subscribe", "filter": "price < 5"}}

BEGIN_S = 2.0
"""The steps are counted from here: by then the brokers know each other."""
CLIENTS = {
    "writer": ClientPlan("pam", ("b1",)),
    "reader": ClientPlan("ann", ("b2",)),
    "admin": ClientPlan("ada", ("b1",)),
}
COMING = [at(0.1, Connect("writer")), at(0.1, Connect("reader")), at(0.1, Connect("admin"))]


def publishing(seconds: float, price: int, event_id: str) -> Step:
    return at(seconds, Publish("writer", event_id, f'{{"price":{price}}}', "orders"))


def small(*steps: Said, length: int = 2, **said: Any) -> Schedule:
    """b1 hosts the policy and `orders`; ann reads at b2 what pam writes at b1."""
    nodes, edges = chain(length)
    more = [step if isinstance(step, Step) else at(*step) for step in steps]
    begin_us = round(BEGIN_S * SECOND)
    later = [Step(step.at_us + begin_us, step.action) for step in [*COMING, *more]]
    return Schedule(
        **{
            "seed": 1,
            "nodes": nodes,
            "edges": edges,
            "policy_host": "b1",
            "brokers": {"b1": BrokerPlan(streams=("orders",))},
            "clients": CLIENTS,
            "policy": (POLICY,),
            "steps": tuple(sorted(later, key=lambda step: step.at_us)),
            **said,
        }
    )


READING = at(0.2, Subscribe("reader", "all"))


def busy(*steps: Said, **said: Any) -> Schedule:
    """The same with a subscription and ten publications, every other one within ann's rights."""
    published = [publishing(0.5 + 0.1 * number, number, f"e{number}") for number in range(10)]
    return small(READING, *published, *steps, **said)
