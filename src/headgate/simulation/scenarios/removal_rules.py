"""Which schedules need the rules of removal? Logs that don't grow for ever, and who is told so."""

from __future__ import annotations

from headgate.simulation.scenarios.named import scenario
from headgate.simulation.scenarios.stages import Stage, reads
from headgate.simulation.schedules import (
    Break,
    Connect,
    Disconnect,
    FillDisk,
    Kill,
    Part,
    Remove,
    Schedule,
    SlowDisk,
    StallClient,
)
from headgate.simulation.timeline import MILLISECOND, SECOND

READERS = tuple(map(reads, ("ann", "bob")))


def _fork(seed: int, **settings: int | bool) -> Stage:
    """`a` hosts the policy, `p` the stream, and subscribers are at `s` and `t`.

    Next to nothing is kept in memory, or what is gone from the log would be there for a while.
    """
    stage = Stage(
        seed, "p - m - s", "m - t", "a - m",
        policy_host="a", hosts={"orders": "p"}, policy=READERS,
        settings={"cache_records": 2, "read_records": 2, **settings},
    )  # fmt: skip
    stage.client("pam", "p")
    return stage


@scenario
def a_slow_reader_whose_past_goes(seed: int) -> Schedule:
    """Who is too slow for what is kept is told what it lost, and goes on behind it with room."""
    stage = _fork(seed, window=2)
    stage.client("ann", "s")
    stage.subscribe("ann")
    stage.do(StallClient("ann", 2 * SECOND))
    stage.publish(*range(8))
    stage.do(Remove("p", 1))
    stage.wait(0.5)
    stage.publish(9, 10)
    stage.wait(2)
    stage.publish(11)
    return stage.schedule()


@scenario
def a_reader_that_resumes_what_is_gone(seed: int) -> Schedule:
    """Who goes on after what it processed itself is told how much of what follows is gone."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.client("bob", "t")
    stage.subscribe("ann", resumed=True)
    stage.subscribe("bob", after={"orders": 0})
    stage.publish(1, 2)
    stage.do(Disconnect("ann"))
    stage.do(Disconnect("bob"))
    stage.publish(3, 4, 5)
    stage.do(Remove("p", 1))
    stage.do(Connect("ann"))
    stage.do(Connect("bob"))
    stage.wait(0.5)
    stage.publish(6)
    return stage.schedule()


@scenario
def a_removal_while_a_durable_subscription_is_away(seed: int) -> Schedule:
    """What it is owed stays, until somebody takes it by force: then it is told when it is back."""
    stage = _fork(seed)
    stage.client("ann", "s", "t")
    stage.client("bob", "t")
    stage.subscribe("ann", durable="kept")
    stage.subscribe("bob", durable="quick")
    stage.publish(1, 2)
    stage.do(Disconnect("ann"))
    stage.publish(3, 4, 5)
    stage.do(Remove("p"))
    stage.wait(0.5)
    stage.do(Connect("ann", "t"))
    stage.wait(0.5)
    stage.do(Disconnect("ann"))
    stage.publish(6, 7, 8)
    stage.do(Remove("p", 1, forced=True))
    stage.wait(0.5)
    stage.do(Connect("ann", "s"))
    stage.wait(0.5)
    stage.publish(9)
    return stage.schedule()


@scenario
def a_removal_while_a_durable_subscription_is_made(seed: int) -> Schedule:
    """Made from the beginning while the answer what may go is under way, it is told what went."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.publish(1, 2, 3, 4)
    stage.hold("m", "p")
    stage.do(Remove("p", 1))
    stage.subscribe("ann", durable="kept", after={"orders": 0})
    stage.wait(0.5)
    stage.release("m", "p")
    stage.publish(5)
    stage.do(Connect("ann"))
    stage.publish(6)
    return stage.schedule()


