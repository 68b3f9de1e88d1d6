"""Is what is written by hand what happens?"""

import pytest

from headgate.simulation.running import run_schedule
from headgate.simulation.scenarios.stages import BEGIN_US, Stage, connects, reads, writes
from headgate.simulation.schedules import AdministerElsewhere, Part, Publish, Schedule
from headgate.simulation.timeline import SECOND


def a_stage() -> Stage:
    stage = Stage(
        3, "p - m1+m2 - s", "m1+m2 - t",
        policy_host="p", hosts={"orders": "p"}, policy=(reads("ann"),),
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("ann", "s", "t")
    return stage


def steps_of(schedule: Schedule, kind: type) -> list[tuple[float, object]]:
    return [
        ((step.at_us - BEGIN_US) / SECOND, step.action)
        for step in schedule.steps
        if isinstance(step.action, kind)
    ]


def test_ways_are_read_as_a_tree() -> None:
    schedule = a_stage().schedule()
    assert schedule.nodes == {"p": ("p",), "m1+m2": ("m1", "m2"), "s": ("s",), "t": ("t",)}
    assert schedule.edges == (("p", "m1+m2"), ("m1+m2", "s"), ("m1+m2", "t"))
    assert schedule.plan("p").streams == ("orders",)


def test_whoever_is_there_may_connect_and_pam_may_publish() -> None:
    (beginning,) = a_stage().schedule().policy
    assert connects("guests") in beginning
    assert writes("pam") in beginning
    assert {"join": {"group": "guests", "member": "ann"}} in beginning
    assert beginning[-1] == reads("ann")


def test_lines_come_one_after_the_other_and_some_at_once() -> None:
    stage = a_stage()
    stage.publish(1, 2)
    stage.burst(3, 4)
    stage.wait(1)
    stage.administer(reads("bob"))
    schedule = stage.schedule()
    assert [at for at, _ in steps_of(schedule, Publish)] == [0.0, 0.1, 0.2, 0.2]
    assert steps_of(schedule, AdministerElsewhere)[0][0] == 1.3
    assert len({step.action.event_id for step in schedule.steps  # each has its own
                if isinstance(step.action, Publish)}) == 4  # fmt: skip


def test_what_is_held_arrives_when_it_is_released() -> None:
    stage = a_stage()
    stage.subscribe("ann")
    stage.hold("m1", "s")
    stage.hold("m2", "s")
    stage.publish(1)
    stage.release("m1", "s")
    stage.release("m2", "s")
    schedule = stage.schedule()
    assert steps_of(schedule, Part) == [
        (0.1, Part("m1", "s", 300_000, both_ways=False)),
        (0.2, Part("m2", "s", 300_000, both_ways=False)),
    ]
    outcome = run_schedule(schedule, trace=True)
    assert outcome.is_good
    heard = [line for line in outcome.trace if "hears for 1: orders" in line]
    assert len(heard) == 1
    assert float(heard[0].split()[0]) > BEGIN_US / SECOND + 0.4


def test_what_is_held_has_to_be_released() -> None:
    stage = a_stage()
    stage.hold("m1", "s")
    with pytest.raises(AssertionError, match="what is held"):
        stage.schedule()
