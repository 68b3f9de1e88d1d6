"""Which schedules need the numbered rules of sessions? Each breaks a promise without its rule."""

from __future__ import annotations

from headgate.simulation.scenarios.named import scenario
from headgate.simulation.scenarios.stages import Stage, reads
from headgate.simulation.schedules import (
    Break,
    Connect,
    Disconnect,
    Garble,
    Kill,
    Repeat,
    Schedule,
    SlowDisk,
    Unsubscribe,
)
from headgate.simulation.timeline import MILLISECOND, SECOND

EVERYBODY_READS = tuple(map(reads, ("ann", "bob", "carol")))


def _fork(seed: int, **settings: int | bool) -> Stage:
    """`p` hosts the stream; `s` and `t` host subscribers behind `m`."""
    stage = Stage(
        seed, "p - m - s", "m - t",
        policy_host="p", hosts={"orders": "p"}, policy=EVERYBODY_READS, settings=settings,
    )  # fmt: skip
    stage.client("pam", "p")
    return stage


def _line(seed: int, *ways: str, **settings: int | bool) -> Stage:
    stage = Stage(
        seed, *(ways or ("p - s",)),
        policy_host="p", hosts={"orders": "p"}, policy=EVERYBODY_READS, settings=settings,
    )  # fmt: skip
    stage.client("pam", "p")
    return stage


@scenario
def a_cache_that_is_complete_for_less(seed: int) -> Schedule:
    """Who asks for more of the past than is in memory on the way gets it from further upstream."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.client("bob", "t")
    stage.subscribe("ann", "a = 1")
    stage.subscribe("bob", resumed=True)
    stage.publish(1)
    stage.do(Disconnect("bob"))
    stage.publish(1, 2, 1, 2)
    stage.do(Connect("bob"))
    stage.wait(1)
    return stage.schedule()


@scenario
def a_cache_that_is_too_short(seed: int) -> Schedule:
    """What is no longer in memory on the way is asked for upstream, at last of the log."""
    stage = _fork(seed, cache_records=2, read_records=2)
    stage.client("ann", "s")
    stage.client("bob", "t")
    stage.subscribe("ann")
    stage.subscribe("bob", resumed=True)
    stage.publish(1)
    stage.do(Disconnect("bob"))
    stage.publish(*range(8))
    stage.do(Connect("bob"))
    stage.wait(1)
    return stage.schedule()


@scenario
def an_epoch_vouched_while_a_silence_was_held_back(seed: int) -> Schedule:
    """A vouch first tells how far the stream is, though nothing of that was owed."""
    stage = _line(seed, silence_us=2 * SECOND)
    stage.client("ann", "s")
    stage.client("bob", "s")
    stage.subscribe("ann", "a = 1")
    stage.burst(2, 2, 2)
    stage.subscribe("bob")
    stage.publish(2)
    return stage.schedule()


@scenario
def a_start_while_the_disk_is_slow(seed: int) -> Schedule:
    """Where a subscription starts is written down before its client is told."""
    stage = _line(seed)
    stage.client("ann", "s")
    stage.publish(1, 1)
    stage.do(SlowDisk("s", SECOND, 300 * MILLISECOND))
    stage.subscribe("ann", "a = 1")
    stage.publish(1, 2, 1)
    return stage.schedule()


@scenario
def a_covering_subscription_asked_for_and_not_vouched_for_yet(seed: int) -> Schedule:
    """That a wider set was asked for upstream is no reason to vouch for it."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.client("bob", "s")
    stage.client("carol", "t")
    stage.subscribe("ann", "a = 1")
    stage.hold("m", "p")
    stage.subscribe("carol")
    stage.subscribe("bob")
    stage.publish(2, 1)
    stage.release("m", "p")
    stage.publish(2)
    return stage.schedule()


@scenario
def a_narrower_set_under_way(seed: int) -> Schedule:
    """What was vouched for ends with the narrower set that was asked for since."""
    stage = _line(seed)
    for name in ("ann", "bob", "carol"):
        stage.client(name, "s")
    stage.subscribe("ann", "a = 1")
    stage.subscribe("bob")
    stage.hold("p", "s")
    stage.do(Unsubscribe("bob", "mine"))
    stage.publish(2)
    stage.subscribe("carol")
    stage.publish(2)
    stage.release("p", "s")
    stage.publish(2)
    return stage.schedule()


@scenario
def failover_to_a_parent_that_lacks_the_set(seed: int) -> Schedule:
    """Another parent serves a set only when it has all of it, from the child's last offset on."""
    stage = _line(seed, "p - m1+m2 - s", "m1+m2 - t")
    stage.client("ann", "s")
    stage.client("bob", "t")
    stage.subscribe("ann")  # `s` follows orders at m2, `t` at m1
    stage.subscribe("bob", "a = 1")
    stage.hold("p", "m1")
    stage.publish(2)
    stage.hold("m2", "s")
    stage.publish(2)
    stage.do(Break("m2", "s", 2 * SECOND))
    stage.release("p", "m1")
    stage.publish(2, 1)
    stage.release("m2", "s")
    return stage.schedule()


