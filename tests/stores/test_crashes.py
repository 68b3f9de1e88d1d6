"""Across modules: each version is kept whole or not at all, whoever comes, whatever is killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from random import Random

import pytest

from headgate.rights.history import PolicyHistory
from headgate.stores.acl import AclStore
from headgate.stores.opening import open_acl_store
from tests.proofs import COUNTED, proof_size
from tests.stores.administrators import (
    WIDTH,
    Told,
    applying,
    at_once,
    counted,
    race,
)
from tests.stores.postgresql import PostgresqlServer

pytestmark = pytest.mark.proof


def test_administrators_at_once_lose_no_update_and_only_one_wins_each_race(
    where: str, record_property: Callable[[str, object], None]
) -> None:
    rounds = proof_size(test=60, soak=3_000)
    open_acl_store(where).close()
    told = at_once("ab", race, where, rounds)
    granted = [version for some, _ in told for version in some]
    won = [one for _, some in told for one in some]
    assert len(won) == rounds
    assert all(version == expected + 1 for expected, version in won)
    assert sorted(granted + [version for _, version in won]) == list(range(1, 3 * rounds + 1))
    with closing(open_acl_store(where)) as store:
        assert store.history().version == 3 * rounds
        assert counted(store.history()) == rounds
    record_property(COUNTED, f"{rounds} races, {3 * rounds} versions")


def test_a_client_killed_at_any_moment_leaves_whole_versions(
    where: str, record_property: Callable[[str, object], None]
) -> None:
    random = Random(time.time_ns())
    rounds = proof_size(test=6, soak=300)
    known = cut = 0
    for number in range(rounds):
        with applying(where, f"r{number}") as (process, heard):
            told = [heard.recv()]
            time.sleep(random.uniform(0, 0.15))
            process.kill()
            process.join()
            told += _all_told(heard)
        with closing(open_acl_store(where)) as store:
            known, begun = _check(store.history(), told, known)
            cut += begun
    assert cut > 0, "no client was killed in the middle of a batch"
    record_property(COUNTED, f"{cut} of {rounds} killed in the middle of a batch, {known} versions")


def test_a_server_killed_at_any_moment_keeps_what_it_acknowledged(
    postgresql: PostgresqlServer, record_property: Callable[[str, object], None]
) -> None:
    random = Random(time.time_ns())
    where = postgresql.new_database()
    rounds = proof_size(test=4, soak=100)
    known = cut = 0
    for number in range(rounds):
        with applying(where, f"r{number}") as (process, heard):
            told = [heard.recv()]
            time.sleep(random.uniform(0, 0.15))
            postgresql.kill()
            process.join()
            told += _all_told(heard)
            postgresql.start()
        said, _ = told.pop()
        assert "the policy in the database" in said
        assert "\n" not in said
        with closing(open_acl_store(where)) as store:
            known, begun = _check(store.history(), told, known)
            cut += begun
    assert cut > 0, "the server was never killed in the middle of a batch"
    record_property(COUNTED, f"{cut} of {rounds} killed in the middle of a batch, {known} versions")


def test_a_client_that_outlives_the_server_goes_on_with_it(postgresql: PostgresqlServer) -> None:
    where = postgresql.new_database()
    with applying(where, "before") as (_, heard):
        while heard.recv() != ("stored", 20):
            pass
        store: AclStore = open_acl_store(where)
        before = store.history().version
        postgresql.kill()
        postgresql.start()
    with closing(store):
        assert store.history().version >= before


def _all_told(heard: Connection) -> list[Told]:
    told: list[Told] = []
    try:
        while True:
            told.append(heard.recv())
    except (EOFError, OSError):
        return told


def _check(history: PolicyHistory, told: list[Told], known: int) -> tuple[int, bool]:
    """What was acknowledged is there, and at most one whole version more."""
    stored = [version for what, version in told if what == "stored"]
    assert stored == list(range(known + 1, known + 1 + len(stored)))
    acknowledged = known + len(stored)
    assert acknowledged <= history.version <= acknowledged + 1
    for _, batch in history.batches():
        assert len(batch.changes) == WIDTH
    assert len(history.current().rules()) == WIDTH * history.version
    return history.version, told[-1][0] == "begins"