@scenario
def a_removal_while_a_broker_in_the_middle_dies(seed: int) -> Schedule:
    """Whichever way the rest comes, the word of the gap comes before it."""
    stage = Stage(
        seed, "p - m1+m2 - s", policy_host="p", hosts={"orders": "p"}, policy=READERS,
        settings={"cache_records": 2, "read_records": 2, "window": 2},
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("ann", "s", ack_us=300 * MILLISECOND)
    stage.subscribe("ann", after={"orders": 0})
    stage.publish(1)
    stage.burst(*range(10))
    stage.do(Kill("m1", SECOND))
    stage.do(Remove("p", 2))
    stage.do(Kill("m2", SECOND))
    stage.publish(11, 12)
    stage.wait(3)
    stage.publish(13)
    return stage.schedule()


@scenario
def a_removal_while_a_link_is_cut(seed: int) -> Schedule:
    """Who was cut off hears of the gap when the link is back, before what follows it."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.client("bob", "t")
    stage.subscribe("ann", durable="kept")
    stage.subscribe("bob")
    stage.publish(1)
    stage.do(Break("p", "m", 2 * SECOND))
    stage.publish(2, 3, 4, 5)
    stage.do(Remove("p", 2, forced=True))
    stage.publish(6)
    stage.wait(3)
    stage.publish(7)
    return stage.schedule()


@scenario
def a_newcomer_behind_a_broker_that_lags(seed: int) -> Schedule:
    """Who starts live starts behind the gap, though its broker is still in front of it."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.client("bob", "s")
    stage.subscribe("ann")
    stage.publish(1)
    stage.lose("p", "m")
    stage.publish(2, 3, 4, 5)
    stage.do(Remove("p"))
    stage.subscribe("bob", durable="kept")
    stage.lose_no_more("p", "m")
    stage.publish(6)
    stage.wait(1)
    return stage.schedule()


@scenario
def a_removal_while_a_start_is_being_kept(seed: int) -> Schedule:
    """Where a durable subscription starts is kept before it is told, in spite of a gap."""
    stage = _fork(seed)
    stage.client("ann", "s", "t")
    stage.publish(1)
    stage.hold("p", "m")
    stage.subscribe("ann", durable="kept")
    stage.do(Part("m", "a", 2 * SECOND, both_ways=False, reset=True))
    stage.release("p", "m")
    stage.publish(2, 3)
    stage.do(Remove("p", forced=True))
    stage.do(Kill("s", 3 * SECOND))
    stage.publish(4, 5)
    stage.wait(3)
    stage.publish(6)
    return stage.schedule()


@scenario
def a_removal_that_cannot_be_announced(seed: int) -> Schedule:
    """Nothing goes that nobody can be told of; it goes when there is room again."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.subscribe("ann", after={"orders": 0})
    stage.publish(1, 2, 3)
    stage.do(SlowDisk("p", SECOND, 100 * MILLISECOND))
    stage.do(FillDisk("p", SECOND))
    stage.do(Remove("p"))
    stage.wait(2)
    stage.do(Connect("ann"))
    stage.wait(0.5)
    stage.do(Remove("p"))
    stage.wait(0.5)
    stage.do(Connect("ann"))
    stage.publish(4)
    return stage.schedule()


@scenario
def an_effect_whose_cause_is_gone(seed: int) -> Schedule:
    """Nobody waits for a cause that is lost: what was held for it comes when that is told."""
    stage = Stage(
        seed, "p+q - s", policy_host="p", hosts={"orders": "p", "replies": "q"},
        policy=(*READERS, {"grant": {"principal": "bob", "action": "publish"}}),
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("bob", "q")
    stage.client("ann", "s")
    stage.subscribe("bob")
    stage.subscribe("ann", causal=True)
    stage.lose("p", "s")
    stage.publish(1)
    stage.publish(2, stream="replies", by="bob")
    stage.publish(3)
    stage.do(Remove("p", forced=True))
    stage.wait(0.5)
    stage.lose_no_more("p", "s")
    stage.wait(1)
    return stage.schedule()
