"""How does one broker run? Its core, with a clock, a disk, the ACL database, links and clients.

Inputs go to the core as they come. What they bring up is carried out once in each turn of the loop,
in order, so that what comes together is stored, sent and told together. A fault in the core ends
the node: nothing is decided by what may be wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Protocol, final

from headgate.broker.core import Broker
from headgate.broker.durables import Durable
from headgate.broker.effects import (
    Append,
    ApplyBatch,
    Close,
    Dial,
    Drop,
    Effect,
    Keep,
    KeepStartingPoint,
    MayRemove,
    Message,
    Read,
    Recovered,
    Remove,
    Send,
    Tell,
)
from headgate.broker.settings import Settings
from headgate.live.clients import Client, Listener
from headgate.live.log_reading import LogReading
from headgate.live.logs import log as lines
from headgate.live.metrics import Tally
from headgate.live.office import CLIENT, Office
from headgate.live.policy_database import PolicyDatabase
from headgate.live.status import Status, SubscriptionStatus, status_of, subscriptions_of
from headgate.live.storing import GroupCommit, Synced, Write
from headgate.live.tracing import Tracing
from headgate.log.records import DELIVERIES, SUBSCRIPTIONS, LogError
from headgate.log.store import LogStore
from headgate.model.errors import HeadgateError
from headgate.rights.changes import Batch
from headgate.stores.acl import AclStore

__all__ = ["Client", "Links", "Listener", "Node", "NodeError"]

MICROSECONDS = 1_000_000
STOP_ROUNDS_MAX = 10
"""What is stored while it stops may bring up more to be stored; it isn't waited for for ever."""
STOP_S = 10.0
"""So long a stop waits for the ACL database."""
TIMER_S_MAX = 1.0
"""The core goes by the wall clock, which may be set: it is looked at so often, at least."""


class NodeError(HeadgateError):
    """The broker can't go on, or isn't there."""


class Links(Protocol):
    """What carries bytes between brokers."""

    def send(self, link: int, data: bytes) -> None: ...
    def close(self, link: int, because: str) -> None: ...
    def dial(self, broker: str) -> None: ...
    async def start(self, node: Node) -> None:
        """Begin to listen; from now on the node is told."""

    async def stop(self) -> None:
        """End all links, after what is written."""

    def abort(self) -> None:
        """End all links at once."""


