"""Who works on a store from a process of its own?

They come from a server of processes that has imported everything: each starts in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from headgate.rights.changes import Batch, Change, Grant, Revoke
from headgate.rights.history import PolicyHistory, StaleVersionError
from headgate.rights.rules import Action, Rule
from headgate.stores.acl import StoreError
from headgate.stores.opening import open_acl_store
from tests.stores.examples import batch, granting

PROCESSES = get_context("forkserver")
WIDTH = 5
"""How many principals are granted something by one batch of `apply_for_ever`."""

PROCESSES.set_forkserver_preload(
    [
        "headgate.stores.sql",
        "headgate.stores.databases",
        "headgate.stores.migrating",
        "sqlalchemy.dialects.sqlite.pysqlite",
        "sqlalchemy.dialects.postgresql.psycopg",
        "psycopg",
    ]
)

GATE_S = 60.0

Told: TypeAlias = tuple[str, int]


def open_and_apply(where: str, number: int, gate: Any, answers: Any) -> None:
    gate.wait(GATE_S)
    try:
        with closing(open_acl_store(where)) as store:
            answers.put(str(store.apply(granting(f"p{number}"))))
    except StoreError as refusal:
        answers.put(str(refusal))


def apply_for_ever(where: str, name: str, told: Connection) -> None:
    """Tell of each batch when it begins and when it is acknowledged, until one is not."""
    number = 0
    try:
        with closing(open_acl_store(where, busy_s=60)) as store:
            while True:
                number += 1
                told.send(("begins", number))
                names = [f"{name}.{number}.{one}" for one in range(WIDTH)]
                told.send(("stored", store.apply(granting(*names, why=f"{name} {number}"))))
    except StoreError as refusal:
        told.send((str(refusal), number))


def race(where: str, name: str, rounds: int, gate: Any, answers: Any) -> None:
    """Grant something, then add one to a counter in the policy as the other does: who wins?"""
    granted: list[int] = []
    won: list[tuple[int, int]] = []
    with closing(open_acl_store(where, busy_s=60)) as store:
        for number in range(rounds):
            granted.append(store.apply(granting(f"{name}.{number}")))
            gate.wait(GATE_S)
            history = store.history()
            expected, more = history.version, one_more(history)
            gate.wait(GATE_S)
            with suppress(StaleVersionError):
                won.append((expected, store.apply(more, expected=expected)))
    answers.put((granted, won))


def counted(history: PolicyHistory) -> int:
    """What the counter says."""
    rules = history.current().rights_of("counter").rules(Action.SUBSCRIBE)
    return sum(int(topic) for rule in rules for topic in rule.topics or ())


def one_more(history: PolicyHistory) -> Batch:
    value = counted(history)
    changes: list[Change] = [Grant(_counter(value + 1))]
    if value:
        changes.insert(0, Revoke(_counter(value)))
    return batch(*changes)


def _counter(value: int) -> Rule:
    return Rule("counter", Action.SUBSCRIBE, topics=frozenset({str(value)}))


@contextmanager
def applying(where: str, name: str) -> Iterator[tuple[Any, Connection]]:
    """An administrator at work: the process, and where it tells of itself."""
    heard, told = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=apply_for_ever, args=(where, name, told), daemon=True)
    process.start()
    told.close()
    try:
        yield process, heard
    finally:
        process.kill()
        process.join()
        process.close()
        heard.close()
