"""How does a broker run in the world? A process with a core, a disk, a clock, links and clients.

Each input is given to the core with the time that its clock shows, and what comes up is carried out
in the order given. A process may die at any moment; the next one finds what the disk kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, final

from headgate.broker.effects import (
    Append,
    ApplyBatch,
    Close,
    Connected,
    Dial,
    Drop,
    Effect,
    Keep,
    KeepStartingPoint,
    MayRemove,
    Read,
    Recovered,
    Remove,
    Send,
    Tell,
)
from headgate.broker.settings import Settings
from headgate.log.records import DELIVERIES, SUBSCRIPTIONS, Record
from headgate.rights.changes import Batch
from headgate.simulation.acl_database import AclDatabase
from headgate.simulation.checkers.promises import Observers
from headgate.simulation.clocks import Clock
from headgate.simulation.cores import Core, MakeCore
from headgate.simulation.counting import Counts
from headgate.simulation.disks import Disk, Write
from headgate.simulation.network import Network
from headgate.simulation.sessions import Session
from headgate.simulation.timeline import MILLISECOND, Timeline
from headgate.simulation.tracing import Trace, effect_line

_DECIDING_US: Final = MILLISECOND
"""Between the answer what may be removed and the removal."""


class Wire(Protocol):
    """What lies between brokers and clients."""

    def carry_down(self, session: Session, message: Any) -> None: ...
    def cut(self, session: Session, because: str, *, delayed: bool = True) -> None: ...


@final
class Machine:
    """Where one broker runs."""

    def __init__(
        self,
        settings: Settings,
        make_core: MakeCore,
        timeline: Timeline,
        network: Network,
        disk: Disk,
        clock: Clock,
        database: AclDatabase | None,
        wire: Wire,
        observers: Observers,
        counts: Counts,
        trace: Trace,
    ) -> None:
        self.name = settings.broker
        self.settings = settings
        self.disk = disk
        self.clock = clock
        self.core: Core | None = None
        self.boot = 0
        self.sessions: dict[int, Session] = {}
        self._make_core = make_core
        self._timeline = timeline
        self._network = network
        self._database = database
        self._wire = wire
        self._observers = observers
        self._counts = counts
        self._trace = trace
        self._dies: Callable[[], None] | None = None
        self._dies_after = 0
        self._timer: int | None = None
        """What the core waits for, as its clock will show it."""
        self._keep_newest: int | None = None
        """So many records of each stream stay when the core has found out what may go."""

    @property
    def is_up(self) -> bool:
        return self.core is not None

    def now(self) -> int:
        return self.clock.shows(self._timeline.now)

    # It comes and goes.

    def start(self) -> None:
        assert self.core is None
        self.boot += 1
        self.disk.use(self._stored, self._store_failed)
        recovered = self._recovered()
        for hook in self._observers.started:
            hook(self)
        boot = f"{self.name}.{self.boot}"
        self._trace.line(self.name, "starts")
        self.core = self._make_core(self.settings, recovered, boot, self.now())
        if self._database is not None:
            self._database.watch(self._policy_grew)
        self._carry_out()

    def kill(self, *, silently: bool) -> None:
        """The process is gone at once: links, clients, and what wasn't synced."""
        if self.core is None:
            return
        self._counts.add(self.core.counts)
        self.core = None
        self._timer = self._keep_newest = None
        lost = self.disk.crash()
        self._trace.line(self.name, "dies" + (f", with {lost} writes unsynced" if lost else ""))
        if lost:
            self._counts["killed with unsynced writes"] += 1
        if self.disk.log.torn_bytes:
            self._counts["torn write"] += 1
        if self._database is not None:
            self._database.forget_watcher()
        self._network.drop(self, silently=silently)
        sessions, self.sessions = self.sessions, {}
        for session in sessions.values():
            self._wire.cut(session, "the broker died")
        for hook in self._observers.killed:
            hook(self)

    def kill_midway(self, after: int, dies: Callable[[], None]) -> None:
        """Let it die between two effects, when so many more were carried out."""
        self._dies, self._dies_after = dies, after

    def never_mind(self) -> None:
        """It doesn't die midway any more."""
        self._dies = None

    def _recovered(self) -> Recovered:
        log, database = self.disk.log, self._database
        name = self.name
        own = [*self.settings.streams, SUBSCRIPTIONS + name, DELIVERIES + name]
        incarnations = log.streams()
        own += [stream for stream in incarnations if stream not in own]
        return Recovered(
            streams={stream: log.last(stream) for stream in own},
            incarnations={stream: incarnations[stream] for stream in own if stream in incarnations},
            recent={stream: log.recent(stream, self.settings.repeat_window) for stream in own},
            kept=dict(log.kept()),
            batches=() if database is None else tuple(database.history.batches()),
            removed={stream: log.first(stream) - 1 for stream in incarnations},
            starting_points=() if database is None else tuple(database.starting_points),
        )

    # Inputs, whose names are those of the core's verbs.

    def link_up(self, link: int, dialled: str | None) -> None:
        if self.core is not None:
            self.core.link_up(link, self.now(), dialled)
            self._carry_out()

    def link_down(self, link: int) -> None:
        if self.core is not None:
            self.core.link_down(link, self.now())
            self._carry_out()

    def dial_failed(self, broker: str) -> None:
        if self.core is not None:
            self.core.dial_failed(broker, self.now())
            self._carry_out()

    def receive(self, link: int, data: bytes) -> None:
        if self.core is not None:
            self.core.receive(link, data, self.now())
            self._carry_out()

    def set_writable(self, link: int, *, writable: bool) -> None:
        if self.core is not None:
            self.core.set_writable(link, writable, self.now())
            self._carry_out()

    def connect(self, session: Session) -> None:
        if self.core is None:
            self._wire.cut(session, "no broker is there")
            return
        session.boot = self.boot
        session.is_held_by_broker = True
        self.sessions[session.id] = session
        self.core.connect(session.id, session.principal, self.now(), session.domain)
        self._carry_out()

    def hear(self, session: Session, act: Callable[[Core, int], None]) -> None:
        """Something that a client asks, if it is still known here."""
        if self.core is not None and session.id in self.sessions:
            act(self.core, self.now())
            self._carry_out()

    def client_gone(self, session: Session) -> None:
        if self.core is not None and self.sessions.pop(session.id, None) is not None:
            session.is_held_by_broker = False
            for hook in self._observers.gone:
                hook(session, "it went")
            self.core.disconnect(session.id, self.now())
            self._carry_out()

    def clock_jumped(self) -> None:
        """What the core waits for may be due now, or later than planned."""
        if self._timer is not None:
            self._plan_timer(self._timer)

    def remove(self, keep: int, *, forced: bool) -> None:
        """Remove all but the newest records: what nobody who is away is owed, or whatever it is."""
        if self.core is None:
            return
        if forced:
            self._remove(self.boot, keep, None)
            return
        if self._keep_newest is None:
            for hook in self._observers.considering:
                hook(self)
        self._keep_newest = keep
        self.core.consider_removal(self.now())
        self._carry_out()

    def _remove(self, boot: int, keep: int, may: dict[str, int] | None) -> None:
        if self.core is None or boot != self.boot:
            return
        cuts = {}
        for stream in self.disk.log.streams():
            last = self.disk.log.last(stream)
            assert last is not None
            up_to = last.offset - keep
            cuts[stream] = up_to if may is None else min(up_to, may.get(stream, 0))
        cuts = {stream: up_to for stream, up_to in cuts.items() if up_to > 0}
        for hook in self._observers.removing:
            hook(self, cuts, may is None)
        self.core.remove(cuts, self.now())
        self._carry_out()

    def _stored(self, writes: list[Write]) -> None:
        assert self.core is not None
        for hook in self._observers.stored:
            hook(self, writes)
        self.core.stored(writes[-1].ticket, self.now())
        self._carry_out()

    def _store_failed(self, because: str) -> None:
        assert self.core is not None
        self._counts["disk full at a sync"] += 1
        self._trace.line(self.name, f"can't store: {because}")
        self.core.store_failed(because, self.now())
        self._carry_out()

    def _was_read(self, number: int, records: tuple[Record, ...]) -> None:
        assert self.core is not None
        self.core.was_read(number, records, self.now())
        self._carry_out()

    def _policy_grew(self, batches: list[tuple[int, Batch]]) -> None:
        assert self.core is not None
        self.core.policy_grew(batches, self.now())
        self._carry_out()

    def _batch_answer(self, boot: int, number: int, refused: str | None) -> None:
        if self.core is not None and boot == self.boot:
            self.core.batch_applied(number, refused, self.now())
            self._carry_out()

    def _point_kept(self, boot: int, kept: KeepStartingPoint) -> None:
        if self.core is not None and boot == self.boot:
            self.core.starting_point_kept(kept.version, kept.stream, self.now())
            self._carry_out()

    def _wake(self, timer: int, boot: int) -> None:
        if self.core is None or boot != self.boot or timer != self._timer:
            return
        self._timer = None
        if self.now() >= timer:
            self.core.on_timer(self.now())
        self._carry_out()

    # Effects.

    def _carry_out(self) -> None:
        core = self.core
        assert core is not None
        effects = core.effects()
        if self._trace.is_on:
            for effect in effects:
                line = effect_line(effect)
                if line is not None:
                    self._trace.line(self.name, line)
        for effect in effects:
            if self._dies is not None and self._is_the_last(self._dies):
                return
            _PERFORM[effect.__class__](self, effect)
        timer = core.next_timer()
        if timer != self._timer:
            self._timer = timer
            if timer is not None:
                self._plan_timer(timer)

    def _is_the_last(self, dies: Callable[[], None]) -> bool:
        self._dies_after -= 1
        if self._dies_after >= 0:
            return False
        self._dies = None
        dies()
        return True

    def _plan_timer(self, timer: int) -> None:
        self._timeline.at(self.clock.true_when(timer), self._wake, timer, self.boot)

    def _send(self, effect: Send) -> None:
        self._network.send(self, effect.link, effect.data)

    def _close(self, effect: Close) -> None:
        self._counts["link closed by a core"] += 1
        self._network.close(self, effect.link)

    def _dial(self, effect: Dial) -> None:
        self._network.dial(self, effect.broker)

    def _append(self, effect: Append) -> None:
        for hook in self._observers.appending:
            hook(self, effect.records)
        self.disk.write(effect)

    def _keep(self, effect: Keep) -> None:
        self.disk.write(effect)

    def _read(self, effect: Read) -> None:
        self.disk.read(effect, self._was_read)

    def _may_remove(self, effect: MayRemove) -> None:
        keep, self._keep_newest = self._keep_newest, None
        assert keep is not None
        self._timeline.after(_DECIDING_US, self._remove, self.boot, keep, dict(effect.up_to))

    def _removed(self, effect: Remove) -> None:
        for stream, up_to in effect.up_to.items():
            self._counts["beginning of a stream removed"] += 1
            self.disk.log.remove(stream, up_to)
            for hook in self._observers.removed:
                hook(self, stream, up_to)

    def _apply(self, effect: ApplyBatch) -> None:
        assert self._database is not None
        number, boot = effect.number, self.boot
        self._database.apply(
            effect.batch,
            effect.expected,
            lambda refused: self._batch_answer(boot, number, refused),
        )

    def _keep_starting_point(self, effect: KeepStartingPoint) -> None:
        assert self._database is not None
        for hook in self._observers.starting_point:
            hook(effect.version, effect.stream, effect.offset)
        boot = self.boot
        self._database.keep_starting_point(
            effect.version, effect.stream, effect.offset, lambda: self._point_kept(boot, effect)
        )

    def _tell(self, effect: Tell) -> None:
        session = self.sessions.get(effect.client)
        if session is None:
            return  # it went while this was under way
        if effect.message.__class__ is Connected:
            session.is_accepted = True
        for hook in self._observers.told:
            hook(session, effect.message)
        self._wire.carry_down(session, effect.message)

    def _drop(self, effect: Drop) -> None:
        session = self.sessions.pop(effect.client, None)
        if session is not None:
            session.is_held_by_broker = False
            for hook in self._observers.gone:
                hook(session, effect.because)
            self._wire.cut(session, effect.because)


_PERFORM: dict[type[Effect], Callable[[Machine, Any], None]] = {
    Send: Machine._send,
    Close: Machine._close,
    Dial: Machine._dial,
    Append: Machine._append,
    Keep: Machine._keep,
    Read: Machine._read,
    MayRemove: Machine._may_remove,
    Remove: Machine._removed,
    ApplyBatch: Machine._apply,
    KeepStartingPoint: Machine._keep_starting_point,
    Tell: Machine._tell,
    Drop: Machine._drop,
}