class _NoLinks:
    """A broker that stands alone."""

    def send(self, link: int, data: bytes) -> None:
        raise AssertionError("a broker alone has no links")

    def close(self, link: int, because: str) -> None:
        raise AssertionError("a broker alone has no links")

    def dial(self, broker: str) -> None:
        raise AssertionError("a broker alone has nobody to dial")

    async def start(self, node: Node) -> None:
        pass

    async def stop(self) -> None:
        pass

    def abort(self) -> None:
        pass


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
        make_core: Callable[[Settings, Recovered, str, int], Broker] = Broker,
        tracing: Tracing | None = None,
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
        self.policy = (
            PolicyDatabase(acl, grew=self._policy_grew, noted=_note) if acl is not None else None
        )
        self.links: Links = links or _NoLinks()
        self.ended: asyncio.Future[None]
        """Done when the node can't go on, with the reason as its exception."""
        self.is_stopping = False
        self.tally = Tally()
        self.store_problem: str | None = None
        """Why what was to be stored last was not."""
        self.since_us = 0
        self._now = now
        self._make_core = make_core
        self._tracing = tracing
        self._core: Broker | None = None
        self._disk: GroupCommit | None = None
        self._submitted = self._settled = 0
        """The last ticket given to the disk, and the last that was stored or lost."""
        self._clients: dict[int, Client] = {}
        self._numbers = count(1)
        self._turn: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: int | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watches: list[asyncio.Task[None]] = []
        self._version = 0
        self._spent = 0.0
        """Seconds in the core since the last turn."""
        self._office = Office(self.policy)
        self._reading = LogReading(log)

    # It comes and goes.

    async def start(self) -> None:
        """Recover what the disk and the database have, and begin."""
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        try:
            await self._start()
        except BaseException:
            await self.crash()
            raise

    async def _start(self) -> None:
        recovered = await self._recovered()
        self._disk = GroupCommit(
            self.log,
            self._loop,
            stored=self._stored,
            full=self._full,
            broken=self._broken,
            room=self._room,
        )
        self.since_us = self._now()
        self._core = self._make_core(self.settings, recovered, self.boot, self._now())
        self._disk.start()
        await self.links.start(self)
        self._watches = [self._begin(self.tally.watch_the_loop())]
        if self.policy is not None:
            self._watches.append(self._begin(self.policy.watch()))
        self._wake()
        lines.info("broker started", broker=self.settings.broker, boot=self.boot)

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
        """End in good order: no more requests, what was accepted is stored and told, then silence.

        A node that couldn't go on leaves as little behind as one that could.
        """
        if self._disk is None:
            return
        self.is_stopping = True
        for task in self._watches:
            task.cancel()
        await self._settle()
        for client in list(self._clients.values()):
            self._lose(client, "the broker is stopping")
        await self._settle()
        await self._finish()
        await self.links.stop()
        await self._settle()
        self._silence()
        await asyncio.to_thread(self._disk.stop)
        await self._let_go()
        if not self.ended.done():
            self.ended.set_result(None)
        lines.info("broker stopped", broker=self.settings.broker)

    async def crash(self) -> None:
        """End as if the process were killed: nothing more is stored, sent or told."""
        self.fall_silent()
        if self._disk is not None:
            await asyncio.to_thread(self._disk.abandon)
        await self._let_go()

    async def _finish(self) -> None:
        """Until what is under way in the ACL database and the log is done, one thing by another."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                    await self._settle()

    def fall_silent(self) -> None:
        """From this moment on nothing is decided, sent or told any more."""
        self.is_stopping = True
        self._silence()
        self._clients.clear()
        self.links.abort()

    async def _settle(self) -> None:
        """Until what was accepted is stored, and what that brings up is, too."""
        assert self._disk is not None
        for _ in range(STOP_ROUNDS_MAX):
            self._take_turn()
            if self._core is None or self._settled == self._submitted:
                return
            await asyncio.to_thread(self._disk.flush)
            await asyncio.sleep(0)  # what the disk had to say is heard

    def _silence(self) -> None:
        self._core = None
        for handle in (self._turn, self._timer):
            if handle is not None:
                handle.cancel()
        self._turn = self._timer = self._timer_at = None
        for task in list(self._tasks):
            task.cancel()
        self._office.close()

    async def _let_go(self) -> None:
        self._disk = None
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.policy is not None:
            await self.policy.stop()
        await self._reading.stop()
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.stop)

    @property
    def is_running(self) -> bool:
        return self._core is not None

    @property
    def core(self) -> Broker:
        if self._core is None:
            raise NodeError("the broker isn't running")
        return self._core

    def status(self) -> Status:
        """How it is, at this moment."""
        return status_of(self, self._now())

    def subscriptions(self) -> list[SubscriptionStatus]:
        """The subscriptions of the clients that are connected here."""
        return list(subscriptions_of(self.core))

    # Clients.

    def connect(self, principal: str, listener: Listener, domain: str | None = None) -> Client:
        """A client whose identity is known; `Connected` or `dropped` follows."""
        if self.is_stopping or self._core is None:
            raise NodeError("the broker isn't running")
        client = Client(self, next(self._numbers), principal, domain, listener)
        self._clients[client.number] = client
        self.ask(Broker.connect, client.number, principal, domain=domain)
        return client

    def ask(self, verb: Callable[..., None], *said: Any, **more: Any) -> None:
        """Give the core one input; a fault in it ends the node."""
        if self._core is None:
            raise NodeError("the broker isn't running")
        self._give(verb, *said, **more)

    def answer(self, client: Client, message: Message) -> None:
        """Tell a client what the core needn't be asked for, after this turn."""
        self._loop.call_soon(self._hear, client, message)

    def trace(self, client: Client, request: int, traceparent: str | None) -> None:
        if self._tracing is not None:
            self._tracing.asked(client.number, request, time.time_ns(), traceparent)

    def _trace_turn(self, tracing: Tracing, effects: list[Effect]) -> None:
        try:
            tracing.turned(effects, time.time_ns(), self.core.hosting.incarnation_of)
        except Exception as fault:  # no reason to serve nobody
            lines.error("traces end here", exc_info=fault)
            self._tracing = None

    def forget(self, client: Client) -> None:
        if self._clients.pop(client.number, None) is not None:
            self._give(Broker.disconnect, client.number)

    @property
    def unsynced(self) -> int:
        """How many writes are on their way to the disk."""
        return self._submitted - self._settled

    @property
    def clients(self) -> int:
        return len(self._clients)

    def _hear(self, client: Client, message: Message) -> None:
        """What is wrong with one client's connection is no harm to the others."""
        try:
            client.listener.hear(message)
        except Exception as fault:
            lines.error("connection failed", principal=client.principal, exc_info=fault)
            self._lose(client, f"its connection failed: {fault!r}")

    def _lose(self, client: Client, because: str) -> None:
        self.tally.dropped += 1
        self.forget(client)
        with suppress(Exception):
            client.listener.dropped(because)

    # The policy.

    async def administer(self, batch: Batch, expected: int | None) -> int:
        """Make the next version of a batch; a `PolicyError` or `StoreError` says why not."""
        if self.policy is None:
            raise NodeError(f"the policy's host is `{self.settings.policy_host}`: ask there")
        if self.is_stopping:
            raise NodeError("the broker is stopping")
        self.core  # noqa: B018 - or there is none to ask
        request, answer = self._office.open()
        self.ask(Broker.administer, CLIENT, request, batch, expected)
        return await answer

    def durables(self) -> list[Durable]:
        """All durable subscriptions of the network; kept by the policy's host alone."""
        return self.core.kept_durables()

    async def end_durable(self, principal: str, name: str) -> bool:
        """End a durable subscription for good; whether there was one."""
        if self.policy is None:
            raise NodeError(f"the policy's host is `{self.settings.policy_host}`: ask there")
        if self.is_stopping:
            raise NodeError("the broker is stopping")
        self.core  # noqa: B018 - or there is none to ask
        request, answer = self._office.open()
        self.ask(Broker.end_durable, CLIENT, request, principal, name)
        return bool(await answer)

    # Old records.

    async def may_remove(self) -> Mapping[str, int]:
        """Up to where nobody is owed what of each stream; nothing while that is unknown."""
        asked = self._reading.ask()
        self.ask(Broker.consider_removal)
        try:
            async with asyncio.timeout(self.settings.lease_us / MICROSECONDS):
                return await asked
        except TimeoutError:
            return {}

    def remove(self, up_to: Mapping[str, int]) -> None:
        """Let records go; who is still owed some of them is told."""
        self.ask(Broker.remove, up_to)

    # Inputs, whose names are those of the core's verbs.

    def link_up(self, link: int, dialled: str | None, named: str | None) -> None:
        """It was dialled, or accepted from the broker that its certificate names, if any."""
        self._give(Broker.link_up, link, dialled=dialled, named=named)

    def has_met(self, link: int) -> bool:
        """Whether the other end of a link has said who it is."""
        return self._core is not None and self._core.neighbours.has_met(link)

    def dial_failed(self, broker: str) -> None:
        self._give(Broker.dial_failed, broker)

    def link_down(self, link: int) -> None:
        self._give(Broker.link_down, link)

    def receive(self, link: int, data: bytes) -> None:
        self._give(Broker.receive, link, data)

    def set_writable(self, link: int, *, writable: bool) -> None:
        self._give(Broker.set_writable, link, writable)

    def _stored(self, synced: Synced) -> None:
        self._settled = synced.ticket
        self.tally.synced(synced)
        self._room()
        self._give(Broker.stored, synced.ticket)

    def _room(self) -> None:
        """The disk takes writes."""
        if self.store_problem is not None:
            lines.warning("disk takes writes again", because=self.store_problem)
            self.store_problem = None

    def _full(self, because: str) -> None:
        if self._disk is None:
            return
        # What the core has decided by now it decided without knowing this: it is lost as well.
        self._take_turn()
        if self.store_problem is None:
            lines.error("disk full", because=because)
        self.store_problem = because
        self.tally.store_failures += 1
        self._settled = self._submitted
        self._disk.go_on()
        self._give(Broker.store_failed, because)

    def _broken(self, problem: BaseException) -> None:
        self._end(NodeError(f"the log can't be written any more: {problem}"), problem)

    def _policy_grew(self, batches: list[tuple[int, Batch]]) -> None:
        self._give(Broker.policy_grew, batches)

    def _on_timer(self) -> None:
        self._timer = self._timer_at = None
        self._give(Broker.on_timer)

    def _give(self, verb: Callable[..., None], *said: Any, **more: Any) -> None:
        core = self._core
        if core is None:
            return  # it ended while this was on its way
        self._wake()
        began = time.perf_counter()
        try:
            verb(core, *said, now=self._now(), **more)
        except Exception as fault:
            self._end(NodeError(f"a fault in the broker: {fault!r}"), fault)
        self._spent += time.perf_counter() - began

    # Effects.

    def _wake(self) -> None:
        if self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if self._core is None:
            return
        try:
            self._carry_out(self._core)
        except Exception as fault:
            self._end(NodeError(f"a fault in the broker: {fault!r}"), fault)

    def _carry_out(self, core: Broker) -> None:
        assert self._disk is not None
        writes: list[Write] = []
        began = time.perf_counter()
        effects = core.effects()
        self.tally.turned(effects, self._spent + time.perf_counter() - began)
        self._spent = 0.0
        if self._tracing is not None:
            self._trace_turn(self._tracing, effects)
        for effect in effects:
            if isinstance(effect, Append | Keep):
                writes.append(effect)
            else:
                _PERFORM[effect.__class__](self, effect)
        if writes:
            self._submitted = writes[-1].ticket
            self._disk.submit(writes)
        self._plan(core.next_timer())
        if core.policy.known != self._version:
            self._version = core.policy.known
            lines.info("version learnt", version=self._version)

    def _plan(self, at: int | None) -> None:
        if at == self._timer_at and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, at
        if at is not None:
            delay_s = min(max(0, at - self._now()) / MICROSECONDS, TIMER_S_MAX)
            self._timer = self._loop.call_later(delay_s, self._on_timer)

    def _end(self, because: NodeError, cause: BaseException) -> None:
        """Nothing is decided from here on, and nobody is left to believe that it is."""
        if self._core is None:
            return
        because.__cause__ = cause
        lines.error("broker can't go on", because=str(because), exc_info=cause)
        self._silence()
        self.links.abort()
        clients, self._clients = self._clients, {}
        for client in clients.values():
            with suppress(Exception):
                client.listener.dropped("the broker can't go on")
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
        self.tally.reads += 1
        try:
            records = await self._reading.read(effect)
        except LogError as damage:
            lines.error("can't read the log", stream=effect.stream, because=str(damage))
            self._give(Broker.read_failed, effect.number, str(damage))
        else:
            self._give(Broker.was_read, effect.number, records)

    def _may_remove(self, effect: MayRemove) -> None:
        self._reading.answer(effect)

    def _remove(self, effect: Remove) -> None:
        self._begin(self._reading.remove(effect))

    def _apply(self, effect: ApplyBatch) -> None:
        self._begin(self._apply_to_database(effect))

    async def _apply_to_database(self, effect: ApplyBatch) -> None:
        refused = await self._office.apply(effect)
        self._give(Broker.batch_applied, effect.number, refused)

    def _keep_starting_point(self, effect: KeepStartingPoint) -> None:
        assert self.policy is not None
        self._begin(self._keep_in_database(effect))

    async def _keep_in_database(self, effect: KeepStartingPoint) -> None:
        assert self.policy is not None
        await self.policy.keep_starting_point(effect.version, effect.stream, effect.offset)
        self._give(Broker.starting_point_kept, effect.version, effect.stream)

    def _tell(self, effect: Tell) -> None:
        if effect.client == CLIENT:
            self._office.hear(effect.message)
            return
        client = self._clients.get(effect.client)
        if client is not None:
            self._hear(client, effect.message)

    def _drop(self, effect: Drop) -> None:
        client = self._clients.pop(effect.client, None)
        if client is not None:
            self.tally.dropped += 1
            lines.info("client dropped", principal=client.principal, because=effect.because)
            with suppress(Exception):
                client.listener.dropped(effect.because)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let something go on beside; what goes wrong in it ends the node."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._end(NodeError(f"the broker can't go on: {fault}"), fault)


def _note(what: str, because: str) -> None:
    lines.warning(what, because=because)


_PERFORM: dict[type[Effect], Callable[[Node, Any], None]] = {
    Send: Node._send,
    Close: Node._close,
    Dial: Node._dial,
    Read: Node._read,
    MayRemove: Node._may_remove,
    Remove: Node._remove,
    ApplyBatch: Node._apply,
    KeepStartingPoint: Node._keep_starting_point,
    Tell: Node._tell,
    Drop: Node._drop,
}
