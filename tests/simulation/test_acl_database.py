"""Does the ACL database accept, refuse, wait, and know after a crash what it had accepted?"""

from collections.abc import Callable
from random import Random
from typing import Any

from headgate.rights.changes import Batch
from headgate.simulation.acl_database import AclDatabase
from headgate.simulation.administering import batch_of
from headgate.simulation.checkers.promises import Checker, Observers
from headgate.simulation.timeline import SECOND, Timeline

GROUP = batch_of(({"create_group": "staff"},), "ada", 0)


class Watcher(Checker):
    """Notes what is stored and told."""

    def __init__(self) -> None:
        self.stored: list[Any] = []  # type: ignore[assignment]
        self.told_versions: list[int] = []
        self.grew: list[list[int]] = []
        self.answers: list[str | None] = []

    def batch_stored(self, version: int, batch: Batch) -> None:
        self.stored.append(version)

    def policy_told(self, version: int) -> None:
        self.told_versions.append(version)

    def note(self, batches: list[tuple[int, Batch]]) -> None:
        self.grew.append([version for version, _ in batches])


def setting(seed: int = 1) -> tuple[Timeline, AclDatabase, Watcher]:
    timeline, watcher, observers = Timeline(1_000), Watcher(), Observers()
    observers.batch_stored.append(watcher.batch_stored)
    observers.policy_told.append(watcher.policy_told)
    database = AclDatabase(timeline, Random(seed), 1_000, observers)
    database.watch(watcher.note)
    return timeline, database, watcher


def test_a_batch_is_a_version_after_a_while_and_is_told_before_it_is_answered() -> None:
    timeline, database, watcher = setting()
    order: list[str] = []
    database.watch(lambda batches: order.append("grew"))
    database.apply(GROUP, None, lambda refused: order.append(f"answer {refused}"))
    assert order == []
    timeline.run_until(SECOND)
    assert order == ["grew", "answer None"]
    assert (watcher.stored, watcher.told_versions) == ([1], [0, 0, 1])


def test_what_is_refused_is_no_version_and_says_why() -> None:
    timeline, database, watcher = setting()
    database.begin([GROUP, GROUP])
    database.apply(GROUP, None, watcher.answers.append)
    database.apply(batch_of(({"create_group": "board"},), "ada", 0), 7, watcher.answers.append)
    timeline.run_until(SECOND)
    assert database.history.version == 1
    because = sorted(map(str, watcher.answers))
    assert "there is a group `staff` already" in because[0]
    assert "expected version 7" in because[1]


def test_while_it_is_down_everybody_waits() -> None:
    timeline, database, watcher = setting()
    database.crash()
    database.apply(GROUP, None, watcher.answers.append)
    timeline.run_until(SECOND)
    assert watcher.answers == []
    database.recover()
    timeline.run_until(2 * SECOND)
    assert (watcher.answers, watcher.grew) == ([None], [[1]])


def test_a_crash_before_or_after_the_commit_is_told_when_it_is_back() -> None:
    outcomes = set()
    for seed in range(20):
        timeline, database, watcher = setting(seed)
        database.apply(GROUP, None, watcher.answers.append)
        database.crash()
        timeline.run_until(SECOND)
        assert (watcher.answers, watcher.grew) == ([], [])
        database.recover()
        timeline.run_until(2 * SECOND)
        refused = watcher.answers[0]
        assert watcher.grew == ([] if refused else [[1]])
        outcomes.add(refused is None)
    assert outcomes == {True, False}


def test_a_policys_host_that_starts_has_read_what_is_there() -> None:
    _, database, watcher = setting()
    database.forget_watcher()
    database.begin([GROUP])
    again: Callable[[list[tuple[int, Batch]]], None] = watcher.note
    database.watch(again)
    assert watcher.grew == []
    assert watcher.told_versions[-1] == 1
