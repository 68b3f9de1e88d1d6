"""What does a delivery decision cost? By the number of principals, against a plain dictionary.

python -m bench.rights [--quick]
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime

from bench import QUICK, micro, nano, profile, seconds_each, table, times, title
from headgate.filters.filter import Filter
from headgate.gate.delivery import View, gate
from headgate.model.events import Event
from headgate.rights.changes import Batch, Change, CreateGroup, Grant, Join, Leave, Revoke
from headgate.rights.history import PolicyHistory
from headgate.rights.restriction import restricted
from headgate.rights.rules import Action, Rule
from headgate.rights.subscriptions import Subscription

SIZES = (10, 100, 1_000) if QUICK else (10, 1_000, 100_000)
RULES_EACH = 10
CHANGES = 500 if QUICK else 10_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SYMBOLS = [f"S{number}" for number in range(1_000)]
FILTERS = [
    Filter.parse(f"type = 'quote' AND symbol = '{symbol}' AND price < {100 + at % 400}")
    for at, symbol in enumerate(SYMBOLS)
]
EVENTS = 64


def name(number: int) -> str:
    return f"desk-{number}"


def rule(principal: str, at: int) -> Rule:
    return Rule(principal, Action.SUBSCRIBE, FILTERS[at % len(FILTERS)])


def policy(principals: int) -> PolicyHistory:
    """Each principal with ten rules of its own, on ten symbols."""
    changes = [
        Grant(rule(name(number), number * RULES_EACH + at))
        for number in range(principals)
        for at in range(RULES_EACH)
    ]
    return PolicyHistory.of([Batch(tuple(changes), "bench", NOW)])


def event(symbol: str) -> Event:
    fields = {"type": "quote", "symbol": symbol, "price": 50, "volume": 300, "venue": "north"}
    return Event.of(fields)


def deliveries(principals: int) -> list[tuple[Event, Subscription, str]]:
    """Events that the last of ten rules grants, for principals chosen at random by a seed."""
    chance = random.Random(7)
    found = []
    for _ in range(EVENTS):
        number = chance.randrange(principals)
        symbol = SYMBOLS[(number * RULES_EACH + RULES_EACH - 1) % len(SYMBOLS)]
        wanted = Filter.parse(f"symbol = '{symbol}'")
        found.append((event(symbol), Subscription(name(number), wanted), symbol))
    return found


def bench_gate() -> None:
    title("gate: one delivery decision, ten rules a principal, the last one grants")
    rows = []
    for size in SIZES:
        history = policy(size)
        version = history.current()
        plain = {
            name(number): frozenset(
                SYMBOLS[(number * RULES_EACH + at) % len(SYMBOLS)] for at in range(RULES_EACH)
            )
            for number in range(size)
        }
        cases = deliveries(size)
        assert all(isinstance(gate(e, version, s), View) for e, s, _ in cases)
        scope = {"cases": cases, "gate": gate, "version": version, "plain": plain}
        found = seconds_each(
            {
                "gate": "for e, s, _ in cases: gate(e, version, s)",
                "plain": "for e, s, symbol in cases: symbol in plain.get(s.principal, ())",
            },
            scope,
        )
        ours, floor = found["gate"] / EVENTS, found["plain"] / EVENTS
        rows.append([f"{size:,}", nano(ours), f"{1 / ours:,.0f}", nano(floor), times(ours / floor)])
    table(["principals", "gate ns", "gates/s", "dictionary ns", "ratio"], rows)
    print("(the dictionary only asks whether a symbol is in a set: no filter, no view, no version)")


def bench_first_look() -> None:
    title("rights of a principal that was not asked for before")
    rows = []
    for size in SIZES:
        version = policy(size).current()
        names = [name(number) for number in range(min(size, 1_000))]
        started = time.perf_counter()
        for one in names:
            version.rights_of(one)
        rows.append([f"{size:,}", micro((time.perf_counter() - started) / len(names))])
    table(["principals", "µs"], rows)


def bench_restricted() -> None:
    title("the restricted subscription of a principal with ten rules")
    version = policy(10).current()
    wanted = Subscription(name(3), Filter.parse("symbol LIKE 'S1%' AND volume > 100"))
    found = seconds_each(
        {"it": "restricted(version, s)"},
        {"restricted": restricted, "version": version, "s": wanted},
    )
    table(["", "µs"], [["restricted", micro(found["it"])]])


def bench_batches() -> None:
    title(f"a batch of {CHANGES:,} changes")
    size = SIZES[-1]
    prices = frozenset({"symbol", "price"})
    grants = [
        Grant(
            Rule(name(number % size), Action.SUBSCRIBE, FILTERS[number % 1_000], attributes=prices)
        )
        for number in range(CHANGES)
    ]
    one_group: tuple[Change, ...] = (
        CreateGroup("all"),
        *(Join("all", name(number)) for number in range(CHANGES - 1)),
    )
    rows = []
    batches: dict[str, tuple[Change, ...]] = {
        f"grants to {min(size, CHANGES):,} of {size:,} principals": tuple(grants),
        "and their revocation": tuple(Revoke(change.rule) for change in grants),
        "joins to one group": one_group,
        "one more joins that group": (Join("all", "late"),),
        "a rule for that group": (Grant(rule("all", 1)),),
        "leaves": tuple(Leave("all", name(number)) for number in range(CHANGES - 1)),
    }
    for label, changes in batches.items():
        rows.append([label, *applied(changes, HISTORY)])
    table(["", "ms", "µs a change"], rows)


def applied(changes: tuple[Change, ...], history: PolicyHistory) -> list[str]:
    batch = Batch(changes, "bench", NOW)
    started = time.perf_counter()
    history.apply(batch)
    seconds = time.perf_counter() - started
    return [f"{seconds * 1e3:,.1f}", micro(seconds / len(changes))]


def bench_memory() -> None:
    title("memory of a policy, the filters aside")
    rows = []
    for size in SIZES[1:]:
        tracemalloc.start()
        history = policy(size)
        stored, _ = tracemalloc.get_traced_memory()
        version = history.current()
        for number in range(size):
            version.rights_of(name(number))
        asked, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows.append([f"{size:,}", f"{stored / size:,.0f}", f"{(asked - stored) / size:,.0f}"])
    table(["principals", "bytes each", "more once asked for"], rows)


def where_the_time_goes() -> None:
    title("where the time of a gate goes")
    version = policy(10).current()
    cases = deliveries(10)

    def work() -> None:
        for _ in range(20 if QUICK else 500):
            for one, subscription, _symbol in cases:
                gate(one, version, subscription)

    profile(work)


HISTORY = policy(SIZES[-1])
BENCHES: list[Callable[[], None]] = [
    bench_gate,
    bench_first_look,
    bench_restricted,
    bench_batches,
    bench_memory,
    where_the_time_goes,
]

if __name__ == "__main__":
    for bench in BENCHES:
        bench()
