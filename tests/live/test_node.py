"""A broker on a real loop, a real thread and a real database: what is told is true, to the end."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headgate.broker.core import Broker
from headgate.broker.effects import (
    Delivery,
    Message,
    Published,
    RequestRefused,
    Started,
    SubscriptionEnded,
)
from headgate.broker.settings import Settings
from headgate.broker.topology import Topology
from headgate.live.node import Node, NodeError
from headgate.live.policy_database import PolicyDatabase
from headgate.log.memory import MemoryLog
from headgate.log.records import LogError, Record
from headgate.rights.changes import CreateGroup, Grant, Revoke
from headgate.rights.history import StaleVersionError
from headgate.rights.rules import Action, Rule
from headgate.stores.acl import StoreError, UnknownOutcomeError
from headgate.stores.opening import open_acl_store
from tests.live.nodes import (
    EVERYTHING,
    LOOPS,
    NOON,
    Broken,
    Disk,
    Ear,
    Held,
    allowed,
    alone,
    batch,
    connected,
    run,
    until,
)
from tests.live.test_policy_database import AWAY, Moody


class Unreadable(Disk):
    """A disk with a damaged record."""

    def read(self, stream: str, after: int, count_max: int) -> tuple[Record, ...]:
        raise OSError(5, "Input/output error")


class Damaged(Disk):
    """A disk that names what it can't give back."""

    def read(self, stream: str, after: int, count_max: int) -> tuple[Record, ...]:
        raise LogError(f"offset {after + 1} of `{stream}` is damaged")


class Clumsy(Ear):
    """A connection with a fault in it."""

    def hear(self, message: Message) -> None:
        super().hear(message)
        if isinstance(message, Delivery):
            raise ValueError("what is this?")

    def dropped(self, because: str) -> None:
        super().dropped(because)
        raise ValueError("what now?")


async def started(directory: Path, log: Any = None, acl: Any = None, **settings: Any) -> Node:
    node = alone(directory, log, acl, **settings)
    await node.start()
    await node.administer(allowed(["jane", "bob"]), None)
    return node


@pytest.mark.parametrize("loop", LOOPS)
def test_what_is_published_is_delivered_with_the_version_it_was_stored_under(
    tmp_path: Path, loop: str
) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        client, ear = await connected(node)
        client.subscribe(1, 1, EVERYTHING)
        (start,) = await ear.next(Started)
        for number in range(300):
            client.publish(2 + number, b'{"n":%d}' % number, f"e{number}")
        delivered = await ear.next(Delivery, 300)
        assert [one.event.attributes["n"] for one in delivered] == list(range(300))
        assert {one.version for one in delivered} == {1}
        published = await ear.next(Published, 300)
        assert [one.offset for one in published] == [one.offset for one in delivered]
        assert delivered[0].offset > start.after
        await node.stop()

    run(work(), loop)


