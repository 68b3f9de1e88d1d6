"""Who works on a store from a process of its own?

They come from a server of processes that has imported everything: each starts in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from headgate.rights.changes import Batch, Change, Grant, Revoke
from headgate.rights.history import PolicyHistory, StaleVersionError
from headgate.rights.rules import Action, Rule
from headgate.stores.acl import StoreError
from headgate.stores.databases import SqliteDatabase
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

T = TypeVar("T")

Told: TypeAlias = tuple[str, int]
Race: TypeAlias = tuple[list[int], list[tuple[int, int]]]


def at_once(names: str, work: Callable[..., T], where: str, *more: object) -> list[T]:
    """What processes answer that work on a store at the same time, one for each letter."""
    gate = PROCESSES.Barrier(len(names))
    started = []
    for name in names:
        heard, told = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=_answer, args=(told, gate, work, where, name, *more))
        process.start()
        told.close()
        started.append((process, heard))
    try:
        return [heard.recv() for _, heard in started]  # or `EOFError` where one has died
    finally:
        for process, heard in started:
            process.kill()
            process.join()
            process.close()
            heard.close()


def _answer(told: Connection, gate: Any, work: Callable[..., Any], where: str, *more: Any) -> None:
    name, *others = more
    try:
        told.send(work(where, name, gate, *others))
    except BaseException:
        gate.abort()
        raise


def open_and_apply(where: str, name: str, gate: Any) -> int:
    gate.wait(GATE_S)
    with closing(open_acl_store(where)) as store:
        return store.apply(granting(name))


def connect_many(where: str, name: str, gate: Any, rounds: int) -> int:
    databases = [SqliteDatabase(Path(where, str(n)), GATE_S, create=True) for n in range(rounds)]
    for database in databases:
        gate.wait(GATE_S)
        database.connected().close()
        database.engine.dispose()
    return rounds


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


def race(where: str, name: str, gate: Any, rounds: int) -> Race:
    """Grant something, then add one to a counter in the policy as the others do: who wins?

    Gives the versions of what was granted, and of each race won the version expected and made.
    """
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
    return granted, won


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
