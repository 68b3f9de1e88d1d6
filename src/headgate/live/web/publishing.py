"""What becomes of an event that comes in a request? It is published, and its place is answered."""

from __future__ import annotations

from typing import final

import msgspec
from aiohttp import web

from headgate.broker.effects import Published
from headgate.http import shapes
from headgate.http.cloudevents import Batch, CloudEventError, Publication, read_publication
from headgate.http.problems import RefusedError, temporary
from headgate.live.node import Node
from headgate.live.web.application import Answer
from headgate.live.web.asking import Asked
from headgate.live.web.calling import Callers, Outcome
from headgate.model.errors import EventError, named
from headgate.model.events import Event
from headgate.model.limits import EVENT_LIMITS


@final
class Publishing:
    """The requests that publish."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._callers = Callers(node)

    async def publish(self, asked: Asked) -> Answer:
        stream = asked.said.get("stream")
        settings = self._node.settings
        if stream is not None and stream not in settings.streams:
            raise RefusedError(404, f"this broker hosts no stream {named(stream)}")
        if not settings.streams:
            raise RefusedError(404, "this broker hosts no stream")
        headers = list(asked.request.headers.items())
        said = read_publication(asked.content_type, headers, await asked.body())
        if isinstance(said, Batch):
            return await self._publish_all(asked, said, stream)
        _check(said)
        (outcome,) = await self._call(asked, [said], stream)
        if isinstance(outcome, Published):
            return shapes.Published(
                outcome.stream, outcome.offset, outcome.version, outcome.repeated
            )
        raise _refusal(outcome)

    async def _publish_all(self, asked: Asked, batch: Batch, stream: str | None) -> Answer:
        refused: dict[int, RefusedError] = {}
        good: list[Publication] = []
        for number, one in enumerate(batch.publications):
            try:
                good.append(_readable(one))
            except CloudEventError as problem:
                refused[number] = RefusedError(400, str(problem))
            except RefusedError as problem:
                refused[number] = problem
        outcomes = iter(await self._call(asked, good, stream) if good else ())
        told = [
            _told(refused[number] if number in refused else next(outcomes))
            for number in range(len(batch.publications))
        ]
        status = 207 if any(one.status is not msgspec.UNSET for one in told) else 200
        return web.Response(
            status=status,
            body=msgspec.json.encode(shapes.PublishedBatch(told)),
            content_type="application/json",
        )

    async def _call(
        self, asked: Asked, publications: list[Publication], stream: str | None
    ) -> list[Outcome | RefusedError]:
        principal = asked.identity.principal
        caller = self._callers.of(principal)
        try:
            traceparent = asked.request.headers.get("traceparent")
            return await caller.publish(publications, stream, traceparent)
        finally:
            self._callers.release(principal, caller)


def _readable(one: Publication | CloudEventError) -> Publication:
    if isinstance(one, CloudEventError):
        raise one
    _check(one)
    return one


def _check(one: Publication) -> None:
    """Refuse what is no event here: the core's refusals are then those of the policy."""
    if len(one.content) > EVENT_LIMITS.event_bytes:
        raise RefusedError(413, f"an event has at most {EVENT_LIMITS.event_bytes:,} bytes")
    if not one.is_json:
        return
    try:
        Event.from_json(one.content)
    except EventError as problem:
        status = 400 if str(problem).startswith(("expected JSON", "expected UTF-8")) else 422
        raise RefusedError(status, str(problem)) from None


def _refusal(outcome: Outcome | RefusedError) -> RefusedError:
    if isinstance(outcome, RefusedError):
        return outcome
    assert not isinstance(outcome, Published)
    return temporary(outcome.because) if outcome.temporary else RefusedError(403, outcome.because)


def _told(outcome: Outcome | RefusedError) -> shapes.Outcome:
    if isinstance(outcome, Published):
        return shapes.Outcome(outcome.stream, outcome.offset, outcome.version, outcome.repeated)
    refusal = _refusal(outcome)
    return shapes.Outcome(status=refusal.status, detail=refusal.problem.detail)
