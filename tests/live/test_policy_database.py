"""The policy host sees every version once, its own and others, whatever comes between."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.live.policy_database import PolicyDatabase
from headgate.rights.changes import Batch, CreateGroup
from headgate.rights.history import PolicyHistory, StaleVersionError
from headgate.rights.starting_points import StartingPoints
from headgate.stores.acl import AclStore, StoreError, UnknownOutcomeError
from headgate.stores.opening import open_acl_store
from tests.live.nodes import batch, run, until
from tests.stores.conftest import postgresql as postgresql
from tests.stores.postgresql import PostgresqlServer


class Moody:
    """An ACL database that is away when a test says so."""

    def __init__(self, store: AclStore) -> None:
        self.store = store
        self.away: dict[str, Exception] = {}
        """What is raised, by the name of what is called."""
        self.after: dict[str, Exception] = {}
        """What is raised when it was done."""
        self.calls: list[str] = []

    def _do(self, name: str, act: Callable[[], Any]) -> Any:
        self.calls.append(name)
        if name in self.away:
            raise self.away[name]
        done = act()
        if name in self.after:
            raise self.after[name]
        return done

    def history(self) -> PolicyHistory:
        found: PolicyHistory = self._do("history", self.store.history)
        return found

    def apply(self, batch: Batch, expected: int | None = None) -> int:
        version: int = self._do("apply", lambda: self.store.apply(batch, expected))
        return version

    def record_starting_point(self, version: int, stream: str, offset: int) -> None:
        self._do("point", lambda: self.store.record_starting_point(version, stream, offset))

    def starting_points(self) -> StartingPoints:
        found: StartingPoints = self._do("points", self.store.starting_points)
        return found

    def close(self) -> None:
        self.store.close()


class Host:
    """What the broker was told."""

    def __init__(self, store: AclStore) -> None:
        self.versions: list[int] = []
        self.lines: list[tuple[str, str]] = []
        self.database = PolicyDatabase(
            store,
            grew=lambda batches: self.versions.extend(number for number, _ in batches),
            noted=lambda what, because: self.lines.append((what, because)),
            look_s=0.001,
        )

    @property
    def said(self) -> list[str]:
        return [what for what, _ in self.lines]


AWAY = StoreError("the server is away")


def a_group(name: str) -> Batch:
    return batch(CreateGroup(name))


@pytest.fixture
def moody(tmp_path: Path) -> Moody:
    return Moody(open_acl_store(tmp_path / "policy"))


def test_at_the_start_all_versions_and_starting_points_are_read(moody: Moody) -> None:
    moody.apply(a_group("a"))
    moody.record_starting_point(1, "orders", 7)

    async def work() -> None:
        host = Host(moody)
        found = await host.database.read()
        assert [number for number, _ in found.batches] == [1]
        assert found.starting_points == ((1, "orders", 7),)
        await host.database.look()
        assert host.versions == []  # it was read already
        await host.database.stop()

    run(work())


def test_a_version_is_told_before_its_administrator_hears_of_it(moody: Moody) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        assert await host.database.apply(a_group("a"), 0) == 1
        assert host.versions == [1]
        with pytest.raises(StaleVersionError):
            await host.database.apply(a_group("b"), 0)
        await host.database.stop()

    run(work())


def test_what_others_store_is_seen_once_and_in_order(moody: Moody, tmp_path: Path) -> None:
    other = open_acl_store(tmp_path / "policy")

    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        watching = asyncio.create_task(host.database.watch())
        for name in "abc":
            other.apply(a_group(name))
        await host.database.apply(a_group("d"), None)
        other.apply(a_group("e"))
        await until(lambda: len(host.versions) == 5)
        assert host.versions == [1, 2, 3, 4, 5]
        watching.cancel()
        await host.database.stop()

    run(work())


def test_looks_that_cross_tell_of_a_version_once(moody: Moody) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        moody.store.apply(a_group("a"))
        await asyncio.gather(*(host.database.look() for _ in range(5)))
        assert host.versions == [1]
        await host.database.stop()

    run(work())


def test_a_database_that_was_away_is_asked_again_and_both_is_said_once(moody: Moody) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        moody.away["history"] = AWAY
        watching = asyncio.create_task(host.database.watch())
        await until(lambda: moody.calls.count("history") > 5)
        assert host.database.problem == "the server is away"
        moody.store.apply(a_group("a"))
        del moody.away["history"]
        await until(lambda: host.versions)
        assert host.versions == [1]
        assert host.database.problem is None
        assert host.said == ["policy database away", "policy database back"]
        watching.cancel()
        await host.database.stop()

    run(work())


def test_a_starting_point_waits_for_the_database(moody: Moody) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        await host.database.apply(a_group("a"), None)
        moody.away["point"] = AWAY
        keeping = asyncio.create_task(host.database.keep_starting_point(1, "orders", 7))
        await until(lambda: moody.calls.count("point") > 3)
        assert not keeping.done()
        del moody.away["point"]
        await keeping
        assert dict((await host.database.starting_points()).of_version(1)) == {"orders": 7}
        await host.database.stop()

    run(work())


def test_a_starting_point_that_contradicts_is_refused_and_said(moody: Moody) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        await host.database.apply(a_group("a"), None)
        await host.database.keep_starting_point(1, "orders", 7)
        await host.database.keep_starting_point(1, "orders", 9)
        assert host.said == ["starting point refused"]
        await host.database.stop()

    run(work())


def test_a_batch_whose_outcome_is_unknown_is_told_when_it_turns_out_to_be_stored(
    moody: Moody,
) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        moody.after["apply"] = UnknownOutcomeError("the commit failed")
        with pytest.raises(UnknownOutcomeError):
            await host.database.apply(a_group("a"), None)
        assert host.versions == []
        await host.database.look()
        assert host.versions == [1]
        await host.database.stop()

    run(work())


def test_a_database_that_goes_away_behind_a_commit_keeps_the_answer_back(moody: Moody) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.read()
        moody.away["history"] = AWAY
        applying = asyncio.create_task(host.database.apply(a_group("a"), None))
        await until(lambda: moody.calls.count("history") > 3)
        assert not applying.done()
        del moody.away["history"]
        assert await applying == 1
        assert host.versions == [1]
        await host.database.stop()

    run(work())


def test_what_is_long_is_found_out_beside_the_loop(moody: Moody) -> None:
    async def work() -> None:
        host = Host(moody)
        await host.database.apply(a_group("a"), None)
        assert await host.database.consult(lambda history: history.version) == 1
        assert (await host.database.history()).version == 1
        await host.database.stop()

    run(work())


def test_a_server_that_is_killed_and_comes_back_is_followed_again(
    postgresql: PostgresqlServer,
) -> None:
    where = postgresql.new_database()
    store, other = open_acl_store(where, busy_s=5), open_acl_store(where, busy_s=5)

    async def work() -> None:
        host = Host(store)
        await host.database.read()
        watching = asyncio.create_task(host.database.watch())
        await host.database.apply(a_group("a"), None)
        await asyncio.to_thread(postgresql.kill)
        keeping = asyncio.create_task(host.database.keep_starting_point(1, "orders", 7))
        await until(lambda: host.database.problem)
        with pytest.raises(StoreError):
            await host.database.apply(a_group("b"), None)
        await asyncio.to_thread(postgresql.start)
        await keeping
        await asyncio.to_thread(other.apply, a_group("c"))
        await until(lambda: len(host.versions) == 2)
        assert host.versions == [1, 2]
        watching.cancel()
        await host.database.stop()

    run(work())
    store.close()
    other.close()
