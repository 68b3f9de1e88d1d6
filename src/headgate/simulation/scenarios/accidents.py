"""What goes wrong in a generated run? A few kinds of faults in each, every kind in some."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

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
    Schedule,
    Slow,
    SlowDisk,
    StallClient,
    Step,
)
from headgate.simulation.timeline import MILLISECOND, SECOND

_QUIET: Final = 0.12
"""So many runs have no fault at all."""
_KIND: Final = 0.3
"""So often a kind of fault is among those of a run."""

Roads: TypeAlias = list[tuple[str, str]]
Make: TypeAlias = Callable[[Random, Schedule, Roads], Fault | None]


def accidents(chance: Random, schedule: Schedule, until_us: int) -> list[Step]:
    """Faults for the brokers, roads and clients of a schedule, each at its time."""
    if chance.random() < _QUIET:
        return []
    roads = roads_of(schedule)
    steps: list[Step] = []
    for make in _MAKE:
        if chance.random() >= _KIND:
            continue
        for _ in range(chance.choice((1, 1, 2, 3))):
            at_us = _moment(chance, schedule, until_us)
            fault = make(chance, schedule, roads)
            if fault is not None:
                steps.append(Step(at_us, fault))
    return steps


def _moment(chance: Random, schedule: Schedule, until_us: int) -> int:
    """Some time, or just when somebody does something."""
    if schedule.steps and chance.random() < 0.6:
        return chance.choice(schedule.steps).at_us + chance.randrange(20 * MILLISECOND)
    return chance.randrange(until_us)


def roads_of(schedule: Schedule) -> Roads:
    """Between which brokers there are links."""
    roads: Roads = []
    for members in schedule.nodes.values():
        roads += [(one, other) for one in members for other in members if one < other]
    for near, far in schedule.edges:
        roads += [(one, other) for one in schedule.nodes[near] for other in schedule.nodes[far]]
    return roads


def _duration(chance: Random) -> int:
    """Mostly short, sometimes longer than leases and heartbeats."""
    most = chance.choice((SECOND // 5, SECOND, SECOND, 4 * SECOND, 12 * SECOND))
    return chance.randrange(MILLISECOND, most)


def _kill(chance: Random, schedule: Schedule, roads: Roads) -> Fault:
    broker = chance.choice(schedule.members)
    return Kill(broker, _duration(chance), silently=chance.random() < 0.4)


def _kill_midway(chance: Random, schedule: Schedule, roads: Roads) -> Fault:
    broker = chance.choice(schedule.members)
    after = chance.choice((0, 1, 2, 3, 5, 8, 13, 40))
    return KillMidway(broker, _duration(chance), after, silently=chance.random() < 0.4)


def _break(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not roads:
        return None
    return Break(*chance.choice(roads), chance.choice((0, _duration(chance))))


def _part(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not roads:
        return None
    one, other = chance.choice(roads)
    if chance.random() < 0.5:
        one, other = other, one
    return Part(
        one,
        other,
        _duration(chance),
        both_ways=chance.random() < 0.7,
        reset=chance.random() < 0.5,
    )


def _isolate(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not roads:
        return None
    broker = chance.choice(schedule.members)
    return Isolate(broker, _duration(chance), reset=chance.random() < 0.5)


def _slow(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not roads:
        return None
    delay_us = chance.choice((0, 50 * MILLISECOND, SECOND, SECOND))
    rate = chance.choice((500, 5_000, 100_000, 100_000))
    # Of two ways to the same place one is late: what the other brings overtakes.
    twins = {one for members in schedule.nodes.values() if len(members) > 1 for one in members}
    some = [road for road in roads if not twins.isdisjoint(road)]
    among = some if some and chance.random() < 0.7 else roads
    return Slow(*chance.choice(among), _duration(chance), rate, delay_us)


def _repeat(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not roads:
        return None
    return Repeat(*chance.choice(roads), _duration(chance), chance.choice((0.05, 0.3, 0.8)))


def _lose(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not roads:
        return None
    return Lose(*chance.choice(roads), _duration(chance), chance.choice((0.1, 0.5)))


def _garble(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not roads:
        return None
    return Garble(*chance.choice(roads), oversized=chance.random() < 0.3)


def _fill_disk(chance: Random, schedule: Schedule, roads: Roads) -> Fault:
    return FillDisk(chance.choice(schedule.members), _duration(chance))


def _slow_disk(chance: Random, schedule: Schedule, roads: Roads) -> Fault:
    sync_us = chance.choice((20 * MILLISECOND, 300 * MILLISECOND))
    return SlowDisk(chance.choice(schedule.members), _duration(chance), sync_us)


def _jump_clock(chance: Random, schedule: Schedule, roads: Roads) -> Fault:
    by_us = chance.choice((SECOND, 20 * SECOND, 3_600 * SECOND, -SECOND, -5 * SECOND))
    return JumpClock(chance.choice(schedule.members), by_us)


def _lose_database(chance: Random, schedule: Schedule, roads: Roads) -> Fault:
    return LoseDatabase(_duration(chance))


def _remove(chance: Random, schedule: Schedule, roads: Roads) -> Fault:
    hosts = [name for name in schedule.members if schedule.plan(name).streams]
    broker = chance.choice(hosts if hosts and chance.random() < 0.9 else schedule.members)
    return Remove(broker, chance.choice((0, 1, 3, 8, 20)), forced=chance.random() < 0.4)


def _stall_client(chance: Random, schedule: Schedule, roads: Roads) -> Fault | None:
    if not schedule.clients:
        return None
    return StallClient(chance.choice(sorted(schedule.clients)), _duration(chance))


_MAKE: tuple[Make, ...] = (
    _kill, _kill_midway, _break, _part, _isolate, _slow, _slow, _repeat, _lose, _garble, _fill_disk,
    _slow_disk, _jump_clock, _lose_database, _remove, _stall_client,
)  # fmt: skip
