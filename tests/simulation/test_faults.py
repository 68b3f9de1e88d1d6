"""Does each fault do its harm, end by itself, and end when all is healed?"""

import pytest

from headgate.broker.core import Broker
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
from headgate.simulation.timeline import SECOND
from headgate.simulation.world import World
from tests.simulation.small import Said, busy

FOR = SECOND // 2
HARM: list[tuple[Fault, str]] = [
    (Kill("b2", 5 * FOR), "dial refused"),
    (KillMidway("b1", FOR, 3), "killed midway"),
    (Break("b1", "b2", 5 * FOR), "dial refused"),
    (Part("b1", "b2", FOR), "link late after a partition"),
    (Part("b1", "b2", FOR, reset=True), "link lost in a partition"),
    (Isolate("b2", FOR, reset=True), "link lost in a partition"),
    (Slow("b1", "b2", FOR, 500), "deliveries"),
    (Repeat("b1", "b2", FOR, 1.0), "frames repeated"),
    (Lose("b1", "b2", FOR, 1.0), "records lost on a link"),
    (Garble("b1", "b2"), "garbage injected"),
    (Garble("b1", "b2", oversized=True), "link closed by a core"),
    (FillDisk("b1", FOR), "disk full at a sync"),
    (SlowDisk("b1", FOR, SECOND // 5), "deliveries"),
    (JumpClock("b2", 60 * SECOND), "deliveries"),
    (LoseDatabase(FOR), "deliveries"),
    (Remove("b1", 1), "beginning of a stream removed"),
    (Remove("b1", 1, forced=True), "beginning of a stream removed"),
    (StallClient("reader", FOR), "deliveries"),
]


@pytest.mark.parametrize(("fault", "harm"), HARM, ids=lambda one: str(one)[:30])
def test_a_fault_is_counted_does_its_harm_and_is_over(fault: Fault, harm: str) -> None:
    world = World(busy((0.65, fault), calm_us=6 * SECOND), Broker)
    world.run()
    assert world.counts[f"fault: {fault.__struct_config__.tag}"] == 1
    assert world.counts[harm] > 0
    assert world.counts["deliveries"] >= 2


def test_every_kind_of_fault_is_tried() -> None:
    assert {type(fault) for fault, _ in HARM} == set(Fault.__args__)


def test_what_would_go_on_for_ever_is_over_when_all_is_healed() -> None:
    ages = 10_000 * SECOND
    faults: list[Said] = [
        (0.60, Kill("b2", ages)),
        (0.61, FillDisk("b1", ages)),
        (0.62, Part("b1", "b2", ages)),
        (0.63, LoseDatabase(ages)),
    ]
    world = World(busy(*faults), Broker)
    world.run()
    assert world.timeline.now < 100 * SECOND
