"""How is the broker? Its status, its streams and subscriptions, its health, its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol, final

import msgspec
from aiohttp import web
from prometheus_client import generate_latest

from headgate.http import shapes
from headgate.http.openapi import describe
from headgate.http.problems import RefusedError
from headgate.http.routes import METRICS_TYPE, ROUTES, Needs
from headgate.live.web.application import Answer
from headgate.live.web.asking import Asked
from headgate.live.web.counting import WebCounts
from headgate.live.web.identifying import Identities, identify

Metrics = Literal["open", "auditors", "off"]


class Reports(Protocol):
    """What a broker says of itself, in structs with the fields of `shapes.Status` and others."""

    def status(self) -> Any: ...
    def subscriptions(self) -> Iterable[Any]: ...


@final
class Reporting:
    """The requests about the broker itself."""

    def __init__(
        self,
        reports: Reports,
        counts: WebCounts,
        identities: Identities,
        version: str,
        metrics: Metrics,
    ) -> None:
        self._reports = reports
        self._counts = counts
        self._identities = identities
        self._metrics = metrics
        self._openapi = msgspec.json.encode(describe(ROUTES, version))
        self.is_stopping = False

    def _status(self) -> shapes.Status:
        return msgspec.convert(self._reports.status(), shapes.Status, from_attributes=True)

    async def status(self, asked: Asked) -> Answer:
        return self._status()

    async def streams(self, asked: Asked) -> Answer:
        status = self._status()
        hosted = [
            shapes.Stream(name, one.incarnation, one.first, one.last, one.version)
            for name, one in status.streams.items()
        ]
        return shapes.Streams(hosted, status.known_streams)

    async def subscriptions(self, asked: Asked) -> Answer:
        return shapes.LiveSubscriptions(
            msgspec.convert(
                list(self._reports.subscriptions()),
                list[shapes.LiveSubscription],
                from_attributes=True,
            )
        )

    async def is_live(self, asked: Asked) -> Answer:
        return shapes.Health("ok")

    async def is_ready(self, asked: Asked) -> Answer:
        if self._status().ready and not self.is_stopping:
            return shapes.Health("ok")
        return web.Response(
            status=503,
            body=msgspec.json.encode(shapes.Health("not ready")),
            content_type="application/json",
            headers={"Retry-After": "1"},
        )

    async def metrics(self, asked: Asked) -> Answer:
        if self._metrics == "off":
            raise RefusedError(403, "metrics are switched off: `http.metrics` in the settings")
        if self._metrics == "auditors":
            await identify(asked.request, Needs.AUDITOR, self._identities)
        return web.Response(
            body=generate_latest(self._counts.registry),
            headers={"Content-Type": f"{METRICS_TYPE}; version=0.0.4; charset=utf-8"},
        )

    async def openapi(self, asked: Asked) -> Answer:
        return web.Response(body=self._openapi, content_type="application/json")
