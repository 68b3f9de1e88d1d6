"""How does one request ask the core one thing? A client of the core for each principal that does.

The core knows connections; requests over HTTP have none. So whoever publishes over HTTP has one
connection to the core, which is kept while it is used and a little longer.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any, TypeAlias, final

from headgate.broker.effects import Connected, Message, Published, RequestRefused
from headgate.http.cloudevents import Publication
from headgate.http.problems import RefusedError, temporary
from headgate.live.node import Client, Node

KEPT_S = 30.0
_STOPPING = "the broker is stopping"

Outcome: TypeAlias = Published | RequestRefused


def dropped(because: str) -> RefusedError:
    """What is answered when the core ends, or doesn't take, a connection."""
    if because.startswith(_STOPPING) or "try again" in because or "clients already" in because:
        return temporary(because)
    return RefusedError(403, because)


@final
class Caller:
    """One principal's connection to the core, for all its requests over HTTP."""

    def __init__(self, node: Node, principal: str) -> None:
        self.in_use = 0
        self.is_over = False
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Outcome]] = {}
        self._connected: asyncio.Future[None] = self._loop.create_future()
        self._client: Client = node.connect(principal, self)

    def hear(self, message: Message) -> None:
        if isinstance(message, Published | RequestRefused):
            answer = self._waiting.pop(message.request, None)
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif isinstance(message, Connected) and not self._connected.done():
            self._connected.set_result(None)

    def dropped(self, because: str) -> None:
        self.is_over = True
        refusal = dropped(because)
        waiting: list[asyncio.Future[Any]] = [self._connected, *self._waiting.values()]
        self._waiting.clear()
        for answer in waiting:
            if not answer.done():
                answer.set_exception(refusal)
                answer.exception()  # nobody may be waiting any more

    async def publish(
        self,
        publications: list[Publication],
        stream: str | None,
        traceparent: str | None = None,
    ) -> list[Outcome | RefusedError]:
        """Publish these, in their order, and wait for what becomes of each."""
        await asyncio.shield(self._connected)
        answers = [self._publish(one, stream, traceparent) for one in publications]
        told = await asyncio.gather(*answers, return_exceptions=True)
        return [_outcome(one) for one in told]

    def _publish(
        self, one: Publication, stream: str | None, traceparent: str | None
    ) -> asyncio.Future[Outcome]:
        request = next(self._numbers)
        answer = self._waiting[request] = self._loop.create_future()
        if self.is_over:
            raise temporary(_STOPPING)
        self._client.publish(
            request, one.content, one.event_id,
            stream=stream, is_json=one.is_json, traceparent=traceparent,
        )  # fmt: skip
        return answer

    def close(self) -> None:
        self._client.close()


def _outcome(told: Outcome | BaseException) -> Outcome | RefusedError:
    if isinstance(told, BaseException) and not isinstance(told, RefusedError):
        raise told
    return told


@final
class Callers:
    """The callers that there are, by their principals."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._by_principal: dict[str, Caller] = {}

    def of(self, principal: str) -> Caller:
        """The caller of a principal; give it back with `release`."""
        caller = self._by_principal.get(principal)
        if caller is None or caller.is_over:
            caller = self._by_principal[principal] = Caller(self._node, principal)
        caller.in_use += 1
        return caller

    def release(self, principal: str, caller: Caller) -> None:
        caller.in_use -= 1
        if caller.in_use == 0:
            loop = asyncio.get_running_loop()
            loop.call_later(KEPT_S, self._forget, principal, caller)

    def _forget(self, principal: str, caller: Caller) -> None:
        if caller.in_use == 0 and self._by_principal.get(principal) is caller:
            del self._by_principal[principal]
            if not caller.is_over:
                caller.close()
