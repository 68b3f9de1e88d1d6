"""Which schedules need the rules of versions? Each breaks a promise without its rule."""

from __future__ import annotations

from random import Random

from headgate.simulation.scenarios.named import scenario
from headgate.simulation.scenarios.stages import (
    Change,
    Stage,
    connects,
    joins,
    leaves,
    reads,
    reads_no_more,
    writes_no_more,
)
from headgate.simulation.schedules import (
    Break,
    Connect,
    Disconnect,
    FillDisk,
    Kill,
    Schedule,
    Slow,
    SlowDisk,
)
from headgate.simulation.timeline import MILLISECOND, SECOND

ANN, BOB = reads("ann"), reads("bob")
NARROWED = (reads_no_more("ann"), reads("ann", "a = 2"))


def _line(seed: int, *policy: Change, **settings: int | bool) -> Stage:
    """`a` hosts the policy right beside `s`, and `p` the stream, two hops away."""
    stage = Stage(
        seed, "p - m - s - a",
        policy_host="a", hosts={"orders": "p"}, policy=policy or (ANN,), settings=settings,
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("ann", "s")
    return stage


def _lagging(seed: int, *policy: Change) -> Stage:
    """`a` hosts the policy. The stream's host can be kept from it, its twin passes it on to `m`."""
    stage = Stage(
        seed, "a - p1+p2 - m - s", "m - t",
        policy_host="a", hosts={"orders": "p1"}, policy=policy,
    )  # fmt: skip
    stage.client("pam", "p1")
    stage.client("ann", "s")
    stage.not_by("p1", "m")
    return stage


def _two_ways(seed: int, *policy: Change) -> Stage:
    """`s` follows the policy at m1 and the stream at m2, so that either can be late."""
    stage = Stage(
        seed, "p - m1+m2 - s", policy_host="p", hosts={"orders": "p"}, policy=policy or (ANN,)
    )
    stage.client("pam", "p")
    stage.client("ann", "s")
    stage.not_by("m2", "s")
    return stage


# Routing, and the gate.


@scenario
def a_filter_narrowed_while_an_older_record_is_on_a_slow_path(seed: int) -> Schedule:
    """The record is matched with what was owed at its version, however slow its path."""
    stage = _line(seed)
    stage.subscribe("ann")
    stage.hold("p", "m")
    stage.publish(1)
    stage.administer(*NARROWED)
    stage.release("p", "m")
    stage.publish(1, 2)
    return stage.schedule()


@scenario
def a_new_subscription_to_a_stream_that_lags(seed: int) -> Schedule:
    """At versions before those that it was told of, a new subscription is owed everything."""
    stage = _lagging(seed, ANN)
    stage.hold("a", "p1")
    stage.administer(reads_no_more("ann"))
    for number in range(20):
        stage.administer(reads("ann", f"a = {100 + number}"))
    stage.subscribe("ann")
    stage.publish(1, 2)
    stage.release("a", "p1")
    stage.publish(1, 105)
    return stage.schedule()


@scenario
def filters_that_cover_at_some_versions_only(seed: int) -> Schedule:
    """A filter stands for another one only at the versions at which it covers it."""
    stage = _lagging(seed, reads("ann", "a = 1"), BOB)
    stage.client("bob", "s")
    stage.hold("a", "p1")
    stage.administer(ANN)
    stage.subscribe("ann")
    stage.subscribe("bob")
    stage.publish(2, 1, 2)
    stage.release("a", "p1")
    stage.publish(2)
    return stage.schedule()


@scenario
def a_cache_that_is_complete_at_some_versions_only(seed: int) -> Schedule:
    """What came for one who may read as much now lacks what another was owed before."""
    stage = _lagging(seed, reads("ann", "a = 1"), BOB)
    stage.client("bob", "t")
    stage.subscribe("bob", resumed=True)
    stage.publish(1)
    stage.do(Disconnect("bob"))
    stage.hold("a", "p1")
    stage.administer(ANN)
    stage.subscribe("ann")
    stage.publish(2, 1, 2)
    stage.do(Connect("bob"))
    stage.wait(1)
    stage.release("a", "p1")
    stage.publish(2)
    return stage.schedule()


@scenario
def a_version_that_is_not_known_behind_a_link(seed: int) -> Schedule:
    """A record of such a version is sent to be on the safe side."""
    stage = _two_ways(seed, reads("ann", "a = 1"))
    stage.subscribe("ann")
    stage.hold("m1", "s")
    stage.administer(reads("ann", "a = 2"))
    stage.publish(2)
    stage.release("m1", "s")
    stage.publish(1)
    return stage.schedule()


@scenario
def a_record_that_overtakes_its_version(seed: int) -> Schedule:
    """It is held where its subscriber is, until its version is known there."""
    stage = _two_ways(seed)
    stage.subscribe("ann")
    stage.hold("m1", "s")
    stage.administer(*NARROWED)
    stage.publish(1, 2)
    stage.release("m1", "s")
    stage.publish(1, 2)
    return stage.schedule()


@scenario
def rights_that_change_while_a_record_is_under_way(seed: int) -> Schedule:
    """It is gated by the rights of its own version, not by the newest ones."""
    stage = _line(seed, reads("ann", attributes=["a"]))
    stage.subscribe("ann")
    stage.hold("m", "s")
    stage.publish(1)
    stage.administer(reads_no_more("ann", attributes=["a"]), reads("ann", attributes=["b"]))
    stage.publish(2)
    stage.release("m", "s")
    stage.publish(3)
    return stage.schedule()


@scenario
def a_past_that_is_longer_than_what_was_told_of_it(seed: int) -> Schedule:
    """Rights of versions before a broker's snapshot are asked for when a replay needs them."""
    stage = _line(seed, frame_bytes_max=4_096)
    stage.subscribe("ann", durable="kept")
    stage.publish(1)
    stage.do(Disconnect("ann"))
    stage.publish(1, 2)
    before = ANN
    for number in range(40):
        now = reads("ann", f"a = {100 + number}")
        stage.administer({"revoke": before["grant"]}, now)
        before = now
    stage.do(Connect("ann"))
    stage.publish(139)
    stage.wait(1)
    return stage.schedule()


@scenario
def filters_that_are_too_much_to_say(seed: int) -> Schedule:
    """What doesn't fit in a frame is asked for as everything, which covers whatever is wanted."""
    stage = _line(seed, frame_bytes_max=32_768)
    stage.subscribe("ann", durable="kept")
    stage.publish(1)
    stage.do(Disconnect("ann"))
    stage.publish(1, 2)
    long = " OR ".join(f"b = {number}" for number in range(60))
    for number in range(8):
        stage.administer(reads("ann", f"a = {100 + number} AND ({long})"))
    stage.do(Connect("ann"))
    stage.publish(105)
    stage.wait(1)
    return stage.schedule()


# Who is affected, and by what.

_GROUPS = ({"create_group": "staff"}, {"create_group": "all"}, joins("all", "staff"))


@scenario
def a_batch_that_names_a_group_only(seed: int) -> Schedule:
    """Whoever is in the group, or in a group in it, is affected."""
    stage = _line(seed, *_GROUPS, joins("staff", "ann"), reads("ann", "a = 9"))
    stage.subscribe("ann")
    stage.publish(1)
    stage.administer(reads("all"))
    stage.publish(2)
    stage.administer(leaves("all", "staff"))
    stage.publish(3, 9)
    return stage.schedule()


@scenario
def a_new_principal_between_two_versions(seed: int) -> Schedule:
    """A snapshot counts when it was taken after the interest in its changes was vouched for."""
    stage = _two_ways(seed, ANN, BOB)
    stage.client("bob", "s", late=True)
    stage.hold("s", "m1")
    stage.do(Connect("bob"))
    stage.wait(2.2)  # it is asked again, and then by m2
    stage.administer(reads_no_more("bob"), reads("bob", "a = 2"))
    stage.release("s", "m1")
    stage.wait(1)
    stage.subscribe("bob")
    stage.publish(1, 2)
    return stage.schedule()


@scenario
def a_version_that_overtakes_a_snapshot(seed: int) -> Schedule:
    """A version that comes while a snapshot is under way is in force, whichever is first."""
    stage = _two_ways(seed, ANN, BOB)
    stage.client("bob", "s", late=True)
    stage.hold("m2", "s")
    stage.do(Connect("bob"))
    stage.administer(reads_no_more("bob"), reads("bob", "a = 2"))
    stage.wait(0.5)
    stage.release("m2", "s")
    stage.wait(1)
    stage.subscribe("bob")
    stage.publish(1, 2)
    return stage.schedule()


@scenario
def a_connection_whose_right_ends(seed: int) -> Schedule:
    """Who may not be connected any more is disconnected, through a group, too."""
    stage = _line(seed, *_GROUPS, ANN)
    stage.administer({"create_group": "more"}, joins("more", "all"), connects("more"))
    stage.administer(joins("staff", "ann"), leaves("guests", "ann"))
    stage.subscribe("ann")
    stage.publish(1)
    stage.administer(leaves("all", "staff"))
    stage.publish(2)
    return stage.schedule()


# Where versions begin.


@scenario
def a_publication_while_its_right_ends(seed: int) -> Schedule:
    """What is published after a version began is decided by it, and bears it."""
    stage = _line(seed)
    stage.subscribe("ann")
    stage.do(SlowDisk("p", 2 * SECOND, 100 * MILLISECOND))
    stage.administer(writes_no_more("pam"), {"grant": _only_two()})
    for _ in range(12):
        stage.burst(1, 2)
    return stage.schedule()


def _only_two() -> Change:
    return {"principal": "pam", "action": "publish", "filter": "a = 2"}


@scenario
def a_crash_just_after_a_version_was_learnt(seed: int) -> Schedule:
    """A version is stored before anybody is told where it begins: no crash takes it back."""
    chance = Random(seed)
    stage = _line(seed)
    stage.subscribe("ann")
    stage.do(SlowDisk("p", 3 * SECOND, 200 * MILLISECOND))
    for number in range(3):
        stage.publish(1)
        stage.administer(reads("ann", f"a = {number}"))
        stage.wait(chance.randrange(3) / 20)
        stage.do(Kill("p", SECOND // 4))
        stage.wait(2)
    stage.publish(1)
    return stage.schedule()


@scenario
def a_full_disk_where_a_version_should_begin(seed: int) -> Schedule:
    """A marker that can't be stored is tried again, and what is stored stands without a gap."""
    stage = _line(seed)
    stage.subscribe("ann")
    stage.publish(1)
    stage.do(FillDisk("p", SECOND))
    stage.burst(1, 2, 3)
    stage.administer(reads("ann", "a = 1"))
    stage.publish(4)
    stage.wait(1.5)
    stage.publish(5)
    return stage.schedule()


@scenario
def two_hosts_with_different_starting_points(seed: int) -> Schedule:
    """A version begins on each stream where that stream's host learnt it."""
    stage = Stage(
        seed, "p - s - a", "q - s", policy_host="a", hosts={"orders": "p", "news": "q"},
        policy=(ANN,),
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("pete", "q", principal="pam")
    stage.client("ann", "s")
    stage.subscribe("ann")
    stage.publish(1)
    stage.hold("s", "q")
    stage.administer(*NARROWED)
    stage.publish(1, 2)
    stage.publish(1, 1, stream="news", by="pete")
    stage.release("s", "q")
    stage.publish(1, 2, stream="news", by="pete")
    return stage.schedule()


# Brokers that are cut off.


@scenario
def a_broker_cut_off_for_longer_than_its_lease(seed: int) -> Schedule:
    """Where the policy's host can't be asked, nothing is published after the lease."""
    stage = _line(seed, lease_us=3 * SECOND)
    stage.subscribe("ann")
    stage.publish(1)
    stage.hold("m", "p")
    stage.administer(writes_no_more("pam"))
    stage.wait(7)
    stage.publish(2)
    stage.wait(1)
    stage.release("m", "p")
    stage.publish(3)
    return stage.schedule()


@scenario
def answers_and_silences_that_come_late(seed: int) -> Schedule:
    """A lease counts from when its question was asked, and no silence renews it."""
    stage = Stage(
        seed, "a - m - p", policy_host="a", hosts={"orders": "p"}, policy=(ANN,),
        settings={"lease_us": 3 * SECOND},
    )  # fmt: skip
    stage.client("pam", "p")
    stage.client("ann", "p")
    stage.subscribe("ann")
    stage.do(Slow("a", "m", 12 * SECOND, 10_000_000, 7 * SECOND))
    for number in range(12):
        stage.publish(1)
        stage.administer(reads("dan", f"a = {number}"))
        stage.wait(0.8)
    return stage.schedule()


@scenario
def a_version_that_a_broker_hears_of_and_is_not_given(seed: int) -> Schedule:
    """An answer renews the lease only once the version that it tells of is known."""
    stage = Stage(
        seed, "a - m1+m2 - p", policy_host="a", hosts={"orders": "p"}, policy=(ANN,),
        settings={"lease_us": 3 * SECOND, "ask_again_us": 300 * MILLISECOND},
    )  # fmt: skip
    stage.client("pam", "p")
    stage.not_by("m2", "p")
    stage.hold("m1", "p")
    stage.administer(writes_no_more("pam"))
    stage.wait(7)
    stage.publish(1)
    stage.release("m1", "p")
    stage.publish(2)
    return stage.schedule()


@scenario
def a_version_that_is_too_large_to_be_told(seed: int) -> Schedule:
    """Whoever is here is asked about, before that version is known."""
    stage = _line(seed)
    stage.subscribe("ann")
    stage.publish(1)
    long = "x" * 6_000
    many = (reads(f"someone {number}", f"a <> '{long}'") for number in range(100))
    stage.administer(*many, *NARROWED)
    stage.wait(1)
    stage.publish(1, 2)
    return stage.schedule()


@scenario
def a_broker_that_comes_back_with_an_old_version(seed: int) -> Schedule:
    """A neighbour that lags tells of an old version: nobody may publish by that one."""
    stage = Stage(seed, "a - m1+m2 - p", policy_host="a", hosts={"orders": "p"}, policy=(ANN,))
    stage.client("pam", "p")
    stage.client("ann", "p")
    stage.not_by("m1", "p")
    stage.subscribe("ann")
    stage.publish(1)
    stage.hold("a", "m1")
    stage.administer(writes_no_more("pam"))
    stage.do(Break("m2", "p", 4 * SECOND))
    stage.do(Kill("p", SECOND // 2))
    stage.wait(3)
    stage.publish(2)
    stage.release("a", "m1")
    stage.wait(3)
    stage.publish(3)
    return stage.schedule()


# Any batch at any step of a delivery.

_RULE = "a < 5"
_BATCHES: dict[str, tuple[Change, ...]] = {
    "revoked": (reads_no_more("ann", _RULE),),
    "narrowed": (reads_no_more("ann", _RULE), reads("ann", "a = 1")),
    "narrowed past it": (reads_no_more("ann", _RULE), reads("ann", "a = 3")),
    "widened": (ANN,),
    "cut": (reads_no_more("ann", _RULE), reads("ann", attributes=["b"])),
    "by a group": (
        reads_no_more("ann", _RULE), {"create_group": "some"}, joins("some", "ann"), reads("some"),
    ),
    "about another": (reads("bob", "a = 1"),),
}  # fmt: skip
_WAYS = (("p", "m"), ("m", "s"), ("a", "s"), ("s", "m"), ("m", "p"))


@scenario
def any_batch_at_any_step_of_a_delivery(seed: int) -> Schedule:
    """The seed says which batch comes, and what is late meanwhile: records, or the version."""
    chance = Random(seed)
    stage = _line(seed, reads("ann", _RULE))
    stage.subscribe("ann")
    stage.publish(1)
    held = [way for way in _WAYS if chance.random() < 0.4]
    batch = _BATCHES[sorted(_BATCHES)[seed % len(_BATCHES)]]
    for way in held:
        stage.hold(*way)
    if chance.random() < 0.3:
        stage.do(SlowDisk("p", SECOND, 100 * MILLISECOND))
    if chance.random() < 0.3:
        stage.administer(*batch)
        stage.publish(2, 7)
    else:
        stage.publish(2)
        stage.administer(*batch)
        stage.publish(7)
    chance.shuffle(held)
    for way in held:
        stage.release(*way)
        stage.publish(3)
    stage.publish(1, 3)
    return stage.schedule()
