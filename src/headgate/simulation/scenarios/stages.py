"""How is a schedule written by hand? Line by line, each a little after the one before."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias, final

import msgspec

from headgate.simulation.schedules import (
    Action,
    AdministerElsewhere,
    Break,
    BrokerPlan,
    ClientPlan,
    Connect,
    Lose,
    Part,
    Publish,
    Schedule,
    Step,
    Subscribe,
)
from headgate.simulation.timeline import MILLISECOND, SECOND

Change: TypeAlias = dict[str, Any]

BEGIN_US = 3 * SECOND
"""By then the brokers have found each other, and clients are connected."""
_APART_US = 1_200 * MILLISECOND
_CONNECT_US = 2 * SECOND
_FOR_GOOD_US = 1_000 * SECOND
_STEP_US = 100 * MILLISECOND
"""Long enough for whatever one line brings about to be over, unless something is held."""


def reads(principal: str, filter_: str | None = None, **more: Any) -> Change:
    """A right to subscribe, to everything if nothing else is said."""
    return {"grant": _rule(principal, "subscribe", filter_, more)}


def reads_no_more(principal: str, filter_: str | None = None, **more: Any) -> Change:
    return {"revoke": _rule(principal, "subscribe", filter_, more)}


def writes(principal: str, filter_: str | None = None) -> Change:
    return {"grant": _rule(principal, "publish", filter_, {})}


def writes_no_more(principal: str, filter_: str | None = None) -> Change:
    return {"revoke": _rule(principal, "publish", filter_, {})}


def connects(principal: str) -> Change:
    return {"grant": _rule(principal, "connect", None, {"allow": True})}


def connects_no_more(principal: str) -> Change:
    return {"revoke": _rule(principal, "connect", None, {"allow": True})}


def joins(group: str, member: str) -> Change:
    return {"join": {"group": group, "member": member}}


def leaves(group: str, member: str) -> Change:
    return {"leave": {"group": group, "member": member}}


def _rule(principal: str, action: str, filter_: str | None, more: Change) -> Change:
    rule: Change = {"principal": principal, "action": action}
    if filter_ is not None:
        rule["filter"] = filter_
    return {**rule, **more}


@final
class Stage:
    """A network, who is there, and what happens next.

    `ways` are chains of nodes such as `"p - m - s"`; a node `m1+m2` is two brokers that stand in
    for each other. Who publishes is called `pam`, and may publish everything.
    """

    def __init__(
        self,
        seed: int,
        *ways: str,
        policy_host: str,
        hosts: dict[str, str],
        policy: tuple[Change, ...] = (),
        settings: dict[str, int | bool] | None = None,
        foreign: dict[str, dict[str, str]] | None = None,
    ) -> None:
        """`hosts` are the brokers of the streams, by stream."""
        self._seed = seed
        self._nodes, self._edges = _tree(ways)
        self._policy_host = policy_host
        self._hosts = hosts
        self._policy = policy
        self._settings = settings or {}
        self._foreign = foreign or {}
        self._clients: dict[str, ClientPlan] = {}
        self._steps: list[Step] = []
        self._held: dict[tuple[str, str], int] = {}
        self._now = BEGIN_US
        self._events = 0

    def schedule(self) -> Schedule:
        assert not self._held, "what is held has to be released"
        beginning = (*self._beginning(), *self._policy)
        named = {*self._hosts.values(), *self._foreign}
        return Schedule(
            seed=self._seed,
            nodes=self._nodes,
            edges=self._edges,
            policy_host=self._policy_host,
            brokers={
                broker: BrokerPlan(
                    streams=tuple(one for one, host in self._hosts.items() if host == broker),
                    foreign=self._foreign.get(broker, {}),
                )
                for broker in sorted(named)
            },
            clients=self._clients,
            policy=(beginning,),
            settings=self._settings,
            steps=tuple(sorted(self._steps, key=lambda step: step.at_us)),
            calm_us=self._now,
        )

    def _beginning(self) -> list[Change]:
        """Whoever is there may connect, and pam may publish."""
        principals = {plan.principal: None for plan in self._clients.values()}
        domains = {plan.domain: None for plan in self._clients.values() if plan.domain is not None}
        changes: list[Change] = [{"create_group": "guests"}]
        changes += [joins("guests", name) for name in {**principals, **domains}]
        changes.append(connects("guests"))
        return [*changes, writes("pam")]

    # Who is there.

    def client(self, name: str, *brokers: str, late: bool = False, **plan: Any) -> None:
        """A client of this name, at the first of its brokers, from the beginning if not late."""
        self._clients[name] = ClientPlan(plan.pop("principal", name), brokers, **plan)
        if not late:
            self._steps.append(Step(_CONNECT_US, Connect(name)))

    def not_by(self, one: str, other: str) -> None:
        """Whoever follows the policy by this link looks for another way at the beginning."""
        self._steps.append(Step(_APART_US, Break(one, other, 100 * MILLISECOND)))

    # What happens.

    def wait(self, seconds: float) -> None:
        self._now += round(seconds * SECOND)

    def do(self, action: Action) -> None:
        self._steps.append(Step(self._now, action))
        self._now += _STEP_US

    def at_once(self, *actions: Action) -> None:
        """All of this at the same moment."""
        self._steps += [Step(self._now, action) for action in actions]
        self._now += _STEP_US

    def publication(self, body: int, stream: str = "orders", by: str = "pam") -> Publish:
        """An event with this number in `a` and `b`."""
        self._events += 1
        text = msgspec.json.encode({"a": body, "b": body}).decode()
        return Publish(by, f"e{self._events}", text, stream)

    def publish(self, *bodies: int, stream: str = "orders", by: str = "pam") -> None:
        """One event after the other."""
        for body in bodies:
            self.do(self.publication(body, stream, by))

    def burst(self, *bodies: int, stream: str = "orders", by: str = "pam") -> None:
        """Events all at once."""
        self.at_once(*(self.publication(body, stream, by) for body in bodies))

    def subscribe(self, client: str, filter_: str = "TRUE", **more: Any) -> None:
        self.do(Subscribe(client, more.pop("key", "mine"), filter_, **more))

    def administer(self, *changes: Change) -> None:
        self.do(AdministerElsewhere(changes))

    def lose(self, one: str, other: str) -> None:
        """From now on no record arrives there, though the links go on."""
        self.do(Lose(one, other, _FOR_GOOD_US, 1.0))

    def lose_no_more(self, one: str, other: str) -> None:
        self.do(Lose(one, other, _FOR_GOOD_US, 0.0))

    def hold(self, sender: str, receiver: str) -> None:
        """Nothing gets from one broker to the other until it is released; then all does."""
        self._held[sender, receiver] = self._now
        self._now += _STEP_US

    def release(self, sender: str, receiver: str) -> None:
        since = self._held.pop((sender, receiver))
        self._steps.append(Step(since, Part(sender, receiver, self._now - since, both_ways=False)))
        self._now += _STEP_US


def _tree(ways: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], tuple[tuple[str, str], ...]]:
    nodes: dict[str, tuple[str, ...]] = {}
    edges: list[tuple[str, str]] = []
    for way in ways:
        names = way.split(" - ")
        nodes.update((name, tuple(name.split("+"))) for name in names)
        edges += pairwise(names)
    return nodes, tuple(edges)
