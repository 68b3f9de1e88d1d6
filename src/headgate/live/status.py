"""How is a broker, as somebody who may know it is told?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from headgate.broker.core import Broker
from headgate.log.records import DELIVERIES, POLICY, SUBSCRIPTIONS

if TYPE_CHECKING:
    from headgate.live.node import Node


class StreamStatus(Struct, frozen=True):
    """A stream that this broker hosts."""

    incarnation: str
    first: int
    """The lowest offset that is still there."""
    last: int
    version: int


class LogStatus(Struct, frozen=True):
    """The log of this broker."""

    bytes: int | None
    """Its size, where the store knows it."""
    unsynced: int
    problem: str | None
    """Why the last that was to be stored was not."""


class PolicyStatus(Struct, frozen=True):
    """Where the policy comes from."""

    host: str
    problem: str | None
    """At the host: why the ACL database can't be asked."""


class Status(Struct, frozen=True):
    """A broker, at the moment."""

    broker: str
    boot: str
    version: int
    """The policy's newest version that is known here."""
    leased: bool
    """Whether that is recent enough to decide by it."""
    ready: bool
    """Whether clients are served."""
    since_us: int
    neighbours: dict[str, bool]
    """Whether they are linked."""
    streams: dict[str, StreamStatus]
    known_streams: tuple[str, ...]
    """The event streams of the network that may be subscribed to here."""
    clients: int
    subscriptions: int
    log: LogStatus
    policy: PolicyStatus
    counts: dict[str, int]


class StartStatus(Struct, frozen=True):
    """A subscription on one stream."""

    incarnation: str
    start: int | None
    """It receives what comes after this; nothing yet where this isn't known."""
    position: int | None
    """Up to here it has got what it is owed."""
    outstanding: int
    """Deliveries that its client hasn't acknowledged."""


class SubscriptionStatus(Struct, frozen=True):
    """A subscription of a client that is connected here."""

    client: int
    subscription: int
    principal: str
    domain: str | None
    filter: str
    durable: str | None
    causal: bool
    streams: dict[str, StartStatus]


def status_of(node: Node, now: int) -> Status:
    core, settings = node.core, node.settings
    is_own = (SUBSCRIPTIONS, DELIVERIES)
    leased = core.policy.leased(max(core.clock.newest, core.clock.inside(now)))
    linked = set(core.neighbours.all())
    policy = PolicyStatus(
        settings.policy_host, node.policy.problem if node.policy is not None else None
    )
    return Status(
        broker=settings.broker,
        boot=node.boot,
        version=core.policy.known,
        leased=leased,
        ready=leased and not node.is_stopping and node.store_problem is None,
        since_us=node.since_us,
        neighbours={
            name: name in linked for name in sorted(settings.topology.neighbours(settings.broker))
        },
        streams={
            feed.stream: StreamStatus(
                feed.incarnation, node.log.first(feed.stream), feed.position or 0, feed.version
            )
            for feed in core.hosting.feeds()
        },
        known_streams=tuple(
            sorted(
                stream
                for stream in core.streams.names()
                if stream != POLICY and not stream.startswith(is_own)
            )
        ),
        clients=node.clients,
        subscriptions=sum(1 for _ in core.subscriptions.all()),
        log=LogStatus(getattr(node.log, "size_bytes", None), node.unsynced, node.store_problem),
        policy=policy,
        counts=dict(core.counts),
    )


def subscriptions_of(core: Broker) -> Iterator[SubscriptionStatus]:
    for one in core.subscriptions.all():
        yield SubscriptionStatus(
            client=one.client,
            subscription=one.number,
            principal=one.subscription.principal,
            domain=one.subscription.domain,
            filter=str(one.subscription.filter),
            durable=one.durable,
            causal=one.causal,
            streams={
                stream: StartStatus(
                    delivery.incarnation,
                    delivery.start,
                    delivery.feed.where(delivery) if delivery.feed is not None else None,
                    len(delivery.outstanding),
                )
                for stream, delivery in sorted(one.deliveries.items())
            },
        )
