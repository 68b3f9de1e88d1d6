"""How does a broker serve HTTP? It listens, answers, and leaves in good order."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import final

from prometheus_client import CollectorRegistry

from headgate.live.node import Node
from headgate.live.web.accepting import Accepting
from headgate.live.web.administering import Administering
from headgate.live.web.application import Application, Handler
from headgate.live.web.connections import Server
from headgate.live.web.conversing import Conversing
from headgate.live.web.counting import WebCounts
from headgate.live.web.identifying import Identities
from headgate.live.web.limits import WebLimits
from headgate.live.web.publishing import Publishing
from headgate.live.web.reporting import Metrics, Reporting, Reports
from headgate.live.web.subscribing import Subscribing
from headgate.live.web.tokens import Tokens

STOPPING = "the broker is stopping"


@dataclass(frozen=True)
class WebSettings:
    """Where to listen, and what to say to whom."""

    host: str = "127.0.0.1"
    port: int = 7080
    metrics: Metrics = "open"
    policy_url: str | None = None
    """Where the policy's host is reached, if this isn't it."""
    limits: WebLimits = field(default_factory=WebLimits)


@final
class WebServer:
    """The web server of one broker."""

    def __init__(
        self,
        node: Node,
        reports: Reports,
        identities: Identities,
        settings: WebSettings,
        *,
        tls: ssl.SSLContext | None = None,
        registry: CollectorRegistry | None = None,
    ) -> None:
        limits = settings.limits
        self._settings = settings
        self._tls = tls
        self._counts = WebCounts(registry if registry is not None else CollectorRegistry())
        self._subscribing = Subscribing(node, limits, self._counts)
        self._conversing = Conversing(node, limits, self._counts)
        self._reporting = Reporting(
            reports, self._counts, identities, version("headgate"), settings.metrics
        )
        tokens = Tokens(identities, is_tls=tls is not None)
        handlers = self._handlers(node, tokens)
        self._application = Application(handlers, identities, limits, self._counts)
        self._accepting: Accepting | None = None

    def _handlers(self, node: Node, tokens: Tokens) -> Mapping[str, Handler]:
        publishing = Publishing(node)
        policy = Administering(node, self._settings.policy_url)
        broker, subscribing = self._reporting, self._subscribing
        return {
            "is_live": broker.is_live,
            "is_ready": broker.is_ready,
            "metrics": broker.metrics,
            "openapi": broker.openapi,
            "log_in": tokens.log_in,
            "log_out": tokens.log_out,
            "who_am_i": tokens.who_am_i,
            "publish": publishing.publish,
            "publish_on": publishing.publish,
            "subscribe": subscribing.subscribe,
            "socket": self._conversing.socket,
            "acknowledge": subscribing.acknowledge,
            "policy": policy.policy,
            "apply_file": policy.apply_file,
            "batches": policy.batches,
            "apply_batch": policy.apply_batch,
            "versions": policy.versions,
            "version": policy.version,
            "starting_points": policy.starting_points,
            "explain": policy.explain,
            "rights": policy.rights,
            "streams": broker.streams,
            "subscriptions": broker.subscriptions,
            "durables": policy.durables,
            "end_durable": policy.end_durable,
            "status": broker.status,
        }

    @property
    def port(self) -> int:
        """The port that it listens on."""
        assert self._accepting is not None, "it isn't started"
        return self._accepting.port

    @property
    def connections(self) -> int:
        return self._accepting.open if self._accepting is not None else 0

    @property
    def bodies_bytes(self) -> int:
        """How much of the bodies of requests is here now."""
        return self._application.bodies_bytes

    async def start(self) -> None:
        settings = self._settings
        self._server = Server(self._application.handle, settings.limits, asyncio.get_running_loop())
        accepting = self._accepting = Accepting(self._server, self._tls, settings.limits)
        self._counts.connections.set_function(lambda: accepting.open)
        self._counts.connections_refused.set_function(lambda: accepting.refused)
        await accepting.start(settings.host, settings.port)

    async def stop(self) -> None:
        """Accept nothing more, say so to who subscribes, and let what was asked be answered."""
        if self._accepting is None:
            return
        self._reporting.is_stopping = True
        await self._accepting.stop()
        self._subscribing.stop(STOPPING)
        self._conversing.stop(STOPPING)
        self._server.pre_shutdown()
        await self._server.shutdown(self._settings.limits.stop_s)
