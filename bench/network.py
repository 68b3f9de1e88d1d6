"""What does a record cost on its way? Through one broker's core, and through a chain of three.

python -m bench.network [--quick]

Links and disks take no time here: what is measured is the work of the cores, codec included, all of
it in one process on one core of the machine.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from random import Random

from bench import QUICK, profile, table, title
from bench.support.networks import Network
from headgate.filters.filter import Filter
from headgate.rights.changes import CreateGroup, Grant, Join
from headgate.rights.rules import Action, Rule

SUBSCRIPTIONS = (0, 10, 100) if QUICK else (0, 100, 1_000, 10_000)
RECORDS = 50 if QUICK else 3_000
BURST = 50
SYMBOLS = 1_000


def bodies(count: int) -> list[bytes]:
    random = Random(7)
    return [
        b'{"type":"quote","symbol":"S%d","price":%d,"volume":%d,"venue":"north"}'
        % (random.randrange(SYMBOLS), random.randrange(1_000), random.randrange(10_000))
        for _ in range(count)
    ]


def network(brokers: int, subscriptions: int) -> tuple[Network, int]:
    """Subscriptions to single symbols at the last broker, by members of one group."""
    made = Network(brokers)
    made.administer(
        Grant(Rule("exchange", Action.CONNECT)),
        Grant(Rule("exchange", Action.PUBLISH)),
        CreateGroup("desks"),
        Grant(Rule("desks", Action.CONNECT)),
        Grant(Rule("desks", Action.SUBSCRIBE, Filter.parse("type = 'quote' AND price < 900"))),
        *(Join("desks", f"desk-{number}") for number in range(10)),
    )
    made.wait(1)
    publisher = made.connect(made.first, "exchange")
    clients = [made.connect(made.last, f"desk-{number}") for number in range(10)]
    for number in range(subscriptions):
        wanted = Filter.parse(f"symbol = 'S{number % SYMBOLS}' AND volume > {number // SYMBOLS}")
        made.subscribe(made.last, clients[number % 10], wanted)
        if number % 100 == 0:
            made.run()
    made.run()
    made.wait(1)
    return made, publisher


def through(made: Network, publisher: int, records: int) -> tuple[float, float]:
    """Seconds and deliveries for each record."""
    said = bodies(records)
    made.publish(publisher, said[:BURST])  # compiles, and fills what is filled once
    before, start = made.deliveries, time.perf_counter()
    for at in range(0, records, BURST):
        made.publish(publisher, said[at : at + BURST])
    seconds = time.perf_counter() - start
    return seconds / records, (made.deliveries - before) / records


def records_per_second() -> None:
    title("Records per second through the cores")
    rows = []
    alone: dict[int, float] = {}
    for subscriptions in SUBSCRIPTIONS:
        for brokers in (1, 3):
            made, publisher = network(brokers, subscriptions)
            each, deliveries = min(
                through(made, publisher, RECORDS) for _ in range(1 if QUICK else 3)
            )
            alone[brokers] = alone.get(brokers) or each
            rows.append(
                [
                    f"{brokers} of them, {subscriptions:,} subscriptions",
                    f"{1 / each:,.0f}",
                    f"{each * 1e6:,.0f}",
                    f"{deliveries:.1f}",
                    f"{each / alone[brokers]:.1f} ×",
                ]
            )
    table(["", "records/s", "µs each", "deliveries each", "to none"], rows)


def memory() -> None:
    title("Memory")
    count = 20 if QUICK else 2_000
    gc.collect()
    tracemalloc.start()
    made, publisher = network(1, 0)
    client = made.connect(made.last, "desk-0")
    wishes = [Filter.parse(f"symbol = 'S{number % SYMBOLS}'") for number in range(count)]
    before = tracemalloc.get_traced_memory()[0]
    for start in range(0, count, 1_000):
        client = made.connect(made.last, f"desk-{start % 10}")
        for wanted in wishes[start : start + 1_000]:
            made.subscribe(made.last, client, wanted)
    made.run()
    subscribed = tracemalloc.get_traced_memory()[0]
    made.logs.clear()
    made.publish(publisher, bodies(count))
    made.logs.clear()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    rows = [
        ["a subscription, its filter not counted", f"{(subscribed - before) / count:,.0f}"],
        ["a record held in memory", f"{(held - subscribed) / count:,.0f}"],
    ]
    table(["", "bytes"], rows)


def where_the_time_goes() -> None:
    for brokers in (1, 3):
        title(f"Where the time goes, {brokers} broker{'s' if brokers > 1 else ''}")
        made, publisher = network(brokers, SUBSCRIPTIONS[-2])
        through(made, publisher, RECORDS)
        profile(lambda made=made, publisher=publisher: through(made, publisher, RECORDS), 14)  # type: ignore[misc]


def main() -> None:
    records_per_second()
    memory()
    where_the_time_goes()


if __name__ == "__main__":
    main()