def test_a_stop_under_load_answers_everything_that_was_asked_before(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        node = await started(tmp_path, log)
        client, ear = await connected(node)
        client.subscribe(1, 1, EVERYTHING)
        (start,) = await ear.next(Started)
        for number in range(1_000):
            client.publish(2 + number, b"{}", f"e{number}")
        await node.stop()
        assert len(ear.of(Published)) == 1_000
        stored = log.read("events", start.after, 10_000)
        assert len([record for record in stored if not record.is_marker]) == 1_000
        assert ear.dropped_because == "the broker is stopping"
        assert len(ear.of(Delivery)) == 1_000
        assert node.ended.result() is None
        await node.stop()  # once is enough, and more does no harm

    run(work())


def test_a_broker_that_starts_again_goes_on_where_it_was(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        node = await started(tmp_path, log)
        client, ear = await connected(node)
        client.publish(1, b"{}", "e1")
        (first,) = await ear.next(Published)
        await node.stop()
        again = alone(tmp_path, log)
        await again.start()
        client, ear = await connected(again)
        client.publish(1, b"{}", "e1")
        client.publish(2, b"{}", "e2")
        repeated, second = await ear.next(Published, 2)
        assert (repeated.repeated, repeated.offset) == (True, first.offset)
        assert second.offset == first.offset + 1
        await again.stop()

    run(work())


def test_what_was_not_synced_when_it_crashed_was_told_to_nobody(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        disk = Held(log)
        disk.go.set()
        node = await started(tmp_path, disk)
        client, ear = await connected(node)
        disk.go.clear()
        disk.syncing.clear()
        client.publish(1, b"{}", "e1")
        await asyncio.to_thread(disk.syncing.wait)
        client.publish(2, b"{}", "e2")
        crashing = asyncio.create_task(node.crash())
        await asyncio.sleep(0)
        disk.go.set()
        await crashing
        assert not ear.of(Published)
        assert not node.is_running

    run(work())


def test_a_fault_in_the_core_ends_the_node_and_denies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        client, ear = await connected(node)

        def fault(*_: Any, **__: Any) -> None:
            raise AssertionError("an invariant doesn't hold")

        monkeypatch.setattr(node.core.clients, "publish", fault)
        client.publish(1, b"{}", "e1")
        with pytest.raises(NodeError, match="an invariant doesn't hold"):
            await node.ended
        assert await ear.end() == "the broker can't go on"
        with pytest.raises(NodeError, match="isn't running"):
            client.publish(2, b"{}", "e2")
        with pytest.raises(NodeError, match="isn't running"):
            await node.administer(batch(CreateGroup("a")), None)
        await node.stop()
        assert not node.is_running

    run(work())


def test_a_fault_while_effects_come_up_ends_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        _, ear = await connected(node)

        def fault(_: Broker) -> None:
            raise AssertionError("an invariant doesn't hold")

        monkeypatch.setattr(Broker, "effects", fault)
        node.connect("bob", Ear())
        with pytest.raises(NodeError, match="a fault in the broker"):
            await node.ended
        assert await ear.end() == "the broker can't go on"
        await node.stop()

    run(work())


def test_a_disk_that_breaks_its_word_ends_the_node(tmp_path: Path) -> None:
    async def work() -> None:
        node = alone(tmp_path, Broken(MemoryLog()))
        await node.start()
        with pytest.raises(NodeError, match="the log can't be written any more"):
            await node.ended
        await node.stop()

    run(work())


def test_a_log_that_cannot_be_read_ends_the_node(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        node = await started(tmp_path, log)
        client, ear = await connected(node)
        client.publish(1, b"{}", "e1")
        await ear.next(Published)
        await node.stop()
        again = alone(tmp_path, Unreadable(log))
        await again.start()
        client, ear = await connected(again)
        client.subscribe(2, 1, EVERYTHING, after={"events": 0})
        with pytest.raises(NodeError, match="the broker can't go on"):
            await again.ended
        await again.stop()

    run(work())


def test_a_damaged_record_ends_who_is_owed_it_and_nobody_else(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        node = await started(tmp_path, log)
        client, ear = await connected(node)
        client.publish(1, b"{}", "e1")
        await ear.next(Published)
        await node.stop()
        again = alone(tmp_path, Damaged(log))
        await again.start()
        client, ear = await connected(again)
        client.subscribe(2, 1, EVERYTHING, after={"events": 0})
        client.subscribe(3, 2, EVERYTHING)
        (ended,) = await ear.next(SubscriptionEnded)
        assert ended.subscription == 1
        assert "offset 1 of `events` is damaged" in ended.because
        client.publish(4, b"{}", "e2")
        (delivered,) = await ear.next(Delivery)
        assert delivered.subscription == 2
        await again.stop()

    run(work())


def test_what_nobody_is_owed_may_be_removed(tmp_path: Path) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        client, ear = await connected(node)
        for number in range(10):
            client.publish(number, b"{}", f"e{number}")
        published = await ear.next(Published, 10)
        assert (await node.may_remove())["events"] == published[-1].offset
        node.remove({"events": published[4].offset})
        await until(lambda: node.log.first("events") == published[5].offset)
        client.subscribe(20, 1, EVERYTHING, after={"events": 0})
        delivered = await ear.next(Delivery, 5)
        assert [one.offset for one in delivered] == [one.offset for one in published[5:]]
        await node.stop()

    run(work())


def test_a_faulty_connection_is_lost_and_the_others_are_served(tmp_path: Path) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        clumsy = Clumsy()
        faulty = node.connect("bob", clumsy)
        client, ear = await connected(node)
        await until(lambda: clumsy.heard)
        faulty.subscribe(1, 1, EVERYTHING)
        client.subscribe(1, 1, EVERYTHING)
        await clumsy.next(Started)
        await ear.next(Started)
        client.publish(2, b"{}", "e1")
        client.publish(3, b"{}", "e2")
        await ear.next(Delivery, 2)
        assert "its connection failed: ValueError" in await clumsy.end()
        assert len(clumsy.of(Delivery)) == 1
        assert node.clients == 1
        assert node.is_running
        await node.stop()

    run(work())


def test_a_full_disk_refuses_for_now_and_is_used_again_when_there_is_room(tmp_path: Path) -> None:
    async def work() -> None:
        log = MemoryLog()
        disk = Held(log)
        disk.go.set()
        node = await started(tmp_path, disk, ask_again_us=1_000)
        client, ear = await connected(node)
        for times in range(5):
            log.full = True
            disk.go.clear()
            disk.syncing.clear()
            client.publish(100 * times + 1, b"{}", f"first {times}")
            # Another sync may have begun just before, and holds the thread as well.
            await asyncio.to_thread(disk.syncing.wait, 0.2)
            for number in range(2, 30):  # some are submitted, and some only decided
                client.publish(100 * times + number, b"{}", f"{number} {times}")
                if number % 7 == 0:
                    await asyncio.sleep(0)
                if number == 20:
                    disk.go.set()
            refused = await ear.next(RequestRefused, 29 * (times + 1))
            assert all(one.temporary for one in refused)
            log.full = False
            # What was under way when there was no room may still be lost, and more with it.
            assert node._disk is not None
            await asyncio.to_thread(node._disk.flush)
            await asyncio.sleep(0)
            client.publish(100 * times + 50, b"{}", f"last {times}")
            await ear.next(Published, times + 1)
        published = ear.of(Published)
        stored = log.read("events", published[0].offset - 1, 100)
        assert [(one.request - 50) // 100 for one in published] == [0, 1, 2, 3, 4]
        events = [record.event_id for record in stored if not record.is_marker]
        assert events == [f"last {times}" for times in range(5)]
        assert node.is_running
        await node.stop()

    run(work())


def test_an_administrator_hears_what_the_database_says(tmp_path: Path) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        for _ in range(2):
            with pytest.raises(StaleVersionError) as stale:
                await node.administer(batch(CreateGroup("a")), 0)
            assert stale.value.current == 1
        asked = [node.administer(batch(CreateGroup(name)), 1) for name in "abc"]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert answers[0] == 2
        assert [type(answer) for answer in answers[1:]] == [StaleVersionError] * 2
        await node.stop()

    run(work())


def test_a_principal_whose_right_to_connect_ends_is_dropped(tmp_path: Path) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        _, ear = await connected(node)
        await node.administer(batch(Revoke(Rule("jane", Action.CONNECT))), None)
        assert "at version 2" in await ear.end()
        assert node.clients == 0
        await node.stop()

    run(work())


def test_a_version_that_somebody_else_stored_holds_here(tmp_path: Path) -> None:
    other = open_acl_store(tmp_path / "policy")

    async def work() -> None:
        node = await started(tmp_path)
        assert node.policy is not None
        other.apply(batch(Grant(Rule("eve", Action.CONNECT))))
        await node.policy.look()
        await connected(node, "eve")
        await until(lambda: getattr(node.log.last("events"), "version", 0) == 2)
        await node.stop()
        assert dict(other.starting_points().of_version(2)).keys() >= {"events"}

    run(work())


def test_a_broker_goes_on_while_the_policy_database_is_away(tmp_path: Path) -> None:
    moody = Moody(open_acl_store(tmp_path / "policy"))

    async def work() -> None:
        node = await started(tmp_path, acl=moody)
        client, ear = await connected(node)
        moody.away = dict.fromkeys(("history", "apply", "point", "points"), AWAY)
        with pytest.raises(StoreError, match="away"):
            await node.administer(batch(CreateGroup("a")), None)
        client.publish(1, b"{}", "e1")
        await ear.next(Published)
        moody.away = {}
        assert await node.administer(batch(CreateGroup("a")), None) == 2
        await node.stop()
        assert dict(moody.starting_points().of_version(2)).keys() >= {"events"}

    run(work())


def test_a_batch_under_way_when_the_broker_crashes_has_an_unknown_outcome(tmp_path: Path) -> None:
    async def work() -> None:
        node = await started(tmp_path)
        asked = asyncio.create_task(node.administer(batch(CreateGroup("a")), None))
        await asyncio.sleep(0)
        await node.crash()
        with pytest.raises(UnknownOutcomeError, match="before it knew"):
            await asked

    run(work())


def test_a_validity_that_ends_makes_a_version_by_itself(tmp_path: Path) -> None:
    clock = [int(NOON.timestamp() * 1_000_000)]

    async def work() -> None:
        settings = Settings("b", Topology.alone("b"), "b", ("events",))
        store = open_acl_store(tmp_path / "policy")
        node = Node(settings, MemoryLog(), store, "boot1", now=lambda: clock[0])
        await node.start()
        until_when = NOON.replace(hour=13)
        rule = Rule("jane", Action.CONNECT, valid_until=until_when)
        await node.administer(batch(Grant(rule)), None)
        _, ear = await connected(node)
        clock[0] += 2 * 3600 * 1_000_000
        assert "at version 2" in await ear.end()
        await node.stop()

    run(work())


def test_the_policys_host_and_nobody_else_has_the_database(tmp_path: Path) -> None:
    store = open_acl_store(tmp_path / "policy")
    two = Topology({"n": ("a", "b")}, frozenset())
    with pytest.raises(NodeError, match="the policy's host, and no other"):
        Node(Settings("b", two, "a", ("events",)), MemoryLog(), store, "boot1")
    with pytest.raises(NodeError, match="the policy's host, and no other"):
        Node(Settings("a", two, "a", ("events",)), MemoryLog(), None, "boot1")

    async def work() -> None:
        node = Node(Settings("b", two, "a", ("events",)), MemoryLog(), None, "boot1")
        with pytest.raises(NodeError, match="ask there"):
            await node.administer(batch(CreateGroup("a")), None)

    run(work())


def test_a_node_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    moody = Moody(open_acl_store(tmp_path / "policy"))
    moody.away["history"] = AWAY

    async def work() -> None:
        node = alone(tmp_path, acl=moody)
        with pytest.raises(StoreError, match="away"):
            await node.start()
        assert not node.is_running
        assert isinstance(node.policy, PolicyDatabase)
        await node.stop()

    run(work())
