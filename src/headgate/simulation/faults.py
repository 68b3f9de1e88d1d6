"""How does the world break things, and heal them again? Each fault with what it undoes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, final

from headgate.simulation.acl_database import AclDatabase
from headgate.simulation.clients import Client
from headgate.simulation.counting import Counts
from headgate.simulation.machines import Machine
from headgate.simulation.network import Network
from headgate.simulation.schedules import (
    Break,
    Fault,
    FillDisk,
    Garble,
    Isolate,
    JumpClock,
    Kill,
    KillMidway,
    Lose,
    LoseDatabase,
    Part,
    Remove,
    Repeat,
    Slow,
    SlowDisk,
    StallClient,
)
from headgate.simulation.timeline import Timeline

OVERSIZED = b"\x7f\xff\xff\xff"
"""As the length of a frame: more than any limit."""
_GARBAGE_BYTES_MAX = 64


@final
class Faults:
    """Everything that can go wrong; each is undone at its end, or when all is healed."""

    def __init__(
        self,
        timeline: Timeline,
        chance: Random,
        network: Network,
        machines: Mapping[str, Machine],
        clients: Mapping[str, Client],
        database: AclDatabase,
        counts: Counts,
    ) -> None:
        self._timeline = timeline
        self._chance = chance
        self._network = network
        self._machines = machines
        self._clients = clients
        self._database = database
        self._counts = counts
        self._going_on: dict[int, Callable[[], None]] = {}
        self._last_id = 0

    def begin(self, fault: Fault) -> None:
        self._counts[f"fault: {fault.__struct_config__.tag}"] += 1
        _BEGIN[fault.__class__](self, fault)

    def heal(self) -> None:
        """All at once, and for good."""
        for machine in self._machines.values():
            machine.never_mind()
        for number in list(self._going_on):
            self._end(number)

    def _for(self, duration_us: int, undo: Callable[[], None]) -> None:
        self._last_id += 1
        self._going_on[self._last_id] = undo
        self._timeline.after(duration_us, self._end, self._last_id)

    def _end(self, number: int) -> None:
        undo = self._going_on.pop(number, None)
        if undo is not None:
            undo()

    def _kill(self, fault: Kill) -> None:
        machine = self._machines[fault.broker]
        if machine.is_up:
            machine.kill(silently=fault.silently)
            self._for(fault.for_us, machine.start)

    def _kill_midway(self, fault: KillMidway) -> None:
        machine = self._machines[fault.broker]

        def dies() -> None:
            self._counts["killed midway"] += 1
            machine.kill(silently=fault.silently)
            self._for(fault.for_us, machine.start)

        machine.kill_midway(fault.after, dies)

    def _break(self, fault: Break) -> None:
        road = self._network.road(fault.one, fault.other)
        self._network.reset(fault.one, fault.other)
        road.refusing += 1

        def undo() -> None:
            road.refusing -= 1

        self._for(fault.for_us, undo)

    def _part(self, fault: Part) -> None:
        self._block(fault.one, fault.other, fault.for_us, reset=fault.reset)
        if fault.both_ways:
            self._block(fault.other, fault.one, fault.for_us, reset=fault.reset)

    def _isolate(self, fault: Isolate) -> None:
        for other, _ in self._network.roads_of(fault.broker):
            self._block(fault.broker, other, fault.for_us, reset=fault.reset)
            self._block(other, fault.broker, fault.for_us, reset=fault.reset)

    def _block(self, sender: str, receiver: str, for_us: int, *, reset: bool) -> None:
        self._network.block(sender, receiver)
        self._for(for_us, lambda: self._network.unblock(sender, receiver, reset=reset))

    def _slow(self, fault: Slow) -> None:
        road = self._network.road(fault.one, fault.other)
        road.bytes_per_s, road.extra_us = fault.bytes_per_s, fault.delay_us

        def undo() -> None:
            road.bytes_per_s = road.extra_us = 0

        self._for(fault.for_us, undo)

    def _repeat(self, fault: Repeat) -> None:
        road = self._network.road(fault.one, fault.other)
        road.repeating = fault.chance

        def undo() -> None:
            road.repeating = 0.0

        self._for(fault.for_us, undo)

    def _lose(self, fault: Lose) -> None:
        road = self._network.road(fault.one, fault.other)
        road.losing = fault.chance

        def undo() -> None:
            road.losing = 0.0

        self._for(fault.for_us, undo)

    def _garble(self, fault: Garble) -> None:
        road = self._network.road(fault.one, fault.other)
        chance = self._chance
        size = chance.randrange(1, _GARBAGE_BYTES_MAX)
        garbage = chance.randbytes(size)
        road.garbage = OVERSIZED + garbage if fault.oversized else garbage

    def _fill_disk(self, fault: FillDisk) -> None:
        log = self._machines[fault.broker].disk.log
        log.full = True

        def undo() -> None:
            log.full = False

        self._for(fault.for_us, undo)

    def _slow_disk(self, fault: SlowDisk) -> None:
        disk = self._machines[fault.broker].disk
        before, disk.sync_us = disk.sync_us, fault.sync_us

        def undo() -> None:
            disk.sync_us = before

        self._for(fault.for_us, undo)

    def _jump_clock(self, fault: JumpClock) -> None:
        machine = self._machines[fault.broker]
        machine.clock.jump(fault.by_us)
        machine.clock_jumped()

    def _lose_database(self, fault: LoseDatabase) -> None:
        if self._database.is_up:
            self._database.crash()
            self._for(fault.for_us, self._database.recover)

    def _remove(self, fault: Remove) -> None:
        self._machines[fault.broker].remove(fault.keep, forced=fault.forced)

    def _stall_client(self, fault: StallClient) -> None:
        self._clients[fault.client].wishes.stall(fault.for_us)


_BEGIN: dict[type[Fault], Callable[[Faults, Any], None]] = {
    Kill: Faults._kill,
    KillMidway: Faults._kill_midway,
    Break: Faults._break,
    Part: Faults._part,
    Isolate: Faults._isolate,
    Slow: Faults._slow,
    Repeat: Faults._repeat,
    Lose: Faults._lose,
    Garble: Faults._garble,
    FillDisk: Faults._fill_disk,
    SlowDisk: Faults._slow_disk,
    JumpClock: Faults._jump_clock,
    LoseDatabase: Faults._lose_database,
    Remove: Faults._remove,
    StallClient: Faults._stall_client,
}
