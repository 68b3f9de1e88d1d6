"""What has the web server done? In numbers, for Prometheus."""

from __future__ import annotations

from typing import final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_LASTING = ("subscribe", "socket")


@final
class WebCounts:
    """The web server's own numbers, in the broker's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._requests = Counter(
            "headgate_http_requests", "Requests answered.", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "headgate_http_seconds", "How long an answer took.", ["route"], registry=registry
        )
        self.connections = Gauge(
            "headgate_http_connections", "Connections that are open.", registry=registry
        )
        self.connections_refused = Gauge(
            "headgate_http_connections_refused", "Connections over a limit.", registry=registry
        )
        self.subscribers = Gauge(
            "headgate_http_subscribers", "Sockets and event streams.", ["kind"], registry=registry
        )
        self.messages = Counter(
            "headgate_http_messages", "Messages on WebSockets.", ["direction"], registry=registry
        )
        self.silent = Counter(
            "headgate_http_silent", "Subscribers dropped: they took nothing.", registry=registry
        )
        self._log_ins_failed = Counter(
            "headgate_log_ins_failed", "Requests from nobody who is known, or who tried too often.",
            ["how"], registry=registry,
        )  # fmt: skip
        self._unknown = self._log_ins_failed.labels("unknown")
        self._too_often = self._log_ins_failed.labels("too often")

    def answered(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        if status in (401, 429):
            (self._unknown if status == 401 else self._too_often).inc()
        if route not in _LASTING:
            self._seconds.labels(route).observe(seconds)
