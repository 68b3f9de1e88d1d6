"""How does one broker run? Its core, with a clock, a disk, the ACL database, links and clients.

Inputs go to the core as they come. What they bring up is carried out once in each turn of the loop,
in order, so that what comes together is stored, sent and told together. A fault in the core ends
the node: nothing is decided by what may be wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Protocol, final

from headgate.broker.core import Broker
from headgate.broker.effects import (
    Append,
    ApplyBatch,
    BatchApplied,
    BatchRefused,
    Close,
    Dial,
    Drop,
    Effect,
    Keep,
    KeepStartingPoint,
    Message,
    Read,
    Recovered,
    Send,
    Tell,
)
from headgate.broker.settings import Settings
from headgate.filters.filter import Filter
from headgate.live.policy_database import PolicyDatabase
from headgate.live.storing import GroupCommit, Write
from headgate.log.records import DELIVERIES, SUBSCRIPTIONS, KnownValue, LogError, Record
from headgate.log.store import LogStore
from headgate.model.errors import HeadgateError
from headgate.rights.changes import Batch
from headgate.stores.acl import AclStore

MICROSECONDS = 1_000_000


class NodeError(HeadgateError):
    """The broker can't go on, or isn't there."""


class Links(Protocol):
    """What carries bytes between brokers."""

    def send(self, link: int, data: bytes) -> None: ...
    def close(self, link: int, because: str) -> None: ...
    def dial(self, broker: str) -> None: ...


class Listener(Protocol):
    """A client's connection, as the core's messages for it find it.

    Both are called in the loop and must neither block nor raise.
    """

    def hear(self, message: Message) -> None: ...
    def dropped(self, because: str) -> None:
        """The broker has ended it: nothing comes after this, and `close` needn't be called."""


@final
class Client:
    """One client's connection to the core."""

    __slots__ = ("_node", "listener", "number", "principal")

    def __init__(self, node: Node, number: int, principal: str, listener: Listener) -> None:
        self.number = number
        self.principal = principal
        self.listener = listener
        self._node = node

    def publish(
        self,
        request: int,
        body: bytes,
        event_id: str,
        *,
        stream: str | None = None,
        is_json: bool = True,
        known: Mapping[str, KnownValue] | None = None,
    ) -> None:
        core, now = self._node.enter()
        core.publish(
            self.number, request, body, event_id, now, stream=stream, is_json=is_json, known=known
        )

    def advertise(self, request: int, advertised: Filter) -> None:
        core, now = self._node.enter()
        core.advertise(self.number, request, advertised, now)

    def subscribe(
        self,
        request: int,
        subscription: int,
        wanted: Filter,
        *,
        durable: str | None = None,
        causal: bool = False,
        after: Mapping[str, int] | None = None,
    ) -> None:
        core, now = self._node.enter()
        core.subscribe(
            self.number, request, subscription, wanted, now,
            durable=durable, causal=causal, after=after,
        )  # fmt: skip

    def acknowledge(self, subscription: int, stream: str, offset: int) -> None:
        core, now = self._node.enter()
        core.acknowledge(self.number, subscription, stream, offset, now)

    def unsubscribe(self, subscription: int) -> None:
        core, now = self._node.enter()
        core.unsubscribe(self.number, subscription, now)

    def close(self) -> None:
        """The client is gone; once is enough, and more does no harm."""
        self._node.forget(self)


class _NoLinks:
    """A broker that stands alone."""

    def send(self, link: int, data: bytes) -> None:
        raise AssertionError("a broker alone has no links")

    def close(self, link: int, because: str) -> None:
        raise AssertionError("a broker alone has no links")

    def dial(self, broker: str) -> None:
        raise AssertionError("a broker alone has nobody to dial")


