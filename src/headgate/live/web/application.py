"""What becomes of a request? Find its route, know its sender, answer, and write a line about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, final

import msgspec
from aiohttp import web
from msgspec import Struct

from headgate.http import problems
from headgate.http.cloudevents import CloudEventError
from headgate.http.content_types import UnsupportedTypeError
from headgate.http.cursors import CursorError
from headgate.http.problems import RefusedError
from headgate.http.routes import ROUTES, Needs, Route
from headgate.live.logs import log
from headgate.live.node import NodeError
from headgate.live.web.asking import Asked, Bodies, parameters_of
from headgate.live.web.connections import Connection
from headgate.live.web.counting import WebCounts
from headgate.live.web.identifying import Identities, address_of, check_origin, identify
from headgate.live.web.limits import LOGIN_BYTES_MAX, WebLimits
from headgate.live.web.routing import Router
from headgate.log.records import LogError
from headgate.model.errors import HeadgateError
from headgate.rights.history import StaleVersionError, UnknownVersionError
from headgate.stores.acl import StoreError

Answer: TypeAlias = Struct | web.StreamResponse
Handler: TypeAlias = Callable[[Asked], Awaitable[Answer]]

_COMMON = {"Server": "headgate", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


@final
class Application:
    """All that is answered over HTTP, by the names of the routes."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        identities: Identities,
        limits: WebLimits,
        counts: WebCounts,
    ) -> None:
        missing = {route.name for route in ROUTES} ^ set(handlers)
        assert not missing, f"routes and handlers differ in {missing}"
        self._handlers = handlers
        self._identities = identities
        self._limits = limits
        self._counts = counts
        self._router = Router(ROUTES)
        self._bodies = Bodies(limits.bodies_bytes)

    @property
    def bodies_bytes(self) -> int:
        return self._bodies.bytes

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, whatever happens."""
        connection = request.protocol
        assert isinstance(connection, Connection)
        connection.begin()
        began = time.monotonic()
        address = address_of(request)  # a connection that is gone has none
        found: list[Asked] = []
        try:
            answer = await self._answer(request, found)
        except asyncio.CancelledError:
            raise
        except web.HTTPException as refusal:  # aiohttp's own, of a handshake
            answer = _refused(RefusedError(refusal.status, (refusal.text or "")[:200]))
        except ConnectionError:
            connection.cut()
            answer = web.Response(status=400)
        except Exception as fault:
            answer = _refused(_refusal_of(fault))
            if request.writer.output_size:
                connection.cut()  # there is an answer already: this can't be put into it
        finally:
            for asked in found:
                asked.done()
            connection.finish()
        self._note(request, address, found, answer, time.monotonic() - began)
        return answer

    async def _answer(self, request: web.BaseRequest, found: list[Asked]) -> web.StreamResponse:
        route, parts = self._router.find(request.method, request.rel_url.raw_path)
        check_origin(request)
        known = None
        if route.needs is not Needs.NOTHING:
            known = await identify(request, route.needs, self._identities)
        limits = self._limits
        asked = Asked(
            request, route, self._bodies,
            limits.body_bytes if known is not None else LOGIN_BYTES_MAX, limits.request_s, known,
        )  # fmt: skip
        found.append(asked)
        asked.said = parameters_of(request, route, parts)
        return _response(await self._handlers[route.name](asked))

    def _note(
        self,
        request: web.BaseRequest,
        address: str,
        found: list[Asked],
        answer: web.StreamResponse,
        seconds: float,
    ) -> None:
        """The access log: no query, no header, nothing that somebody could come in with."""
        route: Route | None = found[0].route if found else None
        known = found[0].known if found else None
        self._counts.answered(route.name if route is not None else "none", answer.status, seconds)
        log.info(
            "request",
            method=request.method,
            path=request.rel_url.raw_path[:200],
            status=answer.status,
            ms=round(seconds * 1_000, 1),
            principal=known.principal if known is not None else None,
            address=address,
        )


def _response(answer: Answer) -> web.StreamResponse:
    if isinstance(answer, web.StreamResponse):
        if not answer.prepared:
            answer.headers.update(_COMMON)
        return answer
    return web.Response(
        body=msgspec.json.encode(answer), content_type="application/json", headers=_COMMON
    )


def _refused(refusal: RefusedError) -> web.Response:
    headers = {**_COMMON, **refusal.headers, "Content-Type": problems.CONTENT_TYPE}
    return web.Response(
        status=refusal.status, body=problems.body_of(refusal.problem), headers=headers
    )


def _refusal_of(fault: Exception) -> RefusedError:
    """What the sender is told of what went wrong."""
    if isinstance(fault, RefusedError):
        return fault
    if isinstance(fault, StaleVersionError):
        return RefusedError(409, str(fault), current=fault.current)
    for kind, status in _STATUSES.items():
        if isinstance(fault, kind):
            return (
                problems.temporary(str(fault))
                if status == 503
                else RefusedError(status, str(fault))
            )
    log.error("a fault in the web server", exc_info=fault)
    return RefusedError(500, "a fault of the broker: its log says more")


# From the most to the least special: the first that fits counts.
_STATUSES: Mapping[type[Any], int] = {
    UnknownVersionError: 404,
    UnsupportedTypeError: 415,
    CloudEventError: 400,
    CursorError: 400,
    StoreError: 503,
    NodeError: 503,
    LogError: 503,
    HeadgateError: 422,
}
