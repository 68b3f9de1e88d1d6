"""Does the gate give each subscription exactly what the service model says?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from headgate.gate.delivery import View, gate
from headgate.model.events import Event
from headgate.rights.changes import Batch, CreateGroup, Join, Leave
from headgate.rights.history import PolicyHistory
from headgate.rights.starting_points import StartingPoints
from headgate.simulation.service_model import Record, Wish, attributes, received
from tests.proofs import COUNTED, proof_size
from tests.rights.policies import Chance, batch, grant, subscription

STREAMS = ["orders", "alarms"]

# Figure 1 of Zhao & Sturman: messages of type quote, news and report about IBM and others.
FIGURE_1 = {
    98: ("quote", "ibm"), 99: ("news", "ibm"), 100: ("quote", "ibm"), 101: ("news", "ibm"),
    102: ("report", "ibm"), 103: ("news", "ibm"), 104: ("report", "ibm"), 105: ("news", "sunw"),
    106: ("report", "ibm"), 107: ("quote", "ibm"), 108: ("news", "ibm"), 109: ("quote", "ibm"),
}  # fmt: skip


def figure_1() -> tuple[PolicyHistory, dict[str, list[tuple[int, int]]]]:
    premium = "type = 'quote' OR type = 'news' OR type = 'report'"
    history = PolicyHistory.of([
        batch(
            CreateGroup("promotional"), CreateGroup("premium"), Join("promotional", "John Doe"),
            grant("promotional", filter_="type = 'quote'"), grant("premium", filter_=premium),
        ),
        batch(Join("premium", "John Doe")),
        batch(Leave("premium", "John Doe")),
    ])  # fmt: skip
    return history, {"quotes": [(1, 100), (2, 103), (3, 106)]}


def test_figure_1_of_zhao_and_sturman_comes_out_to_the_message() -> None:
    history, points = figure_1()
    log = [
        Record("quotes", offset, {"type": type_, "issue": issue})
        for offset, (type_, issue) in FIGURE_1.items()
    ]
    wish = Wish("John Doe", "issue = 'ibm'")
    delivered = as_delivered(log, history, points, wish)
    assert [offset for _, offset, *_ in delivered] == [100, 103, 104, 107, 109]
    others = [offset for _, offset, _, view in delivered if view.attributes["type"] != "quote"]
    assert others == [103, 104]
    assert delivered == as_modelled(log, history, points, wish)


Delivered = list[tuple[str, int, int, Event]]


def as_delivered(
    log: list[Record],
    history: PolicyHistory,
    points: dict[str, list[tuple[int, int]]],
    wish: Wish,
) -> Delivered:
    """What the gate lets through, record by record at the version in force."""
    began = StartingPoints()
    for stream, pairs in points.items():
        for version, offset in pairs:
            began.begin(version, stream, offset)
    asked = subscription(wish.principal, wish.filter, wish.domain)
    found: Delivered = []
    for record in log:
        if not begun(record, wish):
            continue
        in_force = history.at(began.version_at(record.stream, record.offset))
        outcome = gate(event_of(record), in_force, asked)
        if isinstance(outcome, View):
            found.append((record.stream, record.offset, outcome.version, outcome.event))
    return found


def begun(record: Record, wish: Wish) -> bool:
    start = wish.starts.get(record.stream, 0)
    return start <= record.offset < wish.ends.get(record.stream, record.offset + 1)


def as_modelled(
    log: list[Record],
    history: PolicyHistory,
    points: dict[str, list[tuple[int, int]]],
    wish: Wish,
) -> Delivered:
    """What the service model says, from nothing but what was written down."""
    said = [made.to_json() for _, made in history.batches()]
    return [
        (one.stream, one.offset, one.version, event_of_view(one.body, one.known))
        for one in received(log, said, points, wish)
    ]


def event_of(record: Record) -> Event:
    return event_of_view(record.body, record.known)


def event_of_view(body: Any, known: Any) -> Event:
    if isinstance(body, bytes):
        event = Event.from_bytes(body)
    else:
        event = Event.of(body) if isinstance(body, dict) else Event.from_json(json.dumps(body))
    return event.with_known(known)


@pytest.mark.proof
def test_the_gate_gives_exactly_what_the_service_model_gives(
    record_property: Callable[[str, object], None],
) -> None:
    seed = Random().randrange(2**32)
    random = Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(proof_size(test=150, soak=5_000)):
        chance = Chance(random, filters=40)
        history = chance.history(random.randrange(1, 8))
        points = random_points(random, history.version)
        log = random_log(chance)
        for _ in range(6):
            wish = random_wish(chance)
            expected = as_modelled(log, history, points, wish)
            assert as_delivered(log, history, points, wish) == expected, f"seed {seed}: {wish}"
            counts["wishes"] += 1
            counts["records"] += len(log)
            counts["deliveries"] += len(expected)
            counts["cut deliveries"] += sum(
                view != event_of(next(r for r in log if (r.stream, r.offset) == (stream, offset)))
                for stream, offset, _, view in expected
            )
            counts["deliveries under old versions"] += sum(
                version < history.version for _, _, version, _ in expected
            )
    record_property(COUNTED, ", ".join(f"{many:,} {what}" for what, many in counts.items()))
    assert counts["deliveries"] * 20 > counts["records"]
    assert counts["cut deliveries"] * 10 > counts["deliveries"]
    assert counts["deliveries under old versions"] * 10 > counts["deliveries"]


def random_points(random: Random, versions: int) -> dict[str, list[tuple[int, int]]]:
    """Starting points of most versions on every stream; some streams skip one."""
    points: dict[str, list[tuple[int, int]]] = {}
    for stream in STREAMS:
        offset = 0
        for version in range(1, versions + 1):
            offset += random.randrange(5)
            if random.random() < 0.9:
                points.setdefault(stream, []).append((version, offset))
    return points


def random_log(chance: Chance) -> list[Record]:
    offsets = dict.fromkeys(STREAMS, 0)
    log: list[Record] = []
    for _ in range(40):
        stream = chance.random.choice(STREAMS)
        others: list[Any] = [b"\xff", "red", ["red"], None, 5]
        body = chance.body() if chance.random.random() < 0.9 else chance.random.choice(others)
        log.append(Record(stream, offsets[stream], body, chance.known()))
        offsets[stream] += chance.random.randrange(1, 3)
    return log


def random_wish(chance: Chance) -> Wish:
    asked = chance.subscription()
    starts = {stream: chance.random.randrange(6) for stream in STREAMS}
    ends = {stream: chance.random.randrange(10, 40) for stream in STREAMS[:1]}
    return Wish(asked.principal, str(asked.filter), asked.domain, starts, ends)


def test_the_service_model_takes_blanks_for_missing_and_other_arrays_for_unfilterable() -> None:
    body = {"a": None, "b": {}, "n": {"x": 1, "y": [1]}, "t": ["u"]}
    for event in (Event.of(body), Event.from_bytes(b"\x00"), Event.of({})):
        plain = body if event.names > {"a"} else b"\x00" if event.names else {}
        assert attributes(plain, {}) == event.attributes


def test_batches_survive_being_written_down() -> None:
    history = Chance(Random(1)).history(20)
    again = PolicyHistory.of(Batch.from_json(made.to_json()) for _, made in history.batches())
    assert again.batches() == history.batches()
    assert again.current().rules() == history.current().rules()