@final
class Node:
    """One broker at work."""

    def __init__(
        self,
        settings: Settings,
        log: LogStore,
        acl: AclStore | None,
        boot: str,
        *,
        links: Links | None = None,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000,
    ) -> None:
        hosts_policy = settings.broker == settings.policy_host
        if hosts_policy != (acl is not None):
            raise NodeError(
                "the policy's host, and no other broker, has the ACL database: "
                f"it is `{settings.policy_host}`, this is `{settings.broker}`"
            )
        self.settings = settings
        self.log = log
        self.boot = boot
        self.policy = PolicyDatabase(acl, grew=self._policy_grew) if acl is not None else None
        self.ended: asyncio.Future[None]
        """Done when the node can't go on, with the reason as its exception."""
        self.links: Links = links or _NoLinks()
        self._now = now
        self._core: Broker | None = None
        self._clients: dict[int, Client] = {}
        self._numbers = count(1)
        self._turn: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: int | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._administering: dict[int, asyncio.Future[int]] = {}
        self._refusals: dict[str, HeadgateError] = {}
        """What the ACL database raised, by its text, until the core has passed that on."""
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="headgate-read")

    # It comes and goes.

    async def start(self) -> None:
        """Recover what the disk and the database have, and begin."""
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        self._disk = GroupCommit(
            self.log, self._loop, stored=self._stored, full=self._full, broken=self._broken
        )
        recovered = await self._recovered()
        self._core = Broker(self.settings, recovered, self.boot, self._now())
        self._disk.start()
        if self.policy is not None:
            self.policy.watch()
        self._wake()

    async def _recovered(self) -> Recovered:
        settings, log = self.settings, self.log
        incarnations = log.streams()
        own = dict.fromkeys(
            [
                *settings.streams,
                SUBSCRIPTIONS + settings.broker,
                DELIVERIES + settings.broker,
                *incarnations,
            ]
        )
        at_start = await self.policy.read() if self.policy is not None else None
        return Recovered(
            streams={stream: log.last(stream) for stream in own},
            incarnations=dict(incarnations),
            recent={stream: log.recent(stream, settings.repeat_window) for stream in own},
            kept=dict(log.kept()),
            removed={stream: log.first(stream) - 1 for stream in incarnations},
            batches=at_start.batches if at_start is not None else (),
            starting_points=at_start.starting_points if at_start is not None else (),
        )

    async def stop(self) -> None:
        """End in good order: no more input, what was accepted is stored and told, then silence."""
        if self._core is None:
            return
        for client in list(self._clients.values()):
            client.listener.dropped("the broker is stopping")
            client.close()
        self._carry_out()
        await asyncio.to_thread(self._disk.stop)
        await asyncio.sleep(0)  # what the disk had to say last
        self._core = None
        for handle in (self._turn, self._timer):
            if handle is not None:
                handle.cancel()
        for task in self._tasks:
            task.cancel()
        if self.policy is not None:
            await self.policy.stop()
        await asyncio.to_thread(self._readers.shutdown)
        if not self.ended.done():
            self.ended.set_result(None)

    @property
    def core(self) -> Broker:
        if self._core is None:
            raise NodeError("the broker isn't running")
        return self._core

    def enter(self) -> tuple[Broker, int]:
        """The core for one input, and the time of it."""
        core = self.core
        self._wake()
        return core, self._now()

    # Clients.

    def connect(self, principal: str, listener: Listener, domain: str | None = None) -> Client:
        """A client whose identity is known; `Connected` or `dropped` follows."""
        client = Client(self, next(self._numbers), principal, listener)
        self._clients[client.number] = client
        core, now = self.enter()
        core.connect(client.number, principal, now, domain)
        return client

    def forget(self, client: Client) -> None:
        if self._clients.pop(client.number, None) is not None and self._core is not None:
            core, now = self.enter()
            core.disconnect(client.number, now)

    @property
    def clients(self) -> int:
        return len(self._clients)

    # The policy.

    async def administer(self, batch: Batch, expected: int | None) -> int:
        """Make the next version of a batch; a `PolicyError` or `StoreError` says why not."""
        if self.policy is None:
            raise NodeError(f"the policy's host is `{self.settings.policy_host}`: ask there")
        request = next(self._numbers)
        answer: asyncio.Future[int] = self._loop.create_future()
        self._administering[request] = answer
        core, now = self.enter()
        core.administer(_OFFICE, request, batch, expected, now)
        return await answer

    # Inputs, whose names are those of the core's verbs.

    def link_up(self, link: int, dialled: str | None) -> None:
        core, now = self.enter()
        core.link_up(link, now, dialled)

    def dial_failed(self, broker: str) -> None:
        core, now = self.enter()
        core.dial_failed(broker, now)

    def link_down(self, link: int) -> None:
        core, now = self.enter()
        core.link_down(link, now)

    def receive(self, link: int, data: bytes) -> None:
        core, now = self.enter()
        core.receive(link, data, now)

    def set_writable(self, link: int, *, writable: bool) -> None:
        core, now = self.enter()
        core.set_writable(link, writable, now)

    def _stored(self, ticket: int) -> None:
        if self._core is not None:
            core, now = self.enter()
            core.stored(ticket, now)

    def _full(self, because: str) -> None:
        if self._core is not None:
            core, now = self.enter()
            core.store_failed(because, now)

    def _broken(self, problem: BaseException) -> None:
        self._end(NodeError(f"the log can't be written any more: {problem}"), problem)

    def _policy_grew(self, batches: list[tuple[int, Batch]]) -> None:
        if self._core is not None:
            core, now = self.enter()
            core.policy_grew(batches, now)

    def _on_timer(self) -> None:
        self._timer = self._timer_at = None
        if self._core is not None:
            core, now = self.enter()
            core.on_timer(now)

    # Effects.

    def _wake(self) -> None:
        if self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        if self._core is None:
            return
        try:
            self._carry_out()
        except Exception as fault:
            self._end(NodeError(f"a fault in the broker: {fault!r}"), fault)

    def _carry_out(self) -> None:
        core = self.core
        writes: list[Write] = []
        for effect in core.effects():
            if isinstance(effect, Append | Keep):
                writes.append(effect)
            else:
                _PERFORM[effect.__class__](self, effect)
        if writes:
            self._disk.submit(writes)
        self._plan(core.next_timer())

    def _plan(self, at: int | None) -> None:
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, at
        if at is not None:
            delay = max(0, at - self._now()) / MICROSECONDS
            self._timer = self._loop.call_later(delay, self._on_timer)

    def _end(self, because: NodeError, cause: BaseException) -> None:
        because.__cause__ = cause
        self._core = None
        if not self.ended.done():
            self.ended.set_exception(because)

    def _send(self, effect: Send) -> None:
        self.links.send(effect.link, effect.data)

    def _close(self, effect: Close) -> None:
        self.links.close(effect.link, effect.because)

    def _dial(self, effect: Dial) -> None:
        self.links.dial(effect.broker)

    def _read(self, effect: Read) -> None:
        self._begin(self._read_from_log(effect))

    async def _read_from_log(self, effect: Read) -> None:
        problem = ""
        records: Sequence[Record] = ()
        try:
            records = await self._loop.run_in_executor(
                self._readers, self.log.read, effect.stream, effect.after, effect.count_max
            )
        except LogError as damage:
            problem = str(damage)
        if self._core is not None:
            core, now = self.enter()
            if problem:
                core.read_failed(effect.number, problem, now)
            else:
                core.was_read(effect.number, records, now)

    def _apply(self, effect: ApplyBatch) -> None:
        self._begin(self._apply_to_database(effect))

    async def _apply_to_database(self, effect: ApplyBatch) -> None:
        assert self.policy is not None
        refused: HeadgateError | None = None
        try:
            await self.policy.apply(effect.batch, effect.expected)
        except HeadgateError as problem:
            refused = problem
        if self._core is not None:
            if refused is not None:
                self._refusals[str(refused)] = refused
            core, now = self.enter()
            core.batch_applied(effect.number, None if refused is None else str(refused), now)

    def _keep_starting_point(self, effect: KeepStartingPoint) -> None:
        assert self.policy is not None
        self._begin(self.policy.keep_starting_point(effect.version, effect.stream, effect.offset))

    def _tell(self, effect: Tell) -> None:
        if effect.client == _OFFICE:
            self._answer_office(effect.message)
            return
        client = self._clients.get(effect.client)
        if client is not None:
            client.listener.hear(effect.message)

    def _answer_office(self, message: Message) -> None:
        assert isinstance(message, BatchApplied | BatchRefused)
        answer = self._administering.pop(message.request)
        if answer.done():
            return
        if isinstance(message, BatchApplied):
            answer.set_result(message.version)
        else:
            refusal = self._refusals.pop(message.because, None)
            answer.set_exception(refusal or NodeError(message.because))

    def _drop(self, effect: Drop) -> None:
        client = self._clients.pop(effect.client, None)
        if client is not None:
            client.listener.dropped(effect.because)

    def _begin(self, work: Any) -> None:
        """Let something go on beside; what goes wrong in it ends the node."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._end(NodeError(f"the broker can't go on: {fault}"), fault)


_OFFICE = 0
"""The client number of whoever administers; real clients' begin with 1."""

_PERFORM: dict[type[Effect], Callable[[Node, Any], None]] = {
    Send: Node._send,
    Close: Node._close,
    Dial: Node._dial,
    Read: Node._read,
    ApplyBatch: Node._apply,
    KeepStartingPoint: Node._keep_starting_point,
    Tell: Node._tell,
    Drop: Node._drop,
}
