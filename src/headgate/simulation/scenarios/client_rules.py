"""Which schedules need what is promised to clients? Publications, durable names, order, windows."""

from __future__ import annotations

from headgate.simulation.scenarios.named import scenario
from headgate.simulation.scenarios.stages import Change, Stage, reads, reads_no_more
from headgate.simulation.schedules import (
    Connect,
    Disconnect,
    Kill,
    KillMidway,
    Part,
    Schedule,
    SlowDisk,
    StallClient,
)
from headgate.simulation.timeline import MILLISECOND, SECOND

ANN = reads("ann")


def _fork(seed: int, *policy: Change, **settings: int | bool) -> Stage:
    """`a` hosts the policy, `p` the stream, and subscribers are at `s` and `t`."""
    stage = Stage(
        seed, "p - m - s", "m - t", "a - m",
        policy_host="a", hosts={"orders": "p"}, policy=policy or (ANN,), settings=settings,
    )  # fmt: skip
    stage.client("pam", "p", patience_us=SECOND // 2)
    return stage


# Publications.


@scenario
def a_publication_without_an_answer(seed: int) -> Schedule:
    """Who hears nothing publishes again: it is stored once, and acknowledged when it is."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.subscribe("ann")
    stage.do(SlowDisk("p", 3 * SECOND, 700 * MILLISECOND))
    stage.burst(1, 2)
    stage.wait(1)
    stage.do(Kill("p", SECOND))
    stage.wait(3)
    stage.publish(3)
    return stage.schedule()


@scenario
def a_publication_repeated_after_a_crash(seed: int) -> Schedule:
    """What was stored is known again after a crash: it is not stored twice."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.subscribe("ann")
    again = stage.publication(1)
    stage.do(again)
    stage.do(Kill("p", SECOND // 2))
    stage.wait(2)
    stage.do(again)
    stage.publish(2)
    return stage.schedule()


@scenario
def a_crash_between_a_write_and_its_sync(seed: int) -> Schedule:
    """Whatever was said to be stored is there after the crash."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.subscribe("ann")
    for number in range(4):
        stage.do(KillMidway("p", SECOND // 4, 2 + number))
        stage.burst(1, 2, 3)
        stage.wait(1.5)
    return stage.schedule()


# Durable subscriptions.


@scenario
def a_subscriber_that_moves_between_brokers(seed: int) -> Schedule:
    """A durable subscription goes on elsewhere after what was acknowledged, with all the rest."""
    stage = _fork(seed)
    stage.client("ann", "s", "t", ack_us=250 * MILLISECOND)
    stage.subscribe("ann", durable="kept")
    stage.publish(1, 2, 3, 4)
    stage.do(Connect("ann", "t"))
    stage.burst(5, 6)
    stage.do(Disconnect("ann", silently=True))
    stage.publish(7, 8)
    stage.do(Connect("ann", "s"))
    stage.wait(1)
    stage.publish(9)
    return stage.schedule()


@scenario
def a_subscriber_that_moves_at_once(seed: int) -> Schedule:
    """Where a durable subscription starts is kept before its client is told."""
    stage = _fork(seed)
    stage.client("ann", "s", "t", ack_us=SECOND)
    stage.subscribe("ann", durable="kept")
    stage.publish(1, 2)
    stage.do(Connect("ann", "t"))
    stage.publish(3)
    stage.wait(1)
    return stage.schedule()


@scenario
def a_late_acknowledgement(seed: int) -> Schedule:
    """Who took a durable name over is not set back by what its predecessor still acknowledges."""
    stage = _fork(seed)
    stage.client("first", "s", principal="ann", ack_us=5 * MILLISECOND)
    stage.client("second", "t", principal="ann", late=True)
    stage.subscribe("first", durable="kept")
    stage.publish(1, 2)
    stage.hold("s", "m")
    stage.publish(3)
    stage.do(Connect("second"))
    stage.subscribe("second", durable="kept")
    stage.publish(4, 5)
    stage.wait(0.5)
    stage.do(Disconnect("first"))
    stage.release("s", "m")
    stage.wait(0.5)
    stage.do(Disconnect("second"))
    stage.wait(0.5)
    stage.do(Connect("second"))
    stage.publish(6)
    return stage.schedule()


@scenario
def a_crash_where_positions_are_kept(seed: int) -> Schedule:
    """A position that was said to be kept is kept by the policy's host, whatever happens."""
    stage = _fork(seed)
    stage.client("ann", "s", "t")
    stage.subscribe("ann", durable="kept")
    stage.do(SlowDisk("a", 4 * SECOND, 400 * MILLISECOND))
    stage.publish(1, 2, 3)
    stage.do(Kill("a", SECOND // 2))
    stage.wait(2)
    stage.do(Connect("ann", "t"))
    stage.publish(4)
    stage.wait(1)
    return stage.schedule()


@scenario
def a_revocation_with_in_flight_and_durable_messages(seed: int) -> Schedule:
    """It ends nothing that was published before: neither under way, nor kept for a name."""
    stage = _fork(seed)
    stage.client("ann", "s")
    stage.subscribe("ann", durable="kept")
    stage.publish(1)
    stage.do(Disconnect("ann"))
    stage.publish(1)
    stage.hold("p", "m")
    stage.publish(2)
    stage.administer(reads_no_more("ann"), reads("ann", "a = 9"))
    stage.publish(3)
    stage.do(Connect("ann"))
    stage.release("p", "m")
    stage.wait(1)
    stage.publish(4, 9)
    return stage.schedule()


# Causal order.


@scenario
def an_effect_that_overtakes_its_cause(seed: int) -> Schedule:
    """Where causal order was asked for, an answer comes after what it answers."""
    stage = Stage(
        seed, "p+q - s", policy_host="p", hosts={"orders": "p", "replies": "q"},
        policy=(ANN, reads("eve"), {"grant": {"principal": "eve", "action": "publish"}}),
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("eve", "q")
    stage.client("ann", "s")
    stage.subscribe("eve")
    stage.subscribe("ann", causal=True)
    stage.hold("p", "s")
    stage.publish(1)
    stage.publish(2, stream="replies", by="eve")
    stage.release("p", "s")
    stage.publish(3)
    stage.publish(4, stream="replies", by="eve")
    return stage.schedule()


# Bounds.


@scenario
def a_slow_consumer(seed: int) -> Schedule:
    """Who doesn't acknowledge is sent no more than a window, and reads on when there is room."""
    stage = _fork(seed, window=2, cache_records=4, read_records=2)
    stage.client("ann", "s")
    stage.subscribe("ann")
    stage.publish(1)
    stage.do(StallClient("ann", 2 * SECOND))
    stage.burst(*range(12))
    stage.wait(2)
    stage.publish(13)
    return stage.schedule()


@scenario
def checkpoints_of_what_was_delivered(seed: int) -> Schedule:
    """What was sent is written down as digests: at intervals, at borders of versions, at an end."""
    stage = _fork(seed, ANN, reads("bob", attributes=["a"]), checkpoint_records=3)
    stage.client("ann", "s", "t")
    stage.client("bob", "t")
    stage.subscribe("ann", durable="kept")
    stage.subscribe("bob", "a > 1")
    stage.publish(1, 2, 3, 4)
    stage.administer(reads_no_more("bob", attributes=["a"]), reads("bob", attributes=["a", "b"]))
    stage.publish(5)
    stage.do(Connect("ann", "t"))
    stage.publish(6, 7)
    stage.do(Disconnect("bob"))
    stage.wait(0.5)
    return stage.schedule()


# Other domains.


@scenario
def a_domain_that_may_read_less(seed: int) -> Schedule:
    """Over a link to another domain goes what the domain may read, and no more."""
    stage = Stage(
        seed, "p - x", policy_host="p", hosts={"orders": "p"},
        policy=(
            reads("elsewhere", "a < 5", attributes=["a"]),
            reads("elsewhere", "\"$stream\" LIKE '$%'"),
            ANN,
        ),
        foreign={"p": {"x": "elsewhere"}},
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("ann", "x")
    stage.subscribe("ann")
    stage.publish(1, 7, 2)
    stage.administer(
        reads_no_more("elsewhere", "a < 5", attributes=["a"]), reads("elsewhere", "a = 2")
    )
    stage.publish(1, 2)
    stage.do(Part("p", "x", SECOND))
    stage.publish(2)
    stage.wait(1)
    return stage.schedule()
