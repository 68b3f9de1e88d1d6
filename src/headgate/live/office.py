"""How does an administrator's batch become a version? By the core, which asks the ACL database.

Durable subscriptions are ended here, too.

The core knows of a refusal no more than its text; what the database raised is kept here, so that
the administrator is told what it was.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import final

from headgate.broker.effects import ApplyBatch, BatchApplied, BatchRefused, DurableEnded, Message
from headgate.live.policy_database import PolicyDatabase
from headgate.model.errors import HeadgateError
from headgate.stores.acl import StoreError, UnknownOutcomeError

CLIENT = 0
"""The client number of whoever administers; real clients' begin with 1."""
UNKNOWN = (
    "the broker ended before it knew whether the batch was stored: look at the newest version "
    "before you submit it again"
)


@final
class Office:
    """The batches that are under way."""

    def __init__(self, policy: PolicyDatabase | None) -> None:
        self._policy = policy
        self._requests = count(1)
        self._waiting: dict[int, asyncio.Future[int]] = {}
        self._refusals: dict[str, list[HeadgateError]] = {}
        """What the database raised, by its text, until the core has passed that on."""

    def open(self) -> tuple[int, asyncio.Future[int]]:
        """The number of a request, and its answer: the version; or whether there was something."""
        request = next(self._requests)
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[request] = answer
        return request, answer

    async def apply(self, effect: ApplyBatch) -> str | None:
        """Store a batch; why not, if not."""
        assert self._policy is not None
        try:
            await self._policy.apply(effect.batch, effect.expected)
        except HeadgateError as problem:
            self._refusals.setdefault(str(problem), []).append(problem)
            return str(problem)
        return None

    def hear(self, message: Message) -> None:
        """What the core has to say to a request."""
        assert isinstance(message, BatchApplied | BatchRefused | DurableEnded)
        answer = self._waiting.pop(message.request, None)
        if answer is None or answer.done():
            return
        if isinstance(message, BatchApplied):
            answer.set_result(message.version)
        elif isinstance(message, DurableEnded):
            if message.because:
                answer.set_exception(StoreError(f"it could not be stored: {message.because}"))
            else:
                answer.set_result(int(message.existed))
        else:
            answer.set_exception(self._refusal(message.because))

    def close(self) -> None:
        """Nobody is going to answer any more."""
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(UnknownOutcomeError(UNKNOWN))

    def _refusal(self, because: str) -> HeadgateError:
        found = self._refusals.get(because)
        if not found:
            return StoreError(because)
        refusal = found.pop()
        if not found:
            del self._refusals[because]
        return refusal
