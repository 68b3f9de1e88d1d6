"""Which of many filters match? Against a scan, and against a compiled index that counts.

python -m bench.matching [--quick] [part of the name of a workload, or a number of filters ...]
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from bench import QUICK, micro, profile, table, times, title
from bench.support.counting import CountingIndex
from bench.support.rules import WORKLOADS, Rule, Workload, as_filter, as_json, as_table, events
from headgate.filters.filter import Filter
from headgate.matching.index import FilterIndex
from headgate.matching.warming import warm_up
from headgate.model.events import Event

MANY = 1_024
BATCHES = (1, 64, MANY)
_SECONDS = 0.002 if QUICK else 0.12
_ROUNDS = 2 if QUICK else 7
_CHANGED = 10 if QUICK else 1_000
_CHUNK = 50_000
_SCANNED = 100 if QUICK else 2_000

_THOUSAND, _MILLION = 1_000, 1_000_000
SIZES: dict[str, tuple[int, ...]] = {
    "few matches": (10 * _THOUSAND, 100 * _THOUSAND, _MILLION),
    "selective equality + others": (10 * _THOUSAND, 100 * _THOUSAND),
    "mixed": (_THOUSAND, 10 * _THOUSAND, 100 * _THOUSAND, _MILLION),
    "only equality": (_THOUSAND, 10 * _THOUSAND, 100 * _THOUSAND),
    "only ranges": (_THOUSAND, 10 * _THOUSAND, 100 * _THOUSAND),
}
_OTHER_SIZES = (10 * _THOUSAND,)

AIMS = {
    ("few matches", 10_000): (1_200, 6_000, 280),
    ("few matches", 100_000): (800, 2_500, 200),
    ("few matches", 1_000_000): (280, 400, 140),
    ("selective equality + others", 10_000): (850, 2_000, 240),
    ("mixed", 10_000): (400, 600, 180),
    ("mixed", 100_000): (130, 140, 100),
    ("mixed", 1_000_000): (15, 18, 20),
    ("mixed", 1_000): (750, 1_500, 230),
}
"""Thousands of events a second: from JSON text, from Arrow columns, one JSON event at a time."""
COUNTING_AIMS = {("mixed", 10_000): 5, ("mixed", 100_000): 10, ("mixed", 1_000_000): 20}


@dataclass
class Measured:
    """What was measured of a workload with so many filters."""

    workload: str
    size: int
    build: float = 0.0
    bytes_each: float = 0.0
    matches: float = 0.0
    """For each event."""
    json: dict[int, float] = field(default_factory=dict)
    """Events a second, by the size of the batch."""
    columns: float = 0.0
    counting: float = 0.0
    scan: float = 0.0
    changes: dict[str, float] = field(default_factory=dict)
    """Seconds for each filter that is added or removed."""


def rate(count: int, work: Callable[[], object]) -> float:
    """How many a second, at best of some rounds."""
    work()
    started = time.perf_counter()
    work()
    turns = max(1, round(_SECONDS / max(time.perf_counter() - started, 1e-9)))
    best = float("inf")
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        for _ in range(turns):
            work()
        best = min(best, (time.perf_counter() - started) / turns)
    return count / best


EVENTS = events(256 if QUICK else 2 * MANY)
TEXTS = as_json(EVENTS)
TABLES = [as_table(EVENTS[at : at + MANY]) for at in range(0, len(EVENTS), MANY)]


def measure(workload: Workload) -> Iterator[Measured]:
    """With more and more filters of one workload; those of the smaller sizes are among them."""
    rules = workload.rules(max(sizes_of(workload)))
    index = FilterIndex()
    kept: list[Rule] = []
    for size in sizes_of(workload):
        done = Measured(workload.name, size)
        more = list(islice(rules, size - len(kept)))
        if size > _CHUNK * 2:
            done.build = grow(index, len(kept), more)
        else:
            index, done.build = built([*kept, *more])
        kept += more
        done.bytes_each = index.nbytes / size
        measure_speed(index, done)
        compare(index, kept, done)
        measure_changes(index, workload, done)
        yield done


def built(rules: list[Rule]) -> tuple[FilterIndex, float]:
    """An index of these rules, and how long it took to build when the filters were there."""
    filters = list(enumerate(map(as_filter, rules)))
    gc.collect()
    index = FilterIndex()
    started = time.perf_counter()
    index.update(add=filters)
    index.snapshot()
    return index, time.perf_counter() - started


def grow(index: FilterIndex, start: int, more: list[Rule]) -> float:
    """Add further rules, some at a time: not all of a million filters have to be there at once."""
    seconds = 0.0
    for at in range(0, len(more), _CHUNK):
        numbered = enumerate(map(as_filter, more[at : at + _CHUNK]), start + at)
        filters = list(numbered)
        started = time.perf_counter()
        index.update(add=filters)
        index.snapshot()
        seconds += time.perf_counter() - started
    return seconds


def measure_speed(index: FilterIndex, done: Measured) -> None:
    snapshot = index.snapshot()
    done.matches = len(snapshot.match_json(TEXTS).ids) / len(TEXTS)
    for batch in BATCHES:
        taken = TEXTS if batch > 1 else TEXTS[:500]
        parts = [taken[at : at + batch] for at in range(0, len(taken), batch)]

        def texts(parts: list[list[bytes]] = parts) -> None:
            for part in parts:
                snapshot.match_json(part)

        done.json[batch] = rate(len(taken), texts)

    def columns() -> None:
        for one in TABLES:
            snapshot.match_columns(one)

    done.columns = rate(len(EVENTS), columns)


def compare(index: FilterIndex, rules: list[Rule], done: Measured) -> None:
    """The same events with the index that counts and, with a part of the filters, with a scan."""
    some = EVENTS[: max(1, min(len(EVENTS), 40 * _MILLION // done.size))]
    found = index.match_json(TEXTS[: len(some)])
    counting = CountingIndex(rules)
    codes, numbers = counting.read(some)
    ends, ids = counting.match(codes, numbers)
    assert ends.tolist() == found.offsets.tolist(), "the two indexes don't find the same"
    assert sorted(ids[: ends[1]].tolist()) == sorted(found[0].tolist())
    done.counting = rate(len(some), lambda: counting.match(codes, numbers))
    filters = [as_filter(rule) for rule in rules[:_SCANNED]]
    checked = list(map(Event.of, some[:5]))
    scans = [[at for at, one in enumerate(filters) if one.matches(event)] for event in checked]
    for at, expected in enumerate(scans):
        assert sorted(one for one in found[at].tolist() if one < len(filters)) == expected
    compiled = rate(len(checked), partial(scan, filters, checked))
    done.scan = compiled * len(filters) / done.size


def scan(filters: list[Filter], some: list[Event]) -> None:
    for event in some:
        for one in filters:
            one.matches(event)


def measure_changes(index: FilterIndex, workload: Workload, done: Measured) -> None:
    """Remove filters and add others, many in one step, then one by one, each seen by a batch."""
    rules = list(workload.rules(2 * _CHANGED, seed=3))
    others = [as_filter(rule) for rule in rules]
    first = done.size
    gc.collect()
    one_step = others[:_CHANGED]
    started = time.perf_counter()
    index.update(add=enumerate(one_step, first))
    index.snapshot()
    done.changes["add"] = (time.perf_counter() - started) / _CHANGED
    started = time.perf_counter()
    index.update(remove=range(first, first + _CHANGED))
    index.snapshot()
    done.changes["remove"] = (time.perf_counter() - started) / _CHANGED
    text = TEXTS[:1]
    plain = 1 / rate(1, lambda: index.match_json(text))
    started = time.perf_counter()
    for number, one in enumerate(others[_CHANGED:], first):
        index.add(number, one)
        index.match_json(text)
    done.changes["add, seen"] = (time.perf_counter() - started) / _CHANGED - plain
    started = time.perf_counter()
    for number in range(first, first + _CHANGED):
        index.remove(number)
        index.match_json(text)
    done.changes["remove, seen"] = (time.perf_counter() - started) / _CHANGED - plain


def sizes_of(workload: Workload) -> tuple[int, ...]:
    sizes = (200, 1_000) if QUICK else SIZES.get(workload.name, _OTHER_SIZES)
    asked = [int(word) for word in sys.argv[1:] if word.isdigit()]
    return tuple(size for size in sizes if not asked or size in asked)


def thousand(rate: float) -> str:
    return f"{rate / 1e3:,.{0 if rate >= 1e4 else 1}f}"


def print_at_once(one: Measured, seconds: float) -> None:
    """One line for who waits; the tables come at the end."""
    print(
        f"{one.workload}, {one.size:,}: thousand events a second {thousand(one.json[MANY])} JSON, "
        f"{thousand(one.columns)} columns, {thousand(one.json[1])} one JSON, "
        f"{thousand(one.counting)} counting; built in {one.build:.1f} s; "
        f"a filter added and seen {micro(one.changes['add, seen'])} µs, removed "
        f"{micro(one.changes['remove, seen'])} µs ({seconds:.0f} s so far)",
        flush=True,
    )


def print_speed(all_done: list[Measured]) -> None:
    title("Thousand events a second, from JSON text in batches and from Arrow columns")
    head = ["workload", "filters", "matches", *(f"batch {batch}" for batch in BATCHES)]
    rows = [
        [
            one.workload, f"{one.size:,}", f"{one.matches:,.2f}",
            *(thousand(one.json[batch]) for batch in BATCHES), thousand(one.columns),
            thousand(one.matches * one.columns / 1e3), thousand(one.counting),
            times(one.json[MANY] / one.counting), f"{one.scan:,.1f}",
            f"{one.json[MANY] / one.scan:,.0f} ×",
        ]
        for one in all_done
    ]  # fmt: skip
    others = ["columns", "million matches/s", "counting", "ratio", "scan, events/s", "ratio"]
    table([*head, *others], rows)
    print("Ratios are of batches of JSON text; the index that counts is handed numbers instead.")
    print(f"The scan was made with {_SCANNED:,} filters, and its time multiplied.")


def print_changes(all_done: list[Measured]) -> None:
    title("Building and changing")
    head = ["workload", "filters", "build s", "µs a filter", "bytes a filter"]
    rows = [
        [
            one.workload, f"{one.size:,}", f"{one.build:.2f}",
            micro(one.build / one.size) if one.build else "-", f"{one.bytes_each:,.0f}",
            *(micro(seconds) for seconds in one.changes.values()),
        ]
        for one in all_done
    ]  # fmt: skip
    others = ["µs to add", "to remove", "to add one that is seen", "to remove one"]
    table([*head, *others], rows)
    print(f"{_CHANGED:,} filters at a time; or one by one, each before the next event is matched.")
    print("The filters were there: reading one takes longer, see bench.filters.")


def print_aims(all_done: list[Measured]) -> None:
    title("The aims, in thousand events a second")
    rows = []
    for one in all_done:
        aims = AIMS.get((one.workload, one.size))
        if aims is None:
            continue
        found = (one.json[MANY], one.columns, one.json[1])
        row = [one.workload, f"{one.size:,}", f"{one.matches:,.1f}"]
        for measured, aim in zip(found, aims, strict=True):
            row += [thousand(measured), f"{aim:,}", judged(measured / 1e3, aim)]
        ratio, least = one.json[MANY] / one.counting, COUNTING_AIMS.get((one.workload, one.size))
        row += [times(ratio), f"{least} ×" if least else "", judged(ratio, least or 0)]
        rows.append(row)
    each = ["aim", ""]
    head = ["workload", "filters", "matches", "JSON", *each, "columns", *each, "one JSON", *each]
    table([*head, "to counting", *each], rows)


def judged(figure: float, aim: float) -> str:
    return "kept" if figure >= aim else "MISSED"


def where_the_time_goes() -> None:
    title("Where the time goes: building, then matching single events from JSON text")
    filters = [as_filter(rule) for rule in WORKLOADS["mixed"].rules(500 if QUICK else 20_000)]
    index = FilterIndex()

    def build() -> None:
        index.update(add=enumerate(filters))
        index.snapshot()

    profile(build, 12)
    print()
    profile(lambda: [index.match_json([text]) for text in TEXTS], 12)


def main() -> None:
    asked = [word for word in sys.argv[1:] if not (word.startswith("-") or word.isdigit())]
    started = time.perf_counter()
    warm_up()
    print(f"compiled code was there after {time.perf_counter() - started:.1f} s")
    all_done: list[Measured] = []
    for workload in WORKLOADS.values():
        if sizes_of(workload) and (not asked or any(word in workload.name for word in asked)):
            started = time.perf_counter()
            for one in measure(workload):
                all_done.append(one)
                print_at_once(one, time.perf_counter() - started)
    print_speed(all_done)
    print_changes(all_done)
    if not QUICK:
        print_aims(all_done)
    where_the_time_goes()


if __name__ == "__main__":
    main()