@scenario
def the_loss_of_a_way(seed: int) -> Schedule:
    """What was under way on a link that broke comes by another one, and nothing twice."""
    stage = _line(seed, "p - m1+m2 - s")
    stage.client("ann", "s")
    stage.subscribe("ann")
    stage.publish(1)
    stage.hold("m2", "s")
    stage.publish(2, 3)
    stage.do(Break("m2", "s", 2 * SECOND))
    stage.release("m2", "s")
    stage.publish(4)
    stage.do(Kill("m1", SECOND))
    stage.publish(5)
    stage.wait(2)
    return stage.schedule()


@scenario
def bytes_that_nobody_sent(seed: int) -> Schedule:
    """A link that carries nonsense is closed, and another one takes its place."""
    stage = _line(seed)
    stage.client("ann", "s")
    stage.subscribe("ann")
    stage.publish(1)
    stage.do(Garble("p", "s", oversized=True))
    stage.publish(2, 3)
    stage.wait(2)
    stage.publish(4)
    return stage.schedule()


@scenario
def a_gap_on_a_link(seed: int) -> Schedule:
    """What follows a lost record shows that it is missing: it is asked for again."""
    stage = _line(seed, "p - m - s")
    stage.client("ann", "s")
    stage.subscribe("ann", "a = 1")
    stage.lose("m", "s")
    stage.publish(1)
    stage.lose_no_more("m", "s")
    stage.publish(2, 1)
    stage.lose("p", "m")
    stage.publish(1)
    stage.lose_no_more("p", "m")
    stage.publish(2)  # this time a silence shows it
    return stage.schedule()


@scenario
def failover_in_the_middle_of_a_gap(seed: int) -> Schedule:
    """The other way is taken from the last offset on, not from where the stream is."""
    stage = _line(seed, "p - m1+m2 - s")
    stage.client("ann", "s")
    stage.subscribe("ann")
    stage.publish(1)
    stage.lose("m2", "s")
    stage.hold("s", "m2")
    stage.publish(2)
    stage.lose_no_more("m2", "s")
    stage.publish(3)
    stage.do(Break("m2", "s", 2 * SECOND))
    stage.release("s", "m2")
    stage.publish(4)
    return stage.schedule()


@scenario
def catching_up_beside_live(seed: int) -> Schedule:
    """Old records for one beside new ones for the other, each once."""
    stage = _line(seed, "p - m - s", cache_records=2, read_records=2)
    stage.client("ann", "s")
    stage.client("bob", "s")
    stage.subscribe("ann")
    stage.subscribe("bob", resumed=True)
    stage.publish(1)
    stage.do(Disconnect("bob"))
    stage.publish(*range(10))
    stage.do(Connect("bob"))
    stage.burst(*range(10, 20))
    stage.publish(20)
    return stage.schedule()


@scenario
def a_catch_up_that_runs_to_its_live_start(seed: int) -> Schedule:
    """Until a wider set is vouched for, what it is owed comes by the catch-up alone."""
    stage = _line(seed)
    stage.client("ann", "s")
    stage.client("bob", "s")
    stage.subscribe("ann", "a = 1")
    stage.subscribe("bob", resumed=True)
    stage.publish(1, 2)
    stage.do(Disconnect("bob"))
    stage.publish(1, 2)
    stage.hold("p", "s")
    stage.do(Connect("bob"))
    stage.publish(2, 1, 2)
    stage.release("p", "s")
    stage.publish(2)
    return stage.schedule()


@scenario
def frames_that_come_twice(seed: int) -> Schedule:
    """Whatever is repeated on the way is delivered once."""
    stage = _line(seed, "p - m - s")
    stage.client("ann", "s")
    stage.do(Repeat("p", "m", 10 * SECOND, 1.0))
    stage.do(Repeat("m", "s", 10 * SECOND, 1.0))
    stage.subscribe("ann", "a = 1")
    stage.burst(1, 2, 1, 1)
    stage.publish(1, 2, 1)
    return stage.schedule()


@scenario
def the_end_of_a_burst(seed: int) -> Schedule:
    """A version that concerns nobody at a broker is known there, by a silence alone."""
    stage = Stage(
        seed, "a - m - p", "m - s",
        policy_host="a", hosts={"orders": "p"}, policy=EVERYBODY_READS,
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("ann", "s")
    stage.subscribe("ann", "a = 1")
    stage.burst(1, 2, 2)
    stage.administer(reads("dan"))
    return stage.schedule()


@scenario
def a_record_that_is_not_stored_yet(seed: int) -> Schedule:
    """What isn't on disk is seen by nobody, and its offset may be another record's after all."""
    stage = _line(seed)
    stage.client("ann", "s")
    stage.client("bob", "p")
    stage.subscribe("ann")
    stage.subscribe("bob")
    stage.do(SlowDisk("p", 3 * SECOND, 400 * MILLISECOND))
    stage.burst(1, 2, 3)
    stage.do(Kill("p", SECOND))
    stage.publish(4)
    stage.wait(2)
    return stage.schedule()


@scenario
def a_routing_broker_that_restarts(seed: int) -> Schedule:
    """It knows nothing, and serves nothing but what it is attached for."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.client("bob", "t")
    stage.subscribe("ann")
    stage.subscribe("bob", "a = 1")
    stage.publish(1, 2)
    stage.do(Kill("m", SECOND // 2))
    stage.publish(1, 2)
    stage.wait(0.5)
    stage.hold("m", "p")
    stage.wait(2)
    stage.publish(1)
    stage.release("m", "p")
    stage.publish(2)
    return stage.schedule()
